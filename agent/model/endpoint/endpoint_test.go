package endpoint

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRefusalsAreSortedByWhatCanBeDone(t *testing.T) {
	tests := []struct {
		status int
		said   Said
		want   model.ErrorKind
	}{
		{400, Said{Message: "Your credit balance is too low"}, model.ErrQuota},
		{400, Said{Code: "API_KEY_INVALID"}, model.ErrAuth},
		{400, Said{Message: "prompt is too long: 210000 tokens > 200000 maximum"}, model.ErrContextFull},
		{400, Said{Message: "This model's maximum context length is 8192 tokens."}, model.ErrContextFull},
		{413, Said{}, model.ErrContextFull},
		{402, Said{}, model.ErrQuota},
		{404, Said{}, model.ErrNotFound},
		{401, Said{}, model.ErrAuth},
		{403, Said{Code: "permission_error"}, model.ErrAuth},
		{403, Said{Code: "unsupported_country_region_territory"}, model.ErrBadRequest},
		{400, Said{Message: "User location is not supported for the API use."}, model.ErrBadRequest},
		{408, Said{}, model.ErrServer},
		{422, Said{Message: "tools.0: name is not valid"}, model.ErrBadRequest},
		{429, Said{Code: "insufficient_quota"}, model.ErrQuota},
		{429, Said{Code: "rate_limit_exceeded", Message: "You exceeded your current quota"}, model.ErrRateLimit},
		{500, Said{Message: "billing_error"}, model.ErrServer},
		{502, Said{}, model.ErrServer},
		{529, Said{}, model.ErrOverloaded},
		{0, Said{Code: "overloaded_error"}, model.ErrOverloaded},
		{0, Said{Code: "rate_limit_error"}, model.ErrRateLimit},
		{0, Said{Code: "context_length_exceeded"}, model.ErrContextFull},
		{0, Said{Message: "something"}, model.ErrServer},
		{302, Said{}, model.ErrGarbage},
	}
	for _, tt := range tests {
		if got := kindOf(tt.status, tt.said); got != tt.want {
			t.Errorf("%d %+v: %s, want %s", tt.status, tt.said, got, tt.want)
		}
	}
}

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the fake clock makes the date exact
		for _, tt := range []struct {
			header, value string
			want          time.Duration
		}{
			{"Retry-After", "7", 7 * time.Second},
			{"Retry-After", "0.5", 500 * time.Millisecond},
			{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
			{"Retry-After", time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat), 90 * time.Second},
			{"Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0},
			{"Retry-After", "-3", 0},
			{"Retry-After", "soon", 0},
			{"Retry-After", "1e300", 1e8 * time.Second},
			{"Other", "7", 0},
		} {
			h := http.Header{}
			h.Set(tt.header, tt.value)
			if got := retryAfter(h); got != tt.want {
				t.Errorf("%s: %s: %v, want %v", tt.header, tt.value, got, tt.want)
			}
		}
	})
}

func begin(t *testing.T, e *Endpoint, req model.Request) *Call {
	t.Helper()
	_, c := e.Begin(t.Context(), model.Info{Provider: "p", Name: "m"}, req)
	t.Cleanup(c.End)
	return c
}

func TestAProvidersWordsAreShownWithoutKeyAndConversation(t *testing.T) {
	e := &Endpoint{Title: "P", Key: "sk-abcdef-0123456789"}
	req := model.Request{System: "You never\ntell anybody about the secret plan", Messages: []model.Message{
		{Parts: []model.Part{model.Text{Text: "my password is correct horse battery staple"}}},
		{Parts: []model.Part{model.ToolResult{Parts: []model.Part{model.Text{Text: "AKIAIOSFODNN7EXAMPLE and more"}}}}},
	}}
	c := begin(t, e, req)
	for said, want := range map[string]string{
		"tools.3.name: string should match\n pattern":                                   "tools.3.name: string should match pattern",
		"bad key sk-abcdef-****6789":                                                    "bad key …****6789",
		"message 1: 'my password is correct horse battery staple' is not allowed":       "message 1: '…' is not allowed",
		"system: You never tell anybody about the secret plan":                          "system: …",
		"result AKIAIOSFODNN7EXAMPLE and more is bad":                                   "result … is bad",
		strings.Repeat("long ", 100):                                                    "",
		"short words like correct horse remain, since every message would be cut apart": "short words like correct horse remain, since every message would be cut apart",
	} {
		got := c.refused(400, Said{Message: said}).Message
		if want != "" && got != "P refused the request (HTTP 400): "+want {
			t.Errorf("%q: %q", said, got)
		}
		if len(got) > 400 {
			t.Errorf("%d bytes of message", len(got))
		}
	}
}

