package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// forms is a client with forms.
type forms struct {
	answer func(context.Context, acp.CreateElicitationRequest) (acp.CreateElicitationResponse, error)
	asked  chan acp.CreateElicitationRequest
}

func newForms(answer acp.ElicitationAction) *forms {
	f := &forms{asked: make(chan acp.CreateElicitationRequest, 10)}
	f.answer = func(context.Context, acp.CreateElicitationRequest) (acp.CreateElicitationResponse, error) {
		return acp.CreateElicitationResponse{Action: answer}, nil
	}
	return f
}

func (f *forms) CreateElicitation(ctx context.Context, req acp.CreateElicitationRequest) (acp.CreateElicitationResponse, error) {
	f.asked <- req
	return f.answer(ctx, req)
}

const (
	oneChoice = `[[call: ask {"questions":[{"question":"Which database?","options":[{"label":"SQLite","description":"a file"},{"label":"PostgreSQL"}]}]}]] [[text: done]]`
	allKinds  = `[[call: ask {"questions":[{"question":"Which database?","options":[{"label":"SQLite","description":"a file"},{"label":"PostgreSQL"}]},` +
		`{"question":"Which systems?","options":[{"label":"Linux"},{"label":"Windows"},{"label":"macOS"}],"several":true},` +
		`{"question":"What is it called?"}]}]] [[text: done]]`
)

func TestQuestionsAreOneFormAndTheAnswersReachTheModel(t *testing.T) {
	f := newForms(acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{
		"question_1": acp.ElicitationString("PostgreSQL"), "question_2": acp.ElicitationStrings{"Linux", "macOS"},
		"question_2_other": acp.ElicitationString("and Plan 9"),
	}})
	r := connectScripted(t, acp.ClientOptions{Elicitation: f})
	s := r.open(t)
	resp, live := prompt(t, s, allKinds)
	if resp.StopReason != acp.StopEndTurn {
		t.Errorf("stopped by %q", resp.StopReason)
	}
	req := <-f.asked
	mode := req.Mode.(acp.ElicitationFormMode)
	calls := fold(live).Calls
	if scope := mode.Scope.(acp.ElicitationSessionScope); scope.SessionID != s.ID() || scope.ToolCallID != calls[0].ToolCallID {
		t.Errorf("asked for %+v", scope)
	}
	if len(mode.RequestedSchema.Required) != 0 {
		t.Errorf("these cannot be skipped: %v", mode.RequestedSchema.Required)
	}
	one, _ := mode.RequestedSchema.Properties.Get("question_1")
	if p, ok := one.(acp.StringPropertySchema); !ok || p.Title != "Which database?" || len(p.OneOf) != 2 || p.OneOf[0].Const != "SQLite" || !strings.Contains(p.Description, "a file") {
		t.Errorf("the first field is %+v", one)
	}
	several, _ := mode.RequestedSchema.Properties.Get("question_2")
	if p, ok := several.(acp.MultiSelectPropertySchema); !ok || len(p.Items.(acp.TitledMultiSelectItems).AnyOf) != 3 {
		t.Errorf("the second field is %+v", several)
	}
	free, _ := mode.RequestedSchema.Properties.Get("question_3")
	if p, ok := free.(acp.StringPropertySchema); !ok || len(p.OneOf) != 0 {
		t.Errorf("the third field is %+v", free)
	}
	told := r.told(t)
	for _, want := range []string{"Which database?", "chosen: PostgreSQL", "chosen: Linux", "chosen: macOS", "in their own words: and Plan 9", "skipped, without an answer"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was not told %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "chosen: SQLite") || strings.Contains(told, "chosen: Windows") {
		t.Errorf("the model was told what was not chosen:\n%s", told)
	}

	load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	was, is := text(calls[0]), text(fold(replayed).Calls[0])
	if was != is || !strings.Contains(is, "Which systems?") || !strings.Contains(is, "- macOS") || !strings.Contains(is, "Skipped.") {
		t.Errorf("loaded: %q, live it was %q", is, was)
	}
}

// text is the text in view of a tool call.
func text(c acp.ToolCall) string {
	var b strings.Builder
	for _, content := range c.Content {
		if block, ok := content.(acp.ToolCallBlock); ok {
			b.WriteString(acp.PlainText(block.Content))
		}
	}
	return b.String()
}

