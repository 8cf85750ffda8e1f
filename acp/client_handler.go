package acp

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// clientHandler has the methods of whatever the options offer; a nil part is not offered.
type clientHandler struct {
	PermissionHandler
	FileReader
	FileWriter
	TerminalHandler
	ElicitationHandler
	mcp func(context.Context, UnstableMessageMCPRequest) (UnstableMessageMCPResponse, error)
}

func newClientHandler(o *ClientOptions) *clientHandler {
	h := &clientHandler{
		PermissionHandler: o.Permission, FileReader: o.Files, TerminalHandler: o.Terminals,
		ElicitationHandler: o.Elicitation, mcp: o.UnstableMCP,
	}
	if h.PermissionHandler == nil {
		h.PermissionHandler = PermissionFunc(refuse)
	}
	h.FileWriter, _ = o.Files.(FileWriter)
	return h
}

// refuse answers a permission request that nobody can decide.
func refuse(_ context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
	for _, kind := range []PermissionOptionKind{PermissionRejectOnce, PermissionRejectAlways} {
		for _, o := range req.Options {
			if o.Kind == kind {
				return RequestPermissionResponse{Outcome: SelectedPermissionOutcome{OptionID: o.OptionID}}, nil
			}
		}
	}
	return RequestPermissionResponse{Outcome: CancelledPermissionOutcome{}}, nil
}

// offered makes a route that exists if have says so.
func offered[Q, R any, PQ pointer[Q], PR pointer[R]](name string, have func(h *clientHandler) bool, f func(h *clientHandler, ctx context.Context, q Q) (R, error)) route[*clientHandler] {
	r := handled[*clientHandler, *clientHandler, Q, R, PQ, PR](name, f)
	r.can = have
	return r
}

// clientRoutes returns every method that a client may handle.
func clientRoutes() []route[*clientHandler] {
	always := func(*clientHandler) bool { return true }
	reads := func(h *clientHandler) bool { return h.FileReader != nil }
	writes := func(h *clientHandler) bool { return h.FileWriter != nil }
	runs := func(h *clientHandler) bool { return h.TerminalHandler != nil }
	elicits := func(h *clientHandler) bool { return h.ElicitationHandler != nil }
	hosts := func(h *clientHandler) bool { return h.mcp != nil }
	return []route[*clientHandler]{
		offered(MethodSessionRequestPermission, always, (*clientHandler).RequestPermission),
		offered(MethodFSReadTextFile, reads, (*clientHandler).ReadTextFile),
		offered(MethodFSWriteTextFile, writes, (*clientHandler).WriteTextFile),
		offered(MethodTerminalCreate, runs, (*clientHandler).CreateTerminal),
		offered(MethodTerminalOutput, runs, (*clientHandler).TerminalOutput),
		offered(MethodTerminalWaitForExit, runs, (*clientHandler).WaitForTerminalExit),
		offered(MethodTerminalKill, runs, (*clientHandler).KillTerminal),
		offered(MethodTerminalRelease, runs, (*clientHandler).ReleaseTerminal),
		offered(MethodElicitationCreate, elicits, (*clientHandler).CreateElicitation),
		offered(MethodUnstableMCPMessage, hosts, func(h *clientHandler, ctx context.Context, q UnstableMessageMCPRequest) (UnstableMessageMCPResponse, error) {
			return h.mcp(ctx, q)
		}),
	}
}

// A clientWire is a RemoteAgent as its connection sees it.
type clientWire struct{ agent *RemoteAgent }

var _ jsonrpc.Handler = clientWire{}

// Key implements jsonrpc.Handler.
func (clientWire) Key(_ string, params jsontext.Value) []byte { return sessionOf(params) }

// Urgent implements jsonrpc.Handler.
func (clientWire) Urgent(string, jsontext.Value) bool { return false }

