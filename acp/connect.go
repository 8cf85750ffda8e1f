package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
	"github.com/wherry-acp/wherry/acp/process"
)

// Defaults of ClientOptions.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCancelGrace  = 10 * time.Second
)

// ClientOptions hold what the client can do, one field a capability: a nil field is not
// offered to the agent. The zero value is ready to use.
//
// Handlers run concurrently, in their own goroutines, and may block. Their context ends
// when the agent cancels the request, or when the connection ends; that of a permission request or
// an elicitation also when the session's turn is cancelled (cause [ErrSessionCancelled]).
type ClientOptions struct {
	Options

	// Info names the client to the agent; nil takes the program's module name and version.
	Info *Implementation

	// Permission answers the agent's questions; nil refuses.
	Permission PermissionHandler

	// Files reads files for the agent; it also writes them if it is a FileWriter.
	Files FileReader

	// Terminals runs commands for the agent.
	Terminals TerminalHandler

	// Elicitation asks the user for input by forms; it also offers URLs if it is an
	// ElicitationCompleter.
	Elicitation ElicitationHandler

	// Updates gets the session updates that belong to no running turn or load, and those of
	// a turn or load whose result is waited for without reading its updates, in order for
	// each session. A slow one slows its session only. What it asks of the agent it
	// must ask with its own context, or it would wait for itself.
	Updates func(ctx context.Context, n SessionNotification)

	// UnstableAuthStatus gets auth/status_update notifications.
	UnstableAuthStatus func(ctx context.Context, n UnstableAuthStatusUpdateNotification)

	// UnstableMCP answers mcp/message requests for MCP servers that the client hosts.
	UnstableMCP func(ctx context.Context, req UnstableMessageMCPRequest) (UnstableMessageMCPResponse, error)

	// Capabilities may add detail to what is offered, for example notices or a terminal
	// for authentication. Offering a method without its handler is an error of Connect.
	Capabilities func(*ClientCapabilities)

	// Extensions handles methods that the protocol does not define, by name; the names
	// begin with "_".
	Extensions map[string]Extension

	// StartTimeout bounds the handshake, for Spawn with the start of the process; 0 means
	// 30 seconds.
	StartTimeout time.Duration

	// Process says how Spawn's process is watched and ended.
	Process process.Options

	// CancelGrace bounds the wait for the result of a turn that was cancelled; 0 means 10
	// seconds.
	CancelGrace time.Duration
}

// A PermissionHandler answers session/request_permission.
type PermissionHandler interface {
	RequestPermission(ctx context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error)
}

// PermissionFunc is a PermissionHandler that is a function.
type PermissionFunc func(ctx context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error)

// RequestPermission calls f.
func (f PermissionFunc) RequestPermission(ctx context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
	return f(ctx, req)
}

// A FileReader handles fs/read_text_file.
type FileReader interface {
	ReadTextFile(ctx context.Context, req ReadTextFileRequest) (ReadTextFileResponse, error)
}

// A FileWriter handles fs/write_text_file.
type FileWriter interface {
	WriteTextFile(ctx context.Context, req WriteTextFileRequest) (WriteTextFileResponse, error)
}

// A TerminalHandler handles the terminal methods.
type TerminalHandler interface {
	CreateTerminal(ctx context.Context, req CreateTerminalRequest) (CreateTerminalResponse, error)
	TerminalOutput(ctx context.Context, req TerminalOutputRequest) (TerminalOutputResponse, error)
	WaitForTerminalExit(ctx context.Context, req WaitForTerminalExitRequest) (WaitForTerminalExitResponse, error)
	KillTerminal(ctx context.Context, req KillTerminalRequest) (KillTerminalResponse, error)
	ReleaseTerminal(ctx context.Context, req ReleaseTerminalRequest) (ReleaseTerminalResponse, error)
}

// An ElicitationHandler handles elicitation/create.
type ElicitationHandler interface {
	CreateElicitation(ctx context.Context, req CreateElicitationRequest) (CreateElicitationResponse, error)
}

// An ElicitationCompleter is told when an elicitation by URL is done
// (elicitation/complete).
type ElicitationCompleter interface {
	CompleteElicitation(ctx context.Context, n CompleteElicitationNotification)
}

