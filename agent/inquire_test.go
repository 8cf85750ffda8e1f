package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// builtin finds a tool that every session has.
func builtin(t *testing.T, name string) tool.Tool {
	t.Helper()
	for _, tl := range tool.Builtin() {
		if tl.Spec().Name == name {
			return tl
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// told is the text of the results that the model got with its n-th request.
func told(r *rig, n int) string {
	var b strings.Builder
	messages := r.model.requests()[n].Messages
	for _, part := range messages[len(messages)-1].Parts {
		if result, ok := part.(model.ToolResult); ok {
			for _, p := range result.Parts {
				b.WriteString(p.(model.Text).Text)
			}
		}
	}
	return b.String()
}

const question = `{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`

func TestAQuestionAndItsAnswerAreKept(t *testing.T) {
	r := newRig(t, []tool.Tool{builtin(t, "ask")}, calls(call("c", "ask", question)), says("ok"))
	r.face.inquire = func(_ context.Context, i Inquiry) (tool.Answers, error) {
		if done := shown[session.CallStarted](r.face); len(done) != 0 {
			t.Error("the call was shown as running while the question was open")
		}
		return tool.Answers{Outcome: tool.Answered, Replies: []tool.Reply{{Chosen: []string{i.Questions[0].Options[1].Label}}}}, nil
	}
	r.turn(t, t.Context(), "ask me")
	asked, answered := stored[session.QuestionAsked](t, r), stored[session.QuestionAnswered](t, r)
	if len(asked) != 1 || asked[0].Questions[0].Text != "Which?" || len(answered) != 1 || answered[0].By != "test client" ||
		answered[0].Answers.Replies[0].Chosen[0] != "B" {
		t.Errorf("asked %+v, answered %+v", asked, answered)
	}
	if got := told(r, 1); !strings.Contains(got, "chosen: B") {
		t.Errorf("the model was told %q", got)
	}
}

func TestWithoutAnAnswerInTimeTheTurnGoesOn(t *testing.T) {
	store, err := session.OpenSQLite(t.TempDir()+"/wherry.db", session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r := newRigOn(t, store, Options{Tools: []tool.Tool{builtin(t, "ask")}, AskTimeout: 20 * time.Millisecond},
		calls(call("c", "ask", question)), says("ok"))
	r.face.inquire = func(ctx context.Context, _ Inquiry) (tool.Answers, error) {
		<-ctx.Done()
		return tool.Answers{}, ctx.Err()
	}
	if got := r.turn(t, t.Context(), "ask me"); got.Reason != session.StopEndTurn {
		t.Errorf("the turn ended with %q", got.Reason)
	}
	if got := told(r, 1); !strings.Contains(got, "nobody answered within 20ms") {
		t.Errorf("the model was told %q", got)
	}
}

func TestAClientThatCannotBeAskedEndsTheTurn(t *testing.T) {
	r := newRig(t, []tool.Tool{builtin(t, "ask")}, calls(call("c", "ask", question)), says("never"))
	r.face.inquire = func(context.Context, Inquiry) (tool.Answers, error) { return tool.Answers{}, errors.New("gone") }
	if got := r.turn(t, t.Context(), "ask me"); got.Reason != session.StopFailed || len(r.model.requests()) != 1 {
		t.Errorf("the turn ended with %q after %d requests", got.Reason, len(r.model.requests()))
	}
	if done := stored[session.CallDone](t, r); len(done) != 1 || done[0].Status != session.CallFailed {
		t.Errorf("the call ended as %+v", done)
	}
}

func TestAQuestionInTheConversationEndsTheTurnAndLeavesTheOtherCallsUndone(t *testing.T) {
	ran := false
	other := fakeTool{spec: tool.Spec{Name: "view"}, class: "read", run: func(context.Context, tool.Output) tool.Result {
		ran = true
		return tool.Result{}
	}}
	r := newRig(t, []tool.Tool{builtin(t, "ask"), other}, calls(call("c", "ask", question), call("d", "view", "{}")), says("thanks"))
	r.face.inquire = func(context.Context, Inquiry) (tool.Answers, error) { return tool.Answers{Outcome: tool.Put}, nil }
	if got := r.turn(t, t.Context(), "ask me"); got.Reason != session.StopEndTurn || got.Err != nil || ran {
		t.Errorf("the turn ended with %q, %v; the other call ran: %v", got.Reason, got.Err, ran)
	}
	if a := stored[session.QuestionAnswered](t, r); a[0].Message == "" || !strings.Contains(a[0].Text, "Which?") || !strings.Contains(a[0].Text, "- A") {
		t.Errorf("put as %+v", a)
	}
	r.turn(t, t.Context(), "B")
	if open := r.session.State().Calls; len(open) != 0 || len(r.model.requests()) != 2 {
		t.Errorf("open: %+v, %d requests", open, len(r.model.requests()))
	}
}

func TestRepliesThatDoNotFitTheQuestionsAreNoAnswer(t *testing.T) {
	r := newRig(t, []tool.Tool{builtin(t, "ask")}, calls(call("c", "ask", question)), says("ok"))
	r.face.inquire = func(context.Context, Inquiry) (tool.Answers, error) {
		return tool.Answers{Outcome: tool.Answered}, nil
	}
	r.turn(t, t.Context(), "ask me")
	if got := told(r, 1); !strings.Contains(got, "does not fit the questions") {
		t.Errorf("the model was told %q", got)
	}
}
