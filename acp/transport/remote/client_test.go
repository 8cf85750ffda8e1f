package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/acp/transport/remote"
)

// fakeServer answers initialize, opens streams and lets a test decide the rest: handle returns false for what it leaves.
type fakeServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // method, session and body of each request
	end  chan struct{}
}

func fake(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, body string) bool) *fakeServer {
	f := &fakeServer{end: make(chan struct{})}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body := string(b)
		f.mu.Lock()
		f.seen = append(f.seen, strings.TrimSpace(r.Method+" "+r.Header.Get("Acp-Session-Id")+" "+body))
		f.mu.Unlock()
		if handle != nil && handle(w, r, body) {
			return
		}
		switch {
		case body == hello:
			w.Header().Set("Acp-Connection-Id", "c1")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		case r.Header.Get("Acp-Connection-Id") != "c1":
			w.WriteHeader(404)
		case r.Method == "GET":
			f.stream(w, r)
		default:
			w.WriteHeader(202)
		}
	}))
	t.Cleanup(func() { close(f.end); f.Close() })
	return f
}

// stream writes events and stays open.
func (f *fakeServer) stream(w http.ResponseWriter, r *http.Request, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(200)
	for _, e := range events {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
	}
	_ = http.NewResponseController(w).Flush()
	select {
	case <-r.Context().Done():
	case <-f.end:
	}
}

func (f *fakeServer) requests() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.seen, "\n")
}

// begun dials and shakes hands.
func begun(t *testing.T, f *fakeServer, opts *remote.DialOptions) transport.Transport {
	t.Helper()
	tr, err := remote.DialHTTP(f.URL, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	if err := tr.Write(t.Context(), []byte(hello)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, tr); !strings.Contains(got, `"id":0,"result"`) {
		t.Fatal(got)
	}
	return tr
}

func read(t *testing.T, tr transport.Transport) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	msg, err := tr.Read(ctx)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(msg)
}

// broken reads until the transport fails.
func broken(t *testing.T, tr transport.Transport) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		if _, err := tr.Read(ctx); err != nil {
			return err
		}
	}
}

const prompt = `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}`

