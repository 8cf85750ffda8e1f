package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/transport"
)

func blocking(started chan<- error) *funcs {
	return &funcs{request: func(ctx context.Context, _ *Request) (any, error) {
		<-ctx.Done()
		started <- context.Cause(ctx)
		return nil, ctx.Err()
	}}
}

func TestPendingCallsAndHandlersEndWhenThePeerGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 1)
		ta, tb := transport.Pipe()
		c := New(ta, blocking(causes), nil)
		c.Start(context.Background())
		w := &wire{t, tb}
		w.send(`{"jsonrpc":"2.0","id":1,"method":"work"}`)
		failed := make(chan error, 1)
		go func() {
			_, err := c.Call(context.Background(), "ask", nil, nil)
			failed <- err
		}()
		w.want(`"ask"`)
		start := time.Now()
		_ = tb.Close()
		err := <-failed
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("the call failed after %v", d)
		}
		if !errors.Is(err, ErrClosed) || !errors.Is(err, io.EOF) || !errors.Is(err, ErrMaybeSent) || errors.Is(err, ErrNotSent) {
			t.Errorf("call: %v", err)
		}
		if cause := <-causes; !errors.Is(cause, ErrClosed) {
			t.Errorf("handler's cause: %v", cause)
		}
		<-c.Done()
		if err := c.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("err: %v", err)
		}
		if _, err := c.Call(context.Background(), "late", nil, nil); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrNotSent) {
			t.Errorf("later call: %v", err)
		}
		if err := c.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		if err := c.Notify(context.Background(), "", "late", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("later notification: %v", err)
		}
	})
}

func TestRequestsReadBeforeTheEndOfInputAreStillAnswered(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"b"}`)
	var out syncBuffer
	c := New(transport.NewLine(in, &out, nil), &funcs{request: func(ctx context.Context, r *Request) (any, error) {
		return nil, ctx.Err()
	}}, nil)
	c.Start(t.Context())
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"id":1,"result"`, `"id":2,"result"`} {
		if !strings.Contains(out.String(), id) {
			t.Errorf("no %s in %s", id, out.String())
		}
	}
}

func TestNotificationsAndAnswersReadBeforeTheEndAreStillDelivered(t *testing.T) {
	release := make(chan struct{})
	n := 0
	ta, tb := transport.Pipe()
	c := New(ta, &funcs{notification: func(ctx context.Context, _ string, _ jsontext.Value) {
		<-release
		if ctx.Err() == nil {
			n++
		}
	}}, nil)
	c.Start(t.Context())
	w := &wire{t, tb}
	answer := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "prompt", nil, &Call{Key: "s"})
		answer <- err
	}()
	w.want(`"prompt"`)
	for range 20 {
		w.send(`{"jsonrpc":"2.0","method":"chunk","params":{"key":"s"}}`)
	}
	w.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	_ = tb.Close()
	<-c.Done()
	close(release)
	if err := <-answer; err != nil || n != 20 {
		t.Errorf("answer %v after %d notifications", err, n)
	}
	end(t, c)
}

// stuck is a transport whose peer never reads and never writes.
type stuck struct{ closed chan struct{} }

func (s *stuck) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, transport.ErrClosed
	}
}

func (s *stuck) Write(ctx context.Context, _ ...[]byte) error {
	_, err := s.Read(ctx)
	return err
}

func (s *stuck) Close() error { close(s.closed); return nil }

func TestACallerReturnsAtItsDeadlineThoughThePeerNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&stuck{make(chan struct{})}, &funcs{}, &Options{OutboundBytes: 100})
		c.Start(context.Background())
		call := func() (time.Duration, error) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := c.Call(ctx, "ask", nil, nil)
			return time.Since(start), err
		}
		d, err := call() // handed to the writer
		if d != time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrMaybeSent) {
			t.Errorf("first: %v after %v", err, d)
		}
		d, err = call() // never leaves the queue
		if d != time.Second || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNotSent) || errors.Is(err, ErrMaybeSent) {
			t.Errorf("second: %v after %v", err, d)
		}
		end(t, c)
	})
}

func TestAWriteWithoutProgressEndsTheConnectionAfterTheTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&stuck{make(chan struct{})}, &funcs{}, &Options{WriteTimeout: time.Minute})
		c.Start(context.Background())
		_, err := c.Call(context.Background(), "ask", nil, nil)
		if !errors.Is(err, ErrWriteStalled) || !errors.Is(err, ErrClosed) {
			t.Errorf("call: %v", err)
		}
		end(t, c)
	})
}

func TestCloseIsBoundedIdempotentAndMayBeCalledFromAHandler(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	closed := make(chan struct{})
	c, w := raw(t, &funcs{request: func(ctx context.Context, _ *Request) (any, error) {
		<-ready
		_ = c.Notify(ctx, "", "farewell", nil)
		_ = c.Close()
		close(closed)
		return nil, nil
	}}, nil)
	close(ready)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"quit"}`)
	w.want(`"farewell"`)
	<-closed
	for range 3 {
		go func() { _ = c.Close() }()
	}
	end(t, c)
	if !errors.Is(c.Err(), ErrLocalClose) {
		t.Errorf("err %v", c.Err())
	}
}

func TestDrainWaitsForHandlersAndRefusesNewRequests(t *testing.T) {
	release := make(chan struct{})
	c, w := raw(t, &funcs{request: func(context.Context, *Request) (any, error) { <-release; return nil, nil }}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"work"}`, `{"jsonrpc":"2.0","id":1,"method":"same id, to know that the first is in"}`)
	w.want(`in use`)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.Drain(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain with a handler running: %v", err)
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"work"}`)
	w.want(`shutting down`)
	close(release)
	if err := c.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	w.want(`"id":1,"result"`)
}

func TestEveryCallEndsWhereverTheStreamIsCut(t *testing.T) {
	const stream = `{"jsonrpc":"2.0","method":"chunk","params":{"key":"s"}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"result":{"a":1}}` + "\n" + `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"m"}}` + "\n"
	first := strings.Index(stream, `"a":1}}`) + len(`"a":1}}`)
	for cut := range len(stream) + 1 {
		pr, pw := io.Pipe()
		c := New(transport.NewLine(pr, io.Discard, nil), &funcs{}, nil)
		c.Start(context.Background())
		errs := make([]chan error, 2)
		for i := range errs {
			errs[i] = make(chan error, 1)
			go func() {
				_, err := c.Call(context.Background(), fmt.Sprint("m", i), nil, &Call{Key: "s"})
				errs[i] <- err
			}()
			for { // the ids must be known
				c.mu.Lock()
				n := len(c.calls)
				c.mu.Unlock()
				if n == i+1 {
					break
				}
			}
		}
		_, _ = io.WriteString(pw, stream[:cut])
		_ = pw.Close()
		err := <-errs[0]
		if cut >= first && err != nil || cut < first && !errors.Is(err, ErrClosed) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if err := <-errs[1]; err == nil {
			t.Errorf("cut at %d: the second call succeeded", cut)
		}
		end(t, c)
	}
}
