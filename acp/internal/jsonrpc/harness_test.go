package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// funcs is a Handler made of functions; a nil one has a plain behaviour.
type funcs struct {
	begin        func(ctx context.Context, r *Request) context.Context
	request      func(ctx context.Context, r *Request) (any, error)
	urgent       func(method string, params jsontext.Value) bool
	notification func(ctx context.Context, method string, params jsontext.Value)
}

func (f *funcs) Key(_ string, params jsontext.Value) []byte {
	if raw := member1(params, "key"); raw != nil {
		return unquote(raw)
	}
	return nil
}

func (f *funcs) Begin(ctx context.Context, r *Request) context.Context {
	if f.begin != nil {
		return f.begin(ctx, r)
	}
	return ctx
}

func (f *funcs) Request(ctx context.Context, r *Request) (any, error) {
	if f.request != nil {
		return f.request(ctx, r)
	}
	return nil, &Error{Code: CodeMethodNotFound, Message: "no " + r.Method}
}

func (f *funcs) Urgent(method string, params jsontext.Value) bool {
	return f.urgent != nil && f.urgent(method, params)
}

func (f *funcs) Notification(ctx context.Context, method string, params jsontext.Value) {
	if f.notification != nil {
		f.notification(ctx, method, params)
	}
}

// end closes a connection and waits for everything it started.
func end(t *testing.T, conns ...*Conn) {
	t.Helper()
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, c := range conns {
		if err := c.Wait(ctx); err != nil {
			t.Fatalf("connection did not end: %v", err)
		}
	}
}

// pair connects two started connections through memory.
func pair(t *testing.T, a, b Handler, opts *Options) (*Conn, *Conn) {
	t.Helper()
	ta, tb := transport.Pipe()
	ca, cb := New(ta, a, opts), New(tb, b, opts)
	ca.Start(t.Context())
	cb.Start(t.Context())
	t.Cleanup(func() { end(t, ca, cb) })
	return ca, cb
}

// A wire is the raw other end of a connection under test.
type wire struct {
	t  *testing.T
	tr transport.Transport
}

// raw starts a connection whose peer is the test itself.
func raw(t *testing.T, h Handler, opts *Options) (*Conn, *wire) {
	t.Helper()
	ta, tb := transport.Pipe()
	c := New(ta, h, opts)
	c.Start(t.Context())
	t.Cleanup(func() { end(t, c) })
	return c, &wire{t, tb}
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	msgs := make([][]byte, len(lines))
	for i, line := range lines {
		msgs[i] = []byte(line)
	}
	if err := w.tr.Write(w.t.Context(), msgs...); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

// recv returns the next message, or fails the test after some seconds.
func (w *wire) recv() string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	line, err := w.tr.Read(ctx)
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return string(line)
}

func (w *wire) want(part string) {
	w.t.Helper()
	if got := w.recv(); !strings.Contains(got, part) {
		w.t.Fatalf("got %s, want it to contain %s", got, part)
	}
}

// quiet fails the test if anything but the answer to a probe arrives.
func (w *wire) quiet() {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"probe","method":"probe"}`)
	w.want(`"id":"probe"`)
}

func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// syncBuffer is a buffer that may be written and read concurrently.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func note(key string, n int) jsontext.Value {
	return jsontext.Value(fmt.Sprintf(`{"key":%q,"n":%d}`, key, n))
}
