package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/transport"
)

// An httpClient is the client's end of streamable HTTP. Messages go out by POST, one after another; what comes in on its
// event streams is handed on in the order of each stream.
type httpClient struct {
	url  string
	opts DialOptions
	http *http.Client
	done func()

	life  context.Context // ends with Close or a failure
	end   context.CancelCauseFunc
	tasks sync.WaitGroup // the streams' goroutines
	once  sync.Once

	in     chan []byte   // from the streams
	notice chan struct{} // own has something; one slot

	mu       sync.Mutex
	id       string // of the connection, once initialize is answered
	own      [][]byte
	sessions map[string]*clientStream
	broken   map[string]error          // sessions in conflict, until they are loaded anew
	waiting  map[string]waitingRequest // requests with a session, by id
	asked    map[string]string         // session by id of a server's request
}

// waitingRequest is a request that has no answer yet.
type waitingRequest struct {
	session string
	rawID   jsontext.Value
	method  string
}

// DialHTTP returns a transport to a server by streamable HTTP. Nothing is sent until the first message, which must be
// initialize. opts may be nil.
//
// Read ends with a *StatusError, with ErrStreamEnded or with the network's error when the connection is lost. A request
// that the server refuses otherwise is answered here, with a JSON-RPC error that has the status; it may have been carried
// out nevertheless.
func DialHTTP(rawURL string, opts *DialOptions) (transport.Transport, error) {
	c := &httpClient{
		opts: opts.withDefaults(),
		in:   make(chan []byte), notice: make(chan struct{}, 1),
		sessions: make(map[string]*clientStream), broken: make(map[string]error),
		waiting: make(map[string]waitingRequest), asked: make(map[string]string),
	}
	var err error
	if c.url, err = parseURL(rawURL, "http", "https"); err != nil {
		return nil, err
	}
	if c.http, c.done, err = c.opts.client(); err != nil {
		return nil, err
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c, nil
}

// Read returns the server's next message.
func (c *httpClient) Read(ctx context.Context) ([]byte, error) {
	for {
		c.mu.Lock()
		if len(c.own) > 0 {
			msg := c.own[0]
			c.own = c.own[1:]
			c.mu.Unlock()
			return msg, nil
		}
		c.mu.Unlock()
		select {
		case msg := <-c.in:
			return msg, nil
		case <-c.notice:
		case <-c.life.Done():
			return nil, context.Cause(c.life)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// hand gives Read a message that came on no stream. It does not wait, so that Write never waits for Read.
func (c *httpClient) hand(msg []byte) {
	c.mu.Lock()
	c.own = append(c.own, msg)
	c.mu.Unlock()
	select {
	case c.notice <- struct{}{}:
	default:
	}
}

// Write sends messages, each with its own request.
func (c *httpClient) Write(ctx context.Context, msgs ...[]byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })()
	for _, msg := range msgs {
		if c.life.Err() != nil {
			return context.Cause(c.life)
		}
		if err := c.send(ctx, msg); err != nil {
			if c.life.Err() == nil {
				c.end(err)
			}
			return err
		}
	}
	return nil
}

func (c *httpClient) send(ctx context.Context, msg []byte) error {
	e, err := peek(msg)
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	c.mu.Lock()
	opened := c.id != ""
	c.mu.Unlock()
	if !opened {
		return c.initialize(ctx, &e, msg)
	}
	return c.post(ctx, &e, msg)
}

// initialize opens the connection.
func (c *httpClient) initialize(ctx context.Context, e *envelope, msg []byte) error {
	if !e.initialize() || e.id == "" {
		return errors.New("the first message over HTTP must be an initialize request with an id")
	}
	resp, err := c.do(ctx, http.MethodPost, "", msg)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refusal("initialize", resp)
	}
	id := resp.Header.Get(HeaderConnectionID)
	if id == "" {
		return errors.New("initialize: the answer has no " + HeaderConnectionID)
	}
	c.mu.Lock()
	c.id = id
	c.mu.Unlock()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.opts.MaxMessageBytes)+1))
	if err != nil {
		return fmt.Errorf("initialize: read the answer: %w", err)
	}
	if len(body) > c.opts.MaxMessageBytes {
		return fmt.Errorf("initialize: %w", &transport.MessageTooLargeError{Size: int64(len(body)), Limit: int64(c.opts.MaxMessageBytes)})
	}
	got, err := peek(body)
	if err != nil || !got.response() || got.id != e.id {
		return errors.New("initialize: what the server sent is not the answer")
	}
	if !got.failed {
		c.mu.Lock()
		c.spawn(c.readConnection)
		c.mu.Unlock()
	}
	c.hand(body)
	return nil
}

