package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxRedirects  = 5
	streamPatient = 3 * time.Second // for a server to answer the request for a stream of its own messages
	goodbye       = time.Second     // for a server to take the end of a session
	// Attempts to get a broken stream back, between which the SDK waits up to a minute. Whether the server still works is
	// seen by the calls, so giving up the session for its stream would only lose it.
	streamAttempts = 1000
)

var errStopped = errors.New("the connection was ended here")

// remote speaks HTTP with one server. It adds the configured headers to requests to the server's own origin and to no
// other, bounds what is read, and can end everything at once.
type remote struct {
	cfg    Server
	origin string
	base   *http.Transport
	life   context.Context // all requests end with it
	end    context.CancelFunc

	streams atomic.Bool // the server has opened a stream of its own messages
	mu      sync.Mutex
	refused int    // the last status of a refused login
	issuer  string // origin of the server that gave the session its id: after a redirect, not ours
}

func newRemote(cfg Server) *remote {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	r := &remote{cfg: cfg, origin: origin(cfg.URL), base: base.Clone()}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// transport gives the SDK's transport for one conversation.
func (r *remote) transport() sdk.Transport {
	client := &http.Client{Transport: r, CheckRedirect: r.redirect}
	if r.cfg.Transport == TransportSSE {
		return &sseTransport{remote: r, inner: &sdk.SSEClientTransport{
			Endpoint: r.cfg.URL, HTTPClient: client, MaxEventSize: maxMessage,
		}}
	}
	r.streams.Store(false)
	return &sdk.StreamableClientTransport{
		Endpoint: r.cfg.URL, HTTPClient: client, MaxRetries: streamAttempts, MaxEventSize: maxMessage,
	}
}

// sseTransport connects for longer than the context of the start: the SDK ends the stream with it.
type sseTransport struct {
	remote *remote
	inner  *sdk.SSEClientTransport
}

// Connect implements [sdk.Transport].
func (t *sseTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	stop := context.AfterFunc(ctx, t.remote.end)
	conn, err := t.inner.Connect(t.remote.life)
	if !stop() && err == nil {
		_ = conn.Close()
		err = context.Cause(ctx)
	}
	return conn, err
}

func (r *remote) redirect(req *http.Request, via []*http.Request) error {
	err := badRedirect(req, via)
	if err != nil && req.Method == http.MethodGet && r.cfg.Transport == TransportHTTP && !r.streams.Load() {
		return http.ErrUseLastResponse // no stream, as RoundTrip has it
	}
	return err
}

func badRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("redirected more than %d times", maxRedirects)
	case req.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https":
		return errors.New("redirected from https to an address without encryption")
	}
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	unlink := context.AfterFunc(r.life, func() { cancel(errStopped) })
	done := func() { unlink(); cancel(nil) }

	out := req.Clone(ctx)
	r.address(out)
	stream := r.cfg.Transport == TransportHTTP && out.Method == http.MethodGet
	first := stream && !r.streams.Load()
	var slow *time.Timer
	if first {
		slow = time.AfterFunc(streamPatient, func() { cancel(errors.New("no answer")) })
	}
	resp, err := r.base.RoundTrip(out)
	inTime := slow == nil || slow.Stop()
	switch {
	case first && (err != nil || !inTime || resp.StatusCode >= 400):
		// No stream is no fault: the protocol lets a server say so with 405, and some say it otherwise. The SDK tries
		// again after an error, and waits for that before it is connected, whatever has become of its context.
		if err == nil {
			_ = resp.Body.Close()
		}
		done()
		return noStream(req), nil
	case err != nil:
		done()
		return nil, err
	case stream && resp.StatusCode >= 500: // a hiccup between stream and stream: the SDK would give up, but for an error it tries again
		_ = resp.Body.Close()
		done()
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	if stream && resp.StatusCode < 300 {
		r.streams.Store(true)
	}
	r.learn(out, resp)
	left := int64(maxMessage)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		left = -1 // without end; the SDK bounds each event
	}
	resp.Body = &body{ReadCloser: resp.Body, left: left, done: done}
	return resp, nil
}

// address gives a request the headers that are meant for where it goes, and takes those away that are not.
func (r *remote) address(req *http.Request) {
	to := originOf(req.URL)
	if to == r.origin {
		r.addHeaders(req)
	} else {
		req.Header.Del("Authorization")
		req.Header.Del("Cookie")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.issuer != to {
		req.Header.Del("Mcp-Session-Id")
	}
}

// learn notes what an answer says about the session and the login.
func (r *remote) learn(req *http.Request, resp *http.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if resp.Header.Get("Mcp-Session-Id") != "" {
		r.issuer = originOf(req.URL)
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		r.refused = resp.StatusCode
	}
}

// addHeaders adds the configured headers; those of the protocol itself stay.
func (r *remote) addHeaders(req *http.Request) {
	for name, value := range r.cfg.Headers {
		switch {
		case strings.EqualFold(name, "Host"):
			req.Host = value
		case strings.EqualFold(name, "Authorization"), req.Header.Get(name) == "":
			req.Header.Set(name, value)
		}
	}
}

// explain adds to an error what the person can do about it.
func (r *remote) explain(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused != 0 {
		return fmt.Errorf("the server refuses the login (%d %s): check the headers that are configured for it: %w",
			r.refused, http.StatusText(r.refused), err)
	}
	return err
}

// close ends all requests.
func (r *remote) close() {
	r.end()
	r.base.CloseIdleConnections()
}

func noStream(req *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

// body bounds what is read of an answer, and lets its request go when it is closed.
type body struct {
	io.ReadCloser
	left int64 // bytes; negative for no bound
	done func()
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return b.ReadCloser.Read(p)
	}
	if b.left == 0 {
		return 0, fmt.Errorf("the answer is larger than %d MiB", maxMessage>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}
