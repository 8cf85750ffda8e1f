//go:build unix

package acp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// quick makes an agent's process end quickly, willing or not.
func quick(co acp.ClientOptions) *acp.ClientOptions {
	co.Process.EndGrace, co.Process.TermGrace = 50*time.Millisecond, 100*time.Millisecond
	return &co
}

// wrapped is a shell that runs script, in which $AGENT is the agent of a kind.
func wrapped(kind, script string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(child(kind).Env, "AGENT="+os.Args[0])
	return cmd
}

// pidIn waits for a process id in a file.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if b, _ := os.ReadFile(path); bytes.HasSuffix(b, []byte("\n")) {
			n, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if now := <-tick.C; now.After(deadline) {
			t.Fatal("no process id was written")
		}
	}
}

// dead waits for the end of a process.
func dead(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); running(pid); {
		if now := <-tick.C; now.After(deadline) {
			t.Fatalf("process %d is alive", pid)
		}
	}
}

func TestAnAgentBehindAWrapperWorksAndIsGoneWithIt(t *testing.T) {
	for _, script := range []string{
		`exec 3<&0; "$AGENT" <&3 3<&- & echo $! > "$0"; exec 3<&-; wait`, // does not pass signals on
		`"$AGENT"; :`, // waits, as npx does
		`trap "" TERM INT HUP; sleep 1000 & echo $! > "$0"; "$AGENT"; sleep 1000`, // ignores everything, and starts more
	} {
		file := filepath.Join(t.TempDir(), "pid")
		cmd := wrapped("hello", script)
		cmd.Args = append(cmd.Args, file)
		a, err := acp.Spawn(context.Background(), cmd, quick(acp.ClientOptions{}))
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if _, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"}); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if strings.Contains(script, "$0") {
			dead(t, pidIn(t, file))
		}
	}
}

func TestTheDeathOfAnAgentIsNoticedThoughItsChildHoldsTheOutputOpen(t *testing.T) {
	begin := time.Now()
	_, err := acp.Spawn(t.Context(), wrapped("", `sleep 1000 & echo "no such model" >&2; exit 4`), quick(acp.ClientOptions{StartTimeout: time.Minute}))
	exit, ok := errors.AsType[*acp.ExitError](err)
	if !ok || exit.Code != 4 || !strings.Contains(err.Error(), "no such model") || !strings.Contains(err.Error(), "/bin/sh") {
		t.Errorf("in the handshake: %v", err)
	}
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
	file := filepath.Join(t.TempDir(), "pid")
	cmd := wrapped("dies later", `sleep 1000 & echo $! > "$0"; exec "$AGENT"`)
	cmd.Args = append(cmd.Args, file)
	a, err := acp.Spawn(context.Background(), cmd, quick(acp.ClientOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Prompt(t.Context(), acp.Text("x")).Result()
	if exit, ok := errors.AsType[*acp.ExitError](err); !ok || exit.Signal != "SIGKILL" || !strings.Contains(exit.Stderr, "out of luck") || !errors.Is(err, acp.ErrConnectionClosed) {
		t.Errorf("in a turn: %v", err)
	}
	if _, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"}); !errors.Is(err, acp.ErrConnectionClosed) || !errors.Is(err, acp.ErrNotSent) {
		t.Errorf("afterwards: %v", err)
	}
	if err := a.Wait(); err == nil {
		t.Error("the death of an agent is an orderly end")
	}
	pid := pidIn(t, file)
	_ = a.Close()
	dead(t, pid)
}

func TestAStartThatTakesTooLongNamesTheCommandAndWhatItSaidAndLeavesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	for script, words := range map[string][]string{
		`echo $$ > "$0"; echo "installing packages" >&2; trap "" TERM; while :; do sleep 1; done`: {"installing packages", "still runs"},
		`echo $$ > "$0"; exec sleep 1000`: {"wrote nothing", "still runs"},
	} {
		cmd := wrapped("", script)
		cmd.Args = append(cmd.Args, file)
		_, err := acp.Spawn(t.Context(), cmd, quick(acp.ClientOptions{StartTimeout: 300 * time.Millisecond}))
		for _, want := range append(words, "/bin/sh", "no answer within 300ms") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in: %v", want, err)
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		dead(t, pidIn(t, file))
	}
}

func TestAProgramThatIsNoAgentIsEndedAndShownToBeNone(t *testing.T) {
	_, err := acp.Spawn(t.Context(), exec.Command("cat"), quick(acp.ClientOptions{StartTimeout: 300 * time.Millisecond})) // says back what it is told
	if err == nil || !strings.Contains(err.Error(), "cat") {
		t.Errorf("cat: %v", err)
	}
	_, err = acp.Spawn(t.Context(), wrapped("", `echo usage: tool FILE; exit 2`), quick(acp.ClientOptions{}))
	if exit, ok := errors.AsType[*acp.ExitError](err); !ok || exit.Code != 2 {
		t.Errorf("usage: %v", err)
	}
	_, err = acp.Spawn(t.Context(), exec.Command("no-such-agent"), nil)
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-agent") {
		t.Errorf("missing: %v", err)
	}
}

func TestASpawnedAgentMayBeClosedFromItsOwnHandlersAndByManyAtOnce(t *testing.T) {
	closed := make(chan error, 1)
	co := quick(acp.ClientOptions{Updates: func(ctx context.Context, _ acp.SessionNotification) {
		a, _ := acp.AgentFrom(ctx)
		select {
		case closed <- a.Close():
		default:
		}
	}})
	a := spawn(t, "hello", co)
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	_, _ = turn.Result() // ends with the answer or with the connection
	if err := <-closed; err != nil {
		t.Error(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := a.Wait(); err != nil {
		t.Error(err)
	}
	if _, ok := errors.AsType[*acp.ExitError](a.Err()); !ok {
		t.Errorf("the process has not ended: %v", a.Err())
	}
}

func TestTheProcessIsGoneAfterAPanicOfItsOwner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		cmd := wrapped("hello", `echo $$ > "$0"; exec "$AGENT"`)
		cmd.Args = append(cmd.Args, file)
		a, err := acp.Spawn(context.Background(), cmd, quick(acp.ClientOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		panic("a bug of the owner")
	}()
	dead(t, pidIn(t, file))
}

func TestAClientThatFramesWithHeadersIsToldInOneLineAndNotLeftWaiting(t *testing.T) {
	cmd := child("hello")
	body := helloLine
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close() // only afterwards: the program must end by itself
	_, _ = io.WriteString(in, "Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(out.String(), `"id":null`) || !strings.Contains(out.String(), "newline-delimited JSON expected") {
		t.Errorf("answer %s", out.String())
	}
	if got := strings.TrimSpace(errs.String()); strings.Count(got, "\n") != 0 || !strings.Contains(got, "newline-delimited JSON") || !strings.Contains(got, "Content-Length") {
		t.Errorf("standard error %q", got)
	}
}
