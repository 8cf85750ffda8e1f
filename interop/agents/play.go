//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// play tries everything, in an order in which a failure stops only what needs it.
func (r *run) play(ctx context.Context) {
	if !r.check("initialize", func() error {
		began := time.Now()
		err := r.start(ctx)
		r.report.initialize = time.Since(began)
		return err
	}) {
		r.check("exit", r.exit)
		return
	}
	if r.check("session/new", func() error { return r.newSession(ctx) }) {
		r.check("allow", func() error { return r.allow(ctx) })
		r.check("files", func() error { return r.files(ctx) })
		r.check("reject", func() error { return r.reject(ctx) })
		r.check("cancel", func() error { return r.cancel(ctx) })
		r.check("unknown method", func() error { return r.unknown(ctx) })
		id, loads := r.session.ID(), r.client.Can("agentCapabilities.loadSession")
		r.check("exit", r.exit)
		r.check("load", func() error {
			if !loads {
				return errNotOffered
			}
			return r.load(ctx, id)
		})
	}
	r.check("exit again", r.exit)
	r.check("nothing lost", func() error {
		if len(r.report.problems) > 0 {
			return fmt.Errorf("%d problems", len(r.report.problems))
		}
		return nil
	})
}

func (r *run) newSession(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	began := time.Now()
	var err error
	r.session, err = r.client.NewSession(ctx, acp.NewSessionRequest{Cwd: r.work(""), MCPServers: []acp.MCPServer{}})
	r.began = time.Now()
	r.report.newSession = r.began.Sub(began)
	if err != nil || r.agent.mode == "" {
		return err
	}
	return r.session.SetMode(ctx, r.agent.mode)
}

// allow has a command run that the person allows, and the model's last words said.
func (r *run) allow(ctx context.Context) error {
	asked := r.person.answers(true)
	t, err := r.prompt(ctx, `[[anew]] [[tool-shell: echo made by a command > ran.txt]] [[text: that was it]]`, nil)
	r.report.turn = t.took
	return errors.Join(err,
		expect(asked() > 0 || r.agent.tries.unasked, "the person was not asked"),
		expect(r.holds("ran.txt") == "made by a command\n", "the command did not run: ran.txt holds %q", r.holds("ran.txt")),
		expect(len(t.calls) > 0, "no tool call was shown"),
		expect(strings.Contains(t.said, "that was it"), "the agent said %.200q", t.said),
		expect(t.stop == acp.StopEndTurn, "the turn ended with %q", t.stop))
}

// files has a file read and written.
func (r *run) files(ctx context.Context) error {
	if !r.agent.tries.files {
		return errNotOffered
	}
	r.person.answers(true)
	path := r.work("notes.txt")
	t, err := r.prompt(ctx, fmt.Sprintf(`[[anew]] [[tool-read: %s]] [[next]] [[tool-write: %s: new words]] [[text: written]]`, path, path), nil)
	return errors.Join(err,
		expect(strings.TrimSpace(r.holds("notes.txt")) == "new words", "notes.txt holds %q", r.holds("notes.txt")),
		expect(t.stop == acp.StopEndTurn, "the turn ended with %q", t.stop))
}

// reject refuses a command, and goes on with the next prompt.
func (r *run) reject(ctx context.Context) error {
	if r.agent.tries.unasked {
		return errNotOffered
	}
	asked := r.person.answers(false)
	t, err := r.prompt(ctx, `[[anew]] [[tool-shell: echo made by a command > refused.txt]] [[text: a pity]]`, nil)
	_, statErr := os.Stat(r.work("refused.txt"))
	want := r.agent.refused
	if want == "" {
		want = acp.StopEndTurn
	}
	err = errors.Join(err,
		expect(asked() > 0, "the person was not asked"),
		expect(os.IsNotExist(statErr), "the refused command ran"),
		expect(t.stop == want, "the turn ended with %q, expected %q", t.stop, want))
	return errors.Join(err, r.next(ctx))
}

// next plays a plain turn, which every agent must be ready for at any time.
func (r *run) next(ctx context.Context) error {
	t, err := r.prompt(ctx, `[[anew]] [[text: here I am]]`, nil)
	return errors.Join(err,
		expect(strings.Contains(t.said, "here I am"), "to the next prompt the agent said %.200q", t.said),
		expect(t.stop == acp.StopEndTurn, "the next turn ended with %q", t.stop))
}

// cancel ends a turn in the middle of its answer, and goes on with the next prompt.
func (r *run) cancel(ctx context.Context) error {
	var at time.Time
	t, err := r.prompt(ctx, `[[anew]] [[chunks 3 16]] [[slow 20ms]] [[chunks 5000 16]]`, func(p *acp.Turn, u acp.SessionUpdate) {
		if _, ok := u.(acp.AgentMessageChunk); ok && at.IsZero() {
			at = time.Now()
			p.Cancel()
		}
	})
	r.report.cancel = time.Since(at)
	err = errors.Join(err,
		expect(!at.IsZero(), "nothing was streamed"),
		expect(t.stop == acp.StopCancelled, "the turn ended with %q", t.stop))
	return errors.Join(err, r.next(ctx))
}

// unknown calls a method that nobody has.
func (r *run) unknown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := r.client.CallExtension(ctx, "_interop/nobody_has_this", map[string]any{}, nil)
	if errors.Is(err, &acp.RequestError{Code: acp.CodeMethodNotFound}) {
		return nil
	}
	return fmt.Errorf("expected -32601, got %w", err)
}

// load opens the session again in a new process.
func (r *run) load(ctx context.Context, id acp.SessionID) error {
	if r.agent.minutes {
		select {
		case <-time.After(time.Until(r.began.Truncate(time.Minute).Add(time.Minute))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	l := r.client.LoadSession(ctx, acp.LoadSessionRequest{SessionID: id, Cwd: r.work(""), MCPServers: []acp.MCPServer{}})
	r.turns++
	for u := range l.Updates() {
		r.traffic.give(given{r.turns, id, u})
	}
	var err error
	if r.session, err = l.Result(); err != nil {
		return err
	}
	err = r.next(ctx)
	// Some agents answer before they replay, so that what they replay comes with the next turn.
	prompts, answers := r.traffic.spoken()
	return errors.Join(err,
		expect(strings.Contains(prompts, "echo made by a command > ran.txt"), "the replay lacks the first prompt: %.200q", prompts),
		expect(strings.Contains(answers, "that was it"), "the replay lacks the first answer: %.200q", answers))
}

// exitTimeout is how long the processes may take to be gone after Close: that of the kernel.
const exitTimeout = time.Second

// exit ends the agent and looks for processes that it left behind.
func (r *run) exit() error {
	r.hangUp()
	deadline := time.Now().Add(exitTimeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := r.processes()
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still running: %s", strings.Join(left, "; "))
		}
		<-tick.C
	}
}

// processes lists the processes whose environment has the run's marker.
func (r *run) processes() ([]string, error) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(r.marker)) {
			continue // gone meanwhile, or someone else's
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil {
			continue
		}
		found = append(found, fmt.Sprintf("%s %.120s", filepath.Base(filepath.Dir(path)), bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found, nil
}

// holds gives the text of a file in the work folder, "" if there is none.
func (r *run) holds(name string) string {
	data, err := os.ReadFile(r.work(name))
	if err != nil {
		return ""
	}
	return string(data)
}

func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
