//go:build unix

package acp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// playAgent is the child process of a test.
func playAgent(kind string) {
	switch kind {
	case "hello":
		serve(hello{})
	case "noisy":
		fmt.Println("a banner before the start")
		serve(&scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			fmt.Println("stray print")
			cmd := exec.Command("echo", "inherited")
			cmd.Stdout = os.NewFile(1, "one")
			_ = cmd.Run()
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, "clean")
		}})
	case "dies":
		fmt.Fprintln(os.Stderr, "no such model: gpt-0")
		os.Exit(3)
	case "dies later":
		serve(&scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			_ = say(ctx, req.SessionID, "last words")
			fmt.Fprintln(os.Stderr, "out of luck")
			_, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID})
			_ = err
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			<-time.After(time.Hour)
			return acp.PromptResponse{}, nil
		}})
	case "hangs":
		fmt.Fprintln(os.Stderr, "thinking")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn": // a wrapper that ignores everything, with a child that does too
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		child := exec.Command("sh", "-c", `trap "" TERM INT HUP; while :; do sleep 1; done`)
		_ = child.Start()
		fmt.Fprintln(os.Stderr, "child", child.Process.Pid)
		_ = acp.ServeStdio(context.Background(), hello{}, nil)
		<-time.After(time.Hour)
	case "env":
		serve(&scripted{newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			return acp.NewSessionResponse{SessionID: acp.SessionID("secret=" + os.Getenv("MY_SECRET_KEY") + " path=" + strconv.FormatBool(os.Getenv("PATH") != ""))}, nil
		}})
	}
}

func serve(agent acp.Agent) {
	if err := acp.ServeStdio(context.Background(), agent, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(kind string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ACP_TEST_AGENT="+kind, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func spawn(t *testing.T, kind string, co *acp.ClientOptions) *acp.RemoteAgent {
	t.Helper()
	a, err := acp.Spawn(context.Background(), child(kind), co)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestASpawnedAgentAnswersAndExitsWhenItsInputEnds(t *testing.T) {
	a := spawn(t, "hello", nil)
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	turn := s.Prompt(t.Context(), acp.Text("hi"))
	for u := range turn.Updates() {
		got += textOf(u)
	}
	if _, err := turn.Result(); err != nil || got != "Hello from Go!" {
		t.Errorf("%q, %v", got, err)
	}
	start := time.Now()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	exit, ok := errors.AsType[*acp.ExitError](a.Err())
	if !ok || exit.Code != 0 || exit.Signal != "" {
		t.Errorf("after %v: %v", time.Since(start), a.Err())
	}
}

func TestStrayOutputOfAnAgentNeverReachesTheWire(t *testing.T) {
	cmd := child("noisy")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, helloLine+"\n"+`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`+"\n")
	r := bufio.NewScanner(out)
	lines := 0
	for r.Scan() {
		if lines++; lines == 1 { // printed before the guard was up
			if r.Text() != "a banner before the start" {
				t.Errorf("first line %s", r.Text())
			}
			continue
		}
		if !strings.HasPrefix(r.Text(), "{") {
			t.Errorf("line %s", r.Text())
		}
		if strings.Contains(r.Text(), `"id":1,"result"`) {
			_ = in.Close()
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"stray print", "inherited"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("standard error lacks %q: %s", want, errs.String())
		}
	}
}

func TestAClientSurvivesLinesThatAreNotMessages(t *testing.T) {
	garbage := make(chan string, 10)
	a := spawn(t, "noisy", &acp.ClientOptions{Options: acp.Options{Garbage: func(m []byte, _ string) { garbage <- string(m) }}})
	if g := <-garbage; g != "a banner before the start" {
		t.Errorf("garbage %q", g)
	}
	if _, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"}); err != nil {
		t.Error(err)
	}
}

func TestAnAgentThatDiesAtTheStartIsReportedWithItsLastWords(t *testing.T) {
	start := time.Now()
	_, err := acp.Spawn(t.Context(), child("dies"), nil)
	exit, ok := errors.AsType[*acp.ExitError](err)
	if !ok || exit.Code != 3 || !strings.Contains(err.Error(), "no such model: gpt-0") || !errors.Is(err, acp.ErrConnectionClosed) {
		t.Errorf("spawn: %v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
	if _, err := acp.Spawn(t.Context(), exec.Command("/no/such/agent"), nil); err == nil || !strings.Contains(err.Error(), "/no/such/agent") {
		t.Errorf("spawn: %v", err)
	}
}

func TestAnAgentThatIsKilledInATurnEndsItWithSignalAndStderr(t *testing.T) {
	a := spawn(t, "dies later", nil)
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	var got string
	for u := range turn.Updates() {
		got += textOf(u)
	}
	_, err = turn.Result()
	exit, ok := errors.AsType[*acp.ExitError](err)
	if !ok || exit.Signal != "SIGKILL" || !strings.Contains(exit.Stderr, "out of luck") || !errors.Is(err, acp.ErrMaybeSent) || got != "last words" {
		t.Errorf("%q, then %v", got, err)
	}
	if !errors.Is(a.Err(), acp.ErrConnectionClosed) {
		t.Errorf("err %v", a.Err())
	}
}

func TestAnAgentThatNeverAnswersIsEndedAtTheStartTimeout(t *testing.T) {
	_, err := acp.Spawn(t.Context(), child("hangs"), &acp.ClientOptions{StartTimeout: 200 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "thinking") {
		t.Errorf("spawn: %v", err)
	}
}

func TestNothingOfAStubbornAgentIsAliveAfterClose(t *testing.T) {
	co := &acp.ClientOptions{}
	co.Process.EndGrace, co.Process.TermGrace = 50*time.Millisecond, 50*time.Millisecond
	pr, pw := io.Pipe()
	co.Process.Stderr = pw
	pid := make(chan int, 1)
	go func() {
		sc := bufio.NewScanner(pr)
		for sc.Scan() {
			if text, ok := strings.CutPrefix(sc.Text(), "child "); ok {
				n, _ := strconv.Atoi(text)
				pid <- n
			}
		}
	}()
	a := spawn(t, "stubborn", co)
	n := <-pid
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	_ = pw.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); running(n); {
		if now := <-tick.C; now.After(deadline) {
			t.Fatal("a descendant is still alive")
		}
	}
	if exit, ok := errors.AsType[*acp.ExitError](a.Err()); !ok || exit.Signal != "SIGKILL" {
		t.Errorf("err %v", a.Err())
	}
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestAnAgentGetsTheWholeEnvironmentOnlyIfItIsGivenIt(t *testing.T) {
	t.Setenv("MY_SECRET_KEY", "k")
	t.Setenv("ACP_TEST_AGENT", "") // the child's kind comes by the wrapper below
	cmd := exec.Command("sh", "-c", "GORACE=atexit_sleep_ms=0 ACP_TEST_AGENT=env exec "+os.Args[0])
	a, err := acp.Spawn(t.Context(), cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil || s.ID() != "secret= path=true" {
		t.Errorf("%v, %v", s, err)
	}
}

func TestTheEndOfTheContextEndsTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a, err := acp.Spawn(ctx, child("hello"), nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-a.Done()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := errors.AsType[*acp.ExitError](a.Err()); !ok {
		t.Errorf("err %v", a.Err())
	}
}
