package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp/transport"
)

// HandlerOptions tune a Handler. The zero value is ready to use on a loopback address.
type HandlerOptions struct {
	// Authorize decides who may make a request, before anything else of it is read, WebSocket upgrades included. It returns a name for
	// whoever it is: a connection can be used only under the name that opened it. An error refuses with 401, or as its
	// *RefusedError says; its text stays here. Nil lets everyone in, under the empty name.
	Authorize func(r *http.Request) (principal string, err error)

	// Origins lists the web origins that may connect, for example "https://example.org". A request with any other Origin is
	// refused with 403, whatever it is and wherever it comes from.
	Origins []string

	// Hosts lists the host names, without port, under which the server may be asked; others are refused with 403. While it is empty,
	// a request that arrives at a loopback address must name a loopback host, so that no web page gets in by
	// pointing its own name here.
	Hosts []string

	// Subprotocols are those a WebSocket may choose from; nil means "acp".
	Subprotocols []string

	MaxBodyBytes       int           // bytes of one message from a client; 0 means 16 MiB
	MaxBufferedBytes   int           // bytes that wait for one client; beyond it the agent waits; 0 means 64 MiB
	MaxBufferedStreams int           // sessions of one client whose messages nobody reads; 0 means 1,024
	MaxIDLength        int           // UTF-16 units of a session's or request's id; 0 means 1,024
	MaxConnections     int           // connections at a time; 0 means 1,024
	StallTimeout       time.Duration // a client that takes no output for so long is disconnected; 0 means 60 s
	KeepAlive          time.Duration // between comments on a silent event stream; 0 means 15 s
	PingInterval       time.Duration // between pings of a WebSocket; two unanswered ones end it; 0 means 25 s
	DetachTimeout      time.Duration // an HTTP connection without streams or requests for so long ends; 0 means 10 min

	// Logger gets connections that are opened, refused and ended, and why; never messages or headers. Nil discards.
	Logger *slog.Logger
}

func (o *HandlerOptions) withDefaults() HandlerOptions {
	var c HandlerOptions
	if o != nil {
		c = *o
	}
	or(&c.MaxBodyBytes, DefaultMaxBodyBytes)
	or(&c.MaxBufferedBytes, DefaultMaxBufferedBytes)
	or(&c.MaxBufferedStreams, DefaultMaxBufferedStreams)
	or(&c.MaxIDLength, DefaultMaxIDLength)
	or(&c.MaxConnections, DefaultMaxConnections)
	or(&c.StallTimeout, DefaultStallTimeout)
	or(&c.KeepAlive, DefaultKeepAlive)
	or(&c.PingInterval, DefaultPingInterval)
	or(&c.DetachTimeout, DefaultDetachTimeout)
	if c.Subprotocols == nil {
		c.Subprotocols = []string{"acp"}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func or[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// A Conn is one client's connection, as the function that serves it gets it.
type Conn struct {
	transport.Transport

	ID        string        // the connection's id, 128 random bits at least
	Principal string        // whom Authorize named
	WebSocket bool          // or streamable HTTP
	Request   *http.Request // the one that opened the connection, for its headers and address; its body is used up
}

// A Handler is the server of the protocol's HTTP and WebSocket transports, both at the path where it is mounted. It
// takes HTTP/1.1 and HTTP/2; WebSockets need HTTP/1.1. It must be closed with Shutdown or Close.
type Handler struct {
	serve func(ctx context.Context, conn *Conn)
	opts  HandlerOptions
	log   *slog.Logger

	ctx    context.Context // ends with Close
	end    context.CancelCauseFunc
	served sync.WaitGroup // the serve functions that run

	mu       sync.Mutex
	conns    map[string]ending
	draining bool
}

// ending is a connection as Shutdown, Close and the map of connections see it.
type ending interface {
	drain(ctx context.Context)
	abandon(reason error)
}

// errShutdown is why the connections of a closed handler end.
var errShutdown = errors.New("the server is shutting down")

// NewHandler returns a handler that calls serve for each connection, in a goroutine of its own. The transport is closed
// when serve returns; serve must return once its context ends, which is when the handler is closed, or when reading
// from the transport fails. opts may be nil.
func NewHandler(serve func(ctx context.Context, conn *Conn), opts *HandlerOptions) *Handler {
	h := &Handler{serve: serve, opts: opts.withDefaults(), conns: make(map[string]ending)}
	h.log = h.opts.Logger
	h.ctx, h.end = context.WithCancelCause(context.Background())
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	principal, ok := h.admit(w, r)
	if !ok {
		return
	}
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r, principal)
	case r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		h.upgrade(w, r, principal)
	case r.Method == http.MethodGet:
		h.get(w, r, principal)
	case r.Method == http.MethodDelete:
		h.delete(w, r, principal)
	default:
		w.Header().Set("Allow", allowedMethods)
		refuse(w, http.StatusMethodNotAllowed, "Method Not Allowed")
	}
}

// Shutdown ends the handler in good order: it refuses new connections and requests with 503, waits until every
// request in flight is answered and the answer is delivered, ends the connections and waits for their serve
// functions. When ctx ends first it goes on as Close does and returns ctx's error. A server's own Shutdown comes
// after it, for that one waits for the event streams.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	open := make([]ending, 0, len(h.conns))
	for _, c := range h.conns {
		open = append(open, c)
	}
	h.mu.Unlock()
	var drained sync.WaitGroup
	for _, c := range open {
		drained.Go(func() { c.drain(ctx) })
	}
	drained.Wait()
	err := ctx.Err()
	h.Close()
	return err
}

// Close ends every connection at once and waits for the serve functions to return.
func (h *Handler) Close() {
	h.mu.Lock()
	h.draining = true
	open := make([]ending, 0, len(h.conns))
	for _, c := range h.conns {
		open = append(open, c)
	}
	h.mu.Unlock()
	var ended sync.WaitGroup
	for _, c := range open {
		ended.Go(func() { c.abandon(errShutdown) })
	}
	h.end(errShutdown)
	ended.Wait()
	h.served.Wait()
}

// Connections returns how many connections are open.
func (h *Handler) Connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// errBusy refuses a connection above the limit.
var errBusy = errors.New("too many connections")

// register makes a connection known; its serve function counts from here on and must call h.served.Done.
func (h *Handler) register(id string, c ending) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return errShutdown
	}
	if len(h.conns) >= h.opts.MaxConnections {
		return errBusy
	}
	h.conns[id] = c
	h.served.Add(1)
	return nil
}

// remove forgets a connection; it reports whether it was known.
func (h *Handler) remove(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := h.conns[id]
	delete(h.conns, id)
	return known
}

// find returns the HTTP connection of an id, if it belongs to the principal.
func (h *Handler) find(id, principal string) *httpConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.conns[id].(*httpConn)
	if !ok || c.principal != principal {
		return nil
	}
	return c
}

func (h *Handler) isDraining() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draining
}

// run calls serve and survives its panics.
func (h *Handler) run(ctx context.Context, conn *Conn) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("serving a connection panicked", "connection", short(conn.ID), "panic", p)
		}
	}()
	h.serve(ctx, conn)
}

func newID() string { return rand.Text() + rand.Text() }

// short is what of a connection's id may be logged: whoever has all of it can use the connection.
func short(id string) string { return id[:min(6, len(id))] }

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
