package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// AgentOptions are the options of the agent's side. The zero value is ready to use.
type AgentOptions struct {
	Options

	// Info names the agent to the client; nil takes the program's module name and
	// version.
	Info *Implementation

	// Capabilities may narrow or add detail to what is advertised, for example the kinds
	// of content that a prompt may have. Advertising a method that is not implemented is
	// an error of Serve.
	Capabilities func(*AgentCapabilities)

	// AuthMethods are offered to the client; those of a terminal only to a client that
	// has one.
	AuthMethods []AuthMethod

	// Extensions handles methods that the protocol does not define, by name; the names
	// begin with "_".
	Extensions map[string]Extension
}

// Serve answers one client on t with the agent until the client disconnects, ctx ends or
// the connection breaks, and then waits, at most about four seconds, for handlers. It
// returns nil after an orderly end. It fails at once if the options do not fit the agent,
// or if a method has an optional one's name with another signature; [Check] finds more. opts
// may be nil.
func Serve(ctx context.Context, t Transport, agent Agent, opts *AgentOptions) error {
	client, err := Accept(ctx, t, agent, opts)
	if err != nil {
		return err
	}
	return client.Wait()
}

// Accept is Serve without the waiting: it returns the client's handle at once. The
// connection ends with ctx.
func Accept(ctx context.Context, t Transport, agent Agent, opts *AgentOptions) (*Client, error) {
	if opts == nil {
		opts = &AgentOptions{}
	}
	s := &agentSide{
		agent:  agent,
		opts:   opts,
		routes: make(map[string]route[Agent]),
		turns:  make(map[SessionID]map[*turnContext]struct{}),
		last:   make(map[SessionID]*turnContext),
	}
	s.caps = offer(agent, opts.Unstable)
	if opts.Capabilities != nil {
		opts.Capabilities(&s.caps)
	}
	if err := checkOffer(agent, &s.caps, opts.AuthMethods, opts.Unstable); err != nil {
		return nil, fmt.Errorf("serve agent: %w", err)
	}
	if err := errors.Join(checkExtensions(opts.Extensions), errors.Join(signatureProblems(agent)...)); err != nil {
		return nil, fmt.Errorf("serve agent: %w", err)
	}
	for _, r := range agentRoutes() {
		if m, _ := LookupMethod(r.name, false); r.can(agent) && (!m.Unstable || opts.Unstable) {
			s.routes[r.name] = r
		}
	}
	s.client = &Client{link: newLink(&opts.Options), side: s}
	s.client.conn = jsonrpc.New(t, s, opts.wire())
	s.client.conn.Start(context.WithValue(ctx, clientKey{}, s.client))
	return s.client, nil
}

// clientKey is the context key of the *Client.
type clientKey struct{}

// requestKey is the context key of the *requestScope.
type requestKey struct{}

// ClientFrom returns the client that a handler's context belongs to. It panics if ctx is
// not derived from a handler's context.
func ClientFrom(ctx context.Context) *Client {
	c, ok := ctx.Value(clientKey{}).(*Client)
	if !ok {
		panic("acp: ClientFrom needs the context of a handler")
	}
	return c
}

// AfterResponse arranges that f runs once the answer of the request that ctx belongs to
// is queued for writing, so that what f sends arrives after it: commands, modes and info
// after session/new. f does not run if the answer is an error. It runs in the handler's
// goroutine, and its context ends with the connection. Call it before the handler
// returns. It panics if ctx is not that of a request handler.
func AfterResponse(ctx context.Context, f func(ctx context.Context)) {
	scope, ok := ctx.Value(requestKey{}).(*requestScope)
	if !ok {
		panic("acp: AfterResponse needs the context of a request handler")
	}
	scope.request.After(f)
}

// RequestIDFrom returns the id of the request that a handler's context belongs to, for an
// elicitation that belongs to the request and not to a session. It panics if ctx is not
// that of a request handler.
func RequestIDFrom(ctx context.Context) RequestID {
	scope, ok := ctx.Value(requestKey{}).(*requestScope)
	if !ok {
		panic("acp: RequestIDFrom needs the context of a request handler")
	}
	if id := scope.request.ID; !id.IsNull() {
		return RequestID{id.String()}
	}
	return RequestID{}
}

// requestScope is what belongs to one request that is being handled.
type requestScope struct {
	request *jsonrpc.Request

	mu    sync.Mutex
	tools []*ToolCallTracker // not ended yet

	traced sync.Once
	sent   Trace // set by traced
}

// turnContext lets session/cancel reach a prompt.
type turnContext struct {
	cancel   context.CancelCauseFunc
	before   <-chan struct{} // the next of the session's prompt before this one; nil if there is none
	next     chan struct{}   // closed when the session's next prompt may be handled
	allow    sync.Once       // closes next
	answered chan struct{}   // closed when the prompt's answer is queued
}

