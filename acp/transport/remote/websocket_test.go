package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/wherry-acp/wherry/acp/transport/remote"
)

// wire is a WebSocket as a test writes it.
type wire struct {
	t    *testing.T
	ws   *websocket.Conn
	resp *http.Response
}

func (s *server) wire(t *testing.T, opts *websocket.DialOptions) *wire {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), s.url, opts)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return &wire{t, ws, resp}
}

func (w *wire) send(msg string) {
	w.t.Helper()
	if err := w.ws.Write(w.t.Context(), websocket.MessageText, []byte(msg)); err != nil {
		w.t.Errorf("send %s: %v", msg, err)
	}
}

func (w *wire) next() string {
	w.t.Helper()
	_, msg, err := w.ws.Read(w.t.Context())
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return string(msg)
}

// closed reads until the server closes and gives its code and reason.
func (w *wire) closed() (websocket.StatusCode, string) {
	w.t.Helper()
	for {
		_, _, err := w.ws.Read(w.t.Context())
		if ce, is := errors.AsType[websocket.CloseError](err); is {
			return ce.Code, ce.Reason
		}
		if err != nil {
			w.t.Fatalf("the WebSocket ended without a goodbye: %v", err)
		}
	}
}

func TestAWebSocketTakesOneMessageATextFrame(t *testing.T) {
	s := start(t, serveTiny, nil)
	w := s.wire(t, &websocket.DialOptions{Subprotocols: []string{"other", "acp"}})
	if id := w.resp.Header.Get("Acp-Connection-Id"); len(id) < 26 || w.ws.Subprotocol() != "acp" {
		t.Errorf("%q, %q", id, w.ws.Subprotocol())
	}
	for _, step := range []struct{ send, want string }{
		{`{"jsonrpc"`, `"id":null,"error":{"code":-32700`},
		{`[` + hello + `]`, `"id":null,"error":{"code":-32600`},
		{`7`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":5}`, ""},             // shaped like a response: ignored
		{`{"jsonrpc":"2.0","id":5,"result":{}}`, ""}, // a response: ignored
		{`{"method":"initialize"}`, `"id":null,"error":{"code":-32600`},
		{hello, `"id":0,"result"`},
		{hello, `"id":0,"error":{"code":-32600,"message":"Initialize not allowed`},
		{`nonsense`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":6,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, `"id":6,"result"`},
	} {
		if err := w.ws.Write(t.Context(), websocket.MessageBinary, []byte("ignored")); err != nil {
			t.Fatal(err)
		}
		w.send(step.send)
		if step.want == "" {
			continue
		}
		if got := w.next(); !strings.Contains(got, step.want) {
			t.Errorf("%s is answered %s, expected %s", step.send, got, step.want)
		}
	}
	w.ws.SetReadLimit(1 << 20)
	if err := w.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("goodbye: %v", err)
	}
}

func TestAWebSocketIsClosedWithTheCodeThatSaysWhy(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for name, test := range map[string]struct {
		serve func(context.Context, *remote.Conn)
		sends []string
		code  websocket.StatusCode
		last  string // what the server says before, if anything
	}{
		"another method first":     {serveTiny, []string{`{"jsonrpc":"2.0","id":1,"method":"session/new"}`}, 1002, ""},
		"a notification first":     {serveTiny, []string{`{"jsonrpc":"2.0","method":"session/cancel"}`}, 1002, ""},
		"initialize with id null":  {serveTiny, []string{strings.Replace(hello, ":0", ":null", 1)}, 1002, ""},
		"initialize without id":    {serveTiny, []string{`{"jsonrpc":"2.0","method":"initialize"}`}, 1002, ""},
		"a session id too long":    {serveTiny, []string{hello, `{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"` + long + `"}}`}, 1008, ""},
		"a request id too long":    {serveTiny, []string{hello, `{"jsonrpc":"2.0","id":"` + long + `","method":"_x"}`}, 1008, ""},
		"a message too large":      {serveTiny, []string{`"` + strings.Repeat("x", 70<<10) + `"`}, 1009, ""},
		"the agent ends":           {func(context.Context, *remote.Conn) {}, nil, 1000, ""},
		"the agent does not start": {func(ctx context.Context, c *remote.Conn) { _, _ = c.Read(ctx) }, []string{hello}, 1011, `"id":0,"error":{"code":-32603,"message":"Initialize failed"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, test.serve, &remote.HandlerOptions{MaxBodyBytes: 64 << 10})
			w := s.wire(t, nil)
			for _, msg := range test.sends {
				w.send(msg)
			}
			if test.last != "" {
				if got := w.next(); !strings.Contains(got, test.last) {
					t.Errorf("got %s", got)
				}
			}
			if code, reason := w.closed(); code != test.code {
				t.Errorf("closed with %d %s, expected %d", code, reason, test.code)
			}
		})
	}
}

func TestAServerThatClosesSaysThatItIsGoingAway(t *testing.T) {
	s := start(t, serveTiny, nil)
	w := s.wire(t, nil)
	w.send(hello)
	w.next()
	go s.Close()
	if code, reason := w.closed(); code != 1001 || reason == "" {
		t.Errorf("closed with %d %q", code, reason)
	}
}

func TestAWebSocketFromAForeignOriginIsRefusedBeforeTheUpgrade(t *testing.T) {
	s := start(t, serveTiny, &remote.HandlerOptions{Origins: []string{"https://good.example"}})
	for origin, ok := range map[string]bool{"https://evil.example": false, s.ts.URL: false, "null": false, "https://good.example": true} {
		ws, resp, err := websocket.Dial(t.Context(), s.url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if (err == nil) != ok || !ok && resp.StatusCode != 403 {
			t.Errorf("%s: %v", origin, err)
		}
		if err == nil {
			_ = ws.CloseNow()
		}
	}
}

func TestASilentWebSocketLivesAsLongAsItAnswersPings(t *testing.T) {
	out, in := make(chan *fed, 2), make(chan string, 9)
	s := start(t, serveFed(out, in), &remote.HandlerOptions{PingInterval: 40 * time.Millisecond})
	tr := dialWebSocket(t, s, &remote.DialOptions{PingInterval: -1})
	if err := tr.Write(t.Context(), []byte(hello)); err != nil {
		t.Fatal(err)
	}
	living := <-out
	if _, err := tr.Read(t.Context()); err != nil {
		t.Fatal(err)
	}

	// A peer that has shaken hands and then reads and writes nothing.
	dead, err := net.Dial("tcp", s.ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	silent := remoteHandshake(t, dead)
	silent(hello)
	deadFed := <-out
	within(t, 10*time.Second, "noticing the dead peer", deadFed.gone)
	select {
	case <-living.gone:
		t.Error("the living peer was cut off")
	default:
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	within(t, 10*time.Second, "the end", living.gone)
}

// remoteHandshake upgrades a TCP connection by hand and gives a function that sends a text frame.
func remoteHandshake(t *testing.T, c net.Conn) func(string) {
	t.Helper()
	_, err := io.WriteString(c, "GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	return func(msg string) {
		if len(msg) > 125 {
			t.Fatal("too long for a short frame")
		}
		if _, err := c.Write(append([]byte{0x81, 0x80 | byte(len(msg)), 0, 0, 0, 0}, msg...)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAWebSocketPeerThatTakesNothingLosesTheConnection(t *testing.T) {
	out, in := make(chan *fed, 1), make(chan string, 9)
	s := start(t, serveFed(out, in), &remote.HandlerOptions{StallTimeout: 200 * time.Millisecond})
	c, err := net.Dial("tcp", s.ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	remoteHandshake(t, c)(hello)
	f := <-out
	msg := []byte(`{"jsonrpc":"2.0","method":"_u","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`)
	for range 100 {
		if err = f.conn.Write(t.Context(), msg); err != nil {
			break
		}
	}
	if err == nil {
		t.Fatal("100 MB were written to a peer that reads nothing")
	}
	within(t, 10*time.Second, "the end of the connection", f.gone)
}

func TestLargeMessagesPassAWebSocketInBothDirections(t *testing.T) {
	out, in := make(chan *fed, 1), make(chan string, 9)
	s := start(t, serveFed(out, in), nil)
	tr := dialWebSocket(t, s, nil)
	defer tr.Close()
	if err := tr.Write(t.Context(), []byte(hello)); err != nil {
		t.Fatal(err)
	}
	f := <-out
	if _, err := tr.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	large := `{"jsonrpc":"2.0","method":"_u","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`
	if err := tr.Write(t.Context(), []byte(large)); err != nil {
		t.Fatal(err)
	}
	if got := <-in; got != large {
		t.Errorf("the agent got %d bytes", len(got))
	}
	go f.write(t, "%s", large)
	if got, err := tr.Read(t.Context()); err != nil || string(got) != large {
		t.Errorf("the client got %d bytes, %v", len(got), err)
	}
}
