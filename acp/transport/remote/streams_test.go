package remote_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp/transport/remote"
)

// events reads an event stream.
type events struct {
	t    *testing.T
	resp *http.Response
	r    *bufio.Reader
	end  context.CancelFunc
}

func (s *server) events(t *testing.T, id, session string) *events {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	header := with("Accept", "text/event-stream", "Acp-Connection-Id", id)
	if session != "" {
		header["Acp-Session-Id"] = session
	}
	resp := s.open(t, ctx, raw{"GET", header, ""})
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	return &events{t, resp, bufio.NewReader(resp.Body), cancel}
}

// next is the data of the next event, "" at the end of the stream; comments count as ":".
func (e *events) next() string {
	e.t.Helper()
	for {
		line, err := e.r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			e.t.Fatalf("read events: %v", err)
		}
		if line = strings.TrimRight(line, "\n"); line != "" {
			return strings.TrimPrefix(line, "data: ")
		}
	}
}

// fed is a served connection that a test drives by hand.
type fed struct {
	conn *remote.Conn
	gone chan struct{}
}

// serveFed answers initialize and hands the connection to the test; it ends when reading does.
func serveFed(out chan<- *fed, in chan<- string) func(context.Context, *remote.Conn) {
	return func(ctx context.Context, conn *remote.Conn) {
		f := &fed{conn, make(chan struct{})}
		defer close(f.gone)
		if _, err := conn.Read(ctx); err != nil {
			return
		}
		if err := conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":0,"result":{}}`)); err != nil {
			return
		}
		out <- f
		for {
			msg, err := conn.Read(ctx)
			if err != nil {
				return
			}
			in <- string(msg)
		}
	}
}

// feed starts a server with one connection that the test drives.
func feed(t *testing.T, opts *remote.HandlerOptions) (s *server, id string, f *fed, in chan string) {
	t.Helper()
	out := make(chan *fed, 1)
	in = make(chan string, 100)
	s = start(t, serveFed(out, in), opts)
	id = s.initialize(t)
	return s, id, <-out, in
}

func (f *fed) write(t *testing.T, format string, args ...any) {
	t.Helper()
	if err := f.conn.Write(t.Context(), fmt.Appendf(nil, format, args...)); err != nil {
		t.Errorf("write: %v", err)
	}
}

func TestEachMessageGoesToTheStreamItBelongsTo(t *testing.T) {
	s, id, f, in := feed(t, nil)
	connection, session := s.events(t, id, ""), s.events(t, id, "s")
	for header, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-store", "X-Accel-Buffering": "no"} {
		if got := connection.resp.Header.Get(header); got != want {
			t.Errorf("%s: %q", header, got)
		}
	}
	post := func(id, body string, pairs ...string) {
		t.Helper()
		if g := s.try(t, postTo(id, body, pairs...)); g.status != 202 {
			t.Fatalf("%s: %d %s", body, g.status, g.body)
		}
		if msg := <-in; msg != body {
			t.Errorf("the agent got %s", msg)
		}
	}
	post(id, `{"jsonrpc":"2.0","id":1,"method":"session/new"}`)
	post(id, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, "Acp-Session-Id", "s")
	post(id, `{"jsonrpc":"2.0","id":"2","method":"session/resume","params":{"sessionId":"s"}}`, "Acp-Session-Id", "s")
	post(id, `{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s"}}`, "Acp-Session-Id", "s")
	for _, msg := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{}}`,
		`{"jsonrpc":"2.0","id":"2","result":{}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"_ask"}`,
		`{"jsonrpc":"2.0","method":"_done"}`,
	} {
		f.write(t, "%s", msg)
	}
	for _, want := range []string{`"id":1`, `"id":3,"error"`, `"_ask"`, `"_done"`} {
		if got := connection.next(); !strings.Contains(got, want) {
			t.Errorf("the connection's stream has %s, expected %s", got, want)
		}
	}
	for _, want := range []string{`session/update`, `"id":2`, `"id":"2"`, `"id":7`} {
		if got := session.next(); !strings.Contains(got, want) {
			t.Errorf("the session's stream has %s, expected %s", got, want)
		}
	}
	// The answer to a question of a session names the session.
	permission := `{"jsonrpc":"2.0","id":7,"result":{}}`
	if g := s.try(t, postTo(id, permission)); g.status != 400 || g.body != "Missing Acp-Session-Id" {
		t.Errorf("answer without session: %d %s", g.status, g.body)
	}
	if g := s.try(t, postTo(id, permission, "Acp-Session-Id", "t")); g.status != 400 || g.body != "Mismatched Acp-Session-Id" {
		t.Errorf("answer with another session: %d %s", g.status, g.body)
	}
	post(id, permission, "Acp-Session-Id", "s")
	post(id, `{"jsonrpc":"2.0","id":8,"result":{}}`)
}

func TestAStreamHasOneReaderAndKeepsWhatNobodyRead(t *testing.T) {
	s, id, f, _ := feed(t, nil)
	first := s.events(t, id, "s")
	if second := s.events(t, id, "s"); second.resp.StatusCode != 409 {
		t.Errorf("the second reader got %d", second.resp.StatusCode)
	}
	f.write(t, `{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","n":1}}`)
	if got := first.next(); !strings.Contains(got, `"n":1`) {
		t.Error(got)
	}
	first.end()
	for n := 2; ; n++ { // what is written before the server notices may be lost with the reader; then it waits
		f.write(t, `{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","n":%d}}`, n)
		again := s.events(t, id, "s")
		if again.resp.StatusCode == 409 {
			continue
		}
		f.write(t, `{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","n":"last"}}`)
		for got := again.next(); !strings.Contains(got, `"last"`); got = again.next() {
			if got == "" {
				t.Fatal("the stream ended")
			}
		}
		return
	}
}

