package bridge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

const renamePlan = `[[call: submit_plan {"plan":"# Rename\n\nCall it b.","entries":[{"content":"rename"},{"content":"test"}]}]] [[call: create {"path":"b.txt","content":"x"}]] [[text: done]]`

// trace is what a client was told of modes and calls, in order.
func trace(updates []acp.SessionUpdate) string {
	var out []string
	for _, u := range updates {
		switch u := u.(type) {
		case acp.CurrentModeUpdate:
			out = append(out, "mode "+string(u.CurrentModeID))
		case acp.ConfigOptionUpdate:
			for _, o := range u.ConfigOptions {
				if o.ID == "mode" {
					out = append(out, "option "+string(o.Kind.(acp.SessionConfigSelect).CurrentValue))
				}
			}
		case acp.ToolCall:
			out = append(out, fmt.Sprintf("%s %s", u.Kind, u.Status))
		case acp.ToolCallUpdate:
			out = append(out, string(u.Status))
		case acp.Plan:
			out = append(out, fmt.Sprintf("plan of %d", len(u.Entries)))
		}
	}
	return strings.Join(out, ", ")
}

func TestAPlanIsShownWholeForItsApprovalAndTheModeIsBackBeforeTheNextCall(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s := r.open(t)
	if err := s.SetMode(t.Context(), "edits"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetConfigOption(t.Context(), "mode", acp.SessionConfigValueID("plan")); err != nil {
		t.Fatal(err)
	}
	_, live := prompt(t, s, renamePlan)
	asked := r.client.questions()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	shown := text(acp.ToolCall{Content: asked[0].ToolCall.Content})
	for _, want := range []string{"# Rename", "Call it b.", "- rename", "- test"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the question does not show %q: %q", want, shown)
		}
	}
	if o := asked[0].Options; len(o) != 2 || o[0].Kind != acp.PermissionAllowOnce || !strings.Contains(o[0].Name, "edit files unasked") || o[1].Kind != acp.PermissionRejectOnce {
		t.Errorf("the options are %+v", o)
	}
	got := trace(live)
	want := "switch_mode pending, mode edits, option edits, in_progress, completed, plan of 2, edit pending, in_progress, completed"
	if i := strings.Index(got, "switch_mode"); i < 0 || got[i:] != want {
		t.Errorf("the client was told:\n%s\nwant:\n%s", got, want)
	}
}

func TestARefusedPlanStaysInViewAndTheModeStays(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return pick(req, acp.PermissionRejectOnce)
	}
	s := r.open(t)
	if err := s.SetMode(t.Context(), "plan"); err != nil {
		t.Fatal(err)
	}
	_, live := prompt(t, s, renamePlan)
	calls := fold(live).Calls
	if len(calls) != 2 || calls[0].Status != acp.ToolCallFailed || calls[1].Status != acp.ToolCallFailed || len(r.client.questions()) != 1 {
		t.Fatalf("asked %d times: %+v", len(r.client.questions()), calls)
	}
	if shown := text(calls[0]); !strings.Contains(shown, "Call it b.") || !strings.Contains(shown, "stays in mode plan") {
		t.Errorf("in view is %q", shown)
	}
	if got := s.State().Modes().CurrentModeID; got != "plan" {
		t.Errorf("the mode is %s", got)
	}
	if names := r.client.questions()[0].Options; names[1].Name != "Approve, and allow every write this session" || names[1].Kind != acp.PermissionAllowAlways {
		t.Errorf("the options are %+v", names)
	}
}

func TestSettingTheCurrentModeOrValueAgainChangesNothing(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s := r.open(t)
	if err := s.SetMode(t.Context(), "ask"); err != nil {
		t.Errorf("the current mode: %v", err)
	}
	if _, err := s.SetConfigOption(t.Context(), "mode", acp.SessionConfigValueID("ask")); err != nil {
		t.Errorf("the current value: %v", err)
	}
	_, live := prompt(t, s, "/mode ask")
	if got := trace(live); got != "" {
		t.Errorf("the client was told %s", got)
	}
	_, live = prompt(t, s, "/mode edits")
	if got := trace(live); got != "mode edits, option edits" {
		t.Errorf("a command's change of mode was told as %s", got)
	}
}

func TestAnEmptiedPlanIsAnEmptyListAndTheLastPlanIsLoaded(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s := r.open(t)
	_, live := prompt(t, s, `[[call: plan {"entries":[{"content":"a"},{"content":"b"}]}]] [[call: plan {"entries":[{"content":"a"},{"content":"b"}]}]] [[call: plan {"entries":[]}]] [[text: done]]`)
	var plans []string
	for _, u := range live {
		if p, ok := u.(acp.Plan); ok {
			data, err := acp.MarshalSessionUpdate(p)
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, string(data))
		}
	}
	if len(plans) != 2 || !strings.Contains(plans[1], `"entries":[]`) {
		t.Errorf("told %v", plans)
	}
	prompt(t, s, `[[call: plan {"entries":[{"content":"c","status":"in_progress"}]}]] [[text: done]]`)
	load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	if p := fold(replayed).Plan; len(p) != 1 || p[0].Content != "c" || p[0].Status != acp.PlanInProgress {
		t.Errorf("loaded: %+v", p)
	}
}
