// Package guard stands at the border to a model: it takes secrets and personal data out of a request before it is sent.
//
// What is taken out is replaced by placeholders such as [EMAIL-1] and [SECRET-1], the same one for the same value all
// through a session, so that a model can refer to what it has not seen. What stands for personal data is put back into
// what the model says to the person and into the arguments of its calls, because both stay on this machine. A secret is
// never put back: a model that was not shown a password has no business writing it into a file or a command, and text from
// outside could make it do just that. A call that tries is refused ([Guard.Arguments]). The values behind placeholders are
// kept in memory only, and only as long as their [Guard].
package guard

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/wherry-acp/wherry/agent/guard/detect"
	"github.com/wherry-acp/wherry/agent/model"
)

// Guard checks the requests of one session. It is safe for concurrent use.
type Guard struct {
	policy Policy
	// scanner gives what finds spans, made when it is first needed; nil without an error if nothing is looked for. With an
	// error everything is refused.
	scanner func() (*detect.Scanner, error)
	ledger  *ledger
	seen    *seen
}

// New gives a guard for one session. It never fails: with a policy that cannot be used it refuses everything, as an
// [*UnusableError] that says why. It costs nothing; the first text that is checked in a process has the rules read.
func New(policy Policy) *Guard {
	return &Guard{policy: policy, ledger: newLedger(), seen: newSeen(), scanner: sync.OnceValues(policy.scanner)}
}

// scanner makes what finds the spans that the policy is about.
func (p Policy) scanner() (*detect.Scanner, error) {
	if err := p.Err(); err != nil {
		return nil, &UnusableError{Err: err}
	}
	if !p.secrets() && !p.personal() {
		return nil, nil
	}
	s, err := detect.New(detect.Options{Secrets: p.secrets(), Personal: p.personal(), Names: p.Names, SecretPath: p.SecretPath})
	if err != nil {
		return nil, &UnusableError{Err: err}
	}
	return s, nil
}

// Outgoing gives the request as it may be sent. It changes neither req nor what it refers to; parts without findings are
// shared with the result. Texts, tool results, the arguments of calls (which stay valid JSON), the system prompt and the
// tools' descriptions are checked. Pictures and sounds are not looked into, and counted. Thoughts with a signature are the
// provider's own and are sent back as they came, or it would refuse them.
//
// A text that was checked before costs no more than its digest. The error is an [*UnusableError], a [*RefusedError] or the
// context's; with an error there is no request.
func (g *Guard) Outgoing(ctx context.Context, req model.Request) (model.Request, Report, error) {
	scanner, err := g.scanner()
	if err != nil {
		return model.Request{}, Report{}, err
	}
	p := &pass{guard: g, scanner: scanner, report: Report{Replaced: Counts{}, Places: Counts{}}}
	out := req
	out.System = p.text(req.System, place{what: "the system prompt"})
	out.Messages = p.messages(ctx, req.Messages)
	out.Tools = p.tools(req.Tools)
	if err := ctx.Err(); err != nil {
		return model.Request{}, Report{}, context.Cause(ctx)
	}
	if len(p.refused) > 0 {
		return model.Request{}, Report{}, &RefusedError{Found: p.refused}
	}
	return out, p.report, nil
}

// Redact gives a text with placeholders in place of everything that the policy looks for, also where it would refuse a
// request. The error is an [*UnusableError].
func (g *Guard) Redact(text string) (string, error) {
	scanner, err := g.scanner()
	if err != nil {
		return "", err
	}
	if scanner == nil {
		return text, nil
	}
	g.ledger.reserve(text)
	redacted, _, _ := g.replace(text, scanner.Scan(text), func(detect.Kind) bool { return true })
	return redacted, nil
}

// Restore puts personal data back in place of its placeholders: for what the person is shown. Secrets stay replaced.
func (g *Guard) Restore(text string) string {
	if !g.restores() {
		return text
	}
	return g.ledger.restore(text)
}

// restores tells whether there can be anything to put back.
func (g *Guard) restores() bool { return g.policy.PII == PIIRedact }

// Instructions is what a model is to know of placeholders, for its system prompt; empty if there will be none. It is the
// same all through a session.
func (g *Guard) Instructions() string {
	var all []string
	if g.policy.secrets() {
		all = append(all, "Secrets are replaced before you see them: [SECRET-1] stands for a password, key or token. You cannot get at "+
			"the value, and a call whose arguments have such a placeholder is refused; leave the text around it as it is.")
	}
	if g.restores() {
		all = append(all, "Personal data is replaced before you see it, by placeholders such as [EMAIL-1] or [NAME-2]. The same "+
			"placeholder is always the same value. Use it as you would use the value, exactly as it is written: it is put back in "+
			"what the person reads and in the files you edit.")
	}
	return strings.Join(all, " ")
}

// UnusableError says that nothing can be sent, because what may be sent is not known.
type UnusableError struct {
	Err error // what is wrong with the policy
}

// Error is a sentence for the person.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("nothing is sent to the model, because the policy for secrets and personal data cannot be used: %v. "+
		"Repair the policy and try again", e.Err)
}

// Unwrap gives what is wrong with the policy.
func (e *UnusableError) Unwrap() error { return e.Err }
