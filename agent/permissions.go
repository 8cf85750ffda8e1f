package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// commandRun is the command that a call runs, for rules about it; the zero value when it runs none.
func commandRun(p tool.Presentation) approval.Command {
	if p.Command == nil {
		return approval.Command{}
	}
	return approval.Command{Line: p.Command.Line, Dir: p.Command.Dir}
}

// remember notes what the person allowed beyond this one call of the tool of this name, as far as it is for this process.
func (s *Session) remember(scope approval.Scope, name string, p tool.Presentation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch scope {
	case approval.ScopeSession:
		s.edits = true
	case approval.ScopeCommand:
		s.allowed = append(s.allowed, commandRun(p))
	case approval.ScopeTool:
		s.allowedTools = append(s.allowedTools, name)
	}
}

// rule is something that the person has allowed for the session and can take back.
type rule struct {
	text   string
	forget func(ctx context.Context) error
}

// rules are what holds now.
func (s *Session) rules() []rule {
	p := s.policy()
	var out []rule
	if p.SessionEdits {
		out = append(out, rule{"every edit of files in the session's folders; commands, files that hold secrets and protected files still ask", func(ctx context.Context) error {
			return s.forget(ctx, session.Forgotten{Edits: true})
		}})
	}
	for _, c := range p.Commands {
		out = append(out, rule{fmt.Sprintf("exactly the command `%s` in `%s`", c.Line, c.Dir), func(ctx context.Context) error {
			return s.forget(ctx, session.Forgotten{Commands: []approval.Command{c}})
		}})
	}
	for _, name := range p.Tools {
		out = append(out, rule{fmt.Sprintf("every call of the tool `%s`, until this session is closed", name), func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.allowedTools = slices.DeleteFunc(s.allowedTools, func(t string) bool { return t == name })
			return nil
		}})
	}
	roots := s.State().Roots
	for _, root := range roots[1:] {
		out = append(out, rule{fmt.Sprintf("work in the folder `%s`, besides `%s`", root, roots[0]), func(ctx context.Context) error {
			return s.Move(ctx, slices.DeleteFunc(s.State().Roots, func(r string) bool { return r == root }))
		}})
	}
	return out
}

// forget takes back what was allowed.
func (s *Session) forget(ctx context.Context, f session.Forgotten) error {
	if err := s.record(ctx, f); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edits = s.edits && !f.Edits
	s.allowed = slices.DeleteFunc(s.allowed, func(c approval.Command) bool { return slices.Contains(f.Commands, c) })
	return nil
}

func permissions(ctx context.Context, t *turn, args string) (string, error) {
	rules := t.s.rules()
	if args == "" {
		return listRules(t.s.Mode(), rules), nil
	}
	which, ok := strings.CutPrefix(args, "forget ")
	if !ok {
		return "", errors.New("say /permissions to see them, and /permissions forget NUMBER or /permissions forget all to take one or all back")
	}
	which = strings.TrimSpace(which)
	if which != "all" {
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > len(rules) {
			return "", fmt.Errorf("there is no permission %q; /permissions shows them with their numbers", which)
		}
		rules = rules[n-1 : n]
	}
	var b strings.Builder
	for _, r := range rules {
		if err := r.forget(ctx); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- no longer allowed: %s\n", r.text)
	}
	if len(rules) == 0 {
		return "There was nothing to forget.", nil
	}
	return b.String(), nil
}

func listRules(mode approval.Mode, rules []rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The mode is **%s**; `/mode` explains it.", mode)
	if len(rules) == 0 {
		b.WriteString(" Nothing further is allowed in this session.")
		return b.String()
	}
	b.WriteString(" You have allowed for this session:\n\n")
	for i, r := range rules {
		fmt.Fprintf(&b, "%d. %s\n", i+1, r.text)
	}
	b.WriteString("\n`/permissions forget NUMBER` takes one back, `/permissions forget all` all of them.")
	return b.String()
}
