package acptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// TestOptions say what TestAgent can expect of an agent. The zero value suits an agent
// that keeps sessions, answers the prompt "hello", and has nothing to configure.
type TestOptions struct {
	// Agent are the options that the agent is served with.
	Agent *acp.AgentOptions

	// Cwd is the folder of the sessions; empty means a temporary one.
	Cwd string

	// Prompt is a prompt whose turn ends by itself; nil means the text "hello".
	Prompt []acp.ContentBlock

	// LongPrompt is a prompt whose turn runs until it is cancelled. Without one, a turn
	// that has ended before it could be cancelled passes as well.
	LongPrompt []acp.ContentBlock

	// Allow has the permissions that the agent asks for granted; otherwise they are
	// refused.
	Allow bool

	// Minimal is for an agent that keeps no sessions and looks at no folders: it may
	// answer prompts of sessions that nobody has started, and take any folder.
	Minimal bool

	// Timeout bounds each check; 0 means 20 seconds.
	Timeout time.Duration

	// CancelWithin bounds the time from a cancel to the answer, and from the end of the
	// connection to the end of the agent's work; 0 means 5 seconds.
	CancelWithin time.Duration

	// Skip are the names of checks to leave out, and why.
	Skip map[string]string
}

// TestAgent checks that an agent does what any agent must: the handshake, errors for what
// is unknown or not advertised, sessions that do not disturb each other, turns that end
// and can be cancelled, and nothing that is left over when the client is gone. Each
// check is a subtest, with an agent of its own from newAgent. An agent that is an
// io.Closer is closed behind it. opts may be nil.
func TestAgent(t *testing.T, newAgent func() acp.Agent, opts *TestOptions) {
	t.Helper()
	var o TestOptions
	if opts != nil {
		o = *opts
	}
	if o.Cwd == "" {
		o.Cwd = t.TempDir()
	}
	for _, c := range agentChecks() {
		t.Run(c.name, func(t *testing.T) {
			if why, ok := o.Skip[c.name]; ok {
				t.Skip(why)
			}
			if c.stateful && o.Minimal {
				t.Skip("the agent is said to be minimal")
			}
			if err := runCheck(newAgent, &o, c); err != nil {
				t.Error(err)
			}
		})
	}
}

// An agentCheck is one thing that an agent must do; its name is the sentence.
type agentCheck struct {
	name     string
	stateful bool // a minimal agent need not
	run      func(ctx context.Context, s *subject) error
}

// agentChecks returns all checks.
func agentChecks() []agentCheck {
	return append(append(handshakeChecks(), sessionChecks()...), turnChecks()...)
}

// runCheck runs a check with an agent of its own and looks for what is left of it.
func runCheck(newAgent func() acp.Agent, o *TestOptions, c agentCheck) error {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = 20 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("no end within %v", timeout))
	defer cancel()
	s := &subject{opts: o}
	s.labels = pprof.Labels("acptest", fmt.Sprintf("%p", s))
	pprof.Do(ctx, s.labels, func(context.Context) { s.agent = newAgent() })
	if s.agent == nil {
		return errors.New("newAgent returned nil")
	}
	err := c.run(ctx, s)
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	for _, d := range s.dialogs {
		err = errors.Join(err, d.end())
	}
	if closer, ok := s.agent.(io.Closer); ok {
		if cerr := closer.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close the agent: %w", cerr))
		}
	}
	if err != nil {
		return err // what runs on is no surprise then
	}
	return s.leftovers()
}

// A subject is the agent of one check.
type subject struct {
	opts    *TestOptions
	agent   acp.Agent
	labels  pprof.LabelSet // of the agent's goroutines
	dialogs []*dialog
}

// connect serves the agent to a new client, which has not said hello yet.
func (s *subject) connect() (*dialog, error) {
	mine, theirs := transport.Pipe()
	var client *acp.Client
	var err error
	pprof.Do(context.Background(), s.labels, func(ctx context.Context) {
		client, err = acp.Accept(ctx, theirs, s.agent, s.opts.Agent)
	})
	if err != nil {
		return nil, err
	}
	d := &dialog{t: mine, client: client, within: s.within(), allow: s.opts.Allow, answers: make(map[string]message)}
	s.dialogs = append(s.dialogs, d)
	return d, nil
}

// greet is connect with the handshake.
func (s *subject) greet(ctx context.Context) (*dialog, error) {
	d, err := s.connect()
	if err != nil {
		return nil, err
	}
	return d, d.greet(ctx)
}

// session is greet with a session.
func (s *subject) session(ctx context.Context) (*dialog, acp.SessionID, error) {
	d, err := s.greet(ctx)
	if err != nil {
		return nil, "", err
	}
	id, err := d.newSession(ctx, s.opts.Cwd)
	return d, id, err
}

func (s *subject) within() time.Duration {
	if s.opts.CancelWithin > 0 {
		return s.opts.CancelWithin
	}
	return 5 * time.Second
}

// prompt returns the prompt that ends by itself.
func (s *subject) prompt() []acp.ContentBlock {
	if s.opts.Prompt != nil {
		return s.opts.Prompt
	}
	return []acp.ContentBlock{acp.Text("hello")}
}

// longPrompt returns the prompt to cancel, and whether it runs until then.
func (s *subject) longPrompt() ([]acp.ContentBlock, bool) {
	if s.opts.LongPrompt != nil {
		return s.opts.LongPrompt, true
	}
	return s.prompt(), false
}

// leftovers waits, bounded, until no goroutine of the agent is left.
func (s *subject) leftovers() error {
	mark := fmt.Sprintf("%q:%q", "acptest", fmt.Sprintf("%p", s))
	deadline := time.Now().Add(s.within())
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			return fmt.Errorf("list goroutines: %w", err)
		}
		var left []string
		for _, block := range strings.Split(b.String(), "\n\n") {
			if strings.Contains(block, mark) {
				left = append(left, block)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%v after its last connection has ended, goroutines of the agent still run:\n%s", s.within(), strings.Join(left, "\n\n"))
		}
		<-time.After(wait)
	}
}
