package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// handler serves a server with the tools of newPlain over a transport.
func handler(t testing.TB, transport Transport) http.Handler {
	server := newPlain(t.Context().Done())
	t.Cleanup(func() { // sessions that the client did not end
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	get := func(*http.Request) *sdk.Server { return server }
	if transport == TransportSSE {
		return sdk.NewSSEHandler(get, nil)
	}
	return sdk.NewStreamableHTTPHandler(get, nil)
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// bothRemotes runs a test over http and sse.
func bothRemotes(t *testing.T, test func(t *testing.T, transport Transport)) {
	for _, transport := range []Transport{TransportHTTP, TransportSSE} {
		t.Run(string(transport), func(t *testing.T) { test(t, transport) })
	}
}

func TestTheToolsOfARemoteServerAreOfferedAndCalled(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		server := Server{Name: "far", Transport: transport, URL: serve(t, handler(t, transport)), StartTimeout: 2 * time.Second}
		set := openReady(t, Options{}, server)
		if r := callTool(t, set, "far__echo", `{"n":1}`); r.Failed || r.Text != `{"n":1}` {
			t.Errorf("result: %+v", r)
		}
		callTool(t, set, "far__grow", "")
		eventually(t, "the new tool", func() bool { return strings.Contains(strings.Join(set.Status()[0].Tools, " "), "far__grown") })
		if r := callTool(t, set, "far__grown", ""); r.Text != "grown up" {
			t.Errorf("result: %+v", r)
		}
	})
}

func TestAConnectionLivesLongerThanItsStartMayTake(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		t.Parallel()
		server := Server{Name: "far", Transport: transport, URL: serve(t, handler(t, transport)), StartTimeout: time.Second}
		set := openReady(t, Options{}, server)
		select {
		case <-time.After(server.StartTimeout + 200*time.Millisecond):
		case <-set.servers[0].conn.ended:
			t.Error("the connection has ended")
		}
		if r := callTool(t, set, "far__echo", "{}"); r.Failed {
			t.Errorf("result: %+v", r)
		}
	})
}

// recorder keeps the headers of the requests that pass it.
type recorder struct {
	next http.Handler
	mu   sync.Mutex
	seen []http.Header
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, req.Header.Clone())
	r.mu.Unlock()
	r.next.ServeHTTP(w, req)
}

func (r *recorder) headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]http.Header(nil), r.seen...)
}

func TestHeadersGoToTheConfiguredServerAndNowhereElse(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		elsewhere := &recorder{next: handler(t, transport)}
		other := serve(t, elsewhere)
		here := &recorder{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		})}
		server := Server{Name: "moved", Transport: transport, URL: serve(t, here),
			Headers: map[string]string{"Authorization": "Bearer canary-token", "X-Team": "canary-team"}}
		set := openReady(t, Options{}, server)
		if r := callTool(t, set, "moved__echo", "{}"); r.Failed {
			t.Errorf("result: %+v", r)
		}
		set.Close()
		if len(here.headers()) == 0 || len(elsewhere.headers()) == 0 {
			t.Fatal("the redirect was not taken")
		}
		for _, h := range here.headers() {
			if h.Get("Authorization") != "Bearer canary-token" || h.Get("X-Team") != "canary-team" {
				t.Errorf("a request came without its headers: %v", h)
			}
		}
		for _, h := range elsewhere.headers() {
			if strings.Contains(fmt.Sprint(h), "canary") {
				t.Errorf("headers went elsewhere: %v", h)
			}
		}
	})
}

func TestARedirectThatGivesUpEncryptionIsRefused(t *testing.T) {
	at := func(address string) *http.Request {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{URL: u}
	}
	r := newRemote(Server{URL: "https://a.example/mcp"})
	defer r.close()
	if err := r.redirect(at("http://a.example/mcp"), []*http.Request{at("https://a.example/mcp")}); err == nil {
		t.Error("taken")
	}
	if err := r.redirect(at("https://b.example/mcp"), []*http.Request{at("https://a.example/mcp")}); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func TestASilentRemoteServerFailsInTimeAndClosesAtOnce(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		released := make(chan struct{})
		address := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}))
		defer close(released)
		impatient := Server{Name: "impatient", Transport: transport, URL: address, StartTimeout: 200 * time.Millisecond}
		patient := Server{Name: "patient", Transport: transport, URL: address}
		set := open(t, Options{}, impatient, patient)
		eventually(t, "the limit", func() bool { return set.Status()[0].State == StateFailed })
		contains(t, set.Status()[0].Error, "not ready within 200ms")
		if st := set.Status()[1]; st.State != StateStarting {
			t.Errorf("status: %+v", st)
		}
		began := time.Now()
		set.Close()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("closing took %s", took)
		}
	})
}

func TestARefusedLoginSaysSo(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
		set := openReady(t, Options{}, Server{Name: "locked", Transport: transport, URL: address + "/secret-path"})
		contains(t, set.Status()[0].Error, "refuses the login (401 Unauthorized)", "check the headers")
		if strings.Contains(set.Status()[0].Error, "secret-path") {
			t.Error("the path was told")
		}
	})
}

