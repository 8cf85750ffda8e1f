package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/agent/tool"
)

const (
	restartWindow = time.Minute
	maxRestarts   = 3                      // by themselves, within the window
	lingering     = 500 * time.Millisecond // for what an ended program wrote last to be handled
	relistPause   = 250 * time.Millisecond // between lists of tools, however often a server says they have changed
	relistLimit   = 30 * time.Second
)

// restartDelay is how long the first, second and third restart within the window waits.
func restartDelay(n int) time.Duration {
	return []time.Duration{0, time.Second, 4 * time.Second}[min(n, maxRestarts-1)]
}

// server is one of a set's servers, through all its connections. Each connection has one goroutine, live, which opens it,
// attends to it and closes it.
type server struct {
	set     *Set
	cfg     Server
	secrets *redactor

	mu       sync.Mutex
	state    State
	problem  *failure      // why it failed, without secrets
	program  string        // what the server calls itself
	tools    []*serverTool // kept after the server has ended: to use one starts it again
	conn     *connection   // while it can be used
	run      *run          // the present or last connection; nil for a server that cannot be started at all
	restarts []time.Time   // by themselves
	told     bool          // the person knows that it has failed
	odd      bool          // the person knows that tools of it are odd
	closed   bool
}

// run is the life of one connection, from the decision to start to the end.
type run struct {
	cancel  context.CancelFunc
	settled chan struct{} // closed when the server is ready or has failed
	done    chan struct{} // closed when nothing of it is left
}

// start begins a connection after a delay and once the one before is gone. The caller holds s.mu.
func (s *server) start(delay time.Duration) *run {
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{cancel: cancel, settled: make(chan struct{}), done: make(chan struct{})}
	before := s.run
	s.run, s.state, s.problem, s.conn = r, StateStarting, nil, nil
	s.set.running.Go(func() {
		defer close(r.done)
		defer cancel()
		if before != nil {
			<-before.done
		}
		s.live(ctx, r, delay)
	})
	return r
}

// live opens a connection, attends to it until it ends, and closes it.
func (s *server) live(ctx context.Context, r *run, delay time.Duration) {
	settle := sync.OnceFunc(func() { close(r.settled) })
	defer settle()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	budget, stop := context.WithTimeoutCause(ctx, s.cfg.StartTimeout, &startLimitError{s.cfg.StartTimeout})
	defer stop()
	conn, list, err := s.connect(budget)
	stop()
	if err != nil {
		s.failed(r, s.sayFailure(err), "could not be started")
		return
	}
	tools, notes := s.offer(list)
	if s.ready(r, conn, tools) {
		settle()
		s.note(notes)
		s.attend(ctx, conn)
	}
	s.mu.Lock()
	if s.conn == conn {
		s.conn = nil
	}
	s.mu.Unlock()
	s.end(ctx, r, conn)
}

// ready records that the server can be used. It gives false when that is no longer wanted.
func (s *server) ready(r *run, conn *connection, tools []*serverTool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.run != r {
		return false
	}
	s.state, s.conn, s.tools, s.program = StateReady, conn, tools, s.describe(conn)
	s.set.log.Info("an MCP server is ready", "server", s.cfg.Name, "tools", len(tools))
	return true
}

// end closes a connection and records why it ended.
func (s *server) end(ctx context.Context, r *run, conn *connection) {
	defer close(conn.over)
	lost := ctx.Err() == nil
	why := &failure{reason: "the connection was lost"}
	if conn.endedItself() {
		why.reason = "it ended by itself"
	}
	conn.close()
	why.reason += conn.exit()
	why.detail = conn.lastWords()
	if err := conn.session.Wait(); err != nil && conn.process == nil {
		why.reason += ": " + err.Error()
	}
	if !lost {
		conn.why = &failure{reason: "it was stopped"}
		return
	}
	conn.why = s.sayFailure(why)
	s.failed(r, conn.why, "has ended (it is started again when one of its tools is used)")
}

// sayFailure takes the secrets out of a failure.
func (s *server) sayFailure(err error) *failure {
	f := &failure{reason: reason(err)}
	if given := new(failure); errors.As(err, &given) {
		f = &failure{reason: given.reason, detail: given.detail}
	}
	f.reason, f.detail = strings.ReplaceAll(s.secrets.say(f.reason), "\n", " "), s.secrets.say(f.detail)
	return f
}

// attend handles what a ready server says until it ends or ctx does.
func (s *server) attend(ctx context.Context, conn *connection) {
	var exited <-chan struct{}
	if conn.process != nil {
		exited = conn.process.child.Exited()
	}
	var pause <-chan time.Time
	changed := conn.changed
	for {
		select {
		case <-ctx.Done():
			return
		case <-conn.ended:
			return
		case <-exited:
			timer := time.NewTimer(lingering)
			defer timer.Stop()
			select {
			case <-conn.ended: // what it had written before is handled
			case <-timer.C: // what it started holds its output open
			case <-ctx.Done():
			}
			return
		case <-changed:
			s.relist(ctx, conn)
			timer := time.NewTimer(relistPause)
			defer timer.Stop()
			changed, pause = nil, timer.C
		case <-pause:
			changed, pause = conn.changed, nil
		}
	}
}

// relist learns the tools anew. When that fails, the old ones stay.
func (s *server) relist(ctx context.Context, conn *connection) {
	ctx, cancel := context.WithTimeout(ctx, relistLimit)
	defer cancel()
	list, err := conn.list(ctx)
	if err != nil {
		s.set.log.Warn("an MCP server's changed tools cannot be listed", "server", s.cfg.Name, "error", s.secrets.say(err.Error()))
		return
	}
	tools, notes := s.offer(list)
	s.mu.Lock()
	s.tools = tools
	s.mu.Unlock()
	s.set.log.Info("an MCP server's tools have changed", "server", s.cfg.Name, "tools", len(tools))
	s.note(notes)
}

