package suite

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// png is the smallest picture: one pixel.
var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82")

func (p Provider) withImages() model.Request {
	req := Prompt(`[[call: view {"path":"a.png"}]] [[seen]]`)
	req.Messages[0].Parts = append(req.Messages[0].Parts, model.Image{MIMEType: "image/png", Data: png})
	a := Answer{Calls: []model.ToolCall{{ID: "c1", Name: "view", Args: []byte(`{"path":"a.png"}`)}}}
	req.Messages = append(req.Messages, a.Then("double", model.ToolResult{Parts: []model.Part{
		model.Text{Text: "a picture"}, model.Image{MIMEType: "image/png", Data: png},
	}})...)
	return req
}

func (p Provider) testImages(t *testing.T) {
	s, m := p.start(t)
	a := Collect(t.Context(), m, p.withImages())
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	want := fmt.Sprintf("images: user image/png %d bytes, tool image/png %d bytes", len(png), len(png))
	if !p.ResultImages {
		want = fmt.Sprintf("images: user image/png %d bytes, user image/png %d bytes", len(png), len(png))
	}
	if !strings.Contains(a.Text, want) {
		t.Errorf("the server saw %q, want %q", a.Text, want)
	}
	if r := s.Last(); !strings.Contains(r.Items[2].Text, "a picture") {
		t.Errorf("the result's text is %q", r.Items[2].Text)
	}
}

func (p Provider) testNoImages(t *testing.T) {
	s, m := p.start(t, func(_ *endpoint.Endpoint, i *model.Info) { i.Images = false })
	a := Collect(t.Context(), m, p.withImages())
	if a.Err != nil || !strings.HasSuffix(a.Text, "images: ") {
		t.Errorf("got %+v", a)
	}
	for _, i := range []int{0, 2} {
		if text := s.Last().Items[i].Text; !strings.Contains(text, "[picture left out: this model does not take image/png]") {
			t.Errorf("item %d has %q", i, text)
		}
	}
}

func (p Provider) testUsage(t *testing.T) {
	_, m := p.start(t)
	a := Collect(t.Context(), m, Prompt("[[usage 1000 40 300 0]] [[text: x]]"))
	if a.Err != nil || a.Usage.Input != 1000 || a.Usage.Output != 40 || a.Usage.CacheRead != 300 {
		t.Errorf("got %+v", a)
	}
}

func (p Provider) testStops(t *testing.T) {
	_, m := p.start(t)
	for directive, want := range map[string]model.StopReason{
		"[[text: x]]": model.StopEnd, "[[text: x]] [[length]]": model.StopMaxTokens, "[[refuse]]": model.StopRefusal,
		`[[call: run {}]]`: model.StopCalls,
	} {
		if a := Collect(t.Context(), m, Prompt(directive)); a.Err != nil || a.Stop != want {
			t.Errorf("%s: %q, error %v, want %q", directive, a.Stop, a.Err, want)
		}
	}
}

// secret is what a prompt says that no message may repeat.
const secret = "the-quick-brown-fox-jumps-over-the-lazy-dog"

func (p Provider) testFaults(t *testing.T) {
	var logged lockedBuilder
	log.SetOutput(&logged) // what libraries print
	defer log.SetOutput(os.Stderr)
	tests := []struct {
		directive string
		kind      model.ErrorKind
		says      []string
		retry     time.Duration
	}{
		{"[[status 401]]", model.ErrAuth, []string{"DOUBLE_API_KEY", "HTTP 401"}, 0},
		{"[[status 403]]", model.ErrAuth, []string{"DOUBLE_API_KEY", "HTTP 403", p.Name}, 0},
		{"[[status 404]]", model.ErrNotFound, []string{p.Name, "another model"}, 0},
		{"[[status 429 7]]", model.ErrRateLimit, []string{"too many requests", "7 s"}, 7 * time.Second},
		{"[[status 429 quota]]", model.ErrQuota, []string{"billing", "DOUBLE_API_KEY"}, 0},
		{"[[status 400 context]]", model.ErrContextFull, []string{"Compact"}, 0},
		{"[[status 400]]", model.ErrBadRequest, []string{"The request is not valid."}, 0},
		{"[[status 500]]", model.ErrServer, []string{"internal error", "HTTP 500"}, 0},
		{"[[status 503 3]]", model.ErrOverloaded, []string{"overloaded", "3 s"}, 3 * time.Second},
		{"[[status 302]]", model.ErrGarbage, []string{"DOUBLE_BASE_URL"}, 0},
		{"[[html]]", model.ErrGarbage, []string{"web page", "DOUBLE_BASE_URL"}, 0},
		{"[[garbage]]", model.ErrGarbage, []string{"not in the format"}, 0},
		{"[[text: begin]] [[garbage]]", model.ErrGarbage, []string{"not in the format"}, 0},
		{"[[cut]]", model.ErrCut, []string{"broke before"}, 0},
		{"[[text: begin]] [[cut]]", model.ErrCut, []string{"broke before"}, 0},
		{"[[end]]", model.ErrCut, []string{"broke before"}, 0},
		{"[[text: begin]] [[end]]", model.ErrCut, []string{"broke before"}, 0},
		{`[[call: run {"command":"ls"}]] [[end]]`, "", nil, 0}, // the calls end the completion before [[end]]
		{"[[text: begin]] [[error: " + secret + " boom]]", model.ErrServer, []string{"internal error"}, 0},
	}
	for _, tt := range tests {
		_, m := p.start(t)
		a := Collect(t.Context(), m, Prompt(tt.directive+" "+secret))
		if tt.kind == "" {
			if a.Err != nil {
				t.Errorf("%s: %v", tt.directive, a.Err)
			}
			continue
		}
		var e *model.Error
		if !errors.As(a.Err, &e) {
			t.Errorf("%s: got %+v, want an error", tt.directive, a)
			continue
		}
		if e.Kind != tt.kind || e.RetryAfter != tt.retry || e.Provider != "double" {
			t.Errorf("%s: kind %q retry %v provider %q, want %q %v: %s", tt.directive, e.Kind, e.RetryAfter, e.Provider, tt.kind, tt.retry, e.Message)
		}
		for _, s := range tt.says {
			if !strings.Contains(e.Message, s) {
				t.Errorf("%s: %q does not say %q", tt.directive, e.Message, s)
			}
		}
		for _, text := range []string{e.Error(), fmt.Sprintf("%v %+v %#v", e.Err, e.Err, e.Err)} {
			if strings.Contains(text, Canary) || strings.Contains(text, secret) {
				t.Errorf("%s: %q leaks", tt.directive, text)
			}
		}
	}
	if got := logged.String(); got != "" {
		t.Errorf("something was printed: %q", got)
	}
}

