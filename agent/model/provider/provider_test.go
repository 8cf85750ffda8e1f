package provider_test

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
	"github.com/wherry-acp/wherry/agent/model/provider"
	"github.com/wherry-acp/wherry/agent/model/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env makes an environment of the given variables, with a client of its own.
func env(t *testing.T, vars map[string]string) provider.Env {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return provider.Env{
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Client: &http.Client{Transport: tr},
	}
}

func double(t *testing.T, opts modeltest.Options) *modeltest.Server {
	t.Helper()
	s, err := modeltest.Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestTheDefaultIsTheFirstProviderWithAKey(t *testing.T) {
	tests := []struct {
		vars map[string]string
		want string
	}{
		{nil, "offline/offline"},
		{map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic/claude-sonnet-5-5"},
		{map[string]string{"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}, "openai/gpt-6.1-sol"},
		{map[string]string{"OPENAI_API_KEY": "k", "OPENAI_MODEL": "own"}, "openai/own"},
		{map[string]string{"GEMINI_API_KEY": "k"}, "gemini/gemini-3.7-flash"},
		{map[string]string{"ANTHROPIC_API_KEY": "  ", "OLLAMA_HOST": "127.0.0.1"}, "offline/offline"},
		{map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "OPENAI_MODEL": "local"}, "openai/local"},
	}
	for _, tt := range tests {
		if got := provider.Default(env(t, tt.vars)); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.vars, got, tt.want)
		}
	}
}

func TestTheListHoldsWhatTheKeysOpenAndTheEmbeddedModel(t *testing.T) {
	ids := func(vars map[string]string) (ids []string) {
		for _, i := range provider.List(env(t, vars)) {
			ids = append(ids, i.ID())
		}
		return ids
	}
	if got := ids(nil); !slices.Equal(got, []string{"offline/offline"}) {
		t.Errorf("without keys: %v", got)
	}
	got := ids(map[string]string{"GEMINI_API_KEY": "k", "GEMINI_MODEL": "gemini-2.5-pro"})
	if got[0] != "gemini/gemini-2.5-pro" || got[len(got)-1] != "offline/offline" || len(got) < 4 {
		t.Errorf("with a key: %v", got)
	}
	slices.Sort(got)
	if len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("something is twice in %v", got)
	}
	got = ids(map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "OPENAI_MODEL": "local"})
	if !slices.Equal(got, []string{"openai/local", "offline/offline"}) {
		t.Errorf("at another address: %v", got)
	}
}

func TestEachHostedProviderIsOpenedFromItsVariables(t *testing.T) {
	s := double(t, modeltest.Options{Key: "key-1"})
	tests := []struct {
		id      string
		vars    map[string]string
		dialect modeltest.Dialect
	}{
		{"anthropic/claude-opus-5-5", map[string]string{"ANTHROPIC_API_KEY": "key-1\n", "ANTHROPIC_BASE_URL": s.URL}, modeltest.Anthropic},
		{"openai/org/name", map[string]string{"OPENAI_API_KEY": "key-1", "OPENAI_BASE_URL": s.URL + "/v1/"}, modeltest.OpenAIChat},
		{"gemini/gemini-3.7-flash", map[string]string{"GEMINI_API_KEY": "key-1", "GEMINI_BASE_URL": s.URL}, modeltest.Gemini},
		{"google/gemini-3.7-flash", map[string]string{"GEMINI_API_KEY": "key-1", "GOOGLE_GEMINI_BASE_URL": s.URL + "/"}, modeltest.Gemini},
	}
	for _, tt := range tests {
		m, err := provider.Open(t.Context(), tt.id, env(t, tt.vars))
		if err != nil {
			t.Errorf("%s: %v", tt.id, err)
			continue
		}
		a := suite.Collect(t.Context(), m, suite.Prompt("[[text: hello]]"))
		if a.Err != nil || a.Text != "hello" || s.Last().Dialect != tt.dialect {
			t.Errorf("%s: got %+v from %s", tt.id, a, s.Last().Dialect)
		}
		if _, name, _ := strings.Cut(tt.id, "/"); m.Info().Name != name {
			t.Errorf("%s: name %q", tt.id, m.Info().Name)
		}
	}
}

