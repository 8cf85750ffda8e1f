package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/guard"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// ErrMode says that a mode cannot be chosen.
var ErrMode = errors.New("not a mode that can be chosen")

// ErrClosed is returned by a session that has been closed.
var ErrClosed = errors.New("the session is closed")

// lastWords bounds how long the end of a cancelled turn may take to be stored and shown.
const lastWords = 2 * time.Second

// Session is an open conversation. Its methods are safe for concurrent use; turns run one at a time, in the order asked.
type Session struct {
	agent *Agent
	id    string
	face  Face

	queue   queue
	jobs    sync.WaitGroup  // what runs beside the turns
	life    context.Context // of the jobs; ends when the session is closed
	die     context.CancelFunc
	guard   *guard.Guard
	servers servers
	customs customs
	untold  untold

	modes        sync.Mutex                      // one change of the mode at a time
	mu           sync.Mutex                      // guards the rest, and keeps storing and showing in one order
	mode         approval.Mode                   // of this process, in place of the stored one; empty for none
	edits        bool                            // every edit was allowed in this process
	allowed      []approval.Command              // likewise these commands
	allowedTools []string                        // of MCP servers; not stored, since another server may bear the name next time
	after        approval.Mode                   // that plan mode leads back to in this process, when it is not a stored one
	tail         map[string]session.MessageDelta // what has been shown of messages and is not stored yet
	events       []session.Event
	state        session.State
	host         host.Host
	hostStale    bool // another process has changed the folders, and host does not know it yet
	lease        session.Lease
	users        int // of the lease
	closed       bool
}

func newSession(a *Agent, id string, face Face, h host.Host) *Session {
	s := &Session{
		agent: a, id: id, face: face, host: h, mode: a.opts.Mode, guard: guard.New(a.opts.Privacy),
		tail: map[string]session.MessageDelta{},
	}
	s.life, s.die = context.WithCancel(context.Background())
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
	state.Views, state.Diverged = maps.Clone(state.Views), maps.Clone(state.Diverged)
	return state
}

// Mode is the gate's mode now.
func (s *Session) Mode() approval.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effectiveMode()
}

func (s *Session) effectiveMode() approval.Mode {
	if s.mode != "" {
		return s.mode
	}
	return s.state.Mode
}

// Replay shows the whole conversation to the face, in order. A turn that runs goes on when it is done: what it shows
// meanwhile waits.
func (s *Session) Replay(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.face.Rewind()
	for _, e := range s.events {
		if err := s.face.Show(ctx, e, false); err != nil {
			return err
		}
	}
	for _, delta := range s.tail {
		s.show(ctx, session.Event{Session: s.id, Time: time.Now(), Data: delta})
	}
	s.showContext(ctx)
	return nil
}

