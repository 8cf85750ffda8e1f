package agent

import (
	"context"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// shellTool runs nothing and says that it did.
func shellTool(ran *int, class approval.Class) tool.Tool {
	return fakeTool{spec: tool.Spec{Name: "run"}, class: class,
		prepare: func(args string) (tool.Presentation, error) {
			return tool.Presentation{Title: "run", Command: &tool.CommandView{Line: args, Dir: "/project"}}, nil
		},
		run: func(context.Context, tool.Output) tool.Result {
			*ran++
			return tool.Result{Text: "ran"}
		},
	}
}

func TestAYesThatComesWithTheCancelAllowsNothing(t *testing.T) {
	ran := 0
	r := newRig(t, []tool.Tool{shellTool(&ran, approval.ClassExecute)}, calls(call("c", "run", `{"a":1}`)), says("ok"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.face.ask = func(context.Context, Question) (Answer, error) {
		cancel()
		return Answer{Allowed: true, Scope: approval.ScopeCommand}, nil
	}
	if got := r.turn(t, ctx, "run it"); got.Reason != session.StopCancelled || ran != 0 {
		t.Errorf("the turn ended with %q, the command ran %d times", got.Reason, ran)
	}
	if st := r.session.State(); len(st.Commands) != 0 || len(stored[session.CommandAllowed](t, r)) != 0 {
		t.Errorf("kept: %+v", st.Commands)
	}
}

func TestACommandIsRememberedOnlyIfThatWasOffered(t *testing.T) {
	ran := 0
	r := newRig(t, []tool.Tool{shellTool(&ran, approval.ClassSecret)}, calls(call("c", "run", `{"a":1}`)), says("ok"))
	r.face.ask = func(context.Context, Question) (Answer, error) {
		return Answer{Allowed: true, Scope: approval.ScopeCommand}, nil
	}
	r.turn(t, t.Context(), "run it")
	if ran != 0 || len(r.session.State().Commands) != 0 {
		t.Errorf("it ran %d times, kept: %+v", ran, r.session.State().Commands)
	}
}

func TestAModeOfTheProcessLeavesAsideWhatWasAllowedBefore(t *testing.T) {
	ran := 0
	again := calls(call("c", "run", `{"a":1}`))
	r := newRig(t, []tool.Tool{shellTool(&ran, approval.ClassExecute)}, again, says("ok"), again, says("ok"), again, says("ok"))
	allow := func(context.Context, Question) (Answer, error) {
		return Answer{Allowed: true, Scope: approval.ScopeCommand}, nil
	}
	r.face.ask = allow
	r.turn(t, t.Context(), "run it")
	a, err := New(Options{Store: r.store, OpenModel: r.agent.opts.OpenModel, DefaultModel: "test/scripted", ModelChosen: true, Mode: approval.ModeAsk, Tools: r.agent.opts.Tools})
	if err != nil {
		t.Fatal(err)
	}
	face := &fakeFace{ask: allow}
	s, err := a.Open(t.Context(), r.session.ID(), nil, nil, face)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "run it"}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(face.questions()); n != 1 || ran != 3 {
		t.Errorf("asked %d times, ran %d times", n, ran)
	}
}

func TestWhatANewerProgramTookBackIsNotAllowedHere(t *testing.T) {
	var s session.State
	s.Apply(session.Event{Data: session.Created{Mode: approval.ModeAsk}})
	s.Apply(session.Event{Data: session.Configured{Edits: true}})
	s.Apply(session.Event{Data: session.CommandAllowed{Command: approval.Command{Line: "make", Dir: "/p"}}})
	s.Apply(session.Event{Data: session.Unknown{Name: session.KindForgotten, Raw: []byte(`{}`)}})
	if s.Edits || len(s.Commands) != 0 {
		t.Errorf("still allowed: %v, %v", s.Edits, s.Commands)
	}
}