func TestWhatCannotBeOpenedSaysWhatToDo(t *testing.T) {
	none := double(t, modeltest.Options{})
	none.Close() // nothing listens there now
	has := double(t, modeltest.Options{Models: []string{"qwen3:8b", "llama3.2:latest"}})
	tests := []struct {
		id   string
		vars map[string]string
		kind model.ErrorKind
		says []string
	}{
		{"anthropic/x", nil, model.ErrAuth, []string{"ANTHROPIC_API_KEY", "offline/offline"}},
		{"openai/x", nil, model.ErrAuth, []string{"OPENAI_API_KEY"}},
		{"gemini/x", map[string]string{"GEMINI_API_KEY": " "}, model.ErrAuth, []string{"GEMINI_API_KEY"}},
		{"claude-opus-5", nil, model.ErrNotFound, []string{`"claude-opus-5"`, "provider/name", "anthropic/claude-sonnet-5-5"}},
		{"openai", nil, model.ErrNotFound, []string{"openai/gpt-6.1-sol"}},
		{"", nil, model.ErrNotFound, []string{"provider/name"}},
		{"mistral/large", nil, model.ErrNotFound, []string{`"mistral"`, "anthropic, openai, gemini, ollama, lmstudio, offline", "OPENAI_BASE_URL", "openai/large"}},
		{"openai/x", map[string]string{"OPENAI_API_KEY": "secret-1", "OPENAI_BASE_URL": "localhost:1/secret-1"}, model.ErrBadRequest, []string{"OPENAI_BASE_URL", "http://"}},
		{"ollama/qwen3", map[string]string{"OLLAMA_HOST": none.URL}, model.ErrNetwork, []string{"nothing listens at " + strings.TrimPrefix(none.URL, "http://"), "ollama serve", "OLLAMA_HOST"}},
		{"lmstudio/qwen3", map[string]string{"LMSTUDIO_BASE_URL": none.URL + "/v1"}, model.ErrNetwork, []string{"nothing listens", "lms server start"}},
		{"ollama/gone", map[string]string{"OLLAMA_HOST": has.URL}, model.ErrNotFound, []string{`no model "gone"`, "llama3.2:latest, qwen3:8b", "ollama pull gone"}},
		{"lmstudio/gone", map[string]string{"LMSTUDIO_BASE_URL": has.URL}, model.ErrNotFound, []string{"llama3.2:latest, qwen3:8b", "load it there"}},
	}
	for _, tt := range tests {
		m, err := provider.Open(t.Context(), tt.id, env(t, tt.vars))
		var e *model.Error
		if !errors.As(err, &e) || m != nil {
			t.Errorf("%q: got %v, %v", tt.id, m, err)
			continue
		}
		if e.Kind != tt.kind {
			t.Errorf("%q: kind %q, want %q", tt.id, e.Kind, tt.kind)
		}
		for _, s := range tt.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q: %q does not say %q", tt.id, err, s)
			}
		}
		if strings.Contains(err.Error(), "secret-1") {
			t.Errorf("%q leaks", err)
		}
	}
}

func TestALocalServerIsAskedForTheModel(t *testing.T) {
	s := double(t, modeltest.Options{Models: []string{"llama3.2:latest", "a/b"}})
	host := strings.TrimPrefix(s.URL, "http://")
	port := host[strings.LastIndex(host, ":"):]
	for _, tt := range []struct{ id, name, variable, value string }{
		{"ollama/llama3.2", "llama3.2:latest", "OLLAMA_HOST", host},
		{"ollama/llama3.2", "llama3.2:latest", "OLLAMA_HOST", "0.0.0.0" + port},
		{"ollama/a/b", "a/b", "OLLAMA_HOST", s.URL + "/v1/"},
		{"lmstudio/a/b", "a/b", "LMSTUDIO_BASE_URL", s.URL},
	} {
		m, err := provider.Open(t.Context(), tt.id, env(t, map[string]string{tt.variable: tt.value}))
		if err != nil {
			t.Errorf("%s at %s: %v", tt.id, tt.value, err)
			continue
		}
		if m.Info().Name != tt.name {
			t.Errorf("%s: name %q, want %q", tt.id, m.Info().Name, tt.name)
		}
		if a := suite.Collect(t.Context(), m, suite.Prompt("[[text: hi]]")); a.Err != nil || a.Text != "hi" {
			t.Errorf("%s: got %+v", tt.id, a)
		}
	}
	names, err := provider.Remote(t.Context(), "ollama", env(t, map[string]string{"OLLAMA_HOST": host}))
	if err != nil || !slices.Equal(names, []string{"llama3.2:latest", "a/b"}) {
		t.Errorf("Remote: %v, %v", names, err)
	}
}

func TestAllProvidersListTheirModels(t *testing.T) {
	s := double(t, modeltest.Options{Models: []string{"one", "two"}})
	e := env(t, map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": s.URL, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": s.URL + "/v1",
		"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": s.URL})
	for _, p := range []string{"anthropic", "openai", "gemini"} {
		names, err := provider.Remote(t.Context(), p, e)
		if err != nil || !slices.Equal(names, []string{"one", "two"}) {
			t.Errorf("%s: %v, %v", p, names, err)
		}
	}
}

