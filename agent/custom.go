package agent

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/customcmd"
)

// customs are the person's own slash commands, as they were when they were last read.
type customs struct {
	mu   sync.Mutex // guards the rest
	all  []customcmd.Command
	told []string // problems that the person has been told
}

// reserved tells whether a name is one of wherry's own commands.
func reserved(name string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.Name == name })
}

// readCommands reads the person's commands anew and reports whether they have changed. What is wrong with a file is told
// once.
func (s *Session) readCommands() (changed bool) {
	if s.agent.opts.Commands == nil {
		return false
	}
	files, problems := s.agent.opts.Commands(s.State().Roots[0])
	set := customcmd.Parse(files, reserved)
	c := &s.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range append(problems, set.Problems...) {
		if text := p.String(); !slices.Contains(c.told, text) {
			c.told = append(c.told, text)
			s.tell("warning", text)
		}
	}
	changed = !reflect.DeepEqual(c.all, set.Commands)
	c.all = set.Commands
	return changed
}

// renewCommands reads the person's commands and tells the face when they have changed.
func (s *Session) renewCommands(ctx context.Context) {
	if !s.readCommands() {
		return
	}
	if err := s.face.Commands(ctx, s.Commands()); err != nil {
		s.agent.log.Debug("show the commands", "session", s.id, "error", err)
	}
}

// commands are all commands of the session: wherry's own, then the person's.
func (s *Session) commands() []command {
	all := commands()
	s.customs.mu.Lock()
	defer s.customs.mu.Unlock()
	for _, c := range s.customs.all {
		all = append(all, command{Command: Command{c.Name, c.Description, c.Hint}, prompt: c.Expand, mode: c.Mode})
	}
	return all
}

// policy is what the gate goes by in this turn: a command may ask for a stricter mode than the session's, and then
// what is allowed is allowed once.
func (t *turn) policy() approval.Policy {
	p := t.s.policy()
	modes := approval.Modes()
	if asked := t.command.mode; asked != "" && slices.Index(modes, asked) < slices.Index(modes, p.Mode) {
		p.Mode, p.SessionEdits, p.After, p.OnceOnly = asked, false, "", true
	}
	return p
}
