package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOpeningReturnsAtOnceWhateverTheServersDo(t *testing.T) {
	began := time.Now()
	set := open(t, Options{}, program(t, "silent"), program(t, "deaf"), program(t, "slow", "1h"))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if set.Wait(t.Context(), time.Millisecond) {
		t.Error("silent servers are said to have settled")
	}
	for _, st := range set.Status() {
		if st.State != StateStarting {
			t.Errorf("status: %+v", st)
		}
	}
	if tools := set.Tools(); len(tools) != 0 {
		t.Errorf("tools: %v", tools)
	}
}

func TestAServerHasItsOwnTimeToStartAndTheLimitIsNamed(t *testing.T) {
	t.Parallel()
	if DefaultStartTimeout < 10*time.Second {
		t.Errorf("a server has %s by itself", DefaultStartTimeout)
	}
	for _, name := range []string{"silent", "deaf", "garbage"} {
		var told notices
		server := program(t, name)
		server.StartTimeout = 300 * time.Millisecond
		set := openReady(t, Options{Notify: told.add}, server)
		st := set.Status()[0]
		if st.State != StateFailed {
			t.Errorf("%s: %+v", name, st)
		}
		contains(t, st.Error, "not ready within 300ms")
		if strings.Contains(st.Error, "SIGKILL") || strings.Contains(st.Error, "exit code") {
			t.Errorf("%s: how it was ended here is given as the reason: %s", name, st.Error)
		}
		set.Close()
		contains(t, told.text(name), `The MCP server "`+name+`" could not be started`, "not ready within 300ms")
		if name == "garbage" {
			contains(t, st.Error, "of the lines on its standard output are no messages", "line 0 of no protocol")
		}
	}
}

func TestTwentyServersStartSideBySideAndThreeBrokenOnesTakeNoneWithThem(t *testing.T) {
	t.Parallel()
	var told notices
	var servers []Server
	for i := range 17 {
		s := program(t, "plain")
		s.Name = fmt.Sprintf("good-%d", i)
		servers = append(servers, s)
	}
	broken := program(t, "silent")
	broken.StartTimeout = time.Second
	servers = append(servers, program(t, "crash"), broken, Server{Name: "nowhere", Command: "no-such-program-at-all"})
	set := openReady(t, Options{Notify: told.add}, servers...)
	for i, st := range set.Status() {
		if want := i < 17; want != (st.State == StateReady) {
			t.Errorf("%s: %+v", st.Name, st)
		}
	}
	for i := range 17 {
		if r := callTool(t, set, fmt.Sprintf("good-%d__echo", i), `{"n":1}`); r.Text != `{"n":1}` {
			t.Errorf("good-%d: %+v", i, r)
		}
	}
	set.Close()
	if n := len(told.all()); n != 3 {
		t.Errorf("%d notices: %+v", n, told.all())
	}
	contains(t, told.text("crash"), "exit code 4", "cannot find the frobnicator")
	contains(t, told.text("nowhere"), "no-such-program-at-all in the PATH")
}

func TestAServerThatIsConfiguredWronglyIsItsOwnFailure(t *testing.T) {
	var told notices
	set := openReady(t, Options{Notify: told.add},
		Server{Name: "empty"}, program(t, "plain"), program(t, "plain"), Server{Name: "odd", Transport: "pigeon"})
	st := set.Status()
	if st[0].State != StateFailed || st[1].State != StateReady || st[2].State != StateFailed || st[3].State != StateFailed {
		t.Errorf("status: %+v", st)
	}
	contains(t, st[0].Error, "url: is empty")
	contains(t, st[2].Error, "name of another server")
	contains(t, st[3].Error, `transport: "pigeon" is not known`)
	if err := set.Restart("odd"); err == nil || !strings.Contains(err.Error(), "pigeon") {
		t.Errorf("restarting it: %v", err)
	}
	if err := set.Restart("other"); err == nil {
		t.Error("an unknown server was restarted")
	}
	set.Close()
	if n := len(told.all()); n != 3 {
		t.Errorf("%d notices", n)
	}
	if err := set.Restart("plain"); err == nil {
		t.Error("a server was restarted in a closed set")
	}
}