func TestMessagesBeforeTheStreamIsOpenWaitForIt(t *testing.T) {
	s, id, f, _ := feed(t, nil)
	for n := range 2048 {
		f.write(t, `{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","n":%d}}`, n)
	}
	stream := s.events(t, id, "s")
	for n := range 2048 {
		if got, want := stream.next(), fmt.Sprintf(`"n":%d}`, n); !strings.Contains(got, want) {
			t.Fatalf("message %d is %s", n, got)
		}
	}
}

func TestAnAnswerOfLoadWaitsForTheReplayedUpdates(t *testing.T) {
	s, id, f, in := feed(t, nil)
	connection, session := s.events(t, id, ""), s.events(t, id, "s")
	if g := s.try(t, postTo(id, `{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s"}}`, "Acp-Session-Id", "s")); g.status != 202 {
		t.Fatal(g)
	}
	<-in
	// More than the network takes while nobody reads the session's stream.
	update := []byte(`{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","x":"` + strings.Repeat("x", 1<<20) + `"}}`)
	for range 32 {
		if err := f.conn.Write(t.Context(), update); err != nil {
			t.Fatal(err)
		}
	}
	f.write(t, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	answered := make(chan string, 1)
	go func() { answered <- connection.next() }()
	for i := range 32 {
		if got := session.next(); len(got) != len(update) {
			t.Fatalf("%.100s", got)
		}
		if i >= 16 { // the rest may be on its way
			continue
		}
		select {
		case got := <-answered:
			t.Fatalf("%s came before the updates", got)
		default:
		}
	}
	if got := <-answered; !strings.Contains(got, `"id":3`) {
		t.Error(got)
	}
}

func TestASlowReaderSlowsTheAgentAndLosesNothing(t *testing.T) {
	s, id, f, in := feed(t, &remote.HandlerOptions{MaxBufferedBytes: 1 << 20})
	stream := s.events(t, id, "s")
	const n, size = 200, 100 << 10
	written := make(chan int, n)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range n {
			f.write(t, `{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","n":%d,"x":"%s"}}`, i, bytes.Repeat([]byte{'x'}, size))
			written <- i
		}
	}()
	select {
	case <-done:
		t.Fatal("the agent wrote 20 MB for a client that reads nothing")
	case <-time.After(300 * time.Millisecond):
	}
	// Notifications still pass, for example a cancellation; a request waits.
	if g := s.try(t, postTo(id, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, "Acp-Session-Id", "s")); g.status != 202 {
		t.Errorf("cancel: %d", g.status)
	}
	<-in
	for i := range n {
		if got, want := stream.next(), fmt.Sprintf(`"n":%d,`, i); !strings.Contains(got, want) {
			t.Fatalf("message %d is %.100s", i, got)
		}
	}
	within(t, 10*time.Second, "writing", done)
}