// AllowNextPrompt lets the session's next prompt be handled while this one still is. By default the prompts of a
// session wait for each other, in the order received. An agent that queues prompts by itself, or takes them into the turn
// that is running, calls this in its Prompt once the prompt has its place. session/cancel reaches all of them. It panics if
// ctx is not that of a prompt's handler.
func AllowNextPrompt(ctx context.Context) {
	scope, ok := ctx.Value(requestKey{}).(*requestScope)
	if !ok || scope.request.Method != MethodSessionPrompt {
		panic("acp: AllowNextPrompt needs the context of a prompt's handler")
	}
	scope.request.Value.(*turnContext).allowNext()
}

func (t *turnContext) allowNext() { t.allow.Do(func() { close(t.next) }) }

// agentSide is the upper layer of the agent's connection.
type agentSide struct {
	agent  Agent
	opts   *AgentOptions
	routes map[string]route[Agent]
	caps   AgentCapabilities
	client *Client

	mu     sync.Mutex
	hello  chan struct{} // the first initialize has been received; closed when it is answered
	spoken bool          // an initialize has succeeded
	turns  map[SessionID]map[*turnContext]struct{}
	last   map[SessionID]*turnContext // the newest of turns
}

// Key implements jsonrpc.Handler.
func (s *agentSide) Key(method string, params jsontext.Value) []byte {
	id := sessionOf(params)
	if method == MethodSessionCancel {
		return append([]byte("cancel "), id...) // not behind the session's other notifications
	}
	return id
}

// Begin implements jsonrpc.Handler.
func (s *agentSide) Begin(ctx context.Context, r *jsonrpc.Request) context.Context {
	scope := &requestScope{request: r}
	ctx = context.WithValue(ctx, requestKey{}, scope)
	switch r.Method {
	case MethodInitialize:
		s.mu.Lock()
		if s.hello == nil {
			s.hello = make(chan struct{})
		}
		s.mu.Unlock()
	case MethodSessionNew, MethodUnstableSessionFork:
		r.Hold()
	case MethodSessionLoad, MethodSessionResume:
		id := string(sessionOf(r.Params))
		fresh := s.client.conn.OpenKey(id)
		r.Done(func(failed bool) {
			if failed && fresh {
				s.client.conn.CloseKey(id)
			}
		})
	case MethodSessionPrompt:
		id := SessionID(sessionOf(r.Params))
		fresh := s.client.conn.OpenKey(string(id)) // of another connection, for this turn
		ctx, cancel := context.WithCancelCause(ctx)
		turn := &turnContext{cancel: cancel, next: make(chan struct{}), answered: make(chan struct{})}
		r.Value = turn
		r.Done(func(bool) {
			s.endTurn(id, turn)
			if fresh {
				s.client.conn.CloseKey(string(id))
			}
		})
		s.mu.Lock()
		if s.turns[id] == nil {
			s.turns[id] = make(map[*turnContext]struct{})
		}
		if last := s.last[id]; last != nil {
			turn.before = last.next
		}
		s.turns[id][turn], s.last[id] = struct{}{}, turn
		s.mu.Unlock()
		return ctx
	}
	return ctx
}

// endTurn forgets a prompt.
func (s *agentSide) endTurn(id SessionID, turn *turnContext) {
	turn.cancel(nil)
	close(turn.answered)
	select {
	case <-turn.before:
		turn.allowNext()
	default:
		if turn.before == nil {
			turn.allowNext()
			break
		}
		go func() { // it was given up while it waited: those behind it wait on, at most until the connection ends
			<-turn.before
			turn.allowNext()
		}()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns[id], turn)
	if len(s.turns[id]) == 0 {
		delete(s.turns, id)
		delete(s.last, id)
	}
}

// cancelSession ends the prompts of a session and the calls to the client that wait for it.
func (s *agentSide) cancelSession(id SessionID) {
	s.mu.Lock()
	for turn := range s.turns[id] {
		turn.cancel(ErrSessionCancelled)
	}
	s.mu.Unlock()
	s.client.unblock(id)
}

// settle waits until the prompts of a session, which have been cancelled, are answered.
func (s *agentSide) settle(ctx context.Context, id SessionID) {
	s.mu.Lock()
	var open []*turnContext
	for turn := range s.turns[id] {
		open = append(open, turn)
	}
	s.mu.Unlock()
	for _, turn := range open {
		select {
		case <-turn.answered:
		case <-ctx.Done():
			return
		}
	}
}

