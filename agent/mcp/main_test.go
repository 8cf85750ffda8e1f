package mcp

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/tool"
)

// TestMain lets the test binary be a server too: "serve" and the name of one of programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		os.Exit(programs[os.Args[2]](os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// program configures a server that is this test binary.
func program(t testing.TB, name string, args ...string) Server {
	t.Helper()
	if programs[name] == nil {
		t.Fatalf("there is no program %q", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: self, Args: append([]string{"serve", name}, args...)}
}

// notices collects what the person is told.
type notices struct {
	mu   sync.Mutex
	list []Notice
}

func (n *notices) add(notice Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, notice)
}

func (n *notices) all() []Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// text is all notices about a server.
func (n *notices) text(server string) string {
	var out []string
	for _, notice := range n.all() {
		if notice.Server == server {
			out = append(out, notice.Text)
		}
	}
	return strings.Join(out, "\n")
}

// open opens a set that is closed with the test.
func open(t testing.TB, opts Options, servers ...Server) *Set {
	t.Helper()
	set := Open(servers, opts)
	t.Cleanup(set.Close)
	return set
}

// openReady opens a set and waits until its servers have settled.
func openReady(t testing.TB, opts Options, servers ...Server) *Set {
	t.Helper()
	set := open(t, opts, servers...)
	if !set.Wait(t.Context(), time.Minute) {
		t.Fatalf("the servers have not settled: %+v", set.Status())
	}
	return set
}

func find(t testing.TB, set *Set, name string) tool.Tool {
	t.Helper()
	for _, tl := range set.Tools() {
		if tl.Spec().Name == name {
			return tl
		}
	}
	t.Fatalf("there is no tool %q; the status is %+v", name, set.Status())
	return nil
}

func prepare(t testing.TB, tl tool.Tool, args string) tool.Call {
	t.Helper()
	c, err := tl.Prepare(t.Context(), tool.Env{}, []byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// callTool calls a tool and gives its result.
func callTool(t testing.TB, set *Set, name, args string) tool.Result {
	t.Helper()
	return callWith(t.Context(), t, set, name, args)
}

func callWith(ctx context.Context, t testing.TB, set *Set, name, args string) tool.Result {
	t.Helper()
	return prepare(t, find(t, set, name), args).Run(ctx, &shown{})
}

// shown is what a call shows while it runs.
type shown struct {
	mu    sync.Mutex
	text  strings.Builder
	first chan struct{} // when not nil, closed at the first text
	once  sync.Once
}

func (s *shown) Text(chunk string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(chunk)
	if s.first != nil {
		s.once.Do(func() { close(s.first) })
	}
}

func (s *shown) Terminal(string) {}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// eventually waits until a condition holds that another process brings about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
