//go:build unix

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var impatient = process.Options{EndGrace: 50 * time.Millisecond, TermGrace: 100 * time.Millisecond}

func start(t *testing.T, script string, opts *process.Options) *process.Process {
	t.Helper()
	p, err := process.Start(exec.Command("/bin/sh", "-c", script), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// line reads one line of the output.
func line(t *testing.T, p *process.Process) string {
	t.Helper()
	s, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
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

func gone(t *testing.T, pid string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); alive(pid); {
		if now := <-tick.C; now.After(deadline) {
			t.Fatalf("process %s is alive", pid)
		}
	}
}

func TestNothingThatAWrapperHasStartedIsAliveAfterClose(t *testing.T) {
	for name, script := range map[string]string{
		"it waits":                      `sh -c 'echo $$; exec sleep 1000' & wait`,
		"it ends at the end of input":   `sh -c 'echo $$; exec sleep 1000' & cat >/dev/null`,
		"it has ended long ago":         `sh -c 'echo $$; exec sleep 1000' & exit 0`,
		"it ignores everything":         `trap "" TERM INT HUP; sh -c 'echo $$; exec sleep 1000' & while :; do sleep 1; done`,
		"nothing listens to TERM":       `trap "" TERM INT HUP; sh -c 'echo $$; while :; do sleep 1; done' & while :; do sleep 1; done`,
		"it does not pass signals on":   `trap : TERM; sh -c 'echo $$; exec sleep 1000' & while :; do wait; done`,
		"what it started has a parent":  `sh -c 'sh -c "echo \$\$; exec sleep 1000" & exec sleep 1000' & wait`,
		"its input and output are shut": `sh -c 'echo $$; exec sleep 1000' & exec <&- >&- sleep 1000`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, script, &impatient)
			pid := line(t, p)
			if !alive(pid) {
				t.Fatal("it is not running")
			}
			begin := time.Now()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("close took %v", d)
			}
			gone(t, pid)
			<-p.Exited()
		})
	}
}

func TestWhatAWrapperLeavesBehindMayEndInItsOwnWayWithinTheGrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "saved")
	p := start(t, `sh -c 'trap "sleep 0.1; echo all > $0; exit" TERM; echo ready; while :; do sleep 0.01; done' `+file+` & exec cat`, &process.Options{TermGrace: 10 * time.Second})
	line(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "all\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTheOutputEndsWithTheProcessThoughADescendantHoldsItOpenAndNothingIsLost(t *testing.T) {
	p := start(t, `sleep 1000 & head -c 60000 /dev/zero | tr '\0' x; exit 3`, &impatient)
	<-p.Exited() // everything is in the pipe
	var got int
	tick := time.NewTicker(20 * time.Millisecond) // a reader that takes longer than the output may be silent
	defer tick.Stop()
	buf := make([]byte, 4000)
	for {
		n, err := p.Stdout().Read(buf)
		if got += n; errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		<-tick.C
	}
	if got != 60_000 {
		t.Errorf("%d bytes", got)
	}
	if e := p.Err(nil); e == nil || e.Code != 3 {
		t.Errorf("%v", e)
	}
}

func TestAReadThatWaitsEndsWithTheProcess(t *testing.T) {
	p := start(t, `sleep 1000 & read line; exit 0`, &impatient)
	read := make(chan error, 1)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 1))
		read <- err
	}()
	if _, err := io.WriteString(p.Stdin(), "go\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
}

