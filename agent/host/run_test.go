//go:build unix

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func start(t *testing.T, l *Local, cmd Command) Process {
	t.Helper()
	p, err := l.Run(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func run(t *testing.T, l *Local, cmd Command) Exit {
	t.Helper()
	exit, err := start(t, l, cmd).Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

// output collects what a command writes and tells when it first has.
type output struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	sizes []int
	first chan struct{}
	once  sync.Once
}

func newOutput() *output { return &output{first: make(chan struct{})} }

func (o *output) take(chunk []byte) {
	o.mu.Lock()
	o.buf.Write(chunk)
	o.sizes = append(o.sizes, len(chunk))
	o.mu.Unlock()
	o.once.Do(func() { close(o.first) })
}

// pids reads the process numbers that a command wrote, one a line, to a file.
func pids(t *testing.T, path string) []int {
	t.Helper()
	var out []int
	for _, field := range strings.Fields(get(t, path)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

// wantGone waits until a process is no more (killed ones take a moment) or is only waiting to be reaped.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("process %d still lives", pid)
			return
		}
	}
}

func TestACommandEndsWithItsExitCodeAndBothOutputs(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/sub/f", "")
	l := newLocal(t, dir)
	for line, want := range map[string]Exit{
		"echo out; echo err >&2":          {Output: "out\nerr\n", Total: 8},
		"exit 7":                          {Code: 7},
		"no-such-program 2>/dev/null":     {Code: 127},
		"kill -KILL $$":                   {Code: -1, Signal: "SIGKILL"},
		"kill -TERM $$":                   {Code: -1, Signal: "SIGTERM"},
		"cat":                             {}, // nothing to read, at once
		"false | true":                    {},
		"test -t 0 || test -t 1; echo $?": {Output: "1\n", Total: 2},
	} {
		got := run(t, l, Command{Line: line})
		got.Duration = 0
		if got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
	if got := run(t, l, Command{Line: `pwd; echo "$PWD"`, Dir: "sub"}).Output; got != dir+"/sub\n"+dir+"/sub\n" {
		t.Errorf("folder: %q", got)
	}
	if got := run(t, l, Command{Line: "echo $X", Env: []string{"X=y z"}}).Output; got != "y z\n" {
		t.Errorf("environment: %q", got)
	}
}

func TestACommandHasNoTerminalToAskOn(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	if exit := run(t, l, Command{Line: "(exec </dev/tty) 2>/dev/null && echo open"}); exit.Output != "" {
		t.Errorf("the controlling terminal could be opened: %+v", exit)
	}
	// A session of its own: the shell is the leader of it.
	if exit := run(t, l, Command{Line: `set -- $(cat /proc/self/stat 2>/dev/null); [ -z "$6" ] || [ "$6" = $$ ]`}); exit.Code != 0 {
		t.Error("the command runs in our session")
	}
}

func TestSecretsOfTheEnvironmentStayWithUs(t *testing.T) {
	l, err := NewLocal([]string{tempRoot(t)}, LocalOptions{
		Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/h", "ANTHROPIC_API_KEY=s1", "OPENAI_API_KEY=s2", "GEMINI_API_KEY=s3", "GITHUB_TOKEN=s4",
			"GITHUBTOKEN=s5", "DB_PASSWORD=s6", "AWS_SECRET_ACCESS_KEY=s7", "Client_Secret=s8", "MY_PASSPHRASE=s9", "DB_PASS=s10",
			"SSH_AUTH_SOCK=/sock", "KEYBOARD=qwerty", "MONKEY=yes", "TOKENIZERS_PARALLELISM=1", "PASSED=1", "COMPASS=n", "DEPLOY_KEY=wanted", "TERM=xterm",
		},
		PassEnv: []string{"DEPLOY_KEY"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, l, Command{Line: "env"}).Output
	for _, secret := range []string{"=s1\n", "=s2\n", "=s3\n", "=s4\n", "=s5\n", "=s6\n", "=s7\n", "=s8\n", "=s9\n", "=s10\n", "xterm", "CI="} {
		if strings.Contains(got, secret) {
			t.Errorf("the command sees %q", strings.TrimSpace(secret))
		}
	}
	for _, kept := range []string{
		"HOME=/h\n", "SSH_AUTH_SOCK=/sock\n", "KEYBOARD=qwerty\n", "MONKEY=yes\n", "TOKENIZERS_PARALLELISM=1\n", "PASSED=1\n", "COMPASS=n\n",
		"DEPLOY_KEY=wanted\n", "PAGER=cat\n", "GIT_PAGER=cat\n", "GIT_TERMINAL_PROMPT=0\n", "EDITOR=true\n", "GIT_EDITOR=true\n", "TERM=dumb\n", "NO_COLOR=1\n",
	} {
		if !strings.Contains(got, kept) {
			t.Errorf("the command does not see %q", strings.TrimSpace(kept))
		}
	}
}

func TestTheUsersShellRunsTheLineIfItSpeaksPosix(t *testing.T) {
	for shell, want := range map[string]string{
		"/bin/bash": "/bin/bash", "/usr/bin/fish": "/bin/sh", "": "/bin/sh", "/no/such/zsh": "/bin/sh", "bash": "/bin/sh",
	} {
		if shell == "/bin/bash" {
			if _, err := os.Stat(shell); err != nil {
				continue
			}
		}
		if got := userShell([]string{"SHELL=" + shell}); got != want {
			t.Errorf("SHELL=%s: %s, want %s", shell, got, want)
		}
	}
}

func TestACommandNeverRunsInAnotherFolder(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/file", "")
	l := newLocal(t, dir)
	for path, want := range map[string]string{
		"missing": "the command was not run: missing: does not exist",
		"file":    "the command was not run: file: is a file, not a folder",
	} {
		_, err := l.Run(t.Context(), Command{Line: "touch ran", Dir: path})
		wantSentence(t, err, want)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Run(t.Context(), Command{Line: "touch ran"}); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ran although its folder is gone: %v", err)
	}
}

func TestACommandThatTakesTooLongIsEndedWithItsChildren(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	exit := run(t, l, Command{Line: "echo begun; sleep 100 & echo $! $$ >pids; wait", Timeout: 300 * time.Millisecond})
	if !exit.TimedOut || exit.Code != -1 || exit.Signal != "SIGTERM" || exit.Output != "begun\n" {
		t.Errorf("%+v", exit)
	}
	for _, pid := range pids(t, dir+"/pids") {
		wantGone(t, pid)
	}
}

func TestACommandThatSaysNothingForTooLongIsEndedAndOneThatGoesOnSpeakingIsNot(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	exit := run(t, l, Command{Line: "echo begun; sleep 100", Quiet: 200 * time.Millisecond})
	if !exit.Quieted || exit.TimedOut || exit.Code != -1 || exit.Signal != "SIGTERM" || exit.Output != "begun\n" {
		t.Errorf("%+v", exit)
	}
	exit = run(t, l, Command{Line: "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done", Quiet: 600 * time.Millisecond})
	if exit.Quieted || exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}

func TestACommandThatIgnoresTheRequestToEndIsKilledSoon(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	out := newOutput()
	p := start(t, l, Command{Line: `trap "" TERM; sleep 100 & echo $! $$ >pids; echo ready; while :; do wait; done`, Output: out.take})
	<-out.first
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopped by the person")
	cancel(cause)
	before := time.Now()
	exit, err := p.Wait(ctx)
	if !errors.Is(err, cause) || exit.Signal != "SIGKILL" || exit.Code != -1 || exit.TimedOut || exit.Output != "ready\n" {
		t.Errorf("%+v, %v", exit, err)
	}
	if took := time.Since(before); took > 40*grace {
		t.Errorf("gone only after %v", took)
	}
	for _, pid := range pids(t, dir+"/pids") {
		wantGone(t, pid)
	}
	if again, err := p.Wait(context.Background()); err != nil || again != exit {
		t.Errorf("a second wait: %+v, %v", again, err)
	}
}

func TestAnExitTellsWhetherProcessesWereLeftInTheBackground(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	for line, want := range map[string]bool{
		"echo done": false, "sleep 60 & echo done": true, "nohup sleep 60 >/dev/null 2>&1 & echo done": true,
		"true & wait; seq 1000 | head -1": false,
	} {
		p, err := l.Run(t.Context(), Command{Line: line})
		if err != nil {
			t.Fatal(err)
		}
		exit, err := p.Wait(t.Context())
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		if exit.Left != want || exit.Code != 0 {
			t.Errorf("%s: %+v", line, exit)
		}
	}
}

func TestBackgroundChildrenNeitherHoldTheWaitNorOutliveIt(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	lines := map[string]string{
		"same group":               "sleep 100 & echo $! >pids; echo done",
		"ignores the hang-up":      "trap '' HUP TERM INT; sleep 100 & echo $! >pids; echo done",
		"output held elsewhere":    "sleep 100 >/dev/null 2>&1 & echo $! >pids; echo done",
		"grandchild of a subshell": "(sh -c 'sleep 100 & echo $! >pids') ; echo done",
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		lines["a group of its own"] = "'" + os.Args[0] + "' own-group sleep 100 >pids; echo done"
	}
	for name, line := range lines {
		exit := run(t, l, Command{Line: line})
		if exit.Code != 0 || exit.Output != "done\n" {
			t.Errorf("%s: %+v", name, exit)
		}
		for _, pid := range pids(t, dir+"/pids") {
			wantGone(t, pid)
		}
	}
}

func TestAProcessThatLeavesTheSessionCannotHoldTheWait(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	exit := run(t, l, Command{Line: `setsid sh -c 'echo $$ >pids; exec sleep 100' & while ! [ -s pids ]; do :; done; echo done`})
	if exit.Code != 0 || exit.Output != "done\n" {
		t.Errorf("%+v", exit)
	}
	for _, pid := range pids(t, dir+"/pids") {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it left on purpose: the test cleans up
	}
}

func TestCloseEndsACommandNobodyWaitedFor(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	out := newOutput()
	p := start(t, l, Command{Line: "sleep 100 & echo $! $$ >pids; echo ready; wait", Output: out.take})
	<-out.first
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids(t, dir+"/pids") {
		wantGone(t, pid)
	}
}

func TestOutputIsSeenWhileTheCommandRuns(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	out := newOutput()
	p := start(t, l, Command{Line: "echo URL; sleep 100", Output: out.take})
	select {
	case <-out.first:
	case <-time.After(10 * time.Second):
		t.Fatal("the first line was not delivered")
	}
	if out.buf.String() != "URL\n" {
		t.Errorf("%q", out.buf.String())
	}
	_ = p.Close()
}

func TestManySmallWritesComeInFewPieces(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	out := newOutput()
	exit := run(t, l, Command{Line: "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done", Output: out.take})
	if most := int(exit.Duration/coalesce) + 3; len(out.sizes) > most {
		t.Errorf("%d pieces in %v", len(out.sizes), exit.Duration)
	}
}

func TestFiftyMegabytesNeitherBlockNorFlood(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	out := newOutput()
	const size = 50_000_000
	exit := run(t, l, Command{Line: "yes 0123456789 | head -c 50000000", Output: out.take, KeepBytes: 1000})
	if exit.Code != 0 || exit.Total != size || int64(out.buf.Len()) != size {
		t.Errorf("code %d, total %d, delivered %d", exit.Code, exit.Total, out.buf.Len())
	}
	if len(exit.Output) > 1100 || !strings.Contains(exit.Output, "bytes left out …\n") {
		t.Errorf("kept %d bytes: %q", len(exit.Output), exit.Output)
	}
	if most := size / 1000; len(out.sizes) > most {
		t.Errorf("%d pieces", len(out.sizes))
	}
	quiet := run(t, l, Command{Line: "yes | head -c 50000000"})
	if quiet.Total != size {
		t.Errorf("without a receiver: %d", quiet.Total)
	}
}

func TestAReceiverThatHangsHoldsUpNeitherTheEndNorTheKill(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	release := make(chan struct{})
	entered := make(chan struct{})
	var once sync.Once
	p := start(t, l, Command{Line: "echo $$ >pids; yes", Output: func([]byte) {
		once.Do(func() { close(entered) })
		<-release
	}})
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, pid := range pids(t, dir+"/pids") {
		wantGone(t, pid)
	}
	close(release)
}

func TestPiecesNeverCutACharacter(t *testing.T) {
	l := newLocal(t, tempRoot(t))
	put(t, filepath.Join(l.roots[0], "text"), strings.Repeat("aé€", 30000))
	var bad int
	var all bytes.Buffer
	exit := run(t, l, Command{Line: `cat text; printf '\342\202'; sleep 0.3; printf '\254\377\360'`, Output: func(chunk []byte) {
		all.Write(chunk)
		chunk = bytes.ReplaceAll(bytes.ReplaceAll(chunk, []byte{0xff}, nil), []byte{0xf0}, nil) // broken by the command itself
		if !utf8.Valid(chunk) {
			bad++
		}
	}})
	if bad > 0 || all.String() != strings.Repeat("aé€", 30000)+"€\xff\xf0" {
		t.Errorf("%d pieces cut a character; %d bytes", bad, all.Len())
	}
	if !utf8.ValidString(exit.Output) || strings.Count(exit.Output, "\uFFFD") != 1 { // the two bad bytes in a row are one
		t.Errorf("kept output ends in %q", exit.Output[len(exit.Output)-20:])
	}
}

func TestACommandIsNotStartedOnceItsContextHasEnded(t *testing.T) {
	dir := tempRoot(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newLocal(t, dir).Run(ctx, Command{Line: "touch ran"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("it ran")
	}
}

// startOwnGroup is what the test binary does when it is called with own-group: it starts the command in a process group
// of its own, as a shell with job control does, prints its process id and leaves it behind.
func startOwnGroup(argv []string) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(cmd.Process.Pid)
	return 0
}
