package remote_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp/transport/remote"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`

// raw is an HTTP request as a test writes it.
type raw struct {
	method string
	header map[string]string
	body   string
}

type got struct {
	status int
	header http.Header
	body   string
}

func (s *server) try(t *testing.T, r raw) got {
	t.Helper()
	resp := s.open(t, t.Context(), r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{resp.StatusCode, resp.Header, string(body)}
}

func (s *server) open(t *testing.T, ctx context.Context, r raw) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, r.method, s.url, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range r.header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := s.ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func with(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// postTo is a message for an open connection.
func postTo(id, body string, pairs ...string) raw {
	return raw{"POST", with(append([]string{"Content-Type", "application/json", "Acp-Connection-Id", id}, pairs...)...), body}
}

func (s *server) initialize(t *testing.T) (connection string) {
	t.Helper()
	g := s.try(t, raw{"POST", with("Content-Type", "application/json"), hello})
	if g.status != 200 {
		t.Fatalf("initialize: %d %s", g.status, g.body)
	}
	return g.header.Get("Acp-Connection-Id")
}

func TestEachRequestGetsItsStatus(t *testing.T) {
	long := strings.Repeat("x", 1025)
	s := start(t, serveTiny, &remote.HandlerOptions{MaxBodyBytes: 8 << 10, Origins: []string{"https://good.example"}})
	id := s.initialize(t)
	json := "application/json"
	cancel := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`
	for _, test := range []struct {
		name    string
		request raw
		status  int
		body    string // a part of it
	}{
		{"initialize", raw{"POST", with("Content-Type", json), hello}, 200, `"protocolVersion":1`},
		{"initialize with a charset", raw{"POST", with("Content-Type", "Application/JSON; charset=utf-8"), hello}, 200, `"id":0`},
		{"wrong content type", raw{"POST", with("Content-Type", "text/plain"), hello}, 415, "Unsupported Media Type"},
		{"no content type", raw{"POST", nil, hello}, 415, ""},
		{"bad JSON", raw{"POST", with("Content-Type", json), `{"jsonrpc"`}, 400, "Invalid JSON"},
		{"two values", raw{"POST", with("Content-Type", json), hello + hello}, 400, "Invalid JSON"},
		{"batch", raw{"POST", with("Content-Type", json), "[" + hello + "]"}, 400, `"id":null,"error":{"code":-32600`},
		{"number", raw{"POST", with("Content-Type", json), "1"}, 400, "Invalid JSON-RPC message"},
		{"initialize with a connection", postTo(id, hello), 400, "Initialize not allowed"},
		{"initialize with id null", raw{"POST", with("Content-Type", json), strings.Replace(hello, `"id":0`, `"id":null`, 1)}, 400, "must include an ID"},
		{"initialize without id is no initialize", raw{"POST", with("Content-Type", json), strings.Replace(hello, `"id":0,`, "", 1)}, 400, "Missing Acp-Connection-Id"},
		{"no connection", raw{"POST", with("Content-Type", json), cancel}, 400, "Missing Acp-Connection-Id"},
		{"unknown connection", postTo("nobody", cancel, "Acp-Session-Id", "s"), 404, "Unknown Acp-Connection-Id"},
		{"session method without session", postTo(id, cancel), 400, "Missing Acp-Session-Id"},
		{"session method without session and params", postTo(id, `{"jsonrpc":"2.0","method":"session/cancel"}`), 400, "Missing Acp-Session-Id"},
		{"session in the params only", postTo(id, `{"jsonrpc":"2.0","method":"_x","params":{"sessionId":"s"}}`), 400, "Missing Acp-Session-Id"},
		{"mismatched session", postTo(id, cancel, "Acp-Session-Id", "other"), 400, "Mismatched Acp-Session-Id"},
		{"session id too long", postTo(id, `{"jsonrpc":"2.0","method":"_x"}`, "Acp-Session-Id", long), 400, ""},
		{"request id too long", postTo(id, `{"jsonrpc":"2.0","id":"`+long+`","method":"_x"}`), 400, ""},
		{"notification", postTo(id, cancel, "Acp-Session-Id", "s"), 202, ""},
		{"notification of the connection", postTo(id, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":9}}`), 202, ""},
		{"request", postTo(id, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`), 202, ""},
		{"response to nobody", postTo(id, `{"jsonrpc":"2.0","id":77,"result":null}`), 202, ""},
		{"body too large", postTo(id, `{"a":"`+strings.Repeat("x", 8<<10)+`"}`), 413, "8192"},
		{"GET without event stream", raw{"GET", with("Accept", "application/json", "Acp-Connection-Id", id), ""}, 406, "Not Acceptable"},
		{"GET without connection", raw{"GET", with("Accept", "text/event-stream"), ""}, 400, "Missing Acp-Connection-Id"},
		{"GET of an unknown connection", raw{"GET", with("Accept", "text/event-stream", "Acp-Connection-Id", "nobody"), ""}, 404, ""},
		{"GET with a session id too long", raw{"GET", with("Accept", "text/event-stream", "Acp-Connection-Id", id, "Acp-Session-Id", long), ""}, 400, ""},
		{"DELETE without connection", raw{"DELETE", nil, ""}, 400, "Missing Acp-Connection-Id"},
		{"DELETE of an unknown connection", raw{"DELETE", with("Acp-Connection-Id", "nobody"), ""}, 404, ""},
		{"PUT", raw{"PUT", nil, ""}, 405, ""},
		{"upgrade without key", raw{"GET", with("Upgrade", "websocket"), ""}, 426, ""},
		{"foreign origin POST", raw{"POST", with("Content-Type", json, "Origin", "https://evil.example"), hello}, 403, "origin"},
		{"foreign origin GET", raw{"GET", with("Accept", "text/event-stream", "Acp-Connection-Id", id, "Origin", "https://evil.example"), ""}, 403, ""},
		{"foreign origin DELETE", raw{"DELETE", with("Acp-Connection-Id", id, "Origin", "https://evil.example"), ""}, 403, ""},
		{"foreign origin preflight", raw{"OPTIONS", with("Access-Control-Request-Method", "POST", "Origin", "https://evil.example"), ""}, 403, ""},
		{"foreign origin upgrade", raw{"GET", with("Upgrade", "websocket", "Connection", "Upgrade", "Origin", "https://evil.example"), ""}, 403, ""},
		{"origin null", raw{"POST", with("Content-Type", json, "Origin", "null"), hello}, 403, ""},
		{"origin of a loopback page", raw{"POST", with("Content-Type", json, "Origin", "http://127.0.0.1"), hello}, 403, ""},
		{"listed origin", raw{"POST", with("Content-Type", json, "Origin", "https://good.example"), hello}, 200, ""},
		{"preflight of a listed origin", raw{"OPTIONS", with("Access-Control-Request-Method", "POST", "Origin", "https://good.example"), ""}, 204, ""},
		{"host of a rebound name", raw{"POST", with("Content-Type", json, "Host", "evil.example"), hello}, 403, "host"},
		{"host localhost", raw{"POST", with("Content-Type", json, "Host", "localhost:80"), hello}, 200, ""},
		{"host ::1", raw{"POST", with("Content-Type", json, "Host", "[::1]:80"), hello}, 200, ""},
		{"DELETE", raw{"DELETE", with("Acp-Connection-Id", id), ""}, 202, ""},
		{"after DELETE", postTo(id, cancel, "Acp-Session-Id", "s"), 404, ""},
	} {
		g := s.try(t, test.request)
		if g.status != test.status || !strings.Contains(g.body, test.body) {
			t.Errorf("%s: %d %q, expected %d %q", test.name, g.status, g.body, test.status, test.body)
		}
		if g.status == 202 && g.body != "" {
			t.Errorf("%s: the body of a 202 is %q", test.name, g.body)
		}
		if g.status == 200 && (len(g.header.Get("Acp-Connection-Id")) < 26 || g.header.Get("Content-Type") != json) {
			t.Errorf("%s: %v", test.name, g.header)
		}
	}
}

func TestOnlyWhoeverOpenedAConnectionCanUseIt(t *testing.T) {
	s := start(t, serveTiny, &remote.HandlerOptions{Authorize: func(r *http.Request) (string, error) {
		switch name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); name {
		case "ann", "bob":
			return name, nil
		case "slow":
			return "", &remote.RefusedError{Status: 429, Reason: "too many"}
		default:
			return "", errors.New("the secret is a secret")
		}
	}})
	json := "application/json"
	for name, status := range map[string]int{"": 401, "eve": 401, "slow": 429, "ann": 200} {
		if g := s.try(t, raw{"POST", with("Content-Type", json, "Authorization", "Bearer "+name), hello}); g.status != status || strings.Contains(g.body, "secret") {
			t.Errorf("%q: %d %s", name, g.status, g.body)
		}
	}
	id := s.try(t, raw{"POST", with("Content-Type", json, "Authorization", "Bearer ann"), hello}).header.Get("Acp-Connection-Id")
	for _, r := range []raw{
		postTo(id, `{"jsonrpc":"2.0","method":"_x"}`, "Authorization", "Bearer bob"),
		{"GET", with("Accept", "text/event-stream", "Acp-Connection-Id", id, "Authorization", "Bearer bob"), ""},
		{"DELETE", with("Acp-Connection-Id", id, "Authorization", "Bearer bob"), ""},
	} {
		if g := s.try(t, r); g.status != 404 {
			t.Errorf("%s of another's connection: %d", r.method, g.status)
		}
	}
	if g := s.try(t, raw{"DELETE", with("Acp-Connection-Id", id, "Authorization", "Bearer ann"), ""}); g.status != 202 {
		t.Errorf("DELETE of her own: %d", g.status)
	}
}

func TestListedHostsAreTheOnlyOnes(t *testing.T) {
	s := start(t, serveTiny, &remote.HandlerOptions{Hosts: []string{"agent.example"}})
	for host, status := range map[string]int{"agent.example": 200, "Agent.Example:8443": 200, "127.0.0.1": 403, "other.example": 403} {
		if g := s.try(t, raw{"POST", with("Content-Type", "application/json", "Host", host), hello}); g.status != status {
			t.Errorf("%s: %d", host, g.status)
		}
	}
}

func TestAnAgentThatCannotInitializeIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		serve  func(context.Context, *remote.Conn)
		status int
		body   string
	}{
		"it ends":   {func(context.Context, *remote.Conn) {}, 500, `"id":0,"error":{"code":-32603,"message":"Initialize failed"}`},
		"it panics": {func(context.Context, *remote.Conn) { panic("secret") }, 500, "Initialize failed"},
		"it refuses": {func(ctx context.Context, conn *remote.Conn) {
			_, _ = conn.Read(ctx)
			_ = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"no"}}`))
			_, _ = conn.Read(ctx)
		}, 200, `"message":"no"`},
	} {
		s := start(t, test.serve, nil)
		g := s.try(t, raw{"POST", with("Content-Type", "application/json"), hello})
		if g.status != test.status || !strings.Contains(g.body, test.body) {
			t.Errorf("%s: %d %s", name, g.status, g.body)
		}
		if n := s.Connections(); n != 0 {
			t.Errorf("%s: %d connections are left", name, n)
		}
	}
}

func TestMoreConnectionsThanAllowedAreRefusedUntilOneEnds(t *testing.T) {
	s := start(t, serveTiny, &remote.HandlerOptions{MaxConnections: 1})
	id := s.initialize(t)
	second := raw{"POST", with("Content-Type", "application/json"), hello}
	if g := s.try(t, second); g.status != 503 || g.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", g.status, g.header)
	}
	s.try(t, raw{"DELETE", with("Acp-Connection-Id", id), ""})
	if g := s.try(t, second); g.status != 200 {
		t.Errorf("%d %s", g.status, g.body)
	}
}
