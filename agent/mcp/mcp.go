// Package mcp is the MCP servers of one session, as tools: it starts or reaches them, offers their tools beside the
// agent's own, and ends them with the session. MCP is the Model Context Protocol, https://modelcontextprotocol.io.
//
// Servers are other people's programs, so nothing of them is taken at its word: their tools go through the gate, what they
// describe and answer is data, and no failure of one touches another or the session. The values of their variables and
// headers are secrets and appear in no error, notice, status or log.
//
// A session opens a [Set] with the servers that the person configured and those that the editor handed over, takes
// [Set.Tools] before each request to the model, and closes the set when it is closed itself.
package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Options is what a set's servers have in common.
type Options struct {
	// Dir is the folder that stdio servers work in, absolute: the session's first root. Empty means the process's own.
	Dir string
	// Environ is the environment that stdio servers start from, KEY=VALUE; nil means the process's own. Variables that look
	// like secrets are left out of it, as they are for commands, but those that PassEnv names.
	Environ []string
	PassEnv []string
	// Version is the program's version, which servers are told.
	Version string
	// Logger takes what is for the operator; nil discards it.
	Logger *slog.Logger
	// Notify takes what the person should know: which server failed and why, each server once. Its calls are one at a time
	// and come from the set's own goroutines, none after Close has returned. It must not block for long and not call
	// Close. Nil discards them.
	Notify func(Notice)
}

// Notice is a sentence for the person about a server. It holds no secrets.
type Notice struct {
	Server   string // as it was configured
	Severity string // "info" or "warning"
	Text     string
}

// State is how far a server is.
type State string

// The states.
const (
	StateStarting State = "starting"
	StateReady    State = "ready"
	StateFailed   State = "failed"  // it could not be started, or has ended; in the second case using a tool starts it again
	StateStopped  State = "stopped" // the set is closed
)

// Status describes a server. It holds no secrets.
type Status struct {
	Name      string // as it was configured
	Transport Transport
	State     State
	Program   string   // name and version that the server gives itself; empty until it was ready once
	Tools     []string // names that the model knows, sorted
	Error     string   // why it failed: a sentence, then perhaps lines that the server wrote; empty for other states
}

// Set is the servers of a session. Its methods are safe for concurrent use.
type Set struct {
	opts    Options
	environ []string
	log     *slog.Logger
	servers []*server
	names   names
	running sync.WaitGroup
	closing chan struct{} // closed when the set begins to close
	close   func()        // closes closing, once

	noticing sync.Mutex // held while Notify runs
}

// Open starts the servers and returns at once; each connects in the background, for at most its own start limit. What is
// wrong with a server (see [Server.Validate]) is its own failure and no other's. The caller must call [Set.Close].
func Open(servers []Server, opts Options) *Set {
	environ := opts.Environ
	if environ == nil {
		environ = os.Environ()
	}
	set := &Set{opts: opts, log: opts.Logger, environ: host.CleanEnviron(environ, opts.PassEnv), closing: make(chan struct{})}
	set.close = sync.OnceFunc(func() { close(set.closing) })
	if set.log == nil {
		set.log = slog.New(slog.DiscardHandler)
	}
	taken := map[string]bool{}
	for _, cfg := range servers {
		err := cfg.Validate()
		if err == nil && taken[cfg.Name] {
			err = fmt.Errorf("name: %q is the name of another server too; give it one of its own", cfg.Name)
		}
		taken[cfg.Name] = true
		s := &server{set: set, cfg: cfg.withDefaults(), secrets: newRedactor(cfg)}
		set.servers = append(set.servers, s)
		if err != nil {
			s.state, s.problem = StateFailed, s.sayFailure(err)
			set.running.Go(func() { s.failed(nil, s.sayFailure(err), "is not configured rightly") })
			continue
		}
		s.mu.Lock()
		s.start(0)
		s.mu.Unlock()
	}
	return set
}

// Tools gives the tools that can be used now, in the order of the servers: those of the ready ones, and of those that have
// ended and can be started again. They change as servers become ready or change their tools, so a caller asks before each
// request to the model. A tool keeps its name for the set's life.
func (s *Set) Tools() []tool.Tool {
	var out []tool.Tool
	for _, server := range s.servers {
		out = append(out, server.offered()...)
	}
	return out
}

// Status describes the servers, in the order they were given.
func (s *Set) Status() []Status {
	out := make([]Status, len(s.servers))
	for i, server := range s.servers {
		out[i] = server.status()
		slices.Sort(out[i].Tools)
	}
	return out
}

// Wait waits until no server is starting any more, at most as long as limit, or until ctx ends: a first prompt may wait a
// moment for its tools. It tells whether all have settled.
func (s *Set) Wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for _, server := range s.servers {
		server.mu.Lock()
		r := server.run
		server.mu.Unlock()
		if r == nil {
			continue
		}
		select {
		case <-r.settled:
			continue
		default:
		}
		select {
		case <-r.settled:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Restart ends the server of this name and starts it anew, whatever its state and however often it has ended. It returns
// at once; see [Set.Wait]. It fails when there is no such server, when what is configured cannot be started at all, and
// when the set is closed.
func (s *Set) Restart(name string) error {
	for _, server := range s.servers {
		if server.cfg.Name == name {
			if err := server.restart(); err != nil {
				return fmt.Errorf("the MCP server %q was not restarted: %w", name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no MCP server %q here", name)
}

// Close ends every server: connections are closed, and programs ended with all that they have started, within four
// seconds and usually at once. Calls that run fail. When it returns nothing is left. Calling it again is fine.
func (s *Set) Close() {
	s.close()
	for _, server := range s.servers {
		server.shut()
	}
	s.running.Wait()
}

func (s *Set) notify(n Notice) {
	s.noticing.Lock()
	defer s.noticing.Unlock()
	if s.opts.Notify != nil {
		s.opts.Notify(n)
	}
}
