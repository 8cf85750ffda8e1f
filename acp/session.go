package acp

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// A Session is the client's handle on a session. Its methods may be called concurrently.
type Session struct {
	agent *RemoteAgent
	id    SessionID
	state StateBuilder

	mu      sync.Mutex
	stream  active // the turn or load in progress
	pending map[*question]struct{}
}

// A question is a request of the agent that a cancelled turn takes back.
type question struct{ cancel context.CancelCauseFunc }

// ID returns the session's id.
func (s *Session) ID() SessionID { return s.id }

// State returns what the session is like now: the conversation, tool calls, plan, modes,
// options, commands and whatever else was told, all of it with the updates that have been
// received and whose turn it is to be handled. It includes an update before the loop over
// a turn's updates or ClientOptions.Updates sees it.
func (s *Session) State() *SessionState { return s.state.State() }

// Changes iterates over what changes in the session, see [StateBuilder.Changes]. It ends
// with ctx, when the session is closed or deleted, and when the connection has ended and
// everything that was received before is part of the state.
func (s *Session) Changes(ctx context.Context) iter.Seq2[Change, *SessionState] {
	return s.state.changes(ctx, s.agent.conn.Done(), func() <-chan struct{} { return s.agent.conn.Handled(string(s.id)) })
}

// sessionSetup is what every answer that opens a session may say of it.
type sessionSetup = LoadSessionResponse

// early reads the answer to a call before its caller does; ok is false if it cannot be
// read, which the caller then finds out.
func early[R any, PR pointer[R]](l *link, result jsontext.Value) (r R, ok bool) {
	if result == nil {
		return r, false
	}
	quiet := l.codec
	quiet.OnLenient = nil // told when the caller reads it
	ok = quiet.Unmarshal(result, PR(&r)) == nil
	return r, ok
}

// inOrder makes a call hand its result to f when its turn among the notifications comes:
// after those received before it, unless it is direct, and before those after it. The
// answer that is an error calls none, if that is not nil.
func inOrder[R any, PR pointer[R]](s *Session, how *jsonrpc.Call, f func(R), none func()) *jsonrpc.Call {
	var result jsontext.Value
	how.OnResult = func(r jsontext.Value) { result = r }
	then := how.OnDeliver
	how.OnDeliver = func() {
		if r, ok := early[R, PR](&s.agent.link, result); ok {
			f(r)
		} else if none != nil {
			none()
		}
		if then != nil {
			then()
		}
	}
	return how
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
	s.state.Apply(n.Update)
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
	if err := context.Cause(ctx); err != nil {
		return failed[PromptResponse](&CallError{Method: MethodSessionPrompt, Err: err})
	}
	for _, b := range req.Prompt {
		if gate := promptGate(b); gate != "" && !s.agent.Can(gate) {
			return failed[PromptResponse](&CapabilityError{Method: MethodSessionPrompt, Capability: gate})
		}
	}
	t := newStream[PromptResponse](s)
	t.begin(ctx, func(ctx context.Context, how *jsonrpc.Call) (PromptResponse, error) {
		n := s.state.BeginTurn(req.Prompt...)
		how = inOrder(s, how, func(r PromptResponse) { s.state.EndTurn(n, r, nil) }, func() { s.state.answered(n) })
		r, err := askAgent[PromptResponse](ctx, s.agent, MethodSessionPrompt, &req, how)
		if e, ok := errors.AsType[*RequestError](err); ok && e.Code == CodeRequestCancelled && t.isCancelled() {
			r, err = PromptResponse{StopReason: StopCancelled}, nil
		}
		s.state.EndTurn(n, r, err)
		return r, err
	})
	return t
}

// Cancel cancels what the session is doing, also if this connection did not start it
// (session/cancel). It does not wait.
func (s *Session) Cancel() error { return s.cancelNow() }

// cancelNow sends session/cancel and takes the session's open questions back.
func (s *Session) cancelNow() error {
	s.state.Cancel()
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
	how := inOrder(s, s.agent.onSession(s.id), func(SetSessionModeResponse) {
		s.state.Apply(CurrentModeUpdate{CurrentModeID: mode})
	}, nil)
	_, err := askAgent[SetSessionModeResponse](ctx, s.agent, MethodSessionSetMode, &SetSessionModeRequest{SessionID: s.id, ModeID: mode}, how)
	return err
}

