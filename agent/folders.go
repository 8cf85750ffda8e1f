package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/wherry-acp/wherry/agent/session"
)

// Add implements [tool.Folders]: the session works in a further folder from the next call on.
func (t *turn) Add(ctx context.Context, abs string) error {
	s := t.s
	before := s.State().Roots
	roots := append(slices.Clone(before), abs)
	h, err := s.face.Host(roots)
	if err != nil {
		return &FolderError{Err: err}
	}
	if !slices.Contains(h.Roots(), abs) { // it leads elsewhere now than where the person was told
		return fmt.Errorf("%s: has changed since it was asked for", abs)
	}
	if err := s.record(ctx, session.Rooted{Roots: roots}, session.Notice{
		Message: session.NewMessageID(), Severity: "info", Text: "The session works in " + abs + " too from now on. /permissions takes it back.",
	}); err != nil {
		return err
	}
	s.mu.Lock()
	s.host = h
	s.mu.Unlock()
	t.host = h
	return nil
}