func TestAReaderThatTakesNothingLosesTheConnection(t *testing.T) {
	s, id, f, _ := feed(t, &remote.HandlerOptions{MaxBufferedBytes: 1 << 20, StallTimeout: 200 * time.Millisecond})
	s.events(t, id, "s") // and never reads
	var err error
	for range 1000 {
		if err = f.conn.Write(t.Context(), []byte(`{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s","x":"`+strings.Repeat("x", 100<<10)+`"}}`)); err != nil {
			break
		}
	}
	if err == nil {
		t.Fatal("100 MB were written to a client that reads nothing")
	}
	within(t, 10*time.Second, "the end of the connection", f.gone)
	if g := s.try(t, postTo(id, `{"jsonrpc":"2.0","method":"_x"}`)); g.status != 404 {
		t.Errorf("afterwards: %d", g.status)
	}
}

func TestTooManyUnreadSessionsEndTheConnection(t *testing.T) {
	_, _, f, _ := feed(t, &remote.HandlerOptions{MaxBufferedStreams: 3})
	for i := range 3 {
		f.write(t, `{"jsonrpc":"2.0","method":"u","params":{"sessionId":"s%d"}}`, i)
	}
	if err := f.conn.Write(t.Context(), []byte(`{"jsonrpc":"2.0","method":"u","params":{"sessionId":"more"}}`)); err == nil {
		t.Error("a fourth session was taken")
	}
	within(t, 10*time.Second, "the end of the connection", f.gone)
}

func TestASilentStreamGetsComments(t *testing.T) {
	s, id, _, _ := feed(t, &remote.HandlerOptions{KeepAlive: 20 * time.Millisecond})
	stream := s.events(t, id, "")
	for range 3 {
		if got := stream.next(); got != ":" {
			t.Errorf("got %q", got)
		}
	}
}

func TestAConnectionThatNobodyUsesEnds(t *testing.T) {
	s, id, f, _ := feed(t, &remote.HandlerOptions{DetachTimeout: 100 * time.Millisecond})
	stream := s.events(t, id, "")
	select {
	case <-f.gone:
		t.Fatal("it ended although its stream was read")
	case <-time.After(300 * time.Millisecond):
	}
	stream.end()
	within(t, 10*time.Second, "the end of the connection", f.gone)
	if n := s.Connections(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func TestADeletedConnectionEndsItsStreamsAndItsAgent(t *testing.T) {
	s, id, f, _ := feed(t, nil)
	streams := []*events{s.events(t, id, ""), s.events(t, id, "s")}
	if g := s.try(t, raw{"DELETE", with("Acp-Connection-Id", id), ""}); g.status != 202 {
		t.Fatal(g)
	}
	for _, stream := range streams {
		if got := stream.next(); got != "" {
			t.Errorf("got %s", got)
		}
	}
	within(t, 10*time.Second, "the end of the connection", f.gone)
}

func TestWhatTheAgentSentLastIsDeliveredAfterItHasGone(t *testing.T) {
	s := start(t, func(ctx context.Context, conn *remote.Conn) {
		_, _ = conn.Read(ctx)
		_ = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":0,"result":{}}`))
		_, _ = conn.Read(ctx) // a sign that the stream is open
		for n := range 1000 {
			_ = conn.Write(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"_u","params":{"n":%d}}`, n))
		}
	}, nil)
	id := s.initialize(t)
	stream := s.events(t, id, "")
	s.try(t, postTo(id, `{"jsonrpc":"2.0","method":"_go"}`))
	for n := range 1000 {
		if got, want := stream.next(), fmt.Sprintf(`"n":%d}`, n); !strings.Contains(got, want) {
			t.Fatalf("message %d is %q", n, got)
		}
	}
	if got := stream.next(); got != "" {
		t.Errorf("then came %q", got)
	}
}

func TestAServersTimeoutsForRequestsDoNotEndItsStreams(t *testing.T) {
	out, in := make(chan *fed, 1), make(chan string, 9)
	s := startOn(t, serveFed(out, in), nil, func(ts *httptest.Server) {
		ts.Config.ReadTimeout, ts.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
		ts.Start()
	})
	id := s.initialize(t)
	f := <-out
	stream := s.events(t, id, "")
	select {
	case <-f.gone:
		t.Fatal("the connection ended")
	case <-time.After(300 * time.Millisecond):
	}
	f.write(t, `{"jsonrpc":"2.0","method":"_late"}`)
	if got := stream.next(); !strings.Contains(got, "_late") {
		t.Errorf("got %q", got)
	}
}
