//go:build unix

package clienthost_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

// started starts a command and waits until it has written a whole line, which it returns.
func started(t *testing.T, h *clienthost.Terminals, req acp.CreateTerminalRequest) (acp.TerminalOutputRequest, string) {
	t.Helper()
	req.SessionID = "s"
	c, err := h.CreateTerminal(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	id := acp.TerminalOutputRequest{SessionID: "s", TerminalID: c.TerminalID}
	var line string
	eventually(t, "the command has written nothing", func() bool {
		o, err := h.TerminalOutput(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var whole bool
		line, _, whole = strings.Cut(o.Output, "\n")
		return whole
	})
	return id, line
}

// eventually waits until ok, looking often.
func eventually(t *testing.T, problem string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if now := <-tick.C; now.After(deadline) {
			t.Fatal(problem)
		}
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func wait(t *testing.T, h *clienthost.Terminals, id acp.TerminalOutputRequest) acp.WaitForTerminalExitResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, err := h.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest(id))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAStatusHasEitherAnExitCodeOrTheNameOfASignal(t *testing.T) {
	h := terminals(t)
	for line, want := range map[string]string{
		"exit 0": "0", "exit 3": "3", "exit 255": "255", "kill -KILL $$": "SIGKILL", "kill -TERM $$": "SIGTERM", "kill -USR1 $$": "SIGUSR1", "kill -HUP $$": "SIGHUP",
	} {
		_, o := run(t, h, acp.CreateTerminalRequest{Command: line})
		var got []string
		if code, ok := o.ExitStatus.ExitCode.Get(); ok {
			got = append(got, fmt.Sprint(code))
		}
		if s := o.ExitStatus.Signal; s != "" {
			got = append(got, s)
		}
		if strings.Join(got, " and ") != want {
			t.Errorf("%s: status %q, want %s", line, got, want)
		}
	}
}

func TestWaitingEndsWithTheCommandThoughADescendantHoldsItsOutputOpen(t *testing.T) {
	h := terminals(t)
	id, background := started(t, h, acp.CreateTerminalRequest{Command: "sleep 1000 & echo $!"})
	begin := time.Now()
	if w := wait(t, h, id); w.ExitCode.Or(99) != 0 {
		t.Errorf("%+v", w)
	}
	if d := time.Since(begin); d > 5*time.Second { // and not when the descendant ends
		t.Errorf("it took %v", d)
	}
	if !alive(background) {
		t.Fatal("the descendant has ended: nothing is tested")
	}
	// Release ends what the command has left behind.
	if _, err := h.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest(id)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a descendant outlives the release", func() bool { return !alive(background) })
}

func TestKillReturnsAtOnceAndEndsByItselfWhatDoesNotListen(t *testing.T) {
	h := &clienthost.Terminals{KillGrace: 300 * time.Millisecond}
	defer h.Close()
	// The command ends politely, what it has started does not.
	id, background := started(t, h, acp.CreateTerminalRequest{Command: `sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & exec sleep 1000`})
	begin := time.Now()
	for range 3 { // pressing the button again does no harm
		if _, err := h.KillTerminal(t.Context(), acp.KillTerminalRequest(id)); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(begin); d > 200*time.Millisecond {
		t.Errorf("kill took %v", d)
	}
	if w := wait(t, h, id); w.Signal != "SIGTERM" {
		t.Errorf("%+v", w)
	}
	eventually(t, "a descendant outlives the kill", func() bool { return !alive(background) })
	if o, err := h.TerminalOutput(t.Context(), id); err != nil || o.Output == "" || o.ExitStatus == nil {
		t.Errorf("the terminal is gone: %+v, %v", o, err)
	}
}

func TestWhatACommandHasStartedMayEndInItsOwnWayWithinTheGrace(t *testing.T) {
	h := &clienthost.Terminals{KillGrace: 10 * time.Second}
	defer h.Close()
	file := filepath.Join(t.TempDir(), "saved")
	id, _ := started(t, h, acp.CreateTerminalRequest{Command: `sh -c 'trap "sleep 0.1; echo all > $0; exit" TERM; echo ready; while :; do sleep 0.01; done' ` + file + ` & exec sleep 1000`})
	if _, err := h.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest(id)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "all\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAReleasedTerminalIsGoneForEveryMethodAndItsWaitersAreAnswered(t *testing.T) {
	h := terminals(t)
	id, _ := started(t, h, acp.CreateTerminalRequest{Command: "echo ready; exec sleep 1000"})
	waited := make(chan error, 1)
	go func() {
		w, err := h.WaitForTerminalExit(context.Background(), acp.WaitForTerminalExitRequest(id))
		if err == nil && w.Signal != "SIGTERM" {
			err = fmt.Errorf("status %+v", w)
		}
		waited <- err
	}()
	if _, err := h.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest(id)); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil && !errors.Is(err, &acp.RequestError{Code: acp.CodeResourceNotFound}) { // it may have come too late
		t.Error(err)
	}
	for name, f := range map[string]func() error{
		"output": func() error { _, err := h.TerminalOutput(t.Context(), id); return err },
		"wait": func() error {
			_, err := h.WaitForTerminalExit(t.Context(), acp.WaitForTerminalExitRequest(id))
			return err
		},
		"kill":    func() error { _, err := h.KillTerminal(t.Context(), acp.KillTerminalRequest(id)); return err },
		"release": func() error { _, err := h.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest(id)); return err },
	} {
		if err := f(); !errors.Is(err, &acp.RequestError{Code: acp.CodeResourceNotFound}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARequestThatEndsDoesNotStopTheRelease(t *testing.T) {
	h := &clienthost.Terminals{KillGrace: 200 * time.Millisecond}
	defer h.Close()
	id, pid := started(t, h, acp.CreateTerminalRequest{Command: `trap "" TERM; echo $$; while :; do sleep 1; done`})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.ReleaseTerminal(ctx, acp.ReleaseTerminalRequest(id)); err != nil {
		t.Error(err)
	}
	eventually(t, "the command outlives its release", func() bool { return !alive(pid) })
}

func TestACommandHasNoInputAndNoTerminalToWaitFor(t *testing.T) {
	_, o := run(t, terminals(t), acp.CreateTerminalRequest{Command: "cat; [ -t 0 ] || echo no terminal; (: </dev/tty) 2>/dev/null || echo no tty"})
	if o.Output != "no terminal\nno tty\n" {
		t.Errorf("%q", o.Output)
	}
}

func TestACommandWithBlanksOrSignsInItsNameIsRunAsTheProgramThatItIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "my program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho it ran\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := terminals(t)
	if _, o := run(t, h, acp.CreateTerminalRequest{Command: path}); o.Output != "it ran\n" {
		t.Errorf("%q", o.Output)
	}
	// With arguments nothing is read by a shell.
	if _, o := run(t, h, acp.CreateTerminalRequest{Command: "echo", Args: []string{"$HOME; echo no", "*"}}); o.Output != "$HOME; echo no *\n" {
		t.Errorf("%q", o.Output)
	}
	if _, o := run(t, h, acp.CreateTerminalRequest{Command: "A=b; echo $A > " + filepath.Join(dir, "out") + " && cat " + filepath.Join(dir, "o*")}); o.Output != "b\n" {
		t.Errorf("%q", o.Output)
	}
}

func TestACommandInheritsNoKeysButWhatTheRequestNames(t *testing.T) {
	t.Setenv("MY_API_KEY", "secret")
	t.Setenv("LC_MESSAGES", "C")
	line := acp.CreateTerminalRequest{Command: `echo "$MY_API_KEY,$LC_MESSAGES,$EXTRA"`, Env: []acp.EnvVariable{{Name: "EXTRA", Value: "a=b c"}, {Name: "EXTRA", Value: "last"}}}
	if _, o := run(t, terminals(t), line); o.Output != ",C,last\n" {
		t.Errorf("%q", o.Output)
	}
	h := terminals(t)
	h.Env = os.Environ()
	if _, o := run(t, h, line); o.Output != "secret,C,last\n" {
		t.Errorf("%q", o.Output)
	}
}

func TestACommandThatCannotStartHarmsNoOther(t *testing.T) {
	h := terminals(t)
	id, _ := started(t, h, acp.CreateTerminalRequest{Command: "echo ready; read line; exec sleep 1000"})
	for name, req := range map[string]acp.CreateTerminalRequest{
		"missing": {Command: "/no/such/command", Args: []string{"x"}}, "a folder": {Command: "/", Args: []string{"x"}}, "no folder": {Command: "ls", Cwd: "/no/such/folder"},
		"relative": {Command: "ls", Cwd: "relative"}, "empty": {}, "a NUL": {Command: "ls", Args: []string{"\x00"}},
	} {
		req.SessionID = "s"
		if c, err := h.CreateTerminal(t.Context(), req); !errors.Is(err, &acp.RequestError{Code: acp.CodeInvalidParams}) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if _, err := h.TerminalOutput(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsEveryCommandAndNoNewOneStarts(t *testing.T) {
	h := terminals(t)
	var pids []string
	for range 5 {
		_, pid := started(t, h, acp.CreateTerminalRequest{Command: "echo $$; exec sleep 1000"})
		pids = append(pids, pid)
	}
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %s is alive", pid)
		}
	}
	if _, err := h.CreateTerminal(t.Context(), acp.CreateTerminalRequest{SessionID: "s", Command: "echo"}); err == nil {
		t.Error("a command was started after Close")
	}
}

// leaver makes a terminal and then waits for the end of its turn.
func leaver(made chan<- acp.TerminalID) acp.Agent {
	return &acptest.Agent{
		OnNewSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			return acp.NewSessionResponse{SessionID: "s"}, nil
		},
		OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			term, err := acp.ClientFrom(ctx).NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: req.SessionID, Command: "echo $$; exec sleep 1000"})
			if err != nil {
				return acp.PromptResponse{}, err
			}
			made <- term.ID() // and forgets it
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
		},
	}
}

