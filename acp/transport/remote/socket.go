package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/wherry-acp/wherry/acp/transport"
)

// A CloseError says how the peer, or this side, ended a WebSocket out of order.
type CloseError struct {
	Code   int    // RFC 6455, section 7.4; 0 means that the connection broke
	Reason string // as it was sent
	Err    error  // what happened on this side, may be nil
}

// Error gives the code and the reason.
func (e *CloseError) Error() string {
	switch {
	case e.Code == 0:
		return fmt.Sprintf("the WebSocket broke: %v", e.Err)
	case e.Reason == "":
		return fmt.Sprintf("the WebSocket was closed with code %d", e.Code)
	default:
		return fmt.Sprintf("the WebSocket was closed with code %d: %s", e.Code, e.Reason)
	}
}

// Unwrap gives what happened on this side.
func (e *CloseError) Unwrap() error { return e.Err }

// A socket is a WebSocket as a transport: one message a text frame. Its reader goroutine runs until Close.
type socket struct {
	ws    *websocket.Conn
	stall time.Duration
	ping  time.Duration // 0 means never

	in     chan []byte
	failed chan struct{} // closed when reading has ended
	cause  error         // of that; set before failed is closed

	life    context.Context // ends with Close
	endLife context.CancelFunc
	tasks   sync.WaitGroup
	once    sync.Once

	reading  atomic.Bool   // the reader waits for the network
	activity atomic.Uint64 // grows with every chunk read

	// admit, if set, sees every message before it is handed on, in the reader's goroutine.
	admit func(msg []byte) (pass bool, err error)
}

func newSocket(ws *websocket.Conn, limit int, stall, ping time.Duration) *socket {
	ws.SetReadLimit(int64(limit))
	s := &socket{ws: ws, stall: stall, ping: ping, in: make(chan []byte), failed: make(chan struct{})}
	s.life, s.endLife = context.WithCancel(context.Background())
	return s
}

// start begins reading.
func (s *socket) start() {
	s.tasks.Go(s.readAll)
	if s.ping > 0 {
		s.tasks.Go(s.pingAll)
	}
}

// Read returns the next message.
func (s *socket) Read(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-s.in:
		return msg, nil
	case <-s.failed:
		return nil, s.cause
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *socket) readAll() {
	err := s.readEach()
	if s.life.Err() != nil {
		err = transport.ErrClosed
	}
	s.cause = err
	close(s.failed)
}

func (s *socket) readEach() error {
	for {
		s.reading.Store(true)
		kind, r, err := s.ws.Reader(context.Background()) // Close unblocks it
		var msg []byte
		if err == nil {
			msg, err = io.ReadAll(&watched{r, &s.activity})
		}
		s.reading.Store(false)
		if err != nil {
			return closing(err)
		}
		if kind != websocket.MessageText {
			continue
		}
		if s.admit != nil {
			pass, err := s.admit(msg)
			if err != nil {
				return err
			}
			if !pass {
				continue
			}
		}
		select {
		case s.in <- msg:
		case <-s.life.Done():
			return transport.ErrClosed
		}
	}
}

// watched counts reads.
type watched struct {
	io.Reader
	count *atomic.Uint64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.count.Add(1)
	return n, err
}

// closing turns the error of a read into what a transport says.
func closing(err error) error {
	ce, is := errors.AsType[websocket.CloseError](err)
	switch {
	case is && (ce.Code == websocket.StatusNormalClosure || ce.Code == websocket.StatusGoingAway || ce.Code == websocket.StatusNoStatusRcvd):
		return io.EOF
	case is:
		return &CloseError{Code: int(ce.Code), Reason: ce.Reason}
	case errors.Is(err, websocket.ErrMessageTooBig):
		return &CloseError{Code: int(websocket.StatusMessageTooBig), Reason: "message too large", Err: err}
	default:
		return &CloseError{Err: err}
	}
}

// Write sends messages. A peer that takes no part of one for the stall time-out loses the connection.
func (s *socket) Write(ctx context.Context, msgs ...[]byte) error {
	for _, msg := range msgs {
		if err := s.send(ctx, msg); err != nil {
			if s.life.Err() != nil {
				return transport.ErrClosed
			}
			return fmt.Errorf("send message: %w", err)
		}
	}
	return nil
}

func (s *socket) send(ctx context.Context, msg []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(s.stall, func() { cancel(errStalled) })
	defer stall.Stop()
	err := s.sendParts(ctx, msg, stall)
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// sendParts sends a message; a large one goes in fragments, so that the time counts for each.
func (s *socket) sendParts(ctx context.Context, msg []byte, stall *time.Timer) error {
	if len(msg) <= batchBytes {
		return s.ws.Write(ctx, websocket.MessageText, msg)
	}
	w, err := s.ws.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for len(msg) > 0 {
		part := msg[:min(len(msg), batchBytes)]
		msg = msg[len(part):]
		if _, err := w.Write(part); err != nil {
			return err
		}
		stall.Reset(s.stall)
	}
	return w.Close()
}

// pingAll pings the peer. Two pings in a row without an answer, while this side read and nothing came, end the
// connection.
func (s *socket) pingAll() {
	tick := time.NewTicker(s.ping)
	defer tick.Stop()
	missed := 0
	for {
		select {
		case <-tick.C:
		case <-s.failed:
			return
		case <-s.life.Done():
			return
		}
		if !s.reading.Load() { // the answer would not be read
			missed = 0
			continue
		}
		before := s.activity.Load()
		ctx, cancel := context.WithTimeout(s.life, s.ping)
		err := s.ws.Ping(ctx)
		late := ctx.Err() != nil
		cancel()
		switch {
		case err == nil, !s.reading.Load(), s.activity.Load() != before:
			missed = 0
		case !late:
			return // the reader knows why
		default:
			missed++
		}
		if missed == 2 {
			_ = s.ws.CloseNow()
			return
		}
	}
}

// Close says goodbye and waits until the connection has ended.
func (s *socket) Close() error {
	s.close(websocket.StatusNormalClosure, "")
	return nil
}

func (s *socket) close(code websocket.StatusCode, reason string) {
	s.once.Do(func() {
		s.endLife()
		_ = s.ws.Close(code, reason)
	})
	s.tasks.Wait()
}