// A RemoteAgent is the client's handle on an agent. Its methods may be called
// concurrently; each call is bounded by its context. What the agent did not advertise is
// refused with a *CapabilityError before anything is sent.
type RemoteAgent struct {
	link
	opts    *ClientOptions
	caps    ClientCapabilities // offered
	handler *clientHandler
	routes  map[string]route[*clientHandler]
	hello   atomic.Pointer[InitializeResponse] // the agent's answer; empty before it
	values  context.Context                    // what every handler's context has; does not end
	onClose func() error                       // ends the process, if there is one
	explain func(error) error                  // adds how the process ended, if there is one

	mu       sync.Mutex
	sessions map[SessionID]*Session
	setups   int           // calls in flight whose answer may name a new session
	settled  chan struct{} // closed and replaced when a setup ends or a session is known
}

// Connect shakes hands with the agent on t. The connection ends with ctx; the handshake is
// also bounded by StartTimeout. opts may be nil: nothing is offered then, and every permission
// is refused.
func Connect(ctx context.Context, t Transport, opts *ClientOptions) (*RemoteAgent, error) {
	return connect(ctx, t, opts, nil, nil)
}

func connect(ctx context.Context, t Transport, opts *ClientOptions, onClose func() error, explain func(error) error) (*RemoteAgent, error) {
	if opts == nil {
		opts = &ClientOptions{}
	}
	a := &RemoteAgent{
		link:     newLink(&opts.Options),
		opts:     opts,
		handler:  newClientHandler(opts),
		routes:   make(map[string]route[*clientHandler]),
		onClose:  onClose,
		explain:  explain,
		sessions: make(map[SessionID]*Session),
		settled:  make(chan struct{}),
	}
	if err := a.prepare(); err != nil {
		return nil, fmt.Errorf("connect to agent: %w", err)
	}
	a.hello.Store(&InitializeResponse{})
	a.conn = jsonrpc.New(t, clientWire{a}, opts.wire())
	ctx = context.WithValue(ctx, agentKey{}, a)
	a.values = context.WithoutCancel(ctx)
	a.conn.Start(ctx)
	start := opts.StartTimeout
	if start <= 0 {
		start = DefaultStartTimeout
	}
	hctx, cancel := context.WithTimeoutCause(ctx, start, fmt.Errorf("no answer within %v: %w", start, context.DeadlineExceeded))
	defer cancel()
	if err := a.initialize(hctx); err != nil {
		if a.explain != nil {
			err = a.explain(err) // before Close, which may end the process in its own way
		}
		_ = a.conn.Close()
		a.wait()
		return nil, fmt.Errorf("connect to agent: %w", err)
	}
	return a, nil
}

// agentKey is the context key of the *RemoteAgent.
type agentKey struct{}

// AgentFrom returns the agent whose request or update a client's handler has been given,
// and false if ctx is not derived from the context of a handler.
func AgentFrom(ctx context.Context) (*RemoteAgent, bool) {
	a, ok := ctx.Value(agentKey{}).(*RemoteAgent)
	return a, ok
}

// prepare works out what is offered and checks it.
func (a *RemoteAgent) prepare() error {
	if err := checkExtensions(a.opts.Extensions); err != nil {
		return err
	}
	h := a.handler
	c := &a.caps
	c.FS.ReadTextFile = h.FileReader != nil
	c.FS.WriteTextFile = h.FileWriter != nil
	c.Terminal = h.TerminalHandler != nil
	if h.ElicitationHandler != nil {
		c.Elicitation = &ElicitationCapabilities{Form: &ElicitationFormCapabilities{}}
		if _, ok := h.ElicitationHandler.(ElicitationCompleter); ok {
			c.Elicitation.URL = &ElicitationURLCapabilities{}
		}
	}
	if a.opts.Capabilities != nil {
		a.opts.Capabilities(c)
	}
	for _, r := range clientRoutes() {
		m, _ := LookupMethod(r.name, false)
		if strings.HasPrefix(m.Gate, "clientCapabilities.") && offers(m.Gate, c) && !r.can(h) {
			return fmt.Errorf("%s is offered, but nothing handles %s", m.Gate, m.Name)
		}
		if r.can(h) && (!m.Unstable || a.opts.Unstable) {
			a.routes[r.name] = r
		}
	}
	return nil
}

// offers is HasCapability for what a client offers; elicitation without a mode is none.
func offers(gate string, c *ClientCapabilities) bool {
	if gate == "clientCapabilities.elicitation" {
		return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL != nil)
	}
	return HasCapability(gate, c, nil)
}

