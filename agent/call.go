package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

const (
	sideBySide  = 4 // read-only calls at once
	maxAttempts = 3 // preparations of one call whose file keeps changing
)

// errAskTimeout is why an unanswered question was given up.
var errAskTimeout = errors.New("nobody answered in time")

// offered leaves out the tools that cannot work on this host, and those that are for planning when it is not planned.
func offered(tools []tool.Tool, h host.Host, planning bool) []tool.Tool {
	var out []tool.Tool
	for _, tl := range tools {
		works := planning || !tl.Spec().Planning
		for _, c := range tl.Spec().Needs {
			works = works && h.Can(c)
		}
		if works {
			out = append(out, tl)
		}
	}
	return out
}

// calls runs what the model asked for: in its order, neighbouring read-only calls side by side.
func (t *turn) calls(ctx context.Context, tools []tool.Tool, calls []session.CallRequested) error {
	byName := make(map[string]tool.Tool, len(tools))
	for _, tl := range tools {
		byName[tl.Spec().Name] = tl
	}
	readOnly := func(c session.CallRequested) bool {
		tl, ok := byName[c.Tool]
		return ok && tl.Spec().ReadOnly
	}
	for len(calls) > 0 {
		n := 1
		for readOnly(calls[0]) && n < len(calls) && n < sideBySide && readOnly(calls[n]) {
			n++
		}
		errs := make([]error, n)
		var wg sync.WaitGroup
		before := make(chan struct{})
		close(before)
		for i, c := range calls[:n] {
			at := &showing{before: before, done: make(chan struct{})}
			before = at.done
			wg.Go(func() {
				defer at.leave()
				errs[i] = t.call(ctx, byName[c.Tool], c, at)
			})
		}
		wg.Wait()
		if err := firstError(errs...); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// showing is when a call is shown among those that run side by side: in the model's order.
type showing struct {
	before <-chan struct{} // closed when the call before has been shown, or will not be
	done   chan struct{}
	left   bool
}

// leave lets the next call be shown.
func (s *showing) leave() {
	if !s.left {
		s.left = true
		close(s.done)
	}
}

// call takes one call through its whole life. The error ends the turn; a call that fails is a result for the model.
func (t *turn) call(ctx context.Context, tl tool.Tool, c session.CallRequested, at *showing) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.s.agent.log.Error("panic in a tool", "session", t.s.id, "tool", c.Tool, "panic", p)
			err = t.done(ctx, c, session.CallFailed, tool.Failure("The tool failed inside; it is not known how far it came."))
		}
	}()
	fail := func(why string) error {
		<-at.before
		return t.done(ctx, c, session.CallFailed, tool.Failure(why))
	}
	if tl == nil {
		return fail(fmt.Sprintf("There is no tool %q here.", c.Tool))
	}
	if text, bad := notJSON(c.Args); bad {
		return fail("The arguments are not valid JSON; nothing was done. They began: " + clip(text, 200))
	}
	if _, err := t.s.guard.Arguments(c.Args); err != nil {
		return fail(sentence(err.Error()))
	}
	for range maxAttempts {
		if ctx.Err() != nil {
			return context.Cause(ctx) // the turn's end closes the call
		}
		env := tool.Env{Host: t.host, Views: t.s, Plan: t.s, Folders: t, AfterPlan: t.s.afterPlan()}
		prepared, err := tl.Prepare(ctx, env, c.Args)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fail(err.Error())
		}
		p := prepared.Presentation()
		<-at.before
		if err := t.s.record(ctx, session.CallPresented{Call: c.Call, Presentation: p}); err != nil {
			return err
		}
		at.leave()
		rule, refused, err := t.gate(ctx, c, p)
		if err != nil {
			return err
		}
		if refused != "" {
			return t.done(ctx, c, session.CallRefused, tool.Failure(refused))
		}
		var answers tool.Answers
		if inquiry, ok := prepared.(tool.Inquiry); ok {
			if answers, err = t.inquire(ctx, c, inquiry); err != nil {
				return err
			}
			inquiry.Take(answers)
		}
		if err := t.s.record(ctx, session.CallStarted{Call: c.Call, Rule: rule}); err != nil {
			return err
		}
		result := t.perform(ctx, c, p, prepared)
		switch {
		case result.ChangedBase:
			continue // somebody else wrote the file since: look again, and show what it would do now
		case ctx.Err() != nil && result.Failed:
			return t.done(ctx, c, session.CallCancelled, result)
		case result.Failed:
			return t.done(ctx, c, session.CallFailed, result)
		}
		if err := t.done(ctx, c, session.CallCompleted, result); err != nil {
			return err
		}
		if answers.Outcome == tool.Put {
			return errPut
		}
		return nil
	}
	return t.done(ctx, c, session.CallFailed, tool.Failure(
		"The file kept changing while this was prepared; nothing was written. View it again before the next try."))
}

// gate decides whether the call may run. It gives the rule that allows it, or why it is refused.
func (t *turn) gate(ctx context.Context, c session.CallRequested, p tool.Presentation) (rule, refused string, err error) {
	if why := t.submittedBefore(p); why != "" {
		return "", why, nil
	}
	d := t.policy().Decide(approval.Subject{Tool: c.Tool, Class: p.Class, Command: commandRun(p), Server: p.Request != nil, Stale: p.Stale})
	switch d.Verdict {
	case approval.Allow:
		return d.Reason, "", nil
	case approval.Ask:
		return t.permission(ctx, c, p, d)
	}
	return "", "Refused: " + d.Reason, nil
}