func TestAServerThatIsNotThereFailsWithItsHostAndTheCause(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		gone := httptest.NewServer(nil)
		gone.Close()
		began := time.Now()
		set := openReady(t, Options{}, Server{Name: "gone", Transport: transport, URL: gone.URL + "/mcp?key=canary-0123456789"})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		contains(t, set.Status()[0].Error, strings.TrimPrefix(gone.URL, "http://"), "refused")
		if strings.Contains(set.Status()[0].Error, "canary") {
			t.Errorf("the key was told: %s", set.Status()[0].Error)
		}
	})
}

func TestAServerWithoutAStreamOfItsOwnIsUsedAllTheSame(t *testing.T) {
	next := handler(t, TransportHTTP)
	for name, stream := range map[string]http.HandlerFunc{
		"that does not answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"that fails":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"that leads in circles": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"that leads to one that breaks off": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
		"that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					stream(w, r)
					return
				}
				next.ServeHTTP(w, r)
			}))
			set := openReady(t, Options{}, Server{Name: "far", Transport: TransportHTTP, URL: address, StartTimeout: 20 * time.Second})
			if r := callTool(t, set, "far__echo", "{}"); r.Failed {
				t.Errorf("result: %+v; status %+v", r, set.Status())
			}
		})
	}
}

func TestTheStartLimitHoldsWhereverTheServerIsSilent(t *testing.T) {
	next := handler(t, TransportHTTP)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	}))
	began := time.Now()
	set := openReady(t, Options{}, Server{Name: "far", Transport: TransportHTTP, URL: address, StartTimeout: 300 * time.Millisecond})
	contains(t, set.Status()[0].Error, "not ready within 300ms")
	if took := time.Since(began); took >= streamPatient {
		t.Errorf("it took %s", took)
	}
}

func TestASessionThatTheServerForgotIsOpenedAnewAndTheCallIsMadeOnce(t *testing.T) {
	var mu sync.Mutex
	next := handler(t, TransportHTTP)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := next
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	set := openReady(t, Options{}, Server{Name: "far", Transport: TransportHTTP, URL: address})
	mu.Lock()
	next = handler(t, TransportHTTP) // the server was started anew
	mu.Unlock()
	if r := callTool(t, set, "far__echo", `{"n":2}`); r.Failed || r.Text != `{"n":2}` {
		t.Errorf("result: %+v", r)
	}
}

func TestCancellingARemoteCallReturnsAtOnce(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		set := openReady(t, Options{}, Server{Name: "far", Transport: transport, URL: serve(t, handler(t, transport))})
		ctx, cancel := context.WithCancel(t.Context())
		out := &shown{first: make(chan struct{})}
		began := make(chan time.Time, 1)
		go func() { // ends with the first progress
			<-out.first
			began <- time.Now()
			cancel()
		}()
		r := prepare(t, find(t, set, "far__wait"), "").Run(ctx, out)
		if took := time.Since(<-began); !r.Failed || took > time.Second {
			t.Errorf("after %s: %+v", took, r)
		}
		if r := callTool(t, set, "far__echo", "{}"); r.Failed {
			t.Errorf("the next call: %+v", r)
		}
	})
}

func TestClosingEndsTheRemoteCallsThatRunAtOnce(t *testing.T) {
	bothRemotes(t, func(t *testing.T, transport Transport) {
		set := openReady(t, Options{}, Server{Name: "far", Transport: transport, URL: serve(t, handler(t, transport))})
		call := prepare(t, find(t, set, "far__wait"), "")
		out := &shown{first: make(chan struct{})}
		ended := make(chan time.Time, 1)
		go func() { // ends with the set
			if r := call.Run(context.Background(), out); !r.Failed {
				t.Errorf("result: %+v", r)
			}
			ended <- time.Now()
		}()
		<-out.first
		began := time.Now()
		set.Close()
		if took := time.Since(began); took > 2*goodbye {
			t.Errorf("closing took %s", took)
		}
		if took := (<-ended).Sub(began); took >= goodbye {
			t.Errorf("the call took %s to end", took)
		}
	})
}

func TestClosingDoesNotWaitForAServerThatDoesNotSayGoodbye(t *testing.T) {
	next := handler(t, TransportHTTP)
	var asked atomic.Bool
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			asked.Store(true)
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	}))
	set := openReady(t, Options{}, Server{Name: "far", Transport: TransportHTTP, URL: address})
	began := time.Now()
	set.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("closing took %s", took)
	}
	if !asked.Load() {
		t.Error("the session was not ended at the server")
	}
}

func TestAnAnswerWithoutEndIsCutOff(t *testing.T) {
	next := handler(t, TransportHTTP)
	var calls atomic.Bool
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !calls.Load() || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	set := openReady(t, Options{}, Server{Name: "far", Transport: TransportHTTP, URL: address})
	calls.Store(true)
	r := callTool(t, set, "far__echo", "{}")
	if !r.Failed {
		t.Error("no failure")
	}
	contains(t, r.Text, "larger than 16 MiB")
}
