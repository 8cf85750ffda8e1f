package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

const (
	firstPlan  = `{"plan":"# Rename\nRename a to b.","entries":[{"content":"rename"},{"content":"test"}]}`
	secondPlan = `{"plan":"# Rename\nRename a to c."}`
)

// planning is a rig in mode plan, with the tools to plan and to edit.
func planning(t *testing.T, before approval.Mode, steps ...step) *rig {
	t.Helper()
	r := newRig(t, []tool.Tool{builtin(t, "submit_plan"), builtin(t, "plan"), editTool(nil)}, steps...)
	for _, mode := range []approval.Mode{before, approval.ModePlan} {
		if err := r.session.SetMode(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func offers(req model.Request, name string) bool {
	for _, spec := range req.Tools {
		if spec.Name == name {
			return true
		}
	}
	return false
}

func TestNothingIsDoneInModePlanBeforeThePlanIsApproved(t *testing.T) {
	r := planning(t, approval.ModeAuto, calls(call("e1", "edit", "{}")), calls(call("p", "submit_plan", firstPlan)), calls(call("e2", "edit", "{}")), says("done"))
	r.face.ask = func(_ context.Context, q Question) (Answer, error) {
		if v := q.Presentation.Plan; q.Tool != "submit_plan" || v.Text != "# Rename\nRename a to b." || len(v.Entries) != 2 || v.After != approval.ModeAuto {
			t.Errorf("asked for %+v", q)
		}
		return Answer{Allowed: true}, nil
	}
	r.turn(t, t.Context(), "rename it")
	done := stored[session.CallDone](t, r)
	if done[0].Status != session.CallRefused || !strings.Contains(done[0].Result.Text, "mode plan") || done[2].Status != session.CallCompleted {
		t.Errorf("the edits ended as %+v and %+v", done[0], done[2])
	}
	if len(r.face.questions()) != 1 || r.session.Mode() != approval.ModeAuto {
		t.Errorf("asked %d times, and the mode is %q", len(r.face.questions()), r.session.Mode())
	}
	if plan := r.session.Entries(); len(plan) != 2 || plan[0].Content != "rename" {
		t.Errorf("the plan is %+v", plan)
	}
	requests := r.model.requests()
	if !strings.Contains(requests[0].System, "plan mode") || !offers(requests[0], "submit_plan") ||
		strings.Contains(requests[2].System, "plan mode") || offers(requests[2], "submit_plan") {
		t.Error("what the model is told does not follow the mode")
	}
}

func TestAfterAPlanTheModeIsTheOneBeforeAndNeverALooserOne(t *testing.T) {
	for _, before := range []approval.Mode{approval.ModeOff, approval.ModeAsk, approval.ModeEdits, approval.ModeAuto} {
		r := planning(t, before, calls(call("p", "submit_plan", firstPlan)), says("done"))
		r.face.ask = func(context.Context, Question) (Answer, error) { return Answer{Allowed: true}, nil }
		r.turn(t, t.Context(), "rename it")
		if got := r.session.Mode(); got != before {
			t.Errorf("before the plan the mode was %q, now it is %q", before, got)
		}
		if st := r.session.State(); st.Edits || st.Before != "" || st.Options[string(SettingMode)] == string(approval.ModePlan) {
			t.Errorf("%s: %+v", before, st)
		}
		again, err := r.agent.Open(t.Context(), r.session.ID(), nil, nil, &fakeFace{})
		if err != nil || again.Mode() != before {
			t.Errorf("opened anew the mode is %q, %v", again.Mode(), err)
		}
	}
}

func TestAPlanIsNeverFollowedByALooserModeThanThePersonWasShown(t *testing.T) {
	r := planning(t, approval.ModeAsk, calls(call("p", "submit_plan", firstPlan)), says("done"))
	r.face.ask = func(ctx context.Context, q Question) (Answer, error) {
		if q.Presentation.Plan.After != approval.ModeAsk {
			t.Errorf("shown: %s", q.Presentation.Plan.After)
		}
		for _, mode := range []approval.Mode{approval.ModeAuto, approval.ModePlan} {
			if err := r.session.SetMode(ctx, mode); err != nil {
				t.Error(err)
			}
		}
		return Answer{Allowed: true}, nil
	}
	r.turn(t, t.Context(), "rename it")
	if got := r.session.Mode(); got != approval.ModeAsk {
		t.Errorf("the mode is %q", got)
	}
}

func TestAFolderThatAnotherProcessTakesBackIsOutOfReach(t *testing.T) {
	r := newRigOn(t, newStore(t), Options{}, says("one"), says("two"))
	other := t.TempDir()
	if err := r.session.Move(t.Context(), []string{r.folder, other}); err != nil {
		t.Fatal(err)
	}
	r.turn(t, t.Context(), "hello")
	elsewhere, err := r.agent.Open(t.Context(), r.session.ID(), nil, nil, &fakeFace{})
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Move(t.Context(), []string{r.folder}); err != nil {
		t.Fatal(err)
	}
	r.turn(t, t.Context(), "again")
	if roots := r.session.hostNow().Roots(); len(roots) != 1 {
		t.Errorf("the host still has %v", roots)
	}
}

func TestAFolderThatWasTakenBackStaysOutOfReachWhenTheOthersCannotBeOpenedAtFirst(t *testing.T) {
	r := newRigOn(t, newStore(t), Options{}, says("one"), says("two"))
	taken, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.session.Move(t.Context(), []string{r.folder, taken}); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := r.agent.Open(t.Context(), r.session.ID(), nil, nil, &fakeFace{})
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Move(t.Context(), []string{r.folder, gone}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var folder *FolderError
		if _, err := r.session.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "hello"}}); !errors.As(err, &folder) {
			t.Errorf("a turn with the folders of before: %v", err)
		}
	}
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	r.turn(t, t.Context(), "again")
	if roots := r.session.hostNow().Roots(); slices.Contains(roots, taken) || len(roots) != 2 {
		t.Errorf("the host has %v", roots)
	}
}

