package acp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// A Client is the agent's handle on the client. Its methods may be called concurrently
// and from handlers; each call is bounded by its context. What the client did not offer
// in the handshake is refused with a *CapabilityError before anything is sent.
type Client struct {
	link
	side *agentSide

	mu      sync.Mutex
	met     bool
	version ProtocolVersion
	caps    ClientCapabilities
	info    *Implementation
	waiting map[SessionID]map[*waiter]struct{} // calls that wait for the client
}

type waiter struct{ cancel context.CancelCauseFunc }

// meet takes in what the client said of itself.
func (c *Client) meet(req InitializeRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met, c.version, c.caps, c.info = true, req.ProtocolVersion, req.ClientCapabilities, req.ClientInfo
}

// Capabilities returns what the client offered; nothing before the handshake.
func (c *Client) Capabilities() ClientCapabilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caps
}

// Info returns the client's name and version, nil if it did not say.
func (c *Client) Info() *Implementation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

// RequestedVersion returns the protocol version that the client asked for. The
// connection speaks version 1.
func (c *Client) RequestedVersion() ProtocolVersion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Can reports whether the client offers the capability at path, for example
// "clientCapabilities.terminal".
func (c *Client) Can(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return HasCapability(path, &c.caps, nil)
}

// Close ends the connection; see Serve for what becomes of handlers.
func (c *Client) Close() error { return c.conn.Close() }

// Wait waits until the connection has ended, and then, bounded, for its handlers. It
// returns nil after an orderly end.
func (c *Client) Wait() error {
	<-c.conn.Closed()
	c.wait()
	return ended(c.conn.Err())
}

func (c *Client) gate(method, path string) error {
	if path != "" && !c.Can(path) {
		return &CapabilityError{Method: method, Capability: path}
	}
	return nil
}

// unblock ends every call of the agent that waits for the client on the session:
// permissions, files, terminals, elicitations. Their error matches ErrSessionCancelled.
// session/cancel does this by itself.
func (c *Client) unblock(id SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.waiting[id] {
		w.cancel(ErrSessionCancelled)
	}
}

// waitFor makes ctx end with unblock. The returned function must be called.
func (c *Client) waitFor(ctx context.Context, id SessionID) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &waiter{cancel}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = make(map[SessionID]map[*waiter]struct{})
	}
	if c.waiting[id] == nil {
		c.waiting[id] = make(map[*waiter]struct{})
	}
	c.waiting[id][w] = struct{}{}
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting[id], w)
		if len(c.waiting[id]) == 0 {
			delete(c.waiting, id)
		}
	}
}

// ask calls a method of the client on behalf of a session.
func ask[R any, PR pointer[R]](ctx context.Context, c *Client, method, gate string, id SessionID, params Message) (R, error) {
	if err := c.gate(method, gate); err != nil {
		var none R
		return none, err
	}
	ctx, done := c.waitFor(ctx, id)
	defer done()
	return call[R, PR](ctx, &c.link, method, carry(ctx, params), on(id))
}

// Update sends a session update (session/update). It returns when the update is queued;
// updates arrive in the order of the calls. When ctx has ended nothing is sent: to tell
// how cancelled work ended, use context.WithoutCancel.
func (c *Client) Update(ctx context.Context, id SessionID, update SessionUpdate) error {
	return c.SessionUpdate(ctx, SessionNotification{SessionID: id, Update: update})
}

// fit leaves out of an answer the boolean options that the client does not understand.
func (c *Client) fit(m Message) {
	switch m := m.(type) {
	case *NewSessionResponse:
		m.ConfigOptions = c.options(m.ConfigOptions)
	case *LoadSessionResponse:
		m.ConfigOptions = c.options(m.ConfigOptions)
	case *ResumeSessionResponse:
		m.ConfigOptions = c.options(m.ConfigOptions)
	case *UnstableForkSessionResponse:
		m.ConfigOptions = c.options(m.ConfigOptions)
	case *SetSessionConfigOptionResponse:
		m.ConfigOptions = c.options(m.ConfigOptions)
	}
}