func TestASessionsStreamIsOpenBeforeItsFirstMessageAndTheServerIsToldOfTheEnd(t *testing.T) {
	f := fake(t, nil)
	tr := begun(t, f, nil)
	for _, msg := range []string{prompt, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`} {
		if err := tr.Write(t.Context(), []byte(msg)); err != nil {
			t.Fatal(err)
		}
	}
	_ = tr.Close()
	got := strings.Replace(f.requests(), "\nGET\n", "\n", 1) // that of the connection comes at any time
	want := "POST  " + hello + "\nGET s\nPOST s " + prompt + "\nPOST s " + `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}` + "\nDELETE"
	if got != want {
		t.Errorf("the server saw\n%s\nexpected\n%s", got, want)
	}
	if err := broken(t, tr); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("reading after Close: %v", err)
	}
}

func TestARefusedRequestFailsAloneUnlessTheConnectionIsLost(t *testing.T) {
	request, notification := prompt, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`
	for _, test := range []struct {
		status int
		msg    string
		fatal  bool
	}{
		{400, request, false}, {413, request, false}, {500, request, false}, {502, request, false}, {503, request, false},
		{307, request, false},
		{401, request, true}, {403, request, true}, {404, request, true}, {410, request, true},
		{400, notification, true}, {500, notification, true},
	} {
		t.Run(fmt.Sprint(test.status, test.fatal), func(t *testing.T) {
			f := fake(t, func(w http.ResponseWriter, _ *http.Request, body string) bool {
				if body != test.msg {
					return false
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, `{"why":"`+strings.Repeat("x", 20<<10)+`"}`)
				return true
			})
			tr := begun(t, f, nil)
			err := tr.Write(t.Context(), []byte(test.msg))
			if test.fatal {
				status, is := errors.AsType[*remote.StatusError](err)
				if !is || status.Status != test.status || len(status.Body) != 8<<10 {
					t.Errorf("write: %v", err)
				}
				if status, is := errors.AsType[*remote.StatusError](broken(t, tr)); !is || status.Status != test.status {
					t.Errorf("read: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, tr); !strings.Contains(got, `"id":1,"error":{"code":-32603,`) || !strings.Contains(got, fmt.Sprintf(`"data":{"status":%d,"body":"`, test.status)) {
				t.Errorf("the request is answered %.200s", got)
			}
			if err := tr.Write(t.Context(), []byte(`{"jsonrpc":"2.0","method":"_x"}`)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestAConflictConcernsOneSessionUntilItIsLoaded(t *testing.T) {
	var mu sync.Mutex
	conflict := true
	f := fake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == "GET" && r.Header.Get("Acp-Session-Id") == "s" && conflict {
			w.WriteHeader(409)
			return true
		}
		return false
	})
	tr := begun(t, f, nil)
	write := func(msg string) {
		t.Helper()
		if err := tr.Write(t.Context(), []byte(msg)); err != nil {
			t.Fatal(err)
		}
	}
	write(prompt)
	if got := read(t, tr); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, `"status":409`) {
		t.Error(got)
	}
	write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`) // nothing to tell it to
	write(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"other"}}`)
	mu.Lock()
	conflict = false
	mu.Unlock()
	write(strings.Replace(prompt, `"id":1`, `"id":3`, 1))
	if got := read(t, tr); !strings.Contains(got, `"id":3,"error"`) {
		t.Errorf("the conflict did not last: %s", got)
	}
	write(`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"s"}}`)
	write(strings.Replace(prompt, `"id":1`, `"id":5`, 1))
	if got := f.requests(); strings.Contains(got, `"id":1,`) || strings.Contains(got, `"id":3,`) || !strings.Contains(got, `"id":2,`) || !strings.Contains(got, `"id":5,`) {
		t.Errorf("the server saw\n%s", got)
	}
}

func TestAnEndedSessionStreamFailsItsRequestsAndIsOpenedAgain(t *testing.T) {
	var mu sync.Mutex
	opened := 0
	posted := make(chan struct{})
	var f *fakeServer
	f = fake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if body == prompt {
			w.WriteHeader(202)
			close(posted)
			return true
		}
		if r.Method != "GET" || r.Header.Get("Acp-Session-Id") == "" {
			return false
		}
		mu.Lock()
		opened++
		first := opened == 1
		mu.Unlock()
		if !first {
			f.stream(w, r, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			return true
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-posted
		return true
	})
	tr := begun(t, f, nil)
	if err := tr.Write(t.Context(), []byte(prompt)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, tr); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, "may have been carried out") {
		t.Error(got)
	}
	if err := tr.Write(t.Context(), []byte(strings.Replace(prompt, `"id":1`, `"id":2`, 1))); err != nil {
		t.Fatal(err)
	}
	if got := read(t, tr); !strings.Contains(got, `"id":2,"result"`) {
		t.Error(got)
	}
}

func TestTheEndOfTheConnectionsStreamIsTheEndOfTheConnection(t *testing.T) {
	for name, test := range map[string]struct {
		get  func(w http.ResponseWriter)
		want func(error) bool
	}{
		"it ends": {func(http.ResponseWriter) {}, func(err error) bool { return errors.Is(err, remote.ErrStreamEnded) }},
		"it is refused": {func(w http.ResponseWriter) { w.WriteHeader(404) }, func(err error) bool {
			status, is := errors.AsType[*remote.StatusError](err)
			return is && status.Status == 404
		}},
		"it breaks": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "data: {"); panic(http.ErrAbortHandler) }, func(err error) bool {
			return err != nil && !errors.Is(err, remote.ErrStreamEnded)
		}},
		"an event is too large": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "data: "+strings.Repeat("x", 2000)) }, func(err error) bool {
			return strings.Contains(err.Error(), "larger than the limit of 1000 bytes")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := fake(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
				if r.Method != "GET" {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				test.get(w)
				return true
			})
			tr := begun(t, f, &remote.DialOptions{MaxMessageBytes: 1000})
			if err := broken(t, tr); !test.want(err) {
				t.Errorf("ended with %v", err)
			}
			if err := tr.Write(t.Context(), []byte(prompt)); err == nil {
				t.Error("a message was sent")
			}
		})
	}
}

func TestAServerThatKnowsASessionOnlyAfterItsLoadIsUnderstood(t *testing.T) {
	var mu sync.Mutex
	loaded := false
	load := `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s"}}`
	answers := make(chan struct{})
	var f *fakeServer
	f = fake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		mu.Lock()
		known := loaded
		loaded = loaded || body == load
		mu.Unlock()
		switch {
		case body == load:
			w.WriteHeader(202)
			close(answers)
		case r.Method == "GET" && r.Header.Get("Acp-Session-Id") == "s":
			if known {
				f.stream(w, r, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}`)
			} else {
				w.WriteHeader(404)
			}
		case r.Method == "GET":
			<-answers
			f.stream(w, r, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		default:
			return false
		}
		return true
	})
	tr := begun(t, f, nil)
	if err := tr.Write(t.Context(), []byte(load)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":1,"result"`, "session/update"} {
		if got := read(t, tr); !strings.Contains(got, want) {
			t.Errorf("got %s, expected %s", got, want)
		}
	}
}

func TestAnInitializeThatIsNotAnsweredProperlyFails(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"refused":          {func(w http.ResponseWriter) { w.WriteHeader(401) }, "401 Unauthorized"},
		"no connection id": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`) }, "Acp-Connection-Id"},
		"another's answer": {func(w http.ResponseWriter) {
			w.Header().Set("Acp-Connection-Id", "c1")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":5,"result":{}}`)
		}, "not the answer"},
		"elsewhere": {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(307) }, "307"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fake(t, func(w http.ResponseWriter, _ *http.Request, body string) bool {
				if body == hello {
					test.answer(w)
				}
				return body == hello
			})
			tr, err := remote.DialHTTP(f.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			if err := tr.Write(t.Context(), []byte(hello)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("write: %v", err)
			}
			if err := broken(t, tr); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("read: %v", err)
			}
		})
	}
}