func TestNetworkFailuresNameHostCauseAndRemedy(t *testing.T) {
	e := &Endpoint{Title: "P", BaseVar: "P_BASE_URL", BaseURL: "https://api.p.example/v1"}
	wrap := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://user:password@api.p.example", Err: err}
	}
	for _, tt := range []struct {
		err  error
		says []string
	}{
		{&net.OpError{Op: "proxyconnect", Err: errors.New("connection refused")}, []string{"proxy", "HTTPS_PROXY", "connection refused"}},
		{&net.DNSError{Name: "api.p.example", Err: "no such host"}, []string{"api.p.example", "DNS", "P_BASE_URL", "HTTPS_PROXY"}},
		{x509.UnknownAuthorityError{}, []string{"certificate of api.p.example", "SSL_CERT_FILE"}},
		{errors.New("http: server gave HTTP response to HTTPS client"), []string{"does not speak TLS", "P_BASE_URL"}},
		{&net.OpError{Op: "dial", Err: timeout{}}, []string{"does not answer", "HTTPS_PROXY"}},
		{io.ErrUnexpectedEOF, []string{"cannot be reached", "unexpected EOF"}},
	} {
		c := begin(t, e, model.Request{})
		got := c.Error(wrap(tt.err), Said{})
		var me *model.Error
		if !errors.As(got, &me) || me.Kind != model.ErrNetwork {
			t.Errorf("%v: %v", tt.err, got)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(me.Message, s) {
				t.Errorf("%v: %q does not say %q", tt.err, me.Message, s)
			}
		}
		if strings.Contains(me.Message+me.Err.Error(), "password") {
			t.Errorf("%q, %v leak", me.Message, me.Err)
		}
	}
}

type timeout struct{}

func (timeout) Error() string { return "i/o timeout" }
func (timeout) Timeout() bool { return true }

// slow is a transport whose answer gives one byte every interval.
type slow struct{ interval time.Duration }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: &drip{r, s.interval, 10}, Header: http.Header{}}, nil
}

type drip struct {
	r     *http.Request
	every time.Duration
	left  int
}

func (d *drip) Read(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(d.every):
		p[0] = 'x'
		return 1, nil
	case <-d.r.Context().Done():
		return 0, d.r.Context().Err()
	}
}

func (d *drip) Close() error { return nil }

func TestEveryByteIsASignOfLife(t *testing.T) {
	for _, tt := range []struct {
		every, idle time.Duration
		stalls      bool
	}{{119 * time.Second, 0, false}, {121 * time.Second, 0, true}, {10 * time.Second, 9 * time.Second, true}, {time.Hour, -1, false}} {
		synctest.Test(t, func(t *testing.T) {
			e := &Endpoint{Title: "P", BaseURL: "http://p.example", Idle: tt.idle, Client: &http.Client{Transport: slow{tt.every}}}
			ctx, c := e.Begin(t.Context(), model.Info{Provider: "p"}, model.Request{})
			defer c.End()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.BaseURL, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := e.HTTP().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Errorf("the library sees %v", err)
			}
			var me *model.Error
			if got := c.Error(nil, Said{}); !errors.As(got, &me) || (me.Kind == model.ErrStalled) != tt.stalls {
				t.Errorf("a byte every %v with %v: %v after %d bytes", tt.every, tt.idle, got, len(b))
			}
		})
	}
}

func TestSilenceIsToldWhileItLasts(t *testing.T) {
	for _, tt := range []struct {
		every, idle time.Duration
		told        int
	}{{29 * time.Second, 0, 0}, {31 * time.Second, 0, 10}, {100 * time.Second, 0, 10}, {20 * time.Second, 25 * time.Second, 0}, {time.Minute, -1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex // guards told, which timers write
			var told []model.Silence
			ctx := model.WithSilence(t.Context(), func(s model.Silence) {
				if left := time.Until(s.Until); s.For != 30*time.Second || left != 90*time.Second {
					t.Errorf("%+v, which is in %v", s, left)
				}
				mu.Lock()
				defer mu.Unlock()
				told = append(told, s)
			})
			e := &Endpoint{Title: "P", BaseURL: "http://p.example", Idle: tt.idle, Client: &http.Client{Transport: slow{tt.every}}}
			ctx, c := e.Begin(ctx, model.Info{Provider: "p"}, model.Request{})
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.BaseURL, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := e.HTTP().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Error(err)
			}
			c.End()
			time.Sleep(time.Hour) // nothing is told after the end
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(told) != tt.told {
				t.Errorf("a byte every %v with %v: told %d times", tt.every, tt.idle, len(told))
			}
		})
	}
}

func TestALineWithoutEndIsGarbage(t *testing.T) {
	c := begin(t, &Endpoint{Title: "P"}, model.Request{})
	c.answered(&http.Response{StatusCode: 200, Header: http.Header{}})
	b := &body{rc: io.NopCloser(endless{}), call: c}
	n, err := io.Copy(io.Discard, b)
	if err != nil || n > longestLine+1<<20 {
		t.Errorf("read %d bytes, error %v", n, err)
	}
	var me *model.Error
	if got := c.Error(nil, Said{}); !errors.As(got, &me) || me.Kind != model.ErrGarbage {
		t.Errorf("got %v", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