func TestTheLast64KiBOfStandardErrorAreKept(t *testing.T) {
	var also strings.Builder
	p := start(t, `head -c 200000 /dev/zero | tr '\0' x >&2; echo the end >&2; exit 1`, &process.Options{Stderr: &also})
	<-p.Exited()
	e := p.Err(io.EOF)
	if n := len(strings.TrimPrefix(e.Stderr, "…")); n != 64<<10 || !strings.HasSuffix(e.Stderr, "xxthe end\n") {
		t.Errorf("%d bytes", n)
	}
	if n := len(e.Error()); n > 3000 || !strings.Contains(e.Error(), "the end") || !strings.Contains(e.Error(), "/bin/sh ended with status 1") {
		t.Errorf("a message of %d bytes: %.200s", n, e.Error())
	}
	if !errors.Is(e, io.EOF) {
		t.Error("the cause is lost")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if also.Len() != 200_008 {
		t.Errorf("passed on: %d bytes", also.Len())
	}
}

func TestAnExitErrorHasTheStatusOrTheSignal(t *testing.T) {
	for script, want := range map[string]process.ExitError{
		"exit 0": {Code: 0}, "exit 7": {Code: 7}, "kill -KILL $$": {Code: -1, Signal: "SIGKILL"}, "kill -SEGV $$": {Code: -1, Signal: "SIGSEGV"},
	} {
		p := start(t, script, nil)
		<-p.Exited()
		if e := p.Err(nil); e.Code != want.Code || e.Signal != want.Signal || e.Command != "/bin/sh" {
			t.Errorf("%s: %+v", script, e)
		}
	}
	p := start(t, "read line", nil)
	if e := p.Err(nil); e != nil {
		t.Errorf("it runs: %v", e)
	}
}

func TestEveryCloseReturnsWhenTheProcessIsGoneWhoeverCallsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := start(t, `trap "" TERM; echo $$; while :; do sleep 1; done`, &impatient)
	defer p.CloseWhen(ctx)()
	pid := line(t, p)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if i == 7 {
				cancel()
				return
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if alive(pid) {
				t.Error("close returned while the process runs")
			}
		})
	}
	all.Wait()
}

func TestTheEnvironmentIsTheCallersChoice(t *testing.T) {
	t.Setenv("MY_TOKEN", "secret")
	t.Setenv("LC_MESSAGES", "C")
	for _, tc := range []struct {
		env  []string
		want string
	}{
		{nil, "[],[C],[]"},
		{[]string{}, "[],[],[]"},
		{[]string{"ONLY=this"}, "[],[],[this]"},
		{append(os.Environ(), "ONLY=this"), "[secret],[C],[this]"},
		{append(process.Environment(), "ONLY=this"), "[],[C],[this]"},
	} {
		cmd := exec.Command("/bin/sh", "-c", `echo "[$MY_TOKEN],[$LC_MESSAGES],[$ONLY]"`)
		cmd.Env = tc.env
		p, err := process.Start(cmd, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := line(t, p); got != tc.want {
			t.Errorf("environment %d: %s, want %s", len(tc.env), got, tc.want)
		}
		_ = p.Close()
	}
}

func TestAProgramIsFoundInThePathAndOneThatIsNotIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "my-agent"), []byte("#!/bin/sh\necho found\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	p, err := process.Start(exec.Command("my-agent"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := line(t, p); got != "found" {
		t.Errorf("%q", got)
	}
	_ = p.Close()
	for _, name := range []string{"no-such-agent", "./no-such-agent", dir} {
		if _, err := process.Start(exec.Command(name), nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := process.Start(exec.Command("no-such-agent"), nil); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestAFailedStartLeavesNoFileOpen(t *testing.T) {
	open := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(fds)
	}
	before := open()
	for range 20 {
		if _, err := process.Start(exec.Command("/no/such/agent"), nil); err == nil {
			t.Fatal("it was started")
		}
	}
	for range 20 {
		p := start(t, "exit 0", nil)
		_ = p.Close()
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Second); open() > before; { // the reader of standard error ends a little later
		if now := <-tick.C; now.After(deadline) {
			t.Fatalf("%d files open before, %d after", before, open())
		}
	}
}

func TestStandardStreamsThatAreSetAreRefused(t *testing.T) {
	for _, set := range []func(*exec.Cmd){
		func(c *exec.Cmd) { c.Stdin = strings.NewReader("") }, func(c *exec.Cmd) { c.Stdout = io.Discard }, func(c *exec.Cmd) { c.Stderr = os.Stderr },
	} {
		cmd := exec.Command("/bin/sh", "-c", "exit 0")
		set(cmd)
		if _, err := process.Start(cmd, nil); err == nil {
			t.Error("it was started")
		}
	}
}
