package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// filling answers, and says how many tokens the conversation took.
func filling(text string, input int) step {
	return func(_ context.Context, yield func(model.Event, error) bool) {
		_ = yield(model.TextDelta{Text: text}, nil) && yield(model.Usage{Input: input, Output: 10}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
	}
}

// said gives the texts of a request, one a message.
func said(req model.Request) (out []string) {
	for _, m := range req.Messages {
		text := string(m.Role) + ":"
		for _, p := range m.Parts {
			if t, ok := p.(model.Text); ok {
				text += " " + t.Text
			}
		}
		out = append(out, text)
	}
	return out
}

func windowed(r *rig, tokens int) {
	r.model.info = model.Info{Provider: "test", Name: "scripted", ContextWindow: tokens}
}

func TestAConversationThatIsFullIsSummarisedBeforeTheNextRequest(t *testing.T) {
	r := newRig(t, nil, filling("first answer", 9000), says("THE SUMMARY"), says("second answer"), says("third answer"))
	windowed(r, 10_000)
	tell(t, r.session, "first question")
	tell(t, r.session, "second question")
	tell(t, r.session, "third question")
	asked := r.model.requests()
	if len(asked) != 4 {
		t.Fatalf("%d requests", len(asked))
	}
	summarise := said(asked[1])
	if len(asked[1].Tools) != 0 || !strings.HasPrefix(summarise[0], "user: first question") || !strings.Contains(summarise[len(summarise)-1], "too long") {
		t.Errorf("the request for a summary was %q", summarise)
	}
	for i, prompt := range map[int]string{2: "second question", 3: "third question"} {
		got := said(asked[i])
		if !strings.Contains(got[0], "THE SUMMARY") || got[len(got)-1] != "user: "+prompt || strings.Contains(strings.Join(got, "\n"), "first question") {
			t.Errorf("after the summary the model got %q", got)
		}
	}
	if ended := stored[session.CompactionEnded](t, r); len(ended) != 1 || ended[0].Status != session.CompactionCompleted || ended[0].Summary != "THE SUMMARY" {
		t.Errorf("%+v", ended)
	}
}

func TestWhatTheProviderFindsTooLongIsShortenedAndSentAgainOnce(t *testing.T) {
	full := func(_ context.Context, yield func(model.Event, error) bool) {
		yield(nil, &model.Error{Kind: model.ErrContextFull, Provider: "test", Message: "too long"})
	}
	r := newRig(t, nil, says("one"), full, says("SUMMARY"), says("two"))
	tell(t, r.session, "first")
	if got := tell(t, r.session, "second"); got.Err != nil {
		t.Fatal(got.Err)
	}
	asked := r.model.requests()
	if last := said(asked[3]); !strings.Contains(last[0], "SUMMARY") || last[len(last)-1] != "user: second" {
		t.Errorf("%q", last)
	}

	r = newRig(t, nil, says("one"), full, says("SUMMARY"), full)
	tell(t, r.session, "first")
	if got := tell(t, r.session, "second"); got.Err == nil || len(r.model.requests()) != 4 {
		t.Errorf("%+v after %d requests", got, len(r.model.requests()))
	}
}

func TestASummaryThatFailsLeavesTheConversationWhole(t *testing.T) {
	broken := func(_ context.Context, yield func(model.Event, error) bool) {
		yield(nil, &model.Error{Kind: model.ErrServer, Provider: "test", Message: "it broke"})
	}
	r := newRig(t, nil, filling("first answer", 9000), broken, says("second answer"))
	windowed(r, 10_000)
	tell(t, r.session, "first question")
	if got := tell(t, r.session, "second question"); got.Err != nil {
		t.Fatal(got.Err)
	}
	if got := said(r.model.requests()[2]); got[0] != "user: first question" {
		t.Errorf("%q", got)
	}
	if ended := stored[session.CompactionEnded](t, r); ended[0].Status != session.CompactionFailed || !strings.Contains(ended[0].Error, "it broke") {
		t.Errorf("%+v", ended)
	}
}

func TestACancelDuringASummaryEndsTheTurn(t *testing.T) {
	began := make(chan struct{})
	waits := func(ctx context.Context, yield func(model.Event, error) bool) {
		close(began)
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
	r := newRig(t, nil, filling("first answer", 9000), waits, says("SUMMARY"), says("third answer"))
	windowed(r, 10_000)
	tell(t, r.session, "first question")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if got := r.turn(t, ctx, "second question"); got.Reason != session.StopCancelled {
		t.Errorf("%+v", got)
	}
	if ended := stored[session.CompactionEnded](t, r); ended[0].Status != session.CompactionCancelled {
		t.Errorf("%+v", ended)
	}
	if got := tell(t, r.session, "third question"); got.Err != nil || got.Reason != session.StopEndTurn {
		t.Errorf("%+v", got)
	}
}

func TestWhatASummaryWaitsForIsTold(t *testing.T) {
	told := make(chan struct{})
	waits := func(ctx context.Context, yield func(model.Event, error) bool) {
		model.TellSilence(ctx)(model.Silence{For: 30 * time.Second, Until: time.Now()})
		<-told
		_ = yield(model.Waiting{Seconds: 20, Reason: "the provider is busy"}, nil) && yield(model.TextDelta{Text: "SUMMARY"}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
	}
	r := newRig(t, nil, says("one"), waits)
	tell(t, r.session, "first")
	r.face.seen = make(chan session.Data)
	shows := make(chan struct{})
	go func() {
		defer close(shows)
		once := sync.OnceFunc(func() { close(told) })
		for d := range r.face.seen {
			if _, ok := d.(session.Notice); ok {
				once()
			}
		}
	}()
	tell(t, r.session, "/compact")
	close(r.face.seen)
	<-shows
	got := shown[session.Notice](r.face)
	if len(got) != 2 || !strings.Contains(got[0].Text, "has sent nothing for 30 s") || got[1].Text != "the provider is busy. Trying again in 20 s." {
		t.Errorf("%+v", got)
	}
}

func TestASummaryWithoutItsEndIsNone(t *testing.T) {
	half := func(_ context.Context, yield func(model.Event, error) bool) {
		_ = yield(model.Usage{Input: 500, Output: 5}, nil) && yield(model.TextDelta{Text: "half a summ"}, nil)
	}
	r := newRig(t, nil, says("one"), half, says("two"))
	tell(t, r.session, "first")
	tell(t, r.session, "/compact")
	tell(t, r.session, "second")
	if got := said(r.model.requests()[2]); got[0] != "user: first" {
		t.Errorf("%q", got)
	}
	if ended := stored[session.CompactionEnded](t, r); ended[0].Status != session.CompactionFailed || !strings.Contains(ended[0].Error, "before it was complete") {
		t.Errorf("%+v", ended)
	}
	if spent := r.session.State().Spent; spent.Input != 500 {
		t.Errorf("what it took is not counted: %+v", spent)
	}
}

func TestWhatIsSaidDuringASummaryReachesTheModelWithTheNextRequest(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	waits := func(_ context.Context, yield func(model.Event, error) bool) {
		close(began)
		<-goOn
		_ = yield(model.TextDelta{Text: "SUMMARY"}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
	}
	r := newRig(t, nil, filling("first answer", 9000), waits, says("second answer"))
	windowed(r, 10_000)
	steering(t, r)
	tell(t, r.session, "first question")
	first := enqueue(t.Context(), r.session, "second question")
	<-began
	second := enqueue(t.Context(), r.session, "but gently")
	close(goOn)
	if a, b := <-first, <-second; a.err != nil || b.err != nil || a.Reason != session.StopEndTurn || !b.Steered {
		t.Fatalf("%+v\n%+v", a, b)
	}
	asked := r.model.requests()
	if len(asked) != 3 {
		t.Fatalf("%d requests", len(asked))
	}
	if got := said(asked[2]); !strings.Contains(got[0], "SUMMARY") || got[len(got)-1] != "user: second question but gently" {
		t.Errorf("after the summary the model got %q", got)
	}
	if ended := stored[session.CompactionEnded](t, r); len(ended) != 1 || ended[0].Status != session.CompactionCompleted {
		t.Errorf("%+v", ended)
	}
}

func TestThePersonCanAskForASummary(t *testing.T) {
	r := newRig(t, nil, says("one"), says("SUMMARY"), says("two"))
	tell(t, r.session, "first")
	tell(t, r.session, "/compact the tests")
	tell(t, r.session, "second")
	asked := r.model.requests()
	if got := said(asked[1]); !strings.Contains(got[len(got)-1], "Above all keep this: the tests") {
		t.Errorf("%q", got)
	}
	if got := said(asked[2]); len(got) != 3 || !strings.Contains(got[0], "SUMMARY") || got[2] != "user: second" {
		t.Errorf("%q", got)
	}
	if got := answered(r.face); !strings.Contains(got[0], "SUMMARY") {
		t.Errorf("%q", got)
	}
}

func TestTheNewestMessagesThatFitBeginWithAUsers(t *testing.T) {
	text := func(role model.Role, n int) model.Message {
		return model.Message{Role: role, Parts: []model.Part{model.Text{Text: strings.Repeat("x", n)}}}
	}
	all := []model.Message{text(model.RoleUser, 700), text(model.RoleAssistant, 700), text(model.RoleUser, 700), text(model.RoleAssistant, 70)}
	for budget, want := range map[int]int{1000: 4, 300: 2, 10: 2} {
		if got := newest(all, budget); len(got) != want || got[0].Role != model.RoleUser {
			t.Errorf("%d tokens: %d messages from a %s", budget, len(got), got[0].Role)
		}
	}
}