func TestEveryEditCanBeAllowedTogetherWithThePlan(t *testing.T) {
	r := planning(t, approval.ModeAsk, calls(call("p", "submit_plan", firstPlan)), calls(call("e", "edit", "{}")), says("done"))
	r.face.ask = func(context.Context, Question) (Answer, error) {
		return Answer{Allowed: true, Scope: approval.ScopeSession}, nil
	}
	r.turn(t, t.Context(), "rename it")
	if done := stored[session.CallDone](t, r); len(r.face.questions()) != 1 || done[1].Status != session.CallCompleted || r.session.Mode() != approval.ModeAsk {
		t.Errorf("asked %d times, mode %q, %+v", len(r.face.questions()), r.session.Mode(), done)
	}
}

func TestARefusedPlanStaysAPlanAndIsAskedAgainOnlyWhenItHasChanged(t *testing.T) {
	r := planning(t, approval.ModeAsk, calls(call("p", "submit_plan", firstPlan)), calls(call("p", "submit_plan", firstPlan)),
		calls(call("p", "submit_plan", secondPlan)), says("done"), calls(call("p", "submit_plan", firstPlan)), says("done"))
	r.face.ask = func(context.Context, Question) (Answer, error) { return Answer{Reason: "call it c"}, nil }
	r.turn(t, t.Context(), "rename it")
	if got := told(r, 1); !strings.Contains(got, "call it c") || !strings.Contains(got, "stays in mode plan") {
		t.Errorf("the model was told %q", got)
	}
	if got := told(r, 2); !strings.Contains(got, "not shown again") {
		t.Errorf("of the unchanged plan the model was told %q", got)
	}
	if n := len(r.face.questions()); n != 2 || r.session.Mode() != approval.ModePlan {
		t.Errorf("asked %d times, and the mode is %q", n, r.session.Mode())
	}
	r.turn(t, t.Context(), "show me the first one again")
	if n := len(r.face.questions()); n != 3 {
		t.Errorf("in the next turn it was not shown")
	}
}

