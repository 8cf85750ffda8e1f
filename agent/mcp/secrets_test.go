package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The canaries must turn up in nothing that leaves the package.
const (
	canaryKey    = "canary-key-5d1f0c3b"
	canaryPlain  = "canary plain value"
	canaryHeader = "canary-header-90aa17"
	canaryPath   = "canary-path-77e1"
)

func TestNoValueOfAVariableOrHeaderIsEverToldOrLogged(t *testing.T) {
	var log bytes.Buffer
	var told notices
	opts := Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Notify: told.add}
	env := map[string]string{"CANARY_KEY": canaryKey, "SETTING": canaryPlain}
	servers := []Server{program(t, "plain"), program(t, "crash"), program(t, "garbage")}
	for i := range servers {
		servers[i].Env = env
		servers[i].StartTimeout = 5 * time.Second
	}
	servers[2].StartTimeout = 300 * time.Millisecond
	echo := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a server that gives back what it gets
		http.Error(w, fmt.Sprint(r.Header, r.URL), http.StatusTeapot)
	}))
	refuse := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":%q}}`, r.Header.Get("Authorization")+" at "+r.URL.String())
	}))
	headers := map[string]string{"Authorization": "Bearer " + canaryHeader, "X-Setting": canaryPlain}
	for _, transport := range []Transport{TransportHTTP, TransportSSE} {
		for name, address := range map[string]string{"echo": echo, "refuse": refuse, "nobody": "http://127.0.0.1:1"} {
			servers = append(servers, Server{Name: name + string(transport), Transport: transport,
				URL: address + "/" + canaryPath + "?key=" + canaryKey, Headers: headers})
		}
	}
	servers = append(servers, Server{Name: "bad\x00", URL: "http://" + canaryKey + "@%"}, Server{Name: "bad url", URL: "http://" + canaryKey + "@%"})
	set := openReady(t, opts, servers...)
	var results strings.Builder
	for _, name := range []string{"environment", "die", "wait"} {
		tl := find(t, set, "plain__"+name)
		out := &shown{}
		set.servers[0].mu.Lock()
		set.servers[0].cfg.CallTimeout = 500 * time.Millisecond
		set.servers[0].mu.Unlock()
		r := prepare(t, tl, "").Run(t.Context(), out)
		fmt.Fprintln(&results, r.Text, r.Display, out.String())
	}
	status := set.Status()
	set.Close()
	contains(t, results.String(), "CANARY_KEY=[value of CANARY_KEY]", "key=[value of CANARY_KEY]")
	places := map[string]string{
		"status": fmt.Sprintf("%+v", status), "notices": fmt.Sprintf("%+v", told.all()),
		"servers": fmt.Sprintf("%v %+v %#v %s", servers, servers, servers, servers), "log": log.String(),
	}
	for where, text := range places {
		if len(text) < 100 {
			t.Errorf("%s: next to nothing: %q", where, text)
		}
		for _, canary := range []string{canaryKey, canaryPlain, canaryHeader, canaryPath} {
			if strings.Contains(text, canary) {
				t.Errorf("%s: %q is in:\n%s", where, canary, text)
			}
		}
	}
	// What a tool gives is the server's to say, but for what looks like a key.
	if strings.Contains(results.String(), canaryKey) {
		t.Errorf("results: the key is in:\n%s", results.String())
	}
	for _, s := range servers {
		if err := s.Validate(); err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("validation tells: %v", err)
		}
	}
}

func TestASecretIsFoundInEveryShapeItUsuallyHas(t *testing.T) {
	password := `p"a$s/word+1`
	r := newRedactor(Server{
		Env: map[string]string{"KEY": "sk-" + `a"b\c d`, "PEM": "-----BEGIN-----\nMIIEvQIBADANBg\n-----END-----\n", "N": "1"},
		Headers: map[string]string{
			"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+password)), "X-Key": "Token abcdefgh12",
		},
	})
	for _, text := range []string{
		`sk-a"b\c d`, `{"key":"sk-a\"b\\c d"}`, "sk-" + url.QueryEscape(`a"b\c d`), "sk-" + url.PathEscape(`a"b\c d`),
		"MIIEvQIBADANBg", password, url.QueryEscape(password), "abcdefgh12", "Token abcdefgh12",
	} {
		got := r.say("<" + text + ">")
		if !strings.Contains(got, "[value of ") || strings.Contains(got, text) {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{"line 1 of 10", "https://example.org", "no secrets here"} {
		if got := r.say(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	if got := r.say("see https://user@example.org:8443/a/b?c=d#e, and http://x/."); got != "see https://example.org:8443/…, and http://x/…." {
		t.Errorf("addresses: %s", got)
	}
}

func TestResultsKeepSettingsThatAreNoSecrets(t *testing.T) {
	r := newRedactor(Server{Env: map[string]string{
		"ROOT": "/home/me/a-long-project-1", "BRANCH": "main-line", "GITHUB_TOKEN": "ghp_0123456789", "SALT": "a1b2c3d4e5f6a7b8c9",
	}})
	text := "/home/me/a-long-project-1 main-line ghp_0123456789 a1b2c3d4e5f6a7b8c9"
	want := "/home/me/a-long-project-1 main-line [value of GITHUB_TOKEN] [value of SALT]"
	if got := r.result(text); got != want {
		t.Errorf("got %s", got)
	}
}

func TestTheEndOfStandardErrorNeverShowsAPieceOfASecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.OneOf(
			rapid.StringMatching(`[A-Z0-9]{8,40}`), rapid.StringMatching(`[A-Z0-9]{900}`),
		).Draw(t, "secret")
		tl := &tail{secrets: newRedactor(Server{Env: map[string]string{"KEY": secret}})}
		chunks := rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`[a-z \n]{0,1000}`), rapid.StringMatching(`[a-z \n]{0,9}`),
		), 1, 60).Draw(t, "chunks")
		for _, chunk := range chunks {
			_, _ = tl.Write([]byte(chunk))
			if rapid.Bool().Draw(t, "told") {
				_, _ = tl.Write([]byte(secret))
			}
		}
		shown := tl.String()
		if len(shown) > tailShown+100 || strings.Count(shown, "\n") >= tailLines {
			t.Fatalf("%d bytes, %d lines", len(shown), strings.Count(shown, "\n"))
		}
		for i := 0; i+4 <= len(secret); i++ {
			if piece := secret[i : i+4]; strings.Contains(strings.ReplaceAll(shown, "[value of KEY]", ""), piece) {
				t.Fatalf("%q of %q is in %q", piece, secret, shown)
			}
		}
	})
}

func TestASecretThatTheKeptEndBeginsInIsNotShown(t *testing.T) {
	secret := strings.Repeat("ABCDEFGHIJ", 90)
	tl := &tail{secrets: newRedactor(Server{Env: map[string]string{"KEY": secret}})}
	for range 13 { // what is kept begins within one
		_, _ = tl.Write([]byte(secret + "\n"))
	}
	if got := tl.String(); strings.Contains(got, "ABCD") || !strings.Contains(got, "[value of KEY]") && got != "" {
		t.Errorf("shown: %q", got)
	}
}