// permission asks the person. Whatever is not a clear yes to exactly this presentation is a no.
func (t *turn) permission(
	ctx context.Context, c session.CallRequested, p tool.Presentation, d approval.Decision,
) (rule, refused string, err error) {
	digest := p.Digest()
	if err := t.s.record(ctx, session.PermissionAsked{
		Call: c.Call, Digest: digest, Reason: d.Reason, Scopes: d.Scopes,
	}); err != nil {
		return "", "", err
	}
	askCtx, cancel := context.WithTimeoutCause(ctx, t.s.agent.opts.AskTimeout, errAskTimeout)
	defer cancel()
	answer, askErr := t.s.face.Ask(askCtx, Question{
		Session: t.s.id, Call: c.Call, Tool: c.Tool, Presentation: p, Reason: d.Reason, Scopes: d.Scopes,
	})
	timedOut := askErr != nil && ctx.Err() == nil && errors.Is(context.Cause(askCtx), errAskTimeout)

	said := session.PermissionAnswered{Call: c.Call, Digest: digest, By: t.s.face.Name(), Reason: answer.Reason}
	data := []session.Data{nil}
	switch {
	case ctx.Err() != nil:
		said.Answer, said.Reason = session.Unanswered, "the turn was cancelled"
	case timedOut:
		said.Answer, said.Reason = session.Unanswered, fmt.Sprintf("nobody answered within %s", t.s.agent.opts.AskTimeout)
	case askErr != nil:
		said.Answer, said.Reason = session.Unanswered, "the client could not be asked"
		t.s.agent.log.Warn("ask for permission", "session", t.s.id, "call", c.Call, "error", askErr)
	case answer.Cancelled:
		said.Answer, said.Reason = session.Unanswered, "the question was dismissed"
	case answer.Nobody:
		said.Answer = session.Unanswered
	case answer.Allowed && answer.Scope == approval.ScopeSession && slices.Contains(d.Scopes, approval.ScopeSession):
		said.Answer, said.Scope = session.Allowed, approval.ScopeSession
		data = append(data, session.Configured{Edits: true})
	case answer.Allowed && answer.Scope == approval.ScopeCommand && slices.Contains(d.Scopes, approval.ScopeCommand):
		said.Answer, said.Scope = session.Allowed, approval.ScopeCommand
		data = append(data, session.CommandAllowed{Command: commandRun(p)})
	case answer.Allowed && answer.Scope == approval.ScopeTool && slices.Contains(d.Scopes, approval.ScopeTool):
		said.Answer, said.Scope = session.Allowed, approval.ScopeTool
	case answer.Allowed && (answer.Scope == "" || answer.Scope == approval.ScopeOnce):
		said.Answer, said.Scope = session.Allowed, approval.ScopeOnce
	default: // also a yes to something that was not asked
		said.Answer = session.Rejected
	}
	data[0] = said
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	record := t.s.record
	if said.Answer == session.Allowed && p.Class == approval.ClassPlan {
		shown := approval.ModePlan
		if p.Plan != nil {
			shown = p.Plan.After
		}
		record = func(ctx context.Context, data ...session.Data) error { return t.s.recordAfterPlan(ctx, shown, data...) }
	}
	if err := record(keep, data...); err != nil {
		return "", "", err // not stored is not answered
	}
	if ctx.Err() != nil {
		return "", "", context.Cause(ctx)
	}
	switch said.Answer {
	case session.Allowed:
		t.s.remember(said.Scope, c.Tool, p)
		return "allowed by the person (" + string(said.Scope) + ")", "", nil
	case session.Rejected:
		refused = "The person refused this."
		if said.Reason != "" {
			refused = "The person refused this, saying: " + said.Reason
		}
		if p.Class == approval.ClassPlan {
			refused += t.notApproved(p)
		}
		return "", refused, nil
	}
	refused = "Refused: " + said.Reason + "."
	if timedOut || answer.Nobody {
		return "", refused, nil
	}
	// Nobody is there who could answer a next question either.
	if err := t.done(keep, c, session.CallRefused, tool.Failure(refused)); err != nil {
		return "", "", err
	}
	if answer.Cancelled {
		return "", "", errDismissed
	}
	return "", "", errors.New("the client could not be asked for permission, so nothing was done and the turn was ended")
}

// done ends a call, with the plan it set.
func (t *turn) done(ctx context.Context, c session.CallRequested, status session.CallStatus, r tool.Result) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	data := []session.Data{session.CallDone{Call: c.Call, Status: status, Result: r}}
	if r.SetsPlan && !r.Failed && !slices.Equal(r.Plan, t.s.Entries()) {
		data = append(data, session.PlanChanged{Entries: r.Plan})
	}
	return t.s.record(ctx, data...)
}

// perform runs a prepared call and shows its output meanwhile.
func (t *turn) perform(ctx context.Context, c session.CallRequested, p tool.Presentation, prepared tool.Call) tool.Result {
	out := t.showOutput(ctx, c.Call)
	defer out.close()
	if p.Command == nil {
		return prepared.Run(ctx, out)
	}
	before := t.buffers(ctx)
	result := prepared.Run(ctx, out)
	t.compareBuffers(ctx, before, &result)
	return result
}

// notJSON tells whether the arguments were kept as a string because they are not JSON.
func notJSON(args json.RawMessage) (string, bool) {
	if !strings.HasPrefix(strings.TrimSpace(string(args)), `"`) {
		return "", false
	}
	var text string
	if err := json.Unmarshal(args, &text); err != nil {
		return string(args), true
	}
	return text, true
}

func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