// Move changes the session's folders; a turn that runs keeps those it began with. With none nothing is changed. It fails
// with a [*FolderError], and then nothing is changed either.
func (s *Session) Move(ctx context.Context, roots []string) error {
	roots = clean(roots)
	s.mu.Lock()
	same := len(roots) == 0 || slices.Equal(roots, s.state.Roots)
	s.mu.Unlock()
	if same {
		return nil
	}
	h, err := s.face.Host(roots)
	if err != nil {
		return &FolderError{Err: err}
	}
	if err := s.hold(ctx); err != nil {
		return err
	}
	defer s.release(ctx)
	if err := s.recordQuietly(ctx, session.Rooted{Roots: roots}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = h
	return nil
}

// Modes are those that the person can choose from in this process.
func (s *Session) Modes() []approval.Mode { return s.agent.modes() }

// SetMode changes the gate's mode, from the next call on.
func (s *Session) SetMode(ctx context.Context, mode approval.Mode) error {
	if !slices.Contains(s.Modes(), mode) {
		return fmt.Errorf("%w: %q; the modes are %v", ErrMode, mode, s.Modes())
	}
	if s.Mode() == mode {
		return nil
	}
	if err := s.hold(ctx); err != nil {
		return err
	}
	defer s.release(ctx)
	s.modes.Lock()
	defer s.modes.Unlock()
	s.mu.Lock()
	before, edits := s.mode, s.edits
	c := session.Configured{Mode: mode}
	if mode == approval.ModePlan {
		if c.Before = s.state.Mode; c.Before == approval.ModePlan {
			c.Before = s.state.Before
		}
	} else { // a plan is for one piece of work, and not what the next session begins with
		// The option says that the person chose it, and the next session in the folder begins with it.
		c.Options = map[string]string{string(SettingMode): string(mode)}
	}
	s.mode, s.edits = mode, false // at no moment holds the stored mode that this process was told to leave aside
	s.mu.Unlock()
	err := s.record(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.mode, s.edits = before, edits
		return err
	}
	s.mode, s.after = "", ""
	if mode == approval.ModePlan {
		s.after = before
	}
	return nil
}

// Close ends the session's use by this process, and its MCP servers; the conversation stays stored. The caller ends a
// running turn first, by its context; Close waits for it until ctx ends.
func (s *Session) Close(ctx context.Context) error {
	defer s.servers.close()
	s.die()
	defer s.jobs.Wait()
	s.queue.mu.Lock()
	p := s.queue.join()
	s.queue.mu.Unlock()
	defer s.queue.leave(p)
	err := p.wait(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true // also when the turn is still ending: none follows it
	return err
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
	configured, roots := false, s.state.Roots
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
			if _, ok := e.Data.(session.Configured); ok {
				configured = true
			}
		}
	}
	if face != nil && (s.hostStale || !slices.Equal(roots, s.state.Roots)) { // another process has given or taken a folder
		s.hostStale = true
		h, err := face.Host(s.state.Roots)
		if err != nil {
			return &FolderError{Err: err}
		}
		s.host, s.hostStale = h, false
	}
	if configured {
		return face.Configured(ctx, s.settings())
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
	if broken := new(session.StoreError); errors.As(err, &broken) && (broken.Kind == session.FaultFull || broken.Kind == session.FaultReadOnly) {
		s.agent.log.Warn("a session can be read and not written", "session", s.id, "error", err)
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
		if measures(e.Data) {
			s.showContext(ctx)
		}
		if _, ok := e.Data.(session.Configured); ok {
			if err := s.face.Configured(ctx, s.settings()); err != nil {
				s.agent.log.Debug("show the settings", "session", s.id, "error", err)
			}
		}
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
		s.trim(e.Data)
	}
	return stored, nil
}

// trim forgets what has been shown of a message and is stored now.
func (s *Session) trim(data session.Data) {
	switch d := data.(type) {
	case session.MessageSaved:
		left := s.tail[d.Message]
		left.Text = strings.TrimPrefix(left.Text, d.Text)
		s.tail[d.Message] = left
	case session.MessageDone:
		delete(s.tail, d.Message)
	case session.TurnEnded:
		clear(s.tail)
	}
}

// live shows something that is not stored.
func (s *Session) live(ctx context.Context, data session.Data) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := data.(session.MessageDelta); ok {
		d.Text = s.tail[d.Message].Text + d.Text
		s.tail[d.Message] = d
	}
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

func (s *Session) hostNow() host.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host
}

// policy is what the gate goes by now.
func (s *Session) policy() approval.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := approval.Policy{Mode: s.effectiveMode(), SessionEdits: s.state.Edits, Commands: s.state.Commands, After: s.modeAfterPlan()}
	if s.mode != "" {
		p.SessionEdits, p.Commands = s.edits, slices.Clone(s.allowed)
	}
	p.Tools = slices.Clone(s.allowedTools)
	return p
}

// Seen implements [tool.Views].
func (s *Session) Seen(abs string) (host.Version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, diverged := s.state.Diverged[abs]; diverged {
		return host.Version{}, true // whatever was seen of it is not all there is
	}
	v, ok := s.state.Views[abs]
	return v, ok
}

// Entries implements [tool.Plan].
func (s *Session) Entries() []tool.PlanEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.Plan)
}