// Begin implements jsonrpc.Handler.
func (w clientWire) Begin(ctx context.Context, r *jsonrpc.Request) context.Context {
	a := w.agent
	ctx = context.WithValue(ctx, requestKey{}, &requestScope{request: r})
	if r.Method != MethodSessionRequestPermission && r.Method != MethodElicitationCreate {
		return ctx
	}
	s := a.Session(SessionID(sessionOf(r.Params)))
	if s == nil {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	q := &question{cancel}
	s.asked(q)
	r.Value = func() { s.answered(q); cancel(nil) }
	return ctx
}

// Request implements jsonrpc.Handler.
func (w clientWire) Request(ctx context.Context, r *jsonrpc.Request) (any, error) {
	a := w.agent
	if done, ok := r.Value.(func()); ok {
		defer done()
	}
	if strings.HasPrefix(r.Method, "_") {
		return a.extension(ctx, a.opts.Extensions, r.Method, r.Params)
	}
	route, ok := a.routes[r.Method]
	if ok {
		m, _ := LookupMethod(r.Method, false)
		ok = !strings.HasPrefix(m.Gate, "clientCapabilities.") || offers(m.Gate, &a.caps)
	}
	if !ok {
		return nil, toWire(ctx, MethodNotFound(r.Method), nil)
	}
	if r.Value == nil {
		m, err := route.call(ctx, &a.link, a.handler, r.Params)
		return a.answer(ctx, m, err)
	}
	m, err := a.question(ctx, r, route)
	return a.answer(ctx, m, err)
}

// question runs the handler of a question to the user. Once the question is taken back
// it is answered, whether the handler has returned or not.
func (a *RemoteAgent) question(ctx context.Context, r *jsonrpc.Request, route route[*clientHandler]) (Message, error) {
	type answer struct {
		m        Message
		err      error
		panicked any
	}
	answers := make(chan answer, 1)
	go func() { // ends with the handler, whose context has ended when nobody waits for it
		var got answer
		defer func() {
			got.panicked = recover()
			answers <- got
		}()
		a.afterUpdates(ctx, SessionID(sessionOf(r.Params)))
		got.err = context.Canceled // if the handler ends its goroutine
		got.m, got.err = route.call(ctx, &a.link, a.handler, r.Params)
	}()
	select {
	case got := <-answers:
		if got.panicked != nil {
			panic(got.panicked)
		}
		if got.err == nil || ctx.Err() == nil {
			return got.m, got.err
		}
	case <-ctx.Done():
	}
	if r.Method == MethodElicitationCreate {
		if isCancelled(ctx) {
			return &CreateElicitationResponse{Action: ElicitationCancelAction{}}, nil
		}
		return nil, ctx.Err()
	}
	return &RequestPermissionResponse{Outcome: CancelledPermissionOutcome{}}, nil
}

// afterUpdates waits until whoever reads the session's updates has dealt with those that came before now, so that a
// question comes up after what it is about.
func (a *RemoteAgent) afterUpdates(ctx context.Context, id SessionID) {
	patience := time.NewTimer(updatesPatience)
	defer patience.Stop()
	select {
	case <-a.conn.Handled(string(id)):
	case <-ctx.Done():
		return
	case <-patience.C:
		return
	}
	s := a.Session(id)
	if s == nil {
		return
	}
	s.mu.Lock()
	t := s.stream
	s.mu.Unlock()
	if t != nil {
		t.caughtUp(ctx, patience.C)
	}
}

// Notification implements jsonrpc.Handler.
func (w clientWire) Notification(ctx context.Context, method string, params jsontext.Value) {
	a := w.agent
	var err error
	switch method {
	case MethodSessionUpdate:
		var n SessionNotification
		if n, err = decode[SessionNotification](&a.link, params); err == nil {
			if s := a.find(ctx, n.SessionID); s != nil {
				s.deliver(ctx, n)
			} else {
				a.unclaimed(ctx, n)
			}
		}
	case MethodElicitationComplete:
		if h, ok := a.handler.ElicitationHandler.(ElicitationCompleter); ok {
			var n CompleteElicitationNotification
			if n, err = decode[CompleteElicitationNotification](&a.link, params); err == nil {
				h.CompleteElicitation(ctx, n)
			}
		}
	case MethodUnstableAuthStatusUpdate:
		if a.opts.Unstable && a.opts.UnstableAuthStatus != nil {
			var n UnstableAuthStatusUpdateNotification
			if n, err = decode[UnstableAuthStatusUpdateNotification](&a.link, params); err == nil {
				a.opts.UnstableAuthStatus(ctx, n)
			}
		}
	default:
		a.extensionNotified(ctx, a.opts.Extensions, method, params)
	}
	if err != nil {
		a.log.Warn("notification not understood", "method", method, "error", err)
	}
}

// unclaimed hands an update that belongs to no call to the default handler.
func (a *RemoteAgent) unclaimed(ctx context.Context, n SessionNotification) {
	if a.opts.Updates != nil {
		a.opts.Updates(ctx, n)
	}
}
