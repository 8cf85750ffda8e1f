package acp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// A Session is the client's handle on a session. Its methods may be called concurrently.
type Session struct {
	agent *RemoteAgent
	id    SessionID

	mu      sync.Mutex
	stream  active // the turn or load in progress
	modes   *SessionModeState
	config  []SessionConfigOption
	pending map[*question]struct{}
}

// A question is a request of the agent that a cancelled turn takes back.
type question struct{ cancel context.CancelCauseFunc }

// ID returns the session's id.
func (s *Session) ID() SessionID { return s.id }

// Modes returns the session's modes as of the last update, nil if it has none.
func (s *Session) Modes() *SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modes == nil {
		return nil
	}
	m := *s.modes
	m.AvailableModes = slices.Clone(m.AvailableModes)
	return &m
}

// ConfigOptions returns the session's configuration options as of the last update.
func (s *Session) ConfigOptions() []SessionConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.config)
}

func (s *Session) setUp(modes *SessionModeState, config []SessionConfigOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if modes != nil {
		m := *modes
		s.modes = &m
	}
	if config != nil {
		s.config = config
	}
}

// apply keeps modes and configuration up to date.
func (s *Session) apply(u SessionUpdate) {
	switch u := u.(type) {
	case CurrentModeUpdate:
		s.mu.Lock()
		if s.modes == nil {
			s.modes = &SessionModeState{}
		}
		s.modes.CurrentModeID = u.CurrentModeID
		s.mu.Unlock()
	case ConfigOptionUpdate:
		s.mu.Lock()
		s.config = u.ConfigOptions
		s.mu.Unlock()
	}
}

// claim makes t the session's stream if there is none, and otherwise returns the one there is.
func (s *Session) claim(t active) active {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil {
		return s.stream
	}
	s.stream = t
	return nil
}

func (s *Session) release(t active) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == t {
		s.stream = nil
	}
}

func (s *Session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream != nil
}

// deliver gives an update to whoever it belongs to.
func (s *Session) deliver(ctx context.Context, n SessionNotification) {
	s.apply(n.Update)
	s.mu.Lock()
	t := s.stream
	s.mu.Unlock()
	if t == nil || !t.push(ctx, n.Update) {
		s.agent.unclaimed(ctx, n)
	}
}

// Prompt starts a turn with the given blocks (session/prompt). While another turn runs
// the result is ErrTurnInProgress; after a cancelled one the new turn begins when that has
// ended. When ctx ends the turn is cancelled, see [Stream.Cancel].
func (s *Session) Prompt(ctx context.Context, blocks ...ContentBlock) *Turn {
	return s.PromptWith(ctx, PromptRequest{Prompt: blocks})
}

// PromptWith is Prompt for a whole request; the session id is filled in.
func (s *Session) PromptWith(ctx context.Context, req PromptRequest) *Turn {
	req.SessionID = s.id
	for _, b := range req.Prompt {
		if gate := PromptGate(b); gate != "" && !s.agent.Can(gate) {
			return failed[PromptResponse](&CapabilityError{Method: MethodSessionPrompt, Capability: gate})
		}
	}
	t := newStream[PromptResponse](s)
	t.begin(ctx, func(ctx context.Context, how *jsonrpc.Call) (PromptResponse, error) {
		r, err := askAgent[PromptResponse](ctx, s.agent, MethodSessionPrompt, &req, how)
		if e, ok := errors.AsType[*RequestError](err); ok && e.Code == CodeRequestCancelled && t.isCancelled() {
			return PromptResponse{StopReason: StopCancelled}, nil
		}
		return r, err
	})
	return t
}

// Cancel cancels what the session is doing, also if this connection did not start it
// (session/cancel). It does not wait.
func (s *Session) Cancel() error { return s.cancelNow() }

// cancelNow sends session/cancel and takes the session's open questions back.
func (s *Session) cancelNow() error {
	err := s.agent.conn.NotifyNow(MethodSessionCancel, message{&s.agent.codec, &CancelNotification{SessionID: s.id}})
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := range s.pending {
		q.cancel(ErrSessionCancelled)
	}
	return err
}

// asked registers a question. It is taken back at once if the turn is cancelled already.
func (s *Session) asked(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.pending = make(map[*question]struct{})
	}
	s.pending[q] = struct{}{}
	if s.stream != nil && s.stream.isCancelled() {
		q.cancel(ErrSessionCancelled)
	}
}

func (s *Session) answered(q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, q)
}

// SetMode changes the session's mode (session/set_mode).
func (s *Session) SetMode(ctx context.Context, mode SessionModeID) error {
	_, err := askAgent[SetSessionModeResponse](ctx, s.agent, MethodSessionSetMode, &SetSessionModeRequest{SessionID: s.id, ModeID: mode}, s.agent.onSession(s.id))
	if err == nil {
		s.apply(CurrentModeUpdate{CurrentModeID: mode})
	}
	return err
}

// SetConfigOption changes a configuration option (session/set_config_option) and returns
// the complete list of options.
func (s *Session) SetConfigOption(ctx context.Context, id SessionConfigID, value SessionConfigOptionValue) ([]SessionConfigOption, error) {
	r, err := askAgent[SetSessionConfigOptionResponse](ctx, s.agent, MethodSessionSetConfigOption,
		&SetSessionConfigOptionRequest{SessionID: s.id, ConfigID: id, Value: value}, s.agent.onSession(s.id))
	if err != nil {
		return nil, err
	}
	s.apply(ConfigOptionUpdate{ConfigOptions: r.ConfigOptions})
	return r.ConfigOptions, nil
}

