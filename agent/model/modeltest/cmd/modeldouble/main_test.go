package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheProgramPrintsItsURLAndAnswersByTheScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("when: hello\n[[text: from the script]]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"-script", script, "-tools-only=false"}, in) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	resp, err := http.Post(strings.TrimSpace(url)+"/v1/responses", "application/json", strings.NewReader(`{"model":"m","input":"hello"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(body), `"from the script"`) {
		t.Errorf("got %s, %v", body, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWhatCannotRunIsAnError(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(bad, []byte("[[status]]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-script", bad}, {"-script", "/does/not/exist"}, {"-addr", "256.0.0.1:1"}} {
		if err := run(t.Context(), args, io.Discard); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