func TestCookiesAndHeadersAreSentAndAJarOfTheCallerSurvives(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := &remote.DialOptions{Jar: jar, Header: http.Header{"authorization": {"Bearer x"}, "Acp-Connection-Id": {"mine"}}}
	for round := range 2 {
		var mu sync.Mutex
		var problems []string
		f := fake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
			cookie, err := r.Cookie("node")
			mu.Lock()
			defer mu.Unlock()
			if (err == nil && cookie.Value == "7") != (body != hello || round == 1) || r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("Acp-Connection-Id") == "mine" {
				problems = append(problems, fmt.Sprint(r.Method, r.Header))
			}
			http.SetCookie(w, &http.Cookie{Name: "node", Value: "7"})
			return false
		})
		tr := begun(t, f, opts)
		if err := tr.Write(t.Context(), []byte(prompt)); err != nil {
			t.Fatal(err)
		}
		_ = tr.Close()
		mu.Lock()
		if len(problems) > 0 {
			t.Errorf("round %d: %v", round, problems)
		}
		mu.Unlock()
	}
}

func TestAWebSocketThatIsRefusedSaysHow(t *testing.T) {
	s := start(t, serveTiny, &remote.HandlerOptions{Authorize: func(*http.Request) (string, error) { return "", errors.New("no") }})
	_, err := remote.DialWebSocket(t.Context(), strings.Replace(s.url, "http", "ws", 1), nil)
	if status, is := errors.AsType[*remote.StatusError](err); !is || status.Status != 401 {
		t.Errorf("%v", err)
	}
	if _, err := remote.DialWebSocket(t.Context(), "ftp://x", nil); err == nil {
		t.Error("a strange scheme was taken")
	}
	if _, err := remote.DialHTTP("http:///x", nil); err == nil {
		t.Error("a URL without host was taken")
	}
}

func TestTheAnswerOfALoadIsHandedOnAfterTheUpdatesThatItOvertook(t *testing.T) {
	load := `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s"}}`
	posted, answered := make(chan struct{}), make(chan struct{})
	var f *fakeServer
	f = fake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case body == load:
			w.WriteHeader(202)
			close(posted)
		case r.Method == "GET" && r.Header.Get("Acp-Session-Id") == "s":
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			<-answered // the answer is on the wire before the first update
			for n := range 5 {
				_, _ = fmt.Fprintf(w, "data: {\"method\":\"session/update\",\"n\":%d}\n\n", n)
				_ = http.NewResponseController(w).Flush()
			}
			f.stream(w, r)
		case r.Method == "GET":
			<-posted
			w.WriteHeader(200)
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
			_ = http.NewResponseController(w).Flush()
			close(answered)
			f.stream(w, r)
		default:
			return false
		}
		return true
	})
	tr := begun(t, f, &remote.DialOptions{Settle: 500 * time.Millisecond})
	if err := tr.Write(t.Context(), []byte(load)); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if got := read(t, tr); !strings.Contains(got, fmt.Sprintf(`"n":%d}`, n)) {
			t.Errorf("message %d is %s", n, got)
		}
	}
	if got := read(t, tr); !strings.Contains(got, `"id":1`) {
		t.Errorf("the last message is %s", got)
	}
}
