//go:build unix

package clienthost_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func files(t *testing.T) (*clienthost.Files, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := clienthost.NewFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadReturnsTheLinesThatWereAskedFor(t *testing.T) {
	f, dir := files(t)
	path := filepath.Join(dir, "f.txt")
	long := strings.Repeat("x", 200_000)
	put(t, path, "one\r\ntwo\n"+long+"\nfour")
	opt := acp.Some[uint32]
	for _, tc := range []struct {
		line, limit acp.Opt[uint32]
		want        string
	}{
		{want: "one\r\ntwo\n" + long + "\nfour"},
		{line: opt(2), limit: opt(1), want: "two\n"},
		{line: opt(1), limit: opt(2), want: "one\r\ntwo\n"},
		{line: opt(0), limit: opt(1), want: "one\r\n"},
		{limit: opt(1), want: "one\r\n"},
		{line: opt(3), limit: opt(1), want: long + "\n"},
		{line: opt(4), want: "four"},
		{line: opt(4), limit: opt(9), want: "four"},
		{line: opt(5), want: ""},
		{line: opt(1), limit: opt(0), want: ""},
	} {
		r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path, Line: tc.line, Limit: tc.limit})
		if err != nil || r.Content != tc.want {
			t.Errorf("line %v limit %v: %.40q, %v", tc.line, tc.limit, r.Content, err)
		}
	}
	f.MaxReadBytes = 1000
	if _, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path}); err == nil {
		t.Error("a text over the limit was returned")
	}
	if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path, Line: opt(4)}); err != nil || r.Content != "four" {
		t.Errorf("%q, %v", r.Content, err)
	}
}

func TestNothingOutsideOfTheRootsIsReadOrWritten(t *testing.T) {
	f, dir := files(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	put(t, secret, "s")
	for name, target := range map[string]string{"link": secret, "folder": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "binary"), "\xff\xfe")
	for _, path := range []string{
		secret, "relative", dir + "/../" + filepath.Base(outside) + "/secret", filepath.Join(dir, "link"), filepath.Join(dir, "folder", "secret"),
		filepath.Join(dir, "fifo"), dir, filepath.Join(dir, "binary"), dir + "x/f",
	} {
		if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path}); err == nil {
			t.Errorf("read %s: %q", path, r.Content)
		}
		if filepath.Base(path) == "binary" {
			continue
		}
		if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: path, Content: "broken in"}); err == nil {
			t.Errorf("wrote %s", path)
		}
	}
	if b, _ := os.ReadFile(secret); string(b) != "s" {
		t.Errorf("the secret is %q", b)
	}
	if _, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: filepath.Join(dir, "missing")}); !errors.Is(err, &acp.RequestError{Code: acp.CodeResourceNotFound}) {
		t.Errorf("missing file: %v", err)
	}
}

func TestWriteMakesTheFileAndReplacesItsText(t *testing.T) {
	f, dir := files(t)
	path := filepath.Join(dir, "a", "b", "f.txt")
	for _, text := range []string{"a long first text", "short", ""} {
		if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: path, Content: text}); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
}

// run starts a command and waits for it.
func run(t *testing.T, h *clienthost.Terminals, req acp.CreateTerminalRequest) (acp.TerminalID, acp.TerminalOutputResponse) {
	t.Helper()
	req.SessionID = "s"
	c, err := h.CreateTerminal(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := h.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest{SessionID: "s", TerminalID: c.TerminalID}); err != nil {
		t.Fatal(err)
	}
	o, err := h.TerminalOutput(t.Context(), acp.TerminalOutputRequest{SessionID: "s", TerminalID: c.TerminalID})
	if err != nil {
		t.Fatal(err)
	}
	return c.TerminalID, o
}

