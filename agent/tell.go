package agent

import (
	"context"
	"sync"

	"github.com/wherry-acp/wherry/agent/session"
)

// maxUntold bounds what waits to be told: a server that fails again and again does not fill the memory.
const maxUntold = 100

// untold are sentences for the person that came up outside of a turn, where nothing is said: they wait for the next one.
type untold struct {
	mu   sync.Mutex // guards all
	list []notice
}

type notice struct{ severity, text string }

// tell has the person told something within the running turn, or the next one.
func (s *Session) tell(severity string, texts ...string) {
	s.untold.mu.Lock()
	defer s.untold.mu.Unlock()
	for _, text := range texts {
		if len(s.untold.list) < maxUntold {
			s.untold.list = append(s.untold.list, notice{severity, text})
		}
	}
}

// tellRest tells what waits to be told.
func (t *turn) tellRest(ctx context.Context) error { return t.s.record(ctx, t.s.rest()...) }

// rest gives what waits to be told, which is then up to the caller.
func (s *Session) rest() []session.Data {
	s.untold.mu.Lock()
	defer s.untold.mu.Unlock()
	var out []session.Data
	for _, n := range s.untold.list {
		out = append(out, session.Notice{Message: session.NewMessageID(), Text: n.text, Severity: n.severity})
	}
	s.untold.list = nil
	return out
}
