package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/wherry-acp/wherry/acp/transport"
)

// A wsConn is the server's end of a WebSocket. Until initialize is answered it lets nothing else in.
type wsConn struct {
	*socket
	h  *Handler
	id string

	mu       sync.Mutex
	waiting  map[string]struct{} // ids of requests without an answer
	changed  chan struct{}       // closed and replaced when one is answered
	opening  string              // the key of the initialize request
	openID   []byte
	begun    bool // initialize has come
	answered bool // and was answered
	code     websocket.StatusCode
	reason   string
}

// protocolError ends a WebSocket with 1002.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// upgrade makes a connection of a WebSocket and serves it until it ends.
func (h *Handler) upgrade(w http.ResponseWriter, r *http.Request, principal string) {
	c := &wsConn{h: h, id: newID(), waiting: make(map[string]struct{}), changed: make(chan struct{})}
	if err := h.register(c.id, c); err != nil {
		unavailable(w, err)
		return
	}
	defer h.served.Done()
	defer h.remove(c.id)
	w.Header().Set(HeaderConnectionID, c.id)
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       h.opts.Subprotocols,
		InsecureSkipVerify: true, // admit has checked the origin
	})
	if err != nil {
		h.log.Warn("WebSocket refused", "peer", r.RemoteAddr, "error", err)
		return
	}
	c.mu.Lock()
	c.socket = newSocket(ws, h.opts.MaxBodyBytes, h.opts.StallTimeout, h.opts.PingInterval)
	c.admit = c.inspect
	code := c.code
	c.mu.Unlock()
	if code == 0 {
		h.log.Info("connection opened", "connection", short(c.id), "peer", r.RemoteAddr, "transport", "websocket")
		c.start()
		ctx, stop := h.serveContext(r)
		h.run(ctx, &Conn{Transport: c, ID: c.id, Principal: principal, WebSocket: true, Request: r})
		stop()
	}
	_ = c.Close()
	h.log.Info("connection ended", "connection", short(c.id))
}

// inspect is what the reader does with each message.
func (c *wsConn) inspect(msg []byte) (pass bool, err error) {
	e, err := peek(msg)
	if err != nil {
		code, text := codeParseError, "Parse error"
		if errors.Is(err, errBatch) || errors.Is(err, errNotObject) {
			code, text = codeInvalidRequest, "Invalid request: "+err.Error()
		}
		return false, c.send(c.life, failure(nil, code, text, nil))
	}
	c.mu.Lock()
	begun, draining := c.begun, c.code != 0
	c.mu.Unlock()
	switch {
	case !begun && e.hasID && !e.hasMethod:
		return false, nil
	case !begun && (!e.version || !e.hasMethod || e.hasID && e.id == "" && !e.nullID):
		return false, c.send(c.life, failure(nil, codeInvalidRequest, "Invalid request", nil))
	case !begun && !e.initialize():
		return false, c.violated("First message must be initialize")
	case !begun && e.id == "":
		return false, c.violated("Initialize request must include an ID")
	case units(e.session) > c.h.opts.MaxIDLength, units(e.id)-1 > c.h.opts.MaxIDLength:
		return false, c.ends(websocket.StatusPolicyViolation, errLongID)
	case begun && e.initialize():
		return false, c.send(c.life, failure(e.rawID, codeInvalidRequest, "Initialize not allowed on existing connection", nil))
	case e.request() && e.id != "" && (draining || c.h.isDraining()):
		return false, c.send(c.life, failure(e.rawID, codeInternalError, errShutdown.Error(), nil))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !begun {
		c.begun, c.opening, c.openID = true, e.id, e.rawID
	}
	if e.request() && e.id != "" {
		c.waiting[e.id] = struct{}{}
	}
	return true, nil
}

func (c *wsConn) violated(reason string) error {
	return c.ends(websocket.StatusProtocolError, protocolError(reason))
}

// ends notes how Close will end the connection, unless that is decided already.
func (c *wsConn) ends(code websocket.StatusCode, reason error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == 0 {
		c.code, c.reason = code, reason.Error()
	}
	return reason
}

// Read returns the client's next message.
func (c *wsConn) Read(ctx context.Context) ([]byte, error) {
	msg, err := c.socket.Read(ctx)
	if _, is := errors.AsType[*CloseError](err); is {
		c.h.log.Warn("connection broken", "connection", short(c.id), "error", err)
	}
	return msg, err
}

// Write sends messages to the client.
func (c *wsConn) Write(ctx context.Context, msgs ...[]byte) error {
	for _, msg := range msgs {
		e, err := peek(msg)
		if err != nil {
			return err
		}
		if err := c.socket.Write(ctx, msg); err != nil {
			if errors.Is(err, errStalled) {
				c.h.log.Warn("connection broken", "connection", short(c.id), "error", err)
			}
			return err
		}
		if e.response() {
			c.note(&e)
		}
	}
	return nil
}

// note crosses off a request that was answered.
func (c *wsConn) note(e *envelope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opening != "" && e.id == c.opening {
		c.opening, c.answered = "", true
	}
	delete(c.waiting, e.id)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Close ends the connection with the code that fits what has happened.
func (c *wsConn) Close() error {
	c.h.remove(c.id)
	c.mu.Lock()
	code, reason := c.code, c.reason
	crashed := c.begun && !c.answered && code == 0
	c.mu.Unlock()
	if crashed {
		_ = c.send(c.life, failure(c.openID, codeInternalError, "Initialize failed", nil))
		code, reason = websocket.StatusInternalError, "Initialize failed"
	}
	switch {
	case code != 0:
	case c.h.ctx.Err() != nil:
		code, reason = websocket.StatusGoingAway, errShutdown.Error()
	default:
		code = websocket.StatusNormalClosure
	}
	c.close(code, reason)
	return nil
}

// drain waits until every request of the client is answered.
func (c *wsConn) drain(ctx context.Context) {
	for {
		c.mu.Lock()
		busy, changed := len(c.waiting) > 0, c.changed
		s := c.socket
		c.mu.Unlock()
		if !busy || s == nil {
			return
		}
		select {
		case <-changed:
		case <-s.failed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// abandon ends the connection at once; whoever serves it gets the end of its input.
func (c *wsConn) abandon(reason error) {
	_ = c.ends(websocket.StatusGoingAway, reason)
	c.mu.Lock()
	s := c.socket
	c.mu.Unlock()
	if s != nil {
		_ = c.Close()
	}
}

var (
	_ transport.Transport = (*wsConn)(nil)
	_ transport.Transport = (*httpConn)(nil)
	_ io.Closer           = (*socket)(nil)
)
