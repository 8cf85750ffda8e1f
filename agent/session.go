package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// ErrClosed is returned by a session that has been closed.
var ErrClosed = errors.New("the session is closed")

// lastWords bounds how long the end of a cancelled turn may take to be stored and shown.
const lastWords = 2 * time.Second

// Session is an open conversation. Its methods are safe for concurrent use; turns run one at a time, in the order asked.
type Session struct {
	agent *Agent
	id    string
	face  Face
	host  host.Host

	turn chan struct{} // holds one token; who has it runs a turn

	mu     sync.Mutex // guards the rest, and keeps storing and showing in one order
	events []session.Event
	state  session.State
	lease  session.Lease
	users  int // of the lease
	closed bool
}

func newSession(a *Agent, id string, face Face, h host.Host) *Session {
	s := &Session{agent: a, id: id, face: face, host: h, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// State is what the log amounts to now.
func (s *Session) State() session.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.Roots, state.Plan, state.Calls = slices.Clone(state.Roots), slices.Clone(state.Plan), slices.Clone(state.Calls)
	state.Views = maps.Clone(state.Views)
	return state
}

// Replay shows the whole conversation to the face, in order.
func (s *Session) Replay(ctx context.Context) error {
	s.mu.Lock()
	events := slices.Clone(s.events)
	s.mu.Unlock()
	for _, e := range events {
		if err := s.face.Show(ctx, e, false); err != nil {
			return err
		}
	}
	return nil
}

// SetMode changes the gate's mode, from the next call on.
func (s *Session) SetMode(ctx context.Context, mode approval.Mode) error {
	if !mode.Valid() {
		return fmt.Errorf("unknown mode %q; the modes are %v", mode, approval.Modes())
	}
	if err := s.hold(ctx); err != nil {
		return err
	}
	defer s.release(ctx)
	s.mu.Lock()
	same := s.state.Mode == mode
	s.mu.Unlock()
	if same {
		return nil
	}
	return s.record(ctx, session.Configured{Mode: mode})
}

// Close ends the session's use by this process; the conversation stays stored. The caller ends a running turn first,
// by its context; Close waits for it until ctx ends.
func (s *Session) Close(ctx context.Context) error {
	select {
	case <-s.turn:
		s.turn <- struct{}{}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// hold takes the right to append, for as long as somebody in this process needs it, and catches up with what another
// process has appended meanwhile. Every hold is followed by a release.
func (s *Session) hold(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if s.users > 0 {
		s.users++
		s.mu.Unlock()
		return nil
	}
	lease, err := s.agent.opts.Store.Acquire(ctx, s.id)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.lease, s.users = lease, 1
	s.mu.Unlock()
	if err := s.catchUp(ctx, s.face); err != nil {
		s.release(ctx)
		return err
	}
	return nil
}

func (s *Session) release(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := s.lease.Release(ctx); err != nil {
		s.agent.log.Warn("release the session's lease", "session", s.id, "error", err)
	}
	s.lease = nil
}

// catchUp reads the events that are stored and not yet known here, and shows them to the face unless it is nil.
func (s *Session) catchUp(ctx context.Context, face Face) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last int64
	if n := len(s.events); n > 0 {
		last = s.events[n-1].Seq
	}
	for e, err := range s.agent.opts.Store.Events(ctx, s.id, last) {
		if err != nil {
			return fmt.Errorf("read session %s: %w", s.id, err)
		}
		s.events = append(s.events, e)
		s.state.Apply(e)
		if face != nil {
			if err := face.Show(ctx, e, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle closes what a dead process left open and stores the folders if they are other ones. While another process is
// writing, both wait for a later turn.
func (s *Session) settle(ctx context.Context, roots []string) error {
	lease, err := s.agent.opts.Store.Acquire(ctx, s.id)
	if held := new(session.HeldError); errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.lease, s.users = lease, 1
	s.mu.Unlock()
	defer s.release(ctx)
	// The lease came after the first reading: whoever held it may have written since.
	if err := s.catchUp(ctx, nil); err != nil {
		return err
	}
	return s.recordQuietly(ctx, s.unsettled(roots)...)
}

// unsettled gives the events that are missing in the log of a session which nobody is writing to.
func (s *Session) unsettled(roots []string) []session.Data {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := session.Interrupted(s.state)
	if len(roots) > 0 && !slices.Equal(roots, s.state.Roots) {
		data = append(data, session.Rooted{Roots: roots})
	}
	return data
}

// record stores events and shows them.
func (s *Session) record(ctx context.Context, data ...session.Data) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.store(ctx, data)
	for _, e := range stored {
		s.show(ctx, e)
	}
	return err
}

// recordQuietly stores events without showing them.
func (s *Session) recordQuietly(ctx context.Context, data ...session.Data) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.store(ctx, data)
	return err
}

// store appends; the caller holds mu.
func (s *Session) store(ctx context.Context, data []session.Data) ([]session.Event, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if s.lease == nil {
		return nil, errors.New("agent: an event without a lease")
	}
	stored, err := s.lease.Append(ctx, data...)
	if err != nil {
		return nil, err
	}
	for _, e := range stored {
		s.events = append(s.events, e)
		s.state.Apply(e)
	}
	return stored, nil
}

// live shows something that is not stored.
func (s *Session) live(ctx context.Context, data session.Data) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show(ctx, session.Event{Session: s.id, Time: time.Now(), Data: data})
}

func (s *Session) show(ctx context.Context, e session.Event) {
	if err := s.face.Show(ctx, e, true); err != nil {
		s.agent.log.Debug("show an event", "session", s.id, "kind", e.Data.Kind(), "error", err)
	}
}

// snapshot gives the events so far. The caller does not change them.
func (s *Session) snapshot() []session.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.events)
}

// policy is what the gate goes by now.
func (s *Session) policy() approval.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return approval.Policy{Mode: s.state.Mode, SessionEdits: s.state.Edits}
}

// Seen implements [tool.Views].
func (s *Session) Seen(abs string) (host.Version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.state.Views[abs]
	return v, ok
}

// Entries implements [tool.Plan].
func (s *Session) Entries() []tool.PlanEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.Plan)
}
