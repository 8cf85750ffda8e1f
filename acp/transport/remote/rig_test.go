package remote_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/acp/transport/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tiny is an agent: "say N" sends N updates, "ask" asks for permission, "wait" waits until it is cancelled.
type tiny struct{}

func (tiny) NewSession(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (tiny) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	if req.SessionID == "unknown" {
		return acp.LoadSessionResponse{}, acp.InvalidParams("no such session")
	}
	return acp.LoadSessionResponse{}, say(ctx, req.SessionID, 100)
}

func (tiny) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	text := acp.PlainText(req.Prompt...)
	end := acp.PromptResponse{StopReason: acp.StopEndTurn}
	var n int
	switch _, err := fmt.Sscanf(text, "say %d", &n); {
	case err == nil:
		return end, say(ctx, req.SessionID, n)
	case text == "ask":
		answer, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{
			SessionID: req.SessionID,
			ToolCall:  acp.ToolCallUpdate{ToolCallID: "call"},
			Options:   []acp.PermissionOption{{OptionID: "yes", Name: "Yes", Kind: acp.PermissionAllowOnce}},
		})
		if err != nil {
			return end, err
		}
		chosen, _ := answer.Outcome.(acp.SelectedPermissionOutcome)
		return end, acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text(string(chosen.OptionID))})
	case text == "wait":
		if err := say(ctx, req.SessionID, 1); err != nil {
			return end, err
		}
		<-ctx.Done()
		return end, ctx.Err()
	default:
		return end, errors.New("no such prompt")
	}
}

func say(ctx context.Context, session acp.SessionID, n int) error {
	for i := range n {
		if err := acp.ClientFrom(ctx).Update(ctx, session, acp.AgentMessageChunk{Content: acp.Text(fmt.Sprintf("%d ", i))}); err != nil {
			return err
		}
	}
	return nil
}

// counted is what say has sent.
func counted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()
}

func serveTiny(ctx context.Context, conn *remote.Conn) { _ = acp.Serve(ctx, conn, tiny{}, nil) }

// server is a handler on a loopback address.
type server struct {
	*remote.Handler
	url string
	ts  *httptest.Server
}

func start(t *testing.T, serve func(context.Context, *remote.Conn), opts *remote.HandlerOptions) *server {
	t.Helper()
	return startOn(t, serve, opts, func(ts *httptest.Server) { ts.Start() })
}

func startOn(t *testing.T, serve func(context.Context, *remote.Conn), opts *remote.HandlerOptions, begin func(*httptest.Server)) *server {
	t.Helper()
	h := remote.NewHandler(serve, opts)
	ts := httptest.NewUnstartedServer(h)
	begin(ts)
	t.Cleanup(func() { h.Close(); ts.Close() })
	return &server{h, ts.URL + "/acp", ts}
}

// way is a transport of the protocol between a client and a server.
type way struct {
	name  string
	begin func(*httptest.Server)
	dial  func(t *testing.T, s *server, opts *remote.DialOptions) transport.Transport
}

func ways() []way {
	plain := func(ts *httptest.Server) { ts.Start() }
	unencrypted := new(http.Protocols)
	unencrypted.SetUnencryptedHTTP2(true)
	unencrypted.SetHTTP1(true)
	onlyH2C := new(http.Protocols)
	onlyH2C.SetUnencryptedHTTP2(true)
	return []way{
		{"HTTP/1.1", plain, dialHTTP(nil)},
		{"HTTP/2 without TLS", func(ts *httptest.Server) { ts.Config.Protocols = unencrypted; ts.Start() },
			dialHTTP(func(*server) *http.Transport { return &http.Transport{Protocols: onlyH2C} })},
		{"HTTP/2 with TLS", func(ts *httptest.Server) { ts.EnableHTTP2 = true; ts.StartTLS() },
			dialHTTP(func(s *server) *http.Transport {
				roots := s.ts.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
				return &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}
			})},
		{"WebSocket", plain, dialWebSocket},
	}
}

func dialHTTP(make func(*server) *http.Transport) func(*testing.T, *server, *remote.DialOptions) transport.Transport {
	return func(t *testing.T, s *server, opts *remote.DialOptions) transport.Transport {
		t.Helper()
		var o remote.DialOptions
		if opts != nil {
			o = *opts
		}
		if make != nil {
			own := make(s)
			o.Client = &http.Client{Transport: own}
			t.Cleanup(own.CloseIdleConnections)
		}
		tr, err := remote.DialHTTP(s.url, &o)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
}

func dialWebSocket(t *testing.T, s *server, opts *remote.DialOptions) transport.Transport {
	t.Helper()
	tr, err := remote.DialWebSocket(t.Context(), s.url, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// connect shakes hands; the connection ends with the test.
func connect(t *testing.T, tr transport.Transport, opts *acp.ClientOptions) *acp.RemoteAgent {
	t.Helper()
	agent, err := acp.Connect(t.Context(), tr, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close(); _ = agent.Wait() })
	return agent
}

// within fails the test when a condition that others bring about takes too long.
func within(t *testing.T, d time.Duration, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s took longer than %v", what, d)
	}
}
