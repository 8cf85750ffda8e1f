package acptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// DefaultStepTimeout is how long a step waits by default.
const DefaultStepTimeout = 10 * time.Second

// A Script is one side of a conversation, an agent's or a client's: what it expects, what it
// answers and what it sends by itself, step by step. It speaks on the wire, so that it can
// also say what no correct peer would. What comes and is not expected, or does not come in
// time, ends it with a *ScriptError that says what was expected and what came instead.
//
// JSON in a script is a string, a byte slice, a jsontext.Value, or any value that encodes to
// it, such as the types of package acp. A string in it that is exactly "$name" is a
// variable: in an expectation it takes the value that is there, and afterwards stands
// for it, in expectations and in what is sent. "$_" is any value.
type Script struct {
	// Name names the script in errors.
	Name string

	// Steps are played in order.
	Steps []Step

	// StepTimeout bounds the wait of each step; 0 means 10 seconds.
	StepTimeout time.Duration

	// Ignore are methods of notifications that may come at any time and are passed over.
	Ignore []string
}

// A Step is one thing that a script does; see [Expect], [Reply], [Call], [Notify] and
// their like.
type Step interface {
	fmt.Stringer
	play(ctx context.Context, s *stage) error
}

// A ScriptError says at which step a script failed.
type ScriptError struct {
	Script string   // its name
	Step   int      // from 1; one more than there are steps if something came after the last
	Steps  int      // how many there are
	What   string   // the step
	Err    error    // what went wrong
	Got    string   // the message that came instead; empty if none did
	Queued []string // what came behind it, at most 10
	Before []string // the messages before, "→" for sent and "←" for received, at most 10
}

func (e *ScriptError) Error() string {
	var b strings.Builder
	name := e.Script
	if name == "" {
		name = "script"
	}
	if e.Step > e.Steps {
		fmt.Fprintf(&b, "%s, after its last step: %v", name, e.Err)
	} else {
		fmt.Fprintf(&b, "%s, step %d of %d (%s): %v", name, e.Step, e.Steps, e.What, e.Err)
	}
	if e.Got != "" {
		fmt.Fprintf(&b, "\n\tgot     %s", e.Got)
	}
	for _, q := range e.Queued {
		fmt.Fprintf(&b, "\n\tqueued  %s", q)
	}
	for _, m := range e.Before {
		fmt.Fprintf(&b, "\n\tbefore  %s", m)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *ScriptError) Unwrap() error { return e.Err }

// Serve plays the script on t and closes it. After the last step it waits until the peer
// ends the connection, and nothing else may come; a script that shall not wait ends with
// [HangUp]. The error is a *ScriptError, or that of ctx.
func (s Script) Serve(ctx context.Context, t acp.Transport) error { return newStage(&s, t).serve(ctx) }

func (st *stage) serve(ctx context.Context) error {
	done := make(chan struct{})
	rctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		st.read(rctx)
	}()
	err := st.perform(ctx)
	st.pause(true)
	cancel()
	_ = st.t.Close()
	<-done
	return err
}

// ServeStdio plays the script over standard input and output, for a process that a test
// starts, for example with acp.Spawn. It returns as Serve does; the caller ends the
// process.
func (s Script) ServeStdio(ctx context.Context) error {
	st := newStage(&s, transport.NewLine(os.Stdin, os.Stdout, nil))
	st.raw = os.Stdout
	go st.read(ctx) // ends with the process: nothing can end a read of standard input
	return st.perform(ctx)
}

// Agent plays the script as the agent of a client, which it connects and returns. When
// the test ends, and the script has nothing more to do by itself, the client closes; a
// script that has failed or not come to its end fails the test. opts may be nil.
func (s Script) Agent(tb testing.TB, opts *acp.ClientOptions) *acp.RemoteAgent {
	tb.Helper()
	mine, theirs := transport.Pipe()
	st := newStage(&s, theirs)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := st.serve(context.Background()); err != nil {
			tb.Error(err)
		}
	}()
	remote, err := acp.Connect(context.Background(), mine, opts)
	if err != nil {
		_ = mine.Close()
		<-done
		tb.Fatalf("connect to the scripted agent: %v", err)
	}
	tb.Cleanup(func() {
		st.rest()
		_ = remote.Close()
		_ = remote.Wait()
		<-done
	})
	return remote
}

// Client plays the script as the client of an agent, and then hangs up. It fails the test
// if the script fails, or if the agent's side does not end orderly. opts may be nil.
func (s Script) Client(tb testing.TB, agent acp.Agent, opts *acp.AgentOptions) {
	tb.Helper()
	mine, theirs := transport.Pipe()
	client, err := acp.Accept(context.Background(), theirs, agent, opts)
	if err != nil {
		tb.Fatalf("serve the agent: %v", err)
	}
	s.Steps = append(append([]Step(nil), s.Steps...), HangUp())
	err = s.Serve(context.Background(), mine)
	if end := client.Wait(); end != nil && err == nil {
		err = fmt.Errorf("the agent's side ended with: %w", end)
	}
	if err != nil {
		tb.Error(err)
	}
}

// perform plays the steps.
func (st *stage) perform(ctx context.Context) error {
	steps := st.script.Steps
	for i, step := range steps {
		sctx, cancel := context.WithTimeout(ctx, st.timeout())
		err := step.play(sctx, st)
		timedOut := sctx.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case errors.Is(err, errHungUp):
			if m, ok := st.left(); ok {
				return st.failure(i+1, step, errors.New("the script hangs up, but a message has not been expected"), m)
			}
			return nil
		case err == nil:
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case timedOut:
			err = fmt.Errorf("nothing came within %v", st.timeout())
		}
		if end := st.end(); end != nil && errors.Is(err, errEnded) {
			err = end
		}
		return st.failure(i+1, step, err, st.got)
	}
	m, err := st.next(ctx)
	if err == nil {
		return st.failure(len(steps)+1, nil, errors.New("a message that nothing expects"), &m)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if end := st.end(); !errors.Is(end, io.EOF) {
		return st.failure(len(steps)+1, nil, end, nil)
	}
	return nil
}

func (st *stage) timeout() time.Duration {
	if st.script.StepTimeout > 0 {
		return st.script.StepTimeout
	}
	return DefaultStepTimeout
}

// failure describes what is going on.
func (st *stage) failure(n int, step Step, err error, got *message) error {
	e := &ScriptError{Script: st.script.Name, Step: n, Steps: len(st.script.Steps), Err: err, Before: st.before}
	if step != nil {
		e.What = step.String()
	}
	if got != nil {
		e.Got = got.String()
		if k := len(e.Before); k > 0 { // it is shown already
			e.Before = e.Before[:k-1]
		}
	}
	soon := time.NewTimer(inTransit)
	defer soon.Stop()
	for len(e.Queued) < 10 {
		select {
		case m, ok := <-st.inbox:
			if !ok {
				return e
			}
			if !st.ignored(&m) {
				e.Queued = append(e.Queued, m.String())
			}
		case <-soon.C:
			return e
		}
	}
	return e
}

// inTransit is how long a failed script waits for what has been sent already, to show it.
const inTransit = 50 * time.Millisecond