func TestAnOpenedModelRetries(t *testing.T) {
	s := double(t, modeltest.Options{})
	e := env(t, map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": s.URL})
	m, err := provider.Open(t.Context(), "anthropic/claude-opus-5-5", e)
	if err != nil {
		t.Fatal(err)
	}
	a := suite.Collect(t.Context(), m, suite.Prompt("[[status 529 0]] [[text: at last]]"))
	if a.Err != nil || a.Text != "at last" || len(a.Waiting) != 1 || len(s.Requests()) != 2 {
		t.Errorf("got %+v after %d requests", a, len(s.Requests()))
	}
	e.Retry = retry.Policy{Tries: 1}
	if m, err = provider.Open(t.Context(), "anthropic/claude-opus-5-5", e); err != nil {
		t.Fatal(err)
	}
	if a = suite.Collect(t.Context(), m, suite.Prompt("[[status 529]] [[text: at last]] ")); a.Err == nil {
		t.Errorf("got %+v", a)
	}
}

func TestWellKnownModelsHaveTheirLimits(t *testing.T) {
	for id, want := range map[string]int{
		"anthropic/claude-sonnet-5-5": 1_000_000, "anthropic/claude-sonnet-4-5-20250929": 200_000, "openai/gpt-5-2025-08-07": 400_000,
		"openai/gpt-5-pro": 400_000, "anthropic/claude-opus-5-9": 0, "openai/never-heard-of": 0,
	} {
		m, err := provider.Open(t.Context(), id, env(t, map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}))
		if err != nil {
			t.Fatal(err)
		}
		if i := m.Info(); i.ContextWindow != want || i.ID() != id {
			t.Errorf("%s: %+v, want %d", id, i, want)
		}
	}
}

func TestTheProxyOfTheEnvironmentIsUsed(t *testing.T) {
	s := double(t, modeltest.Options{})
	var proxied []string
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		proxied = append(proxied, r.In.URL.Host)
		r.SetURL(must(url.Parse(s.URL)))
	}, Transport: &http.Transport{DisableKeepAlives: true}})
	defer proxy.Close()
	vars := map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://models.example/v1", "http_proxy": proxy.URL}
	e := env(t, vars)
	client, err := provider.NewHTTPClient(e.Lookup)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	e.Client = client
	m, err := provider.Open(t.Context(), "openai/x", e)
	if err != nil {
		t.Fatal(err)
	}
	if a := suite.Collect(t.Context(), m, suite.Prompt("[[text: through]]")); a.Err != nil || a.Text != "through" || !slices.Equal(proxied, []string{"models.example"}) {
		t.Errorf("got %+v through the proxy for %v", a, proxied)
	}
}

func TestAnUnknownCertificateIsToldAndTheFileThatVouchesForItTaken(t *testing.T) {
	s := double(t, modeltest.Options{})
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(must(url.Parse(s.URL)))
	}, Transport: &http.Transport{DisableKeepAlives: true}})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	server.StartTLS()
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(vars map[string]string) suite.Answer {
		vars["OPENAI_API_KEY"], vars["OPENAI_BASE_URL"] = "k", server.URL+"/v1"
		e := env(t, vars)
		client, err := provider.NewHTTPClient(e.Lookup)
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		e.Client, e.Retry.Tries = client, 1
		m, err := provider.Open(t.Context(), "openai/x", e)
		if err != nil {
			t.Fatal(err)
		}
		return suite.Collect(t.Context(), m, suite.Prompt("[[text: trusted]]"))
	}
	if a := ask(map[string]string{}); a.Err == nil || !strings.Contains(a.Err.Error(), "SSL_CERT_FILE") || !strings.Contains(a.Err.Error(), "127.0.0.1") {
		t.Errorf("without the certificate: %+v", a)
	}
	if a := ask(map[string]string{"SSL_CERT_FILE": file}); a.Err != nil || a.Text != "trusted" {
		t.Errorf("with the certificate: %+v", a)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestACertificateFileThatIsNoneIsTold(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pem")
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{bad, filepath.Join(dir, "none.pem")} {
		e := provider.Env{Lookup: func(n string) (string, bool) {
			v := map[string]string{"SSL_CERT_FILE": file, "OPENAI_API_KEY": "k"}[n]
			return v, v != ""
		}}
		if _, err := provider.Open(t.Context(), "openai/x", e); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
