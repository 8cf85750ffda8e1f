package tool

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/wherry-acp/wherry/agent/host"
)

// stopping is a host whose first file that is read, or visited, makes the person stop the turn.
type stopping struct {
	host.Host
	stop func()
	read atomic.Int64
}

func (s *stopping) ReadBytes(ctx context.Context, path string, limit int64) ([]byte, error) {
	s.read.Add(1)
	s.stop()
	return s.Host.ReadBytes(ctx, path, limit)
}

func (s *stopping) Walk(ctx context.Context, path string, visit func(host.Info) error) error {
	return s.Host.Walk(ctx, path, func(i host.Info) error {
		if s.read.Add(1) == 1 {
			s.stop()
		}
		return visit(i)
	})
}

// reading is a host of which only the reading makes the person stop the turn.
type reading struct{ *stopping }

func (r reading) Walk(ctx context.Context, path string, visit func(host.Info) error) error {
	return r.Host.Walk(ctx, path, visit)
}

func TestLookingThroughAFolderEndsSoonAfterTheTurnIsStopped(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("f%04d.txt", i)] = "a needle\n"
	}
	b := newBench(t, files)
	local := b.env.Host
	for _, tt := range []struct {
		name, args string
		reads      bool
	}{
		{"search", `{"pattern":"needle"}`, true},
		{"search", `{"pattern":"needle"}`, false},
		{"find", `{"pattern":"*.txt"}`, false},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &stopping{Host: local, stop: cancel}
		if b.env.Host = s; tt.reads {
			b.env.Host = reading{s}
		}
		call, err := b.prepare(tt.name, tt.args)
		if err != nil {
			t.Fatal(err)
		}
		result := call.Run(ctx, &recorder{})
		cancel()
		if !result.Failed {
			t.Errorf("%s: it counts as done: %s", tt.name, result.Text)
		}
		if n := s.read.Load(); n > 100 {
			t.Errorf("%s looked at %d files after it was stopped", tt.name, n)
		}
	}
}
