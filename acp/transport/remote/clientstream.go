package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// errSessionStreamEnded fails the requests of a session whose stream the server has ended.
var errSessionStreamEnded = errors.New("the session's event stream has ended; the request may have been carried out")

// A clientStream is the event stream of one session.
type clientStream struct {
	session string
	cancel  context.CancelFunc
	ready   chan struct{} // closed when the server has answered
	refused error         // its refusal, set before
	active  chan struct{} // something came; one slot
	ended   chan struct{} // closed at the end
}

// wait waits until the stream is open. It returns why the server refused it.
func (s *clientStream) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.refused
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// openSession opens a session's stream, if it is not open.
func (c *httpClient) openSession(session string) *clientStream {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[session]; s != nil {
		return s
	}
	ctx, cancel := context.WithCancel(c.life)
	s := &clientStream{
		session: session, cancel: cancel,
		ready: make(chan struct{}), active: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if c.spawn(func() { defer cancel(); c.readSession(ctx, s) }) {
		c.sessions[session] = s
		return s
	}
	cancel()
	s.refused = context.Cause(c.life)
	close(s.ready)
	close(s.ended)
	return s
}

func (c *httpClient) readSession(ctx context.Context, s *clientStream) {
	defer close(s.ended)
	resp, err := c.openStream(ctx, s.session)
	if err != nil {
		c.forgetStream(s)
		status, is := errors.AsType[*StatusError](err)
		switch {
		case is && status.Status == http.StatusNotFound:
			// The server may know the session only later, or not know the connection: the message that follows will tell.
			err = nil
		case is && status.Status == http.StatusConflict:
			c.fail(s.session, err)
		case ctx.Err() == nil:
			c.end(err)
		}
		s.refused = err
		close(s.ready)
		return
	}
	defer resp.Body.Close()
	close(s.ready)
	err = c.readEvents(ctx, resp.Body, s.session, func() {
		select {
		case s.active <- struct{}{}:
		default:
		}
	})
	c.forgetStream(s)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errEventTooLarge):
		c.end(err)
	default:
		c.failWaiting(s.session, errSessionStreamEnded)
	}
}

// forgetStream lets the next message of the session open a new stream.
func (c *httpClient) forgetStream(s *clientStream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[s.session] == s {
		delete(c.sessions, s.session)
	}
}

// readConnection reads the connection's stream; its end is the end of the connection.
func (c *httpClient) readConnection() {
	resp, err := c.openStream(c.life, "")
	if err != nil {
		c.end(err)
		return
	}
	defer resp.Body.Close()
	err = c.readEvents(c.life, resp.Body, "", nil)
	if errors.Is(err, io.EOF) {
		c.lastMessages()
		err = ErrStreamEnded
	}
	c.end(err)
}

// lastMessages waits, bounded, for the session streams: the server ends all streams at once, and what it sent before
// is still on its way.
func (c *httpClient) lastMessages() {
	c.mu.Lock()
	open := slices.Collect(maps.Values(c.sessions))
	c.mu.Unlock()
	limit := time.NewTimer(c.opts.CloseTimeout)
	defer limit.Stop()
	for _, s := range open {
		select {
		case <-s.ended:
		case <-limit.C:
			return
		case <-c.life.Done():
			return
		}
	}
}

func (c *httpClient) openStream(ctx context.Context, session string) (*http.Response, error) {
	resp, err := c.do(ctx, http.MethodGet, session, nil)
	if err != nil {
		return nil, fmt.Errorf("open event stream: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, refusal("open event stream", resp)
	}
	return resp, nil
}

// readEvents hands on the messages of a stream until it ends.
func (c *httpClient) readEvents(ctx context.Context, body io.Reader, session string, activity func()) error {
	events := newEventReader(body, c.opts.MaxMessageBytes, activity)
	for {
		data, err := events.next()
		if err != nil {
			return err
		}
		e, err := peek(data)
		if err != nil {
			continue // not a JSON object: no message
		}
		c.track(ctx, &e, session)
		msg := append([]byte(nil), data...)
		select {
		case c.in <- msg:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// track remembers what an incoming message means for the streams.
func (c *httpClient) track(ctx context.Context, e *envelope, session string) {
	switch {
	case e.request() && session != "":
		c.mu.Lock()
		c.asked[e.id] = session
		c.mu.Unlock()
	case e.response():
		c.mu.Lock()
		request := c.waiting[e.id]
		delete(c.waiting, e.id)
		s := c.sessions[request.session]
		c.mu.Unlock()
		if session == "" && request.method == methodLoad && s != nil && !e.failed {
			c.settle(ctx, s)
		}
		switch {
		case e.resultSession != "":
			c.openSession(e.resultSession)
		case s == nil && request.session != "" && !e.failed && (request.method == methodLoad || request.method == methodResume):
			c.openSession(request.session) // the server did not know it before
		}
	}
}

// settle waits until a session's stream is silent: the answer of a load must not overtake what it replayed.
func (c *httpClient) settle(ctx context.Context, s *clientStream) {
	if c.opts.Settle <= 0 {
		return
	}
	silence := time.NewTimer(c.opts.Settle)
	defer silence.Stop()
	for {
		select {
		case <-s.active:
			silence.Reset(c.opts.Settle)
		case <-silence.C:
			return
		case <-s.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}