type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (p Provider) testStall(t *testing.T) {
	for _, directive := range []string{"[[stall]]", "[[text: begin]] [[stall]]"} {
		_, m := p.start(t, func(e *endpoint.Endpoint, _ *model.Info) { e.Idle = 60 * time.Millisecond })
		a := Collect(t.Context(), m, Prompt(directive))
		if errorKind(a.Err) != model.ErrStalled || !strings.Contains(a.Err.Error(), "0.06 s") {
			t.Errorf("%s: got %+v", directive, a)
		}
	}
	// Bytes, not events, are what counts: a slow answer is none that stalls.
	_, m := p.start(t, func(e *endpoint.Endpoint, _ *model.Info) { e.Idle = 300 * time.Millisecond })
	if a := Collect(t.Context(), m, Prompt("[[slow 60ms]] [[chunks 10]]")); a.Err != nil {
		t.Errorf("slow answer: %v", a.Err)
	}
}

func (p Provider) testCancel(t *testing.T) {
	for _, directive := range []string{"[[stall]]", "[[text: begin]] [[stall]]"} {
		s, m := p.start(t)
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		watch.Go(func() {
			_, _ = s.Await(ctx, 1)
			cancel()
		})
		a := Collect(ctx, m, Prompt(directive))
		cancel()
		watch.Wait()
		if !errors.Is(a.Err, context.Canceled) {
			t.Errorf("%s: got %+v", directive, a)
		}
		p.gone(t, s.Last().Gone())
	}
}

func (p Provider) gone(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the server still has the connection")
	}
}

func (p Provider) testLeave(t *testing.T) {
	s, m := p.start(t)
	for _, err := range m.Stream(t.Context(), Prompt("[[text: begin]] [[stall]]")) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	p.gone(t, s.Last().Gone())
}

func (p Provider) testLong(t *testing.T) {
	_, m := p.start(t)
	a := Collect(t.Context(), m, Prompt("[[chunks 500 64]]"))
	if a.Err != nil || len(a.Text) != 500*64 || !strings.Contains(a.Text, "chunk 499 ") {
		t.Errorf("%d bytes, error %v", len(a.Text), a.Err)
	}
}

func (p Provider) testNetwork(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close() // nothing listens there now
	tests := []struct {
		base, start string
		says        []string
	}{
		{"http://" + addr, "", []string{addr, "refuses", "DOUBLE_BASE_URL"}},
		{"http://" + addr, "Start it with `double serve`.", []string{"nothing listens at " + addr, "double serve"}},
		{"http://user:" + Canary + "@does-not-exist.invalid", "", []string{"does-not-exist.invalid", "DOUBLE_BASE_URL"}},
	}
	for _, tt := range tests {
		_, m := p.start(t, func(e *endpoint.Endpoint, _ *model.Info) {
			e.BaseURL, e.Start = tt.base+p.Path, tt.start
			e.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		})
		a := Collect(t.Context(), m, Prompt("x"))
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Kind != model.ErrNetwork {
			t.Errorf("%s: got %+v", tt.base, a)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(e.Message, s) {
				t.Errorf("%q does not say %q", e.Message, s)
			}
		}
		if strings.Contains(fmt.Sprint(e, e.Err), Canary) {
			t.Errorf("%q leaks", e.Message)
		}
	}
}

func (p Provider) testRedirect(t *testing.T) {
	elsewhere, _ := p.start(t)
	s, m := p.start(t)
	s.QueueHandler(http.RedirectHandler(elsewhere.URL+p.Path, http.StatusTemporaryRedirect))
	a := Collect(t.Context(), m, Prompt("x"))
	if errorKind(a.Err) != model.ErrGarbage || elsewhere.Last() != nil {
		t.Errorf("got %+v; the other host saw %v", a, elsewhere.Last())
	}
}