// offer makes tools of what the server listed. The notes say what is odd about them.
func (s *server) offer(list []*sdk.Tool) (tools []*serverTool, notes []string) {
	seen := map[string]bool{}
	var broken []string
	for _, t := range list {
		if len(tools) == maxTools {
			notes = append(notes, fmt.Sprintf("offers more than %d tools; only the first are used.", maxTools))
			break
		}
		if t == nil || t.Name == "" || seen[t.Name] {
			continue
		}
		seen[t.Name] = true
		st, problem := s.newTool(t)
		if problem != "" {
			broken = append(broken, fmt.Sprintf("%s (%s)", clip(plain(t.Name), 64), problem))
		}
		tools = append(tools, st)
	}
	if n := len(broken); n > 0 {
		more := ""
		if n > 3 {
			broken, more = broken[:3], fmt.Sprintf(" and %d more", n-3)
		}
		notes = append(notes, "describes the arguments of some tools in a way that models cannot take, so they are offered without: "+
			strings.Join(broken, ", ")+more+".")
	}
	return tools, notes
}

// note tells the person what is odd about the server's tools, once.
func (s *server) note(notes []string) {
	s.mu.Lock()
	known := s.odd
	s.odd = s.odd || len(notes) > 0
	s.mu.Unlock()
	if known {
		return
	}
	for _, text := range notes {
		s.set.notify(Notice{Server: s.cfg.Name, Severity: "info", Text: s.secrets.say(fmt.Sprintf("The MCP server %q %s", s.cfg.Name, text))})
	}
}

// failed records why the server does not work, and tells the person unless that is known.
func (s *server) failed(r *run, why *failure, what string) {
	s.mu.Lock()
	if s.closed || s.run != r {
		s.mu.Unlock()
		return
	}
	s.state, s.problem = StateFailed, why
	told := s.told
	s.told = true
	s.mu.Unlock()
	s.set.log.Warn("an MCP server failed", "server", s.cfg.Name, "error", why.reason)
	if told {
		return
	}
	text := fmt.Sprintf("The MCP server %q %s: %s", s.cfg.Name, what, why.reason)
	if lines := strings.Split(why.detail, "\n"); why.detail != "" {
		text += "\n" + clip(lines[len(lines)-1], 300)
	}
	s.set.notify(Notice{Server: s.cfg.Name, Severity: "warning", Text: text})
}

func (s *server) describe(conn *connection) string {
	result := conn.session.InitializeResult()
	if result == nil || result.ServerInfo == nil {
		return ""
	}
	return clip(s.secrets.say(strings.TrimSpace(result.ServerInfo.Name+" "+result.ServerInfo.Version)), 100)
}

// use gives the open connection. A server that is starting is waited for; one that has ended is started again, at most
// maxRestarts times within restartWindow. The start goes on when ctx ends: it belongs to the session.
func (s *server) use(ctx context.Context) (*connection, error) {
	var awaited *run
	for {
		s.mu.Lock()
		r := s.run
		switch {
		case s.closed || r == nil:
			s.mu.Unlock()
			return nil, errors.New("the session is closed")
		case s.conn != nil:
			defer s.mu.Unlock()
			return s.conn, nil
		case s.state == StateFailed && awaited == r: // the start that was waited for was in vain
			defer s.mu.Unlock()
			return nil, s.problem
		case s.state == StateFailed:
			delay, err := s.mayRestart(time.Now())
			if err != nil {
				s.mu.Unlock()
				return nil, err
			}
			r = s.start(delay)
		}
		wait := r.settled
		if s.state == StateReady { // it has just ended, and that is about to be recorded
			wait = r.done
		} else {
			awaited = r
		}
		s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// mayRestart counts a restart of its own and gives how long it must wait, or why it may not be. The caller holds s.mu.
func (s *server) mayRestart(now time.Time) (time.Duration, error) {
	s.restarts = slices.DeleteFunc(s.restarts, func(t time.Time) bool { return now.Sub(t) >= restartWindow })
	n := len(s.restarts)
	if n >= maxRestarts {
		wait := restartWindow - now.Sub(s.restarts[0])
		return 0, &failure{
			reason: fmt.Sprintf("it was started again %d times within a minute and did not stay; it can be tried again in %d s. At last %s",
				n, int(wait.Seconds())+1, s.problem.reason),
			detail: s.problem.detail,
		}
	}
	s.restarts = append(s.restarts, now)
	return restartDelay(n), nil
}

// restart ends what runs and starts anew, as the person asked.
func (s *server) restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("the session is closed")
	case s.run == nil:
		return s.problem
	}
	s.run.cancel()
	s.restarts, s.told, s.odd = nil, false, false
	s.start(0)
	return nil
}

// shut marks the server stopped and begins to end it.
func (s *server) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.state, s.tools, s.problem = true, StateStopped, nil, nil
	if s.run != nil {
		s.run.cancel()
	}
}

func (s *server) offered() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]tool.Tool, len(s.tools))
	for i, t := range s.tools {
		out[i] = t
	}
	return out
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.cfg.Name, Transport: s.cfg.Transport, State: s.state, Program: s.program}
	if s.problem != nil {
		st.Error = s.problem.Error()
	}
	for _, t := range s.tools {
		st.Tools = append(st.Tools, t.spec.Name)
	}
	return st
}
