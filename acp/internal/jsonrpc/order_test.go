package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/acp/transport"
)

func number(t testing.TB, params jsontext.Value) int {
	t.Helper()
	n, err := strconv.Atoi(string(params[bytes.LastIndexByte(params, ':')+1 : len(params)-1]))
	if err != nil {
		t.Errorf("params %s: %v", params, err)
	}
	return n
}

func TestTenThousandNotificationsOfOneKeyArriveInOrder(t *testing.T) {
	const n = 10_000
	got := make(chan int, n)
	a, _ := pair(t, &funcs{}, &funcs{notification: func(_ context.Context, _ string, params jsontext.Value) {
		got <- number(t, params)
	}}, nil)
	for i := range n {
		if err := a.Notify(t.Context(), "", "chunk", note("s", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if v := <-got; v != i {
			t.Fatalf("notification %d arrived as number %d", v, i)
		}
	}
}

func TestABlockedKeyDoesNotDelayAnotherKeyNorRequests(t *testing.T) {
	block := make(chan struct{})
	fast := make(chan struct{}, 1)
	a, _ := pair(t, &funcs{}, &funcs{
		notification: func(_ context.Context, _ string, params jsontext.Value) {
			if string(unquote(member1(params, "key"))) == "slow" {
				<-block
				return
			}
			fast <- struct{}{}
		},
		request: func(context.Context, *Request) (any, error) { return nil, nil },
	}, nil)
	defer close(block)
	for i := range 1000 {
		_ = a.Notify(t.Context(), "", "chunk", note("slow", i))
	}
	_ = a.Notify(t.Context(), "", "chunk", note("fast", 0))
	<-fast
	if _, err := a.Call(t.Context(), "ping", nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestAnAnswerIsDeliveredAfterTheNotificationsBeforeItOnItsKey(t *testing.T) {
	var handled atomic.Int32
	release := make(chan struct{})
	c, w := raw(t, &funcs{notification: func(context.Context, string, jsontext.Value) {
		<-release
		handled.Add(1)
	}}, nil)
	result := make(chan int32)
	go func() {
		_, _ = c.Call(t.Context(), "prompt", nil, &Call{Key: "s"})
		result <- handled.Load()
	}()
	w.want(`"id":1`)
	for i := range 3 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"chunk","params":{"key":"s","n":%d}}`, i))
	}
	w.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	select {
	case <-result:
		t.Fatal("the answer overtook notifications that are still being handled")
	case release <- struct{}{}:
	}
	close(release)
	if n := <-result; n != 3 {
		t.Fatalf("%d notifications were handled before the answer, want 3", n)
	}
}

func TestANotificationHandlerMayCallThePeerOnItsOwnKey(t *testing.T) {
	done := make(chan error, 1)
	var a *Conn
	a, b := pair(t, &funcs{notification: func(ctx context.Context, _ string, _ jsontext.Value) {
		_, err := a.Call(ctx, "ping", nil, &Call{Key: "s"})
		done <- err
	}}, &funcs{request: func(context.Context, *Request) (any, error) { return nil, nil }}, nil)
	_ = b.Notify(t.Context(), "", "chunk", note("s", 1))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestOnResultRunsBeforeLaterMessagesOfTheSameWrite(t *testing.T) {
	var mu sync.Mutex
	var order []string
	note := make(chan struct{})
	c, w := raw(t, &funcs{notification: func(context.Context, string, jsontext.Value) {
		mu.Lock()
		order = append(order, "notification")
		mu.Unlock()
		close(note)
	}}, nil)
	go func() {
		_, _ = c.Call(t.Context(), "session/new", nil, &Call{OnResult: func(jsontext.Value) {
			mu.Lock()
			order = append(order, "result")
			mu.Unlock()
		}})
	}()
	w.want(`"id":1`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, `{"jsonrpc":"2.0","method":"chunk","params":{"key":"s"}}`)
	<-note
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(order) != "[result notification]" {
		t.Fatalf("order %v", order)
	}
}

func TestAHandlersNotificationsAreWrittenBeforeItsAnswerAndAfterHooksBehindIt(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	h := &funcs{request: func(ctx context.Context, r *Request) (any, error) {
		<-ready
		r.After(func(ctx context.Context) { _ = c.Notify(ctx, "", "after", nil) })
		for range 5 {
			_ = c.Notify(ctx, "", "during", nil)
		}
		return nil, nil
	}}
	c, w := raw(t, h, nil)
	close(ready)
	w.send(`{"jsonrpc":"2.0","id":"r","method":"work"}`)
	for range 5 {
		w.want(`"during"`)
	}
	w.want(`"result":{}`)
	w.want(`"after"`)
}

func TestNotificationsOfAnUnannouncedKeyWaitForTheAnswerThatAnnouncesIt(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	h := &funcs{
		begin: func(ctx context.Context, r *Request) context.Context {
			if r.Method == "new" {
				r.Hold()
			}
			return ctx
		},
		request: func(ctx context.Context, r *Request) (any, error) {
			<-ready
			_ = c.Notify(ctx, "s1", "early", nil)
			_ = c.Notify(ctx, "", "connection", nil)
			r.Open("s1")
			return nil, nil
		},
	}
	c, w := raw(t, h, nil)
	close(ready)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"new"}`)
	w.want(`"connection"`)
	w.want(`"result"`)
	w.want(`"early"`)
	// The key is known now, so nothing is held while another one is made.
	w.send(`{"jsonrpc":"2.0","id":2,"method":"new"}`)
	w.want(`"early"`)
	w.want(`"connection"`)
	w.want(`"result"`)
}

func TestHeldNotificationsAreReleasedByAnErrorAnswer(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	c, w := raw(t, &funcs{
		begin: func(ctx context.Context, r *Request) context.Context { r.Hold(); return ctx },
		request: func(ctx context.Context, _ *Request) (any, error) {
			<-ready
			_ = c.Notify(ctx, "s1", "early", nil)
			return nil, &Error{Code: -32000, Message: "no"}
		},
	}, nil)
	close(ready)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"new"}`)
	w.want(`"error"`)
	w.want(`"early"`)
}

func TestAHundredThousandNotificationsToASometimesSlowHandlerStayWithinTheByteBudget(t *testing.T) {
	const n = 100_000
	opts := &Options{InboundBytes: 1 << 20, OutboundBytes: 1 << 20}
	var got atomic.Int64
	done := make(chan struct{})
	ta, tb := transport.Pipe()
	a := New(ta, &funcs{}, opts)
	var b *Conn
	var most int
	b = New(tb, &funcs{notification: func(_ context.Context, _ string, params jsontext.Value) {
		i := got.Add(1)
		if i%1000 == 0 {
			for range 50 {
				runtime.Gosched()
			}
			b.in.mu.Lock()
			most = max(most, b.in.bytes)
			b.in.mu.Unlock()
		}
		if number(t, params) != int(i-1) {
			t.Errorf("number %s arrived as %d", params, i)
		}
		if i == n {
			close(done)
		}
	}}, opts)
	a.Start(t.Context())
	b.Start(t.Context())
	for i := range n {
		if err := a.Notify(t.Context(), "", "chunk", note("s", i)); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	if most > opts.InboundBytes {
		t.Errorf("%d bytes were queued, the budget is %d", most, opts.InboundBytes)
	}
	end(t, a, b)
}

func TestTheReaderWaitsWhenTheBudgetIsUsedUpAndGoesOnWhenThereIsRoom(t *testing.T) {
	release := make(chan struct{})
	var got atomic.Int32
	a, b := pair(t, &funcs{}, &funcs{notification: func(context.Context, string, jsontext.Value) {
		<-release
		got.Add(1)
	}}, &Options{InboundBytes: 4096})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range 200 {
			_ = a.Notify(t.Context(), "", "chunk", note("s", i))
		}
	}()
	<-sent
	for starved := false; !starved; runtime.Gosched() {
		b.in.mu.Lock()
		starved = b.in.starved
		if b.in.bytes > 4096 {
			t.Errorf("%d bytes queued", b.in.bytes)
		}
		b.in.mu.Unlock()
	}
	close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for got.Load() < 200 && ctx.Err() == nil {
		runtime.Gosched()
	}
	if got.Load() != 200 {
		t.Fatalf("%d of 200 arrived", got.Load())
	}
}

func TestUrgentNotificationsAndAnswersPassABlockedHandlerWithAFullQueue(t *testing.T) {
	release := make(chan struct{})
	urgent := make(chan struct{}, 1)
	c, w := raw(t, &funcs{
		notification: func(context.Context, string, jsontext.Value) { <-release },
		urgent: func(method string, _ jsontext.Value) bool {
			if method == "stop" {
				urgent <- struct{}{}
				return true
			}
			return false
		},
	}, nil)
	defer close(release)
	for i := range 5000 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"chunk","params":{"key":"s","n":%d}}`, i))
	}
	w.send(`{"jsonrpc":"2.0","method":"stop"}`)
	<-urgent
	answered := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), "other", nil, &Call{Key: "t"})
		answered <- err
	}()
	w.want(`"id":1`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":1}`)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

func TestAHandlerThatWaitsForAnAnswerIsNotStarvedByAFullQueue(t *testing.T) {
	var c *Conn
	done := make(chan error, 1)
	var once sync.Once
	ready := make(chan struct{})
	c, w := raw(t, &funcs{notification: func(ctx context.Context, _ string, _ jsontext.Value) {
		once.Do(func() {
			<-ready
			_, err := c.Call(ctx, "ask", nil, nil)
			done <- err
		})
	}}, &Options{InboundBytes: 2048})
	close(ready)
	w.send(`{"jsonrpc":"2.0","method":"chunk","params":{"key":"s"}}`)
	w.want(`"ask"`)
	for range 30 { // more than the budget, less than four times as much
		w.send(`{"jsonrpc":"2.0","method":"chunk","params":{"key":"s"}}`)
	}
	w.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestAnyMixOfTrafficKeepsItsPromises drives a connection with random requests,
// notifications and answers and checks order a key and exactly one answer a request.
func TestAnyMixOfTrafficKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ta, tb := transport.Pipe()
		var mu sync.Mutex
		seen := map[string][]int{}
		var b *Conn
		opts := &Options{InboundBytes: 2048, OutboundBytes: 1024, MaxRequests: 3}
		a := New(ta, &funcs{request: func(context.Context, *Request) (any, error) { return nil, nil }}, opts)
		b = New(tb, &funcs{
			notification: func(ctx context.Context, _ string, params jsontext.Value) {
				n := number(t, params)
				if n%7 == 3 {
					if _, err := b.Call(ctx, "back", nil, &Call{Key: "x"}); err != nil {
						t.Errorf("call back: %v", err)
					}
				}
				key := string(unquote(member1(params, "key")))
				mu.Lock()
				seen[key] = append(seen[key], n)
				mu.Unlock()
			},
			request: func(ctx context.Context, r *Request) (any, error) {
				if r.Method == "fail" {
					return nil, &Error{Code: -1, Message: "no"}
				}
				if r.Method == "panic" {
					panic("on purpose")
				}
				return r.Params, nil
			},
		}, opts)
		a.Start(context.Background())
		b.Start(context.Background())
		sent := map[string]int{}
		var calls sync.WaitGroup
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch op := rapid.SampledFrom([]string{"note", "note", "note", "echo", "fail", "panic", "cancelled"}).Draw(rt, "op"); op {
			case "note":
				key := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "key")
				if err := a.Notify(context.Background(), "", "chunk", note(key, sent[key])); err != nil {
					rt.Fatal(err)
				}
				sent[key]++
			default:
				calls.Go(func() {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if op == "cancelled" {
						go cancel()
					}
					got, err := a.Call(ctx, op, jsontext.Value(`{"v":1}`), nil)
					if op == "echo" && (err != nil || string(got) != `{"v":1}`) {
						t.Errorf("echo: %s, %v", got, err)
					}
					if (op == "fail" || op == "panic") && err == nil {
						t.Errorf("%s: no error", op)
					}
				})
			}
		}
		calls.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		// One more call makes sure that b has read everything before it drains.
		if _, err := a.Call(ctx, "echo", jsontext.Value(`{}`), nil); err != nil {
			rt.Fatal(err)
		}
		if err := b.Drain(ctx); err != nil {
			rt.Fatal(err)
		}
		for _, c := range []*Conn{a, b} {
			_ = c.Close()
			if err := c.Wait(ctx); err != nil {
				rt.Fatal(err)
			}
		}
		for key, n := range sent {
			if len(seen[key]) != n {
				rt.Fatalf("key %s: %d of %d arrived", key, len(seen[key]), n)
			}
			for i, v := range seen[key] {
				if v != i {
					rt.Fatalf("key %s: %v", key, seen[key])
				}
			}
		}
	})
}