func TestNoAnswerIsInvented(t *testing.T) {
	accept := func(content map[string]acp.ElicitationContentValue) acp.ElicitationAction {
		return acp.ElicitationAcceptAction{Content: content}
	}
	for name, test := range map[string]struct {
		action acp.ElicitationAction
		want   string
	}{
		"declined":            {acp.ElicitationDeclineAction{}, "declined"},
		"closed":              {acp.ElicitationCancelAction{}, "closed the question"},
		"sent empty":          {accept(nil), "skipped"},
		"none of the options": {accept(map[string]acp.ElicitationContentValue{"question_1": acp.ElicitationString("Oracle")}), "none of the options"},
		"two in place of one": {accept(map[string]acp.ElicitationContentValue{"question_1": acp.ElicitationStrings{"SQLite", "PostgreSQL"}}), "in place of one"},
		"not a text":          {accept(map[string]acp.ElicitationContentValue{"question_1": acp.ElicitationBoolean(true)}), "neither a text nor a choice"},
	} {
		t.Run(name, func(t *testing.T) {
			r := connectScripted(t, acp.ClientOptions{Elicitation: newForms(test.action)})
			resp, _ := prompt(t, r.open(t), oneChoice)
			told := r.told(t)
			if resp.StopReason != acp.StopEndTurn || !strings.Contains(told, test.want) || !strings.Contains(told, "Do not answer in the person's place") ||
				strings.Contains(told, "chosen:") {
				t.Errorf("stopped by %q; the model was told %q", resp.StopReason, told)
			}
		})
	}
}

func TestAClientWithoutFormsIsAskedAChoiceForEachQuestion(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		if strings.Contains(req.ToolCall.Title, "Which") {
			return acp.SelectedPermissionOutcome{OptionID: req.Options[1].OptionID}
		}
		return pick(req, acp.PermissionRejectOnce)
	}
	_, live := prompt(t, r.open(t), `[[call: ask {"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]},`+
		`{"question":"Really?","options":[{"label":"Yes"},{"label":"No"}]}]}]] [[text: done]]`)
	asked := r.client.questions()
	if len(asked) != 2 {
		t.Fatalf("asked %d times", len(asked))
	}
	var names []string
	for _, o := range asked[0].Options {
		names = append(names, o.Name)
	}
	if got := strings.Join(names, ", "); got != "A, B, Skip this question" {
		t.Errorf("the options are %s", got)
	}
	if c := asked[1].ToolCall; c.ToolCallID != fold(live).Calls[0].ToolCallID || c.Status != acp.ToolCallPending {
		t.Errorf("asked for %+v", c)
	}
	if told := r.told(t); !strings.Contains(told, "1. Which?\n   chosen: B") || !strings.Contains(told, "2. Really?\n   skipped") {
		t.Errorf("the model was told %q", told)
	}
}

func TestWithoutFormsFreeTextIsAskedInTheConversationAndTheTurnEnds(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s := r.open(t)
	resp, live := prompt(t, s, `[[call: ask {"questions":[{"question":"What is it called?"}]}]] [[text: never]]`)
	f := fold(live)
	if resp.StopReason != acp.StopEndTurn || !strings.Contains(f.text("agent"), "What is it called?") || strings.Contains(f.text("agent"), "never") {
		t.Errorf("stopped by %q after %q", resp.StopReason, f.text("agent"))
	}
	if f.Calls[0].Status != acp.ToolCallCompleted || len(r.client.questions()) != 0 || len(r.double.Requests()) != 1 {
		t.Errorf("the call is %q, %d permissions, %d requests", f.Calls[0].Status, len(r.client.questions()), len(r.double.Requests()))
	}
	prompt(t, s, "Edelweiss [[text: thanks]]")
	items := r.double.Last().Items
	if last, before := items[len(items)-1], items[len(items)-2]; !strings.Contains(last.Text, "Edelweiss") || !strings.Contains(before.Text, "The next prompt holds the answer") {
		t.Errorf("the model got %q and %q", before.Text, last.Text)
	}
	load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil || !strings.Contains(fold(replayed).text("agent"), "What is it called?") {
		t.Errorf("loaded: %v, %q", err, fold(replayed).text("agent"))
	}
}

func TestCancellingTheTurnEndsAnOpenQuestion(t *testing.T) {
	f := newForms(nil)
	gone := make(chan struct{})
	f.answer = func(ctx context.Context, _ acp.CreateElicitationRequest) (acp.CreateElicitationResponse, error) {
		defer close(gone)
		<-ctx.Done()
		return acp.CreateElicitationResponse{}, ctx.Err()
	}
	r := connectScripted(t, acp.ClientOptions{Elicitation: f})
	s := r.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn := s.Prompt(ctx, acp.Text(oneChoice))
	go func() {
		<-f.asked
		cancel()
	}()
	var updates []acp.SessionUpdate
	for u := range turn.Updates() {
		updates = append(updates, u)
	}
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopCancelled {
		t.Errorf("the turn ended with %q, %v", resp.StopReason, err)
	}
	<-gone
	if c := fold(updates).Calls[0]; c.Status != acp.ToolCallFailed {
		t.Errorf("the call is left %q", c.Status)
	}
	if resp, _ := prompt(t, s, "[[anew]] [[text: clean]]"); resp.StopReason != acp.StopEndTurn {
		t.Errorf("the next turn stopped by %q", resp.StopReason)
	}
}