// SetConfigOption changes a configuration option (session/set_config_option) and returns
// the complete list of options.
func (s *Session) SetConfigOption(ctx context.Context, id SessionConfigID, value SessionConfigOptionValue) ([]SessionConfigOption, error) {
	how := inOrder(s, s.agent.onSession(s.id), func(r SetSessionConfigOptionResponse) {
		s.state.Apply(ConfigOptionUpdate{ConfigOptions: r.ConfigOptions})
	}, nil)
	r, err := askAgent[SetSessionConfigOptionResponse](ctx, s.agent, MethodSessionSetConfigOption,
		&SetSessionConfigOptionRequest{SessionID: s.id, ConfigID: id, Value: value}, how)
	return r.ConfigOptions, err
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
	if s := a.sessions[id]; s != nil {
		s.state.Close()
		delete(a.sessions, id)
	}
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
			a.opened(SessionID(id), result)
		}
	}}
	return how, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.setups--
		a.settle()
	}
}

// opened takes in the answer that opens a session.
func (a *RemoteAgent) opened(id SessionID, result jsontext.Value) {
	s := a.known(id)
	if r, ok := early[sessionSetup](&a.link, result); ok {
		s.state.Setup(r.Modes, r.ConfigOptions)
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
	if err := a.gateSetup(MethodSessionNew, req.AdditionalDirectories, req.MCPServers, req.UnstableSystemPrompt); err != nil {
		return nil, err
	}
	how, done := a.setup()
	defer done()
	r, err := askAgent[NewSessionResponse](ctx, a, MethodSessionNew, &req, how)
	if err != nil {
		return nil, err
	}
	return a.known(r.SessionID), nil
}

// UnstableForkSession starts a session with the context of another (session/fork).
func (a *RemoteAgent) UnstableForkSession(ctx context.Context, req UnstableForkSessionRequest) (*Session, error) {
	if err := a.gateSetup(MethodUnstableSessionFork, req.AdditionalDirectories, req.MCPServers, req.SystemPrompt); err != nil {
		return nil, err
	}
	how, done := a.setup()
	defer done()
	r, err := askAgent[UnstableForkSessionResponse](ctx, a, MethodUnstableSessionFork, &req, how)
	if err != nil {
		return nil, err
	}
	return a.known(r.SessionID), nil
}

// LoadSession opens a session again (session/load). The conversation is replayed as the
// updates of the result. The state of a session that was known is made anew from them; if
// the call fails it stays what it was.
func (a *RemoteAgent) LoadSession(ctx context.Context, req LoadSessionRequest) *Load {
	if err := errors.Join(a.gate(MethodSessionLoad), a.gateSetup(MethodSessionLoad, req.AdditionalDirectories, req.MCPServers, req.UnstableSystemPrompt)); err != nil {
		return failed[*Session](err)
	}
	before := a.Session(req.SessionID)
	s := a.known(req.SessionID)
	t := newStream[*Session](s)
	t.begin(ctx, func(ctx context.Context, how *jsonrpc.Call) (*Session, error) {
		undo := s.state.beginLoad()
		how = inOrder(s, how, func(r sessionSetup) { s.state.endLoad(r.Modes, r.ConfigOptions) }, nil)
		if _, err := askAgent[LoadSessionResponse](ctx, a, MethodSessionLoad, &req, how); err != nil {
			undo()
			if before == nil {
				a.forget(req.SessionID)
			}
			return nil, err
		}
		return s, nil
	})
	return t
}

// ResumeSession opens a session again without a replay (session/resume).
func (a *RemoteAgent) ResumeSession(ctx context.Context, req ResumeSessionRequest) (*Session, error) {
	if err := a.gateSetup(MethodSessionResume, req.AdditionalDirectories, req.MCPServers, req.UnstableSystemPrompt); err != nil {
		return nil, err
	}
	how, done := a.setup()
	defer done()
	how.OnResult = func(result jsontext.Value) { a.opened(req.SessionID, result) }
	if _, err := askAgent[ResumeSessionResponse](ctx, a, MethodSessionResume, &req, how); err != nil {
		return nil, err
	}
	return a.known(req.SessionID), nil
}

// gateSetup checks what the params of a session's start ask for.
func (a *RemoteAgent) gateSetup(method string, dirs []string, servers []MCPServer, system *UnstableSystemPrompt) error {
	if system != nil {
		gate := "agentCapabilities.sessionCapabilities.systemPrompt"
		if system.Mode == UnstableSystemPromptModeOverride {
			gate += ".mode.override"
		}
		if !a.opts.Unstable || !a.Can(gate) {
			return &CapabilityError{Method: method, Capability: gate}
		}
	}
	if gate := "agentCapabilities.sessionCapabilities.additionalDirectories"; len(dirs) > 0 && !a.Can(gate) {
		return &CapabilityError{Method: method, Capability: gate}
	}
	for _, m := range servers {
		if gate := mcpServerGate(m); gate != "" && !a.Can(gate) {
			return &CapabilityError{Method: method, Capability: gate}
		}
	}
	return nil
}