func (c *Client) options(all []SessionConfigOption) []SessionConfigOption {
	boolean := func(o SessionConfigOption) bool { _, is := o.Kind.(SessionConfigBoolean); return is }
	if !slices.ContainsFunc(all, boolean) || c.Can("clientCapabilities.session.configOptions.boolean") {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), boolean)
}

// SessionUpdate sends a session notification with its _meta; see Update.
func (c *Client) SessionUpdate(ctx context.Context, n SessionNotification) error {
	if gate := updateGate(n.Update); gate != "" {
		if err := c.gate(MethodSessionUpdate, gate); err != nil {
			return err
		}
	}
	if u, ok := n.Update.(ConfigOptionUpdate); ok {
		u.ConfigOptions = c.options(u.ConfigOptions)
		n.Update = u
	}
	return c.notifyUpdate(ctx, n)
}

// RequestPermission asks the user (session/request_permission). An answer of -32800
// counts as the outcome "cancelled". When the session is cancelled while it waits, the
// error matches ErrSessionCancelled. Only SelectedPermissionOutcome with an option that
// was offered may be taken as an approval.
func (c *Client) RequestPermission(ctx context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
	r, err := ask[RequestPermissionResponse](ctx, c, MethodSessionRequestPermission, "", req.SessionID, &req)
	if e, ok := errors.AsType[*RequestError](err); ok && e.Code == CodeRequestCancelled {
		return RequestPermissionResponse{Outcome: CancelledPermissionOutcome{}}, nil
	}
	return r, err
}

// ReadTextFile reads a file as the client sees it, with unsaved changes
// (fs/read_text_file).
func (c *Client) ReadTextFile(ctx context.Context, req ReadTextFileRequest) (ReadTextFileResponse, error) {
	return ask[ReadTextFileResponse](ctx, c, MethodFSReadTextFile, "clientCapabilities.fs.readTextFile", req.SessionID, &req)
}

// WriteTextFile writes a file through the client (fs/write_text_file).
func (c *Client) WriteTextFile(ctx context.Context, req WriteTextFileRequest) (WriteTextFileResponse, error) {
	return ask[WriteTextFileResponse](ctx, c, MethodFSWriteTextFile, "clientCapabilities.fs.writeTextFile", req.SessionID, &req)
}

// Elicit asks the user for structured input (elicitation/create). The client must have
// offered the mode.
func (c *Client) Elicit(ctx context.Context, req CreateElicitationRequest) (CreateElicitationResponse, error) {
	gate, scope := "clientCapabilities.elicitation.form", ElicitationScope(nil)
	switch m := req.Mode.(type) {
	case ElicitationFormMode:
		scope = m.Scope
	case ElicitationURLMode:
		gate, scope = "clientCapabilities.elicitation.url", m.Scope
	default: // encoding it fails, or it is a mode of a later version
	}
	var id SessionID
	if s, ok := scope.(ElicitationSessionScope); ok {
		id = s.SessionID
	}
	return ask[CreateElicitationResponse](ctx, c, MethodElicitationCreate, gate, id, &req)
}

// CompleteElicitation tells that an elicitation by URL is done (elicitation/complete).
func (c *Client) CompleteElicitation(ctx context.Context, n CompleteElicitationNotification) error {
	if err := c.gate(MethodElicitationComplete, "clientCapabilities.elicitation.url"); err != nil {
		return err
	}
	return c.notify(ctx, "", MethodElicitationComplete, &n)
}

// UnstableAuthStatusUpdate tells of a changed authentication state (auth/status_update).
func (c *Client) UnstableAuthStatusUpdate(ctx context.Context, n UnstableAuthStatusUpdateNotification) error {
	if !HasCapability("agentCapabilities.auth.status", nil, &c.side.caps) {
		return &CapabilityError{Method: MethodUnstableAuthStatusUpdate, Capability: "agentCapabilities.auth.status"}
	}
	return c.notify(ctx, "", MethodUnstableAuthStatusUpdate, &n)
}