// post sends a message of the open connection.
func (c *httpClient) post(ctx context.Context, e *envelope, msg []byte) error {
	session := e.session
	if e.response() {
		c.mu.Lock()
		session = c.asked[e.id]
		c.mu.Unlock()
	}
	if session != "" {
		if err := c.prepare(ctx, e, session); err != nil {
			if !conflict(err) {
				return err
			}
			c.drop(e, err)
			return nil
		}
	}
	if e.request() && session != "" {
		c.mu.Lock()
		c.waiting[e.id] = waitingRequest{session, e.rawID, e.method}
		c.mu.Unlock()
	}
	err := c.postOnce(ctx, session, msg)
	if err == nil {
		if e.response() {
			c.mu.Lock()
			delete(c.asked, e.id)
			c.mu.Unlock()
		}
		return nil
	}
	pending := true
	if session != "" && e.request() {
		c.mu.Lock()
		_, pending = c.waiting[e.id]
		delete(c.waiting, e.id)
		c.mu.Unlock()
	}
	if session != "" && conflict(err) {
		c.fail(session, err)
		if pending {
			c.drop(e, err)
		}
		return nil
	}
	status, refused := errors.AsType[*StatusError](err)
	if refused && e.request() && !fatal(status.Status) {
		if pending {
			c.hand(failedRequest(e.rawID, err))
		}
		return nil
	}
	return err
}

// prepare opens the stream of the session that a message is about.
func (c *httpClient) prepare(ctx context.Context, e *envelope, session string) error {
	c.mu.Lock()
	if e.method == methodLoad || e.method == methodResume {
		delete(c.broken, session)
	}
	broken := c.broken[session]
	c.mu.Unlock()
	if broken != nil {
		return broken
	}
	return c.openSession(session).wait(ctx)
}

func (c *httpClient) postOnce(ctx context.Context, session string, msg []byte) error {
	resp, err := c.do(ctx, http.MethodPost, session, msg)
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return refusal("send message", resp)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // so that the TCP connection is used again
	return nil
}

// do makes a request; body is nil except for POST.
func (c *httpClient) do(ctx context.Context, method, session string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range c.opts.Header {
		req.Header[http.CanonicalHeaderKey(name)] = append([]string(nil), values...)
	}
	switch method {
	case http.MethodPost:
		req.Header.Set("Content-Type", mediaJSON)
		req.Header.Set("Accept", mediaJSON)
	case http.MethodGet:
		req.Header.Set("Accept", mediaEvents)
	}
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	req.Header.Del(HeaderConnectionID)
	req.Header.Del(HeaderSessionID)
	if id != "" {
		req.Header.Set(HeaderConnectionID, id)
	}
	if session != "" {
		req.Header.Set(HeaderSessionID, session)
	}
	return c.http.Do(req)
}

// fatal reports whether a status says that the connection cannot be used any more.
func fatal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return true
	}
	return false
}

// conflict reports whether a server refused a session's stream, which concerns that session only.
func conflict(err error) bool {
	status, is := errors.AsType[*StatusError](err)
	return is && status.Status == http.StatusConflict
}

// failedRequest is the answer to a request that the server refused.
func failedRequest(id jsontext.Value, err error) []byte {
	var data jsontext.Value
	if status, is := errors.AsType[*StatusError](err); is {
		body := jsontext.Value(status.Body)
		if !body.IsValid() {
			quoted, quoteErr := jsontext.AppendQuote(nil, status.Body)
			if quoteErr != nil && quoted == nil {
				quoted = []byte(`""`)
			}
			body = quoted
		}
		data = fmt.Appendf(nil, `{"status":%s,"body":%s}`, strconv.Itoa(status.Status), body)
	}
	return failure(id, codeInternalError, err.Error(), data)
}

// drop settles a message that cannot be sent because its session is in conflict.
func (c *httpClient) drop(e *envelope, err error) {
	if e.request() {
		c.hand(failedRequest(e.rawID, err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, e.id)
}

// fail ends a session's stream and its requests until it is loaded anew.
func (c *httpClient) fail(session string, err error) {
	c.mu.Lock()
	c.broken[session] = err
	s := c.sessions[session]
	delete(c.sessions, session)
	c.mu.Unlock()
	if s != nil {
		s.cancel()
	}
	c.failWaiting(session, err)
}

// failWaiting answers the requests of a session whose answers cannot come any more.
func (c *httpClient) failWaiting(session string, err error) {
	c.mu.Lock()
	var lost []waitingRequest
	for id, r := range c.waiting {
		if r.session == session && r.method != methodLoad { // that is answered on the connection's stream
			lost = append(lost, r)
			delete(c.waiting, id)
		}
	}
	c.mu.Unlock()
	for _, r := range lost {
		c.hand(failedRequest(r.rawID, err))
	}
}

// spawn runs a task that Close waits for, if the connection lives. The caller holds mu.
func (c *httpClient) spawn(task func()) bool {
	if c.life.Err() != nil {
		return false
	}
	c.tasks.Go(task)
	return true
}

// Close ends the streams, tells the server and gives up after CloseTimeout.
func (c *httpClient) Close() error {
	c.once.Do(func() {
		c.end(transport.ErrClosed)
		c.mu.Lock() // a task that is being started is counted before the wait
		id := c.id
		c.mu.Unlock()
		c.tasks.Wait()
		if id != "" {
			ctx, cancel := context.WithTimeout(context.Background(), c.opts.CloseTimeout)
			defer cancel()
			if resp, err := c.do(ctx, http.MethodDelete, "", nil); err == nil {
				_ = resp.Body.Close()
			}
		}
		c.done()
	})
	return nil
}