func (a *RemoteAgent) initialize(ctx context.Context) error {
	info := a.opts.Info
	if info == nil {
		info = programInfo()
	}
	resp, err := call[InitializeResponse](ctx, &a.link, MethodInitialize,
		&InitializeRequest{ProtocolVersion: Version1, ClientCapabilities: a.caps, ClientInfo: info}, nil)
	if d, ok := errors.AsType[*DecodeError](err); ok && d.Path == "protocolVersion" {
		return fmt.Errorf("%w: this client speaks version %d: %w", ErrProtocolVersion, Version1, err)
	}
	if err != nil {
		return err
	}
	if resp.ProtocolVersion != Version1 {
		return fmt.Errorf("%w: the agent answers version %d, this client speaks version %d", ErrProtocolVersion, resp.ProtocolVersion, Version1)
	}
	a.hello.Store(&resp)
	return nil
}

// Capabilities returns what the agent advertised.
func (a *RemoteAgent) Capabilities() AgentCapabilities { return a.hello.Load().AgentCapabilities }

// Info returns the agent's name and version, nil if it did not say.
func (a *RemoteAgent) Info() *Implementation { return a.hello.Load().AgentInfo }

// AuthMethods returns the ways to authenticate that the agent offers.
func (a *RemoteAgent) AuthMethods() []AuthMethod { return a.hello.Load().AuthMethods }

// ProtocolVersion returns the version that the connection speaks.
func (a *RemoteAgent) ProtocolVersion() ProtocolVersion { return a.hello.Load().ProtocolVersion }

// Handshake returns the agent's whole answer to initialize.
func (a *RemoteAgent) Handshake() InitializeResponse { return *a.hello.Load() }

// Can reports whether the agent advertised the capability at path, for example
// "agentCapabilities.loadSession".
func (a *RemoteAgent) Can(path string) bool {
	return HasCapability(path, nil, &a.hello.Load().AgentCapabilities)
}

// Err returns nil until Done is closed, then an error that matches ErrConnectionClosed;
// if the agent's process has ended it is or wraps an *ExitError.
func (a *RemoteAgent) Err() error {
	err := a.conn.Err()
	if err != nil && a.explain != nil {
		return a.explain(err)
	}
	return err
}

// Wait waits until the connection has ended and then, bounded, for its handlers. It
// returns nil after an orderly end, and an *ExitError if the agent's process failed before
// the connection was closed by this side.
func (a *RemoteAgent) Wait() error {
	<-a.conn.Closed()
	a.wait()
	err := a.Err()
	if exit, ok := errors.AsType[*ExitError](err); ok && (exit.Code != 0 || exit.Signal != "") && !errors.Is(err, jsonrpc.ErrLocalClose) {
		return err
	}
	return ended(err)
}

// Close ends the connection, and the agent's process and all its descendants if Spawn
// started it. It does not wait for handlers, so they may call it; Wait does. It may be
// called more than once.
func (a *RemoteAgent) Close() error {
	err := a.conn.Close()
	if a.onClose != nil {
		err = errors.Join(err, a.onClose())
	}
	return err
}

func (a *RemoteAgent) gate(method string) error {
	m, _ := LookupMethod(method, false)
	if m.Unstable && !a.opts.Unstable {
		return &CapabilityError{Method: method, Capability: "Options.Unstable (this side)"}
	}
	if m.Gate != "" && !a.Can(m.Gate) {
		return &CapabilityError{Method: method, Capability: m.Gate}
	}
	return nil
}

// ask calls a method of the agent.
func askAgent[R any, PR pointer[R]](ctx context.Context, a *RemoteAgent, method string, params Message, how *jsonrpc.Call) (R, error) {
	if err := a.gate(method); err != nil {
		var none R
		return none, err
	}
	r, err := call[R, PR](ctx, &a.link, method, carry(ctx, params), how)
	if err != nil && a.explain != nil && errors.Is(err, ErrConnectionClosed) {
		err = a.explain(err)
	}
	return r, err
}

// onSession is the how of a call about a session: its answer waits for the updates
// before it, unless they wait for someone to read them.
func (a *RemoteAgent) onSession(id SessionID) *jsonrpc.Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil && s.busy() {
		return &jsonrpc.Call{Key: string(id), Direct: true}
	}
	return on(id)
}
