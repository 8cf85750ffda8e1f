package tool

import (
	"reflect"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
)

func TestPlanSetsAllTasksWithTheirDefaults(t *testing.T) {
	b := newBench(t, nil)
	call, err := b.prepare("plan", `{"entries":[{"content":"look\n around","status":"completed","priority":"high"},{"content":"act","status":"in_progress"},{"content":"check"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	shown := call.Presentation()
	if shown.Class != approval.ClassNote || shown.Kind != KindThink || shown.Title != "Plan (3 tasks, 1 done)" {
		t.Errorf("%+v", shown)
	}
	result := b.run(call)
	wantText(t, result.Text, "plan set (3 tasks, 1 done)")
	want := []PlanEntry{{"look around", PlanCompleted, "high"}, {"act", PlanInProgress, "medium"}, {"check", PlanPending, "medium"}}
	if !result.SetsPlan || !reflect.DeepEqual(result.Plan, want) {
		t.Errorf("%+v", result)
	}
	result = b.call("plan", `{"entries":[]}`)
	if !result.SetsPlan || len(result.Plan) > 0 || result.Text != "plan set (0 tasks, 0 done)" {
		t.Errorf("%+v", result)
	}
}

func TestPlanRefusesTasksThatSayNothing(t *testing.T) {
	b := newBench(t, nil)
	wantText(t, b.refused("plan", `{"entries":[{"content":"a"},{"content":" "}]}`), `plan: "entries[1].content" is empty: say what the task is`)
	wantText(t, b.refused("plan", `{"entries":[{"content":"a","status":"done"}]}`),
		`plan: "entries[0].status" must be one of pending, in_progress, completed, not "done"`)
}