// ready waits for the handshake.
func (s *agentSide) ready(ctx context.Context) error {
	s.mu.Lock()
	hello := s.hello
	s.mu.Unlock()
	if hello != nil {
		select {
		case <-hello:
		case <-ctx.Done(): // not when the peer has stopped sending: it may still read
			select {
			case <-hello: // a request that has been cancelled is still a request
			default:
				return context.Cause(ctx)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.spoken {
		return InvalidRequest("initialize must come first")
	}
	return nil
}

// Request implements jsonrpc.Handler.
func (s *agentSide) Request(ctx context.Context, r *jsonrpc.Request) (any, error) {
	l := &s.client.link
	if r.Method == MethodInitialize {
		resp, err := s.initialize(ctx, r.Params)
		return l.answer(ctx, &resp, err)
	}
	turn, _ := r.Value.(*turnContext)
	session := SessionID(sessionOf(r.Params))
	if err := s.ready(ctx); err != nil {
		if turn != nil && isCancelled(ctx) {
			return l.answer(ctx, &PromptResponse{StopReason: StopCancelled}, nil)
		}
		return nil, toWire(ctx, err, nil)
	}
	if strings.HasPrefix(r.Method, "_") {
		return l.extension(ctx, s.opts.Extensions, r.Method, r.Params)
	}
	route, ok := s.routes[r.Method]
	if ok {
		m, _ := LookupMethod(r.Method, false)
		ok = m.Gate == "" || HasCapability(m.Gate, nil, &s.caps)
	}
	if !ok {
		return nil, toWire(ctx, MethodNotFound(r.Method), nil)
	}
	if r.Method == MethodSessionClose {
		s.cancelSession(session)
		s.settle(ctx, session)
	}
	if turn != nil && turn.before != nil {
		select {
		case <-turn.before:
		case <-ctx.Done():
		}
		s.mu.Lock() // a cancel of the session reaches all of its prompts, also when the one before has ended by it already
		err := context.Cause(ctx)
		s.mu.Unlock()
		switch {
		case errors.Is(err, ErrSessionCancelled):
			return l.answer(ctx, &PromptResponse{StopReason: StopCancelled}, nil)
		case err != nil:
			return nil, toWire(ctx, err, nil)
		}
	}
	m, err := route.call(ctx, l, s.agent, r.Params)
	s.endScope(ctx)
	if turn != nil && isCancelled(ctx) && err != nil {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, ErrSessionCancelled) {
			l.log.Warn("prompt failed while it was being cancelled", "error", err)
		}
		m, err = &PromptResponse{StopReason: StopCancelled}, nil
	}
	if err == nil {
		s.client.fit(m)
		s.announce(r, session, m)
	}
	return l.answer(ctx, m, err)
}

// announce says which sessions the client knows of by this answer.
func (s *agentSide) announce(r *jsonrpc.Request, session SessionID, m Message) {
	switch m := m.(type) {
	case *NewSessionResponse:
		r.Open(string(m.SessionID))
	case *UnstableForkSessionResponse:
		r.Open(string(m.SessionID))
	case *CloseSessionResponse, *DeleteSessionResponse:
		r.After(func(context.Context) { s.client.conn.CloseKey(string(session)) })
	}
}

// endScope closes what a handler has left open.
func (s *agentSide) endScope(ctx context.Context) {
	scope := ctx.Value(requestKey{}).(*requestScope)
	scope.mu.Lock()
	tools := scope.tools
	scope.tools = nil
	scope.mu.Unlock()
	for _, t := range tools {
		t.forgotten(ctx)
	}
}

// Urgent implements jsonrpc.Handler.
func (s *agentSide) Urgent(method string, params jsontext.Value) bool {
	if method != MethodSessionCancel {
		return false
	}
	s.cancelSession(SessionID(sessionOf(params)))
	_, ok := s.agent.(SessionCanceller)
	return !ok
}

// Notification implements jsonrpc.Handler.
func (s *agentSide) Notification(ctx context.Context, method string, params jsontext.Value) {
	l := &s.client.link
	switch {
	case method == MethodSessionCancel:
		n, err := decode[CancelNotification](l, params)
		if err != nil {
			l.log.Warn("notification not understood", "method", method, "error", err)
			return
		}
		s.agent.(SessionCanceller).CancelSession(ctx, n)
	case method == MethodUnstableMCPMessage && s.opts.Unstable:
		if h, ok := s.agent.(UnstableMCPReceiver); ok {
			n, err := decode[UnstableMessageMCPNotification](l, params)
			if err != nil {
				l.log.Warn("notification not understood", "method", method, "error", err)
				return
			}
			h.UnstableMCPNotification(ctx, n)
		}
	default:
		l.extensionNotified(ctx, s.opts.Extensions, method, params)
	}
}

// programInfo names the running program.
func programInfo() *Implementation {
	info := Implementation{Name: "unknown", Version: "unknown"}
	if b, ok := debug.ReadBuildInfo(); ok {
		if b.Path != "" {
			info.Name = path.Base(b.Path)
		}
		if b.Main.Version != "" {
			info.Version = b.Main.Version
		}
	}
	return &info
}

// ended is what Wait returns for a connection's end. A peer that hangs up in order may be
// noticed by a write first.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, jsonrpc.ErrLocalClose) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