func TestASlowServerIsStartedOnceHoweverManyCallsGiveUpOnIt(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	server := program(t, "slow", "700ms")
	server.Env = map[string]string{"STARTS_FILE": starts}
	set := open(t, Options{}, server)
	s := set.servers[0]
	var wg sync.WaitGroup
	for range 5 { // calls that have less patience than the server needs
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := s.use(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error: %v", err)
			}
		})
	}
	wg.Wait()
	if !set.Wait(t.Context(), time.Minute) {
		t.Fatal("not settled")
	}
	if r := callTool(t, set, "slow__echo", `{}`); r.Failed {
		t.Errorf("result: %+v", r)
	}
	if n := lines(t, starts); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}

func lines(t testing.TB, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func TestAServerThatEndsUnderACallIsToldOnceAndStartedAgainByTheNext(t *testing.T) {
	var told notices
	server := program(t, "plain")
	server.Env = map[string]string{"CANARY_KEY": "canary-0123456789abcdef"}
	set := openReady(t, Options{Notify: told.add}, server)
	before := callTool(t, set, "plain__pid", "").Text
	r := callTool(t, set, "plain__die", "")
	if !r.Failed {
		t.Errorf("result: %+v", r)
	}
	contains(t, r.Text, `the MCP server "plain" is gone`, "it is not known how far it came", "exit code 3", "panic: the roof is on fire")
	if st := set.Status()[0]; st.State != StateFailed || !strings.Contains(st.Error, "the roof is on fire") {
		t.Errorf("status: %+v", st)
	}
	after := callTool(t, set, "plain__pid", "")
	if after.Failed || after.Text == before {
		t.Errorf("after the end: %+v; before: %s", after, before)
	}
	callTool(t, set, "plain__die", "")
	set.Close()
	if n := told.all(); len(n) != 1 || n[0].Severity != "warning" {
		t.Errorf("notices: %+v", n)
	}
	contains(t, told.text("plain"), "has ended", "started again when one of its tools is used", "the roof is on fire")
	if strings.Contains(told.text("plain")+r.Text, "canary-0123456789abcdef") {
		t.Error("the key was told")
	}
}

func TestAServerThatEndsWhileNobodyUsesItIsStartedAgain(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	pid := callTool(t, set, "plain__pid", "").Text
	kill(t, pid)
	eventually(t, "its end is noticed", func() bool { return set.Status()[0].State == StateFailed })
	contains(t, set.Status()[0].Error, "killed by SIGKILL")
	if r := callTool(t, set, "plain__pid", ""); r.Failed || r.Text == pid {
		t.Errorf("result: %+v", r)
	}
}

func TestAServerIsStartedAgainAtMostThreeTimesAMinuteUnlessThePersonAsks(t *testing.T) {
	s := &server{problem: &failure{reason: "it ended"}}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for i, want := range []time.Duration{0, time.Second, 4 * time.Second} {
		delay, err := s.mayRestart(now.Add(time.Duration(i) * 5 * time.Second))
		if err != nil || delay != want {
			t.Errorf("restart %d: %s, %v", i, delay, err)
		}
	}
	_, err := s.mayRestart(now.Add(20 * time.Second))
	if err == nil {
		t.Fatal("it was started a fourth time")
	}
	contains(t, err.Error(), "3 times within a minute", "again in 41 s", "it ended")
	if delay, err := s.mayRestart(now.Add(60 * time.Second)); err != nil || delay != 4*time.Second {
		t.Errorf("after a minute: %s, %v", delay, err)
	}
}

func TestACallOfAServerThatDoesNotComeBackSaysWhy(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	server := program(t, "plain")
	server.Env = map[string]string{"STARTS_FILE": starts}
	set := openReady(t, Options{}, server)
	tl := find(t, set, "plain__die")
	for i := range maxRestarts + 1 { // the first end needs no restart; the waits between are the real ones
		r := prepare(t, tl, "").Run(t.Context(), &shown{})
		contains(t, r.Text, "exit code 3")
		if n := lines(t, starts); n != i+1 {
			t.Fatalf("after %d calls it was started %d times", i+1, n)
		}
	}
	r := prepare(t, tl, "").Run(t.Context(), &shown{})
	contains(t, r.Text, "The call was not made", "3 times within a minute")
	if n := lines(t, starts); n != maxRestarts+1 {
		t.Errorf("it was started %d times", n)
	}
	if err := set.Restart("plain"); err != nil {
		t.Fatal(err)
	}
	if !set.Wait(t.Context(), time.Minute) || set.Status()[0].State != StateReady {
		t.Errorf("after the person's restart: %+v", set.Status())
	}
}

func TestARestartEndsTheOldProgramFirst(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	before := callTool(t, set, "plain__pid", "").Text
	for range 3 {
		if err := set.Restart("plain"); err != nil {
			t.Fatal(err)
		}
	}
	if !set.Wait(t.Context(), time.Minute) {
		t.Fatal("not settled")
	}
	if !gone(t, before) {
		t.Error("the old program still runs")
	}
	if r := callTool(t, set, "plain__pid", ""); r.Failed || r.Text == before {
		t.Errorf("result: %+v", r)
	}
}

func TestToolsThatTheServerChangesAreOfferedChanged(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	callTool(t, set, "plain__grow", "")
	eventually(t, "the new tool", func() bool {
		names := set.Status()[0].Tools
		joined := strings.Join(names, " ")
		return strings.Contains(joined, "plain__grown") && !strings.Contains(joined, "plain__fail")
	})
	if r := callTool(t, set, "plain__grown", ""); r.Text != "grown up" {
		t.Errorf("result: %+v", r)
	}
}

func TestCancellingACallReturnsAtOnceAndTellsTheServer(t *testing.T) {
	stopped := filepath.Join(t.TempDir(), "stopped")
	server := program(t, "plain")
	server.Env = map[string]string{"STOPPED_FILE": stopped, "CANARY_KEY": "canary-0123456789abcdef"}
	set := openReady(t, Options{}, server)
	ctx, cancel := context.WithCancel(t.Context())
	out := &shown{first: make(chan struct{})}
	began := make(chan time.Time, 1)
	go func() { // ends with the first progress
		<-out.first
		began <- time.Now()
		cancel()
	}()
	r := prepare(t, find(t, set, "plain__wait"), "").Run(ctx, out)
	if took := time.Since(<-began); took > time.Second {
		t.Errorf("it took %s", took)
	}
	if !r.Failed || !strings.Contains(r.Text, "Stopped before") {
		t.Errorf("result: %+v", r)
	}
	if got := out.String(); got != "waiting now, key=[value of CANARY_KEY]\n" {
		t.Errorf("progress: %q", got)
	}
	eventually(t, "the server is told", func() bool { _, err := os.Stat(stopped); return err == nil })
	if r := callTool(t, set, "plain__echo", "{}"); r.Failed {
		t.Errorf("the next call: %+v", r)
	}
}

func TestACallThatTakesTooLongNamesItsLimit(t *testing.T) {
	server := program(t, "plain")
	server.CallTimeout = 100 * time.Millisecond
	set := openReady(t, Options{}, server)
	r := callTool(t, set, "plain__wait", "")
	if !r.Failed {
		t.Errorf("result: %+v", r)
	}
	contains(t, r.Text, "no answer within 100ms", "callTimeout", "not known how far it came")
}

func TestACallOfAServerThatDoesNotReadStillEndsWithItsContext(t *testing.T) {
	set := openReady(t, Options{}, program(t, "glut"))
	tl := find(t, set, "glut__swallow")
	big := `{"x":"` + strings.Repeat("y", 200<<10) + `"}`
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		r := prepare(t, tl, big).Run(ctx, &shown{})
		cancel()
		if took := time.Since(began); !r.Failed || took > 5*time.Second {
			t.Errorf("after %s: %+v", took, r.Text)
		}
	}
	began := time.Now()
	set.Close()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("closing took %s", took)
	}
}

func TestClosingFailsTheCallsThatRun(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	tl := find(t, set, "plain__wait")
	call := prepare(t, tl, "")
	out := &shown{first: make(chan struct{})}
	result := make(chan string, 1)
	go func() { result <- call.Run(context.Background(), out).Text }()
	<-out.first
	set.Close()
	contains(t, <-result, `"plain" is gone`)
	r := prepare(t, tl, "").Run(t.Context(), &shown{})
	contains(t, r.Text, "The call was not made", "the session is closed")
}
