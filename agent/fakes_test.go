package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// scripted is a model that answers its n-th request with the n-th step.
type scripted struct {
	info  model.Info
	steps []step
	mu    sync.Mutex
	asked []model.Request
}

type step func(ctx context.Context, yield func(model.Event, error) bool)

func (m *scripted) Info() model.Info {
	if m.info.Name == "" {
		return model.Info{Provider: "test", Name: "scripted"}
	}
	return m.info
}

func (m *scripted) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		m.mu.Lock()
		n := len(m.asked)
		m.asked = append(m.asked, req)
		m.mu.Unlock()
		if n >= len(m.steps) {
			yield(nil, errors.New("the script is over"))
			return
		}
		m.steps[n](ctx, yield)
	}
}

func (m *scripted) requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// says answers with text in pieces.
func says(pieces ...string) step {
	return func(_ context.Context, yield func(model.Event, error) bool) {
		for _, p := range pieces {
			if !yield(model.TextDelta{Text: p}, nil) {
				return
			}
		}
		yield(model.Stop{Reason: model.StopEnd}, nil)
	}
}

// calls asks for tools.
func calls(cs ...model.ToolCall) step {
	return func(_ context.Context, yield func(model.Event, error) bool) {
		for _, c := range cs {
			if !yield(model.CallDone{Call: c}, nil) {
				return
			}
		}
		yield(model.Stop{Reason: model.StopCalls}, nil)
	}
}

func call(id, name, args string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

// fakeTool presents and runs what a test wants.
type fakeTool struct {
	spec    tool.Spec
	class   approval.Class
	prepare func(args string) (tool.Presentation, error)
	run     func(ctx context.Context, out tool.Output) tool.Result
}

func (f fakeTool) Spec() tool.Spec { return f.spec }

func (f fakeTool) Prepare(_ context.Context, _ tool.Env, args json.RawMessage) (tool.Call, error) {
	p := tool.Presentation{Title: f.spec.Name, Kind: tool.KindOther}
	if f.prepare != nil {
		var err error
		if p, err = f.prepare(string(args)); err != nil {
			return nil, err
		}
	}
	p.Class = f.class
	return fakeCall{f, p}, nil
}

type fakeCall struct {
	f fakeTool
	p tool.Presentation
}

func (c fakeCall) Presentation() tool.Presentation { return c.p }

func (c fakeCall) Run(ctx context.Context, out tool.Output) tool.Result {
	if c.f.run == nil {
		return tool.Result{Text: c.f.spec.Name + " done"}
	}
	return c.f.run(ctx, out)
}

// fakeFace records what is shown and answers questions.
type fakeFace struct {
	ask        func(ctx context.Context, q Question) (Answer, error)
	inquire    func(ctx context.Context, i Inquiry) (tool.Answers, error)
	mu         sync.Mutex
	shown      []session.Event
	asked      []Question
	inquired   []Inquiry
	configured [][]Setting
	commands   [][]Command
	seen       chan session.Data // when set, gets every event shown
}

func (f *fakeFace) Name() string { return "test client" }

func (f *fakeFace) Host(roots []string) (host.Host, error) {
	return host.NewLocal(roots, host.LocalOptions{})
}

func (f *fakeFace) Show(ctx context.Context, e session.Event, _ bool) error {
	f.mu.Lock()
	f.shown = append(f.shown, e)
	f.mu.Unlock()
	if f.seen != nil {
		select {
		case f.seen <- e.Data:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *fakeFace) Configured(_ context.Context, settings []Setting) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.configured = append(f.configured, settings)
	return nil
}

func (f *fakeFace) Commands(_ context.Context, all []Command) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, all)
	return nil
}

func (f *fakeFace) Rewind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown = nil
}

func (f *fakeFace) Ask(ctx context.Context, q Question) (Answer, error) {
	f.mu.Lock()
	f.asked = append(f.asked, q)
	f.mu.Unlock()
	if f.ask == nil {
		return Answer{}, errors.New("nobody is there")
	}
	return f.ask(ctx, q)
}

func (f *fakeFace) Inquire(ctx context.Context, i Inquiry) (tool.Answers, error) {
	f.mu.Lock()
	f.inquired = append(f.inquired, i)
	f.mu.Unlock()
	if f.inquire == nil {
		return tool.Answers{}, errors.New("nobody is there")
	}
	return f.inquire(ctx, i)
}

func (f *fakeFace) questions() []Question {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Question(nil), f.asked...)
}

// events gives the data of what was shown of one kind.
func shown[T session.Data](f *fakeFace) []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []T
	for _, e := range f.shown {
		if d, ok := e.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

type rig struct {
	agent   *Agent
	session *Session
	face    *fakeFace
	model   *scripted
	store   session.Store
	folder  string
}

// newRig opens a session of an agent with these tools, whose model follows the script.
func newRig(t *testing.T, tools []tool.Tool, steps ...step) *rig {
	t.Helper()
	return newRigOn(t, newStore(t), Options{Tools: tools}, steps...)
}

func newStore(t *testing.T) session.Store {
	t.Helper()
	store, err := session.OpenSQLite(filepath.Join(t.TempDir(), "state", "wherry.db"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func newRigOn(t *testing.T, store session.Store, opts Options, steps ...step) *rig {
	t.Helper()
	r := &rig{face: &fakeFace{}, model: &scripted{steps: steps}, store: store, folder: t.TempDir()}
	opts.Store = store
	opts.DefaultModel, opts.ModelChosen = "test/scripted", true
	opts.OpenModel = func(context.Context, string) (model.Model, error) { return r.model, nil }
	var err error
	if r.agent, err = New(opts); err != nil {
		t.Fatal(err)
	}
	if r.session, err = r.agent.Create(t.Context(), []string{r.folder}, nil, r.face); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) turn(t *testing.T, ctx context.Context, text string) TurnResult {
	t.Helper()
	result, err := r.session.Turn(ctx, []session.Block{{Type: session.BlockText, Text: text}})
	if err != nil {
		t.Fatalf("turn: %v", err)
	}
	return result
}

// stored gives what the store holds of one kind.
func stored[T session.Data](t *testing.T, r *rig) []T {
	t.Helper()
	var out []T
	for e, err := range r.store.Events(t.Context(), r.session.ID(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}