// UnstableMCPMessage sends a request to an MCP server that the client hosts (mcp/message).
func (c *Client) UnstableMCPMessage(ctx context.Context, req UnstableMessageMCPRequest) (UnstableMessageMCPResponse, error) {
	if !HasCapability("agentCapabilities.mcpCapabilities.acp", nil, &c.side.caps) {
		return UnstableMessageMCPResponse{}, &CapabilityError{Method: MethodUnstableMCPMessage, Capability: "agentCapabilities.mcpCapabilities.acp"}
	}
	return call[UnstableMessageMCPResponse](ctx, &c.link, MethodUnstableMCPMessage, carry(ctx, &req), nil)
}

// releaseGrace bounds the release of a forgotten terminal.
const releaseGrace = 5 * time.Second

// A Terminal is a command that runs in the client. Its methods may be called
// concurrently.
type Terminal struct {
	client  *Client
	session SessionID
	id      TerminalID
	once    sync.Once
	err     error
}

// NewTerminal starts a command in the client (terminal/create). Close must be called. If
// ctx ends, or the session is cancelled, while the client has not answered yet, the
// terminal is released when the answer comes.
func (c *Client) NewTerminal(ctx context.Context, req CreateTerminalRequest) (*Terminal, error) {
	if err := c.gate(MethodTerminalCreate, terminalGate); err != nil {
		return nil, err
	}
	ctx, done := c.waitFor(ctx, req.SessionID)
	defer done()
	type created struct {
		r   CreateTerminalResponse
		err error
	}
	answer := make(chan created)
	go func() { // ends with the answer, or with the connection
		r, err := call[CreateTerminalResponse](context.WithoutCancel(ctx), &c.link, MethodTerminalCreate, carry(ctx, &req), on(req.SessionID))
		select {
		case answer <- created{r, err}:
		case <-ctx.Done():
			if err == nil {
				_ = c.terminal(req.SessionID, r.TerminalID).Close()
			}
		}
	}()
	select {
	case a := <-answer:
		if a.err != nil {
			return nil, a.err
		}
		return c.terminal(req.SessionID, a.r.TerminalID), nil
	case <-ctx.Done():
		return nil, &CallError{Method: MethodTerminalCreate, Sent: true, Err: context.Cause(ctx)}
	}
}

func (c *Client) terminal(session SessionID, id TerminalID) *Terminal {
	return &Terminal{client: c, session: session, id: id}
}

const terminalGate = "clientCapabilities.terminal"

// ID returns the terminal's id, for ToolCallTerminal.
func (t *Terminal) ID() TerminalID { return t.id }

// Output returns what the command has written so far, as far as it is kept, and its exit
// status once it has ended (terminal/output).
func (t *Terminal) Output(ctx context.Context) (TerminalOutputResponse, error) {
	return ask[TerminalOutputResponse](ctx, t.client, MethodTerminalOutput, terminalGate, t.session, &TerminalOutputRequest{SessionID: t.session, TerminalID: t.id})
}

// Wait waits for the command to end (terminal/wait_for_exit).
func (t *Terminal) Wait(ctx context.Context) (WaitForTerminalExitResponse, error) {
	return ask[WaitForTerminalExitResponse](ctx, t.client, MethodTerminalWaitForExit, terminalGate, t.session, &WaitForTerminalExitRequest{SessionID: t.session, TerminalID: t.id})
}

// Kill ends the command and keeps the terminal, for its output (terminal/kill).
func (t *Terminal) Kill(ctx context.Context) error {
	// Not on behalf of the session: a cancelled session still kills its commands.
	_, err := call[KillTerminalResponse](ctx, &t.client.link, MethodTerminalKill, carry(ctx, &KillTerminalRequest{SessionID: t.session, TerminalID: t.id}), on(t.session))
	return err
}

// Release ends the command if it runs and gives the terminal up (terminal/release). It
// does so once; later calls return the same error.
func (t *Terminal) Release(ctx context.Context) error {
	t.once.Do(func() {
		_, t.err = call[ReleaseTerminalResponse](ctx, &t.client.link, MethodTerminalRelease, carry(ctx, &ReleaseTerminalRequest{SessionID: t.session, TerminalID: t.id}), on(t.session))
	})
	return t.err
}

// Close is Release within five seconds, whatever has become of the request's context.
func (t *Terminal) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseGrace)
	defer cancel()
	return t.Release(ctx)
}

var _ jsonrpc.Handler = (*agentSide)(nil)