// Close ends the session in the agent (session/close). A session that the agent does not
// know counts as closed.
func (s *Session) Close(ctx context.Context) error {
	_, err := askAgent[CloseSessionResponse](ctx, s.agent, MethodSessionClose, &CloseSessionRequest{SessionID: s.id}, s.agent.onSession(s.id))
	if errors.Is(err, &RequestError{Code: CodeResourceNotFound}) {
		err = nil
	}
	if err == nil {
		s.agent.forget(s.id)
	}
	return err
}

// known returns the session, made if need be.
func (a *RemoteAgent) known(id SessionID) *Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	if s == nil {
		s = &Session{agent: a, id: id}
		a.sessions[id] = s
		a.settle()
	}
	return s
}

func (a *RemoteAgent) forget(id SessionID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, id)
}

// settle wakes those who wait for a session to become known.
func (a *RemoteAgent) settle() {
	close(a.settled)
	a.settled = make(chan struct{})
}

// Session returns the handle of a session that this connection has made, loaded or
// resumed, nil if there is none.
func (a *RemoteAgent) Session(id SessionID) *Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// setup makes a call whose answer may name a new session: until it ends, updates of
// unknown sessions wait.
func (a *RemoteAgent) setup() (how *jsonrpc.Call, done func()) {
	a.mu.Lock()
	a.setups++
	a.mu.Unlock()
	how = &jsonrpc.Call{OnResult: func(result jsontext.Value) {
		// On the reader: the session is known before the next message is looked at.
		if id := sessionOf(result); len(id) > 0 {
			a.known(SessionID(id))
		}
	}}
	return how, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.setups--
		a.settle()
	}
}

// find returns the session of an update, waiting for it while it may still become known.
func (a *RemoteAgent) find(ctx context.Context, id SessionID) *Session {
	for {
		a.mu.Lock()
		s, setups, settled := a.sessions[id], a.setups, a.settled
		a.mu.Unlock()
		if s != nil || setups == 0 {
			return s
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return nil
		}
	}
}

// NewSession starts a session (session/new).
func (a *RemoteAgent) NewSession(ctx context.Context, req NewSessionRequest) (*Session, error) {
	if err := a.gateSetup(MethodSessionNew, req.AdditionalDirectories, req.MCPServers); err != nil {
		return nil, err
	}
	how, done := a.setup()
	defer done()
	r, err := askAgent[NewSessionResponse](ctx, a, MethodSessionNew, &req, how)
	if err != nil {
		return nil, err
	}
	s := a.known(r.SessionID)
	s.setUp(r.Modes, r.ConfigOptions)
	return s, nil
}

// UnstableForkSession starts a session with the context of another (session/fork).
func (a *RemoteAgent) UnstableForkSession(ctx context.Context, req UnstableForkSessionRequest) (*Session, error) {
	how, done := a.setup()
	defer done()
	r, err := askAgent[UnstableForkSessionResponse](ctx, a, MethodUnstableSessionFork, &req, how)
	if err != nil {
		return nil, err
	}
	s := a.known(r.SessionID)
	s.setUp(r.Modes, r.ConfigOptions)
	return s, nil
}

// LoadSession opens a session again (session/load). The conversation is replayed as the
// updates of the result.
func (a *RemoteAgent) LoadSession(ctx context.Context, req LoadSessionRequest) *Load {
	if err := errors.Join(a.gate(MethodSessionLoad), a.gateSetup(MethodSessionLoad, req.AdditionalDirectories, req.MCPServers)); err != nil {
		return failed[*Session](err)
	}
	before := a.Session(req.SessionID)
	s := a.known(req.SessionID)
	t := newStream[*Session](s)
	t.begin(ctx, func(ctx context.Context, how *jsonrpc.Call) (*Session, error) {
		r, err := askAgent[LoadSessionResponse](ctx, a, MethodSessionLoad, &req, how)
		if err != nil {
			if before == nil {
				a.forget(req.SessionID)
			}
			return nil, err
		}
		s.setUp(r.Modes, r.ConfigOptions)
		return s, nil
	})
	return t
}

// ResumeSession opens a session again without a replay (session/resume).
func (a *RemoteAgent) ResumeSession(ctx context.Context, req ResumeSessionRequest) (*Session, error) {
	if err := a.gateSetup(MethodSessionResume, req.AdditionalDirectories, req.MCPServers); err != nil {
		return nil, err
	}
	how, done := a.setup()
	defer done()
	how.OnResult = func(jsontext.Value) { a.known(req.SessionID) }
	r, err := askAgent[ResumeSessionResponse](ctx, a, MethodSessionResume, &req, how)
	if err != nil {
		return nil, err
	}
	s := a.known(req.SessionID)
	s.setUp(r.Modes, r.ConfigOptions)
	return s, nil
}

// gateSetup checks what the params of a session's start ask for.
func (a *RemoteAgent) gateSetup(method string, dirs []string, servers []MCPServer) error {
	if gate := "agentCapabilities.sessionCapabilities.additionalDirectories"; len(dirs) > 0 && !a.Can(gate) {
		return &CapabilityError{Method: method, Capability: gate}
	}
	for _, m := range servers {
		if gate := MCPServerGate(m); gate != "" && !a.Can(gate) {
			return &CapabilityError{Method: method, Capability: gate}
		}
	}
	return nil
}