func TestTheEndOfAConnectionEndsItsTerminalsAndNoOthers(t *testing.T) {
	h := terminals(t)
	made := make(chan acp.TerminalID, 2)
	var pids []string
	var ends []func()
	for range 2 {
		a, end, err := acptest.Connect(context.Background(), leaver(made), nil, &acp.ClientOptions{Terminals: h})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		ends = append(ends, end)
		s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
			t.Fatal(err)
		}
		id := acp.TerminalOutputRequest{SessionID: "s", TerminalID: <-made}
		eventually(t, "no output", func() bool {
			o, err := h.TerminalOutput(t.Context(), id) // the client's own look
			if err != nil {
				t.Fatal(err)
			}
			pid, _, ok := strings.Cut(o.Output, "\n")
			if ok {
				pids = append(pids, pid)
			}
			return ok
		})
	}
	ends[0]()
	eventually(t, "the command outlives the connection of its agent", func() bool { return !alive(pids[0]) })
	if !alive(pids[1]) {
		t.Error("the command of another connection has ended")
	}
}

func TestATerminalIsNotSeenByAnotherConnectionThatUsesTheSameSessionID(t *testing.T) {
	h := terminals(t)
	made := make(chan acp.TerminalID, 1)
	a, end, err := acptest.Connect(context.Background(), leaver(made), nil, &acp.ClientOptions{Terminals: h})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
		t.Fatal(err)
	}
	id := <-made
	thief := &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		var none acp.PromptResponse
		mine, err := acp.ClientFrom(ctx).NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: "s", Command: "true"})
		if err != nil {
			return none, err
		}
		if _, err := mine.Output(ctx); err != nil {
			t.Errorf("its own: %v", err)
		}
		if err := mine.Close(); err != nil {
			t.Error(err)
		}
		err = acp.ClientFrom(ctx).CallExtension(ctx, "_steal", nil, nil)
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
	}}
	b, end, err := acptest.Connect(context.Background(), thief, nil, &acp.ClientOptions{Terminals: h, Extensions: map[string]acp.Extension{
		"_steal": acp.ExtensionRequest(func(ctx context.Context, _ any) (any, error) { // with the context of the other connection
			if o, err := h.TerminalOutput(ctx, acp.TerminalOutputRequest{SessionID: "s", TerminalID: id}); err == nil {
				t.Errorf("read %+v", o)
			}
			return nil, nil
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if s, err = b.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
		t.Error(err)
	}
}