func terminals(t *testing.T) *clienthost.Terminals {
	t.Helper()
	h := &clienthost.Terminals{KillGrace: 100 * time.Millisecond}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestACommandRunsWithItsArgumentsFolderAndEnvironment(t *testing.T) {
	h := terminals(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, o := run(t, h, acp.CreateTerminalRequest{
		Command: "/bin/sh", Args: []string{"-c", `pwd; echo "$A $1" >&2; exit 3`, "sh", "two words"}, Cwd: dir,
		Env: []acp.EnvVariable{{Name: "A", Value: "b"}},
	})
	if o.Output != dir+"\nb two words\n" || o.Truncated || o.ExitStatus == nil || o.ExitStatus.ExitCode.Or(99) != 3 || o.ExitStatus.Signal != "" {
		t.Errorf("%+v", o)
	}
}

func TestAWholeShellLineAsTheCommandRunsInTheShell(t *testing.T) {
	_, o := run(t, terminals(t), acp.CreateTerminalRequest{Command: "echo one && echo two | tr a-z A-Z"})
	if o.Output != "one\nTWO\n" {
		t.Errorf("%q", o.Output)
	}
}

func TestACommandThatDoesNotExistIsAnErrorOfTheRequest(t *testing.T) {
	if _, err := terminals(t).CreateTerminal(t.Context(), acp.CreateTerminalRequest{Command: "/no/such/command"}); !errors.Is(err, &acp.RequestError{Code: acp.CodeInvalidParams}) {
		t.Errorf("error %v", err)
	}
}

func TestOutputOverTheLimitLosesItsBeginningAtACharacterBorder(t *testing.T) {
	h := terminals(t)
	for limit := uint64(0); limit < 12; limit++ {
		_, o := run(t, h, acp.CreateTerminalRequest{Command: "printf 'é漢😀é漢😀'", OutputByteLimit: acp.Some(limit)})
		if !utf8.ValidString(o.Output) || len(o.Output) > int(limit) || !o.Truncated || !strings.HasSuffix("é漢😀é漢😀", o.Output) || len(o.Output)+4 < int(limit) {
			t.Errorf("limit %d: %q, truncated %v", limit, o.Output, o.Truncated)
		}
	}
	_, o := run(t, h, acp.CreateTerminalRequest{Command: "head -c 300000 /dev/zero | tr '\\0' x; printf end", OutputByteLimit: acp.Some[uint64](1000)})
	if len(o.Output) != 1000 || !strings.HasSuffix(o.Output, "xend") || !o.Truncated {
		t.Errorf("%d bytes, truncated %v", len(o.Output), o.Truncated)
	}
	_, o = run(t, h, acp.CreateTerminalRequest{Command: "printf '\\377\\376ok'"})
	if o.Output != "\uFFFD\uFFFDok" {
		t.Errorf("%q", o.Output)
	}
}

func TestKillEndsTheWholeGroupAndKeepsTheOutputUntilRelease(t *testing.T) {
	h := terminals(t)
	c, err := h.CreateTerminal(t.Context(), acp.CreateTerminalRequest{SessionID: "s", Command: `trap "" TERM; (trap "" TERM; sleep 1000) & echo $!; sleep 1000`})
	if err != nil {
		t.Fatal(err)
	}
	id := acp.TerminalOutputRequest{SessionID: "s", TerminalID: c.TerminalID}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		o, err := h.TerminalOutput(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if o.ExitStatus != nil {
			t.Fatalf("ended: %+v", o)
		}
		if strings.HasSuffix(o.Output, "\n") {
			break
		}
		<-tick.C
	}
	if _, err := h.KillTerminal(t.Context(), acp.KillTerminalRequest(id)); err != nil {
		t.Fatal(err)
	}
	if w, err := h.WaitForTerminalExit(t.Context(), acp.WaitForTerminalExitRequest(id)); err != nil || w.Signal != "SIGKILL" || w.ExitCode.IsSet() {
		t.Errorf("%+v, %v", w, err)
	}
	o, err := h.TerminalOutput(t.Context(), id)
	if err != nil || o.ExitStatus == nil || o.ExitStatus.Signal != "SIGKILL" || o.ExitStatus.ExitCode.IsSet() || o.Output == "" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := h.TerminalOutput(t.Context(), acp.TerminalOutputRequest{SessionID: "other", TerminalID: c.TerminalID}); err == nil {
		t.Error("another session reads the terminal")
	}
	if _, err := h.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.TerminalOutput(t.Context(), id); !errors.Is(err, &acp.RequestError{Code: acp.CodeResourceNotFound}) {
		t.Errorf("released terminal: %v", err)
	}
}

func TestAnAgentUsesTheHostThroughTheProtocol(t *testing.T) {
	f, dir := files(t)
	h := terminals(t)
	agent := &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		var none acp.PromptResponse
		c := acp.ClientFrom(ctx)
		path := filepath.Join(dir, "f")
		if _, err := c.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionID: req.SessionID, Path: path, Content: "text"}); err != nil {
			return none, err
		}
		r, err := c.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: path})
		if err != nil || r.Content != "text" {
			t.Errorf("read %q, %v", r.Content, err)
		}
		term, err := c.NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: req.SessionID, Command: "cat", Args: []string{path}})
		if err != nil {
			return none, err
		}
		defer term.Close()
		if w, err := term.Wait(ctx); err != nil || w.ExitCode.Or(9) != 0 {
			t.Errorf("wait %+v, %v", w, err)
		}
		if o, err := term.Output(ctx); err != nil || o.Output != "text" {
			t.Errorf("output %+v, %v", o, err)
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}
	a, end, err := acptest.Connect(context.Background(), agent, nil, &acp.ClientOptions{Files: f, Terminals: h})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
		t.Error(err)
	}
}