func TestAPlanInAProcessWithAModeOfItsOwnLeadsBackToThatModeAndStoresNone(t *testing.T) {
	for _, own := range []approval.Mode{approval.ModeAuto, approval.ModePlan} {
		r := planning(t, approval.ModeEdits, calls(call("p", "submit_plan", firstPlan)), says("done"))
		if err := r.session.SetMode(t.Context(), approval.ModeEdits); err != nil {
			t.Fatal(err)
		}
		a, err := New(Options{Store: r.store, OpenModel: r.agent.opts.OpenModel, DefaultModel: "test/scripted", ModelChosen: true, Mode: own, Tools: r.agent.opts.Tools})
		if err != nil {
			t.Fatal(err)
		}
		face := &fakeFace{ask: func(context.Context, Question) (Answer, error) { return Answer{Allowed: true}, nil }}
		s, err := a.Open(t.Context(), r.session.ID(), nil, nil, face)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetMode(t.Context(), approval.ModePlan); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "rename it"}}); err != nil {
			t.Fatal(err)
		}
		want, kept := own, approval.ModeEdits
		if own == approval.ModePlan {
			want, kept = approval.ModeAsk, approval.ModeAsk // nobody said more
		}
		if s.Mode() != want || s.State().Mode != kept {
			t.Errorf("%s: the mode is %q, stored %q", own, s.Mode(), s.State().Mode)
		}
		configured := shown[session.Configured](face)
		if last := configured[len(configured)-1]; last.Mode != want {
			t.Errorf("%s: the last mode shown is %q", own, last.Mode)
		}
	}
}

func TestThePlanCommandPlansBeforeAnythingIsDone(t *testing.T) {
	r := newRig(t, []tool.Tool{builtin(t, "submit_plan"), editTool(nil)}, says("a plan"))
	r.turn(t, t.Context(), "/plan")
	if len(r.model.requests()) != 0 || r.session.Mode() != approval.ModeAsk {
		t.Errorf("%d requests, mode %q", len(r.model.requests()), r.session.Mode())
	}
	r.turn(t, t.Context(), "/plan rename a to b")
	if r.session.Mode() != approval.ModePlan || !strings.Contains(r.model.requests()[0].System, "plan mode") {
		t.Errorf("the mode is %q", r.session.Mode())
	}
	if got := r.model.requests()[0].Messages[0].Parts[0].(model.Text).Text; !strings.Contains(got, "rename a to b") {
		t.Errorf("the model got %q", got)
	}
	off, err := New(Options{Store: r.store, OpenModel: r.agent.opts.OpenModel, DefaultModel: "test/scripted", Mode: approval.ModeOff})
	if err != nil {
		t.Fatal(err)
	}
	face := &fakeFace{}
	s, err := off.Open(t.Context(), r.session.ID(), nil, nil, face)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "/plan more"}}); err != nil {
		t.Fatal(err)
	}
	if a := shown[session.CommandAnswered](face); len(a) != 1 || !strings.Contains(a[0].Text, "mode") || s.Mode() != approval.ModeOff {
		t.Errorf("in a process with off: %+v, mode %q", a, s.Mode())
	}
}

func TestAPlanThatIsSetAgainUnchangedIsNotToldAgain(t *testing.T) {
	set, empty := `{"entries":[{"content":"a"}]}`, `{"entries":[]}`
	r := newRig(t, []tool.Tool{builtin(t, "plan")},
		calls(call("1", "plan", set), call("2", "plan", set), call("3", "plan", `{"entries":[{"content":"a","status":"completed"}]}`), call("4", "plan", empty), call("5", "plan", empty)), says("ok"))
	r.turn(t, t.Context(), "plan")
	if got := stored[session.PlanChanged](t, r); len(got) != 3 || len(got[2].Entries) != 0 {
		t.Errorf("told %+v", got)
	}
}
