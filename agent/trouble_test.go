package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// breaks says something and fails.
func breaks(text string, kind model.ErrorKind) step {
	return func(_ context.Context, yield func(model.Event, error) bool) {
		if text == "" || yield(model.TextDelta{Text: text}, nil) {
			yield(nil, &model.Error{Kind: kind, Provider: "test", Message: "it broke"})
		}
	}
}

func TestAFailedPromptIsTriedAgainWithoutSayingItTwice(t *testing.T) {
	look := fakeTool{spec: tool.Spec{Name: "look", ReadOnly: true}, class: "read"}
	for _, tt := range []struct {
		name  string
		steps []step
		want  []string // what the model gets at the second try
	}{
		{"before the first word", []step{says("hi"), breaks("", model.ErrServer), says("done")}, []string{"user: one", "assistant: hi", "user: two"}},
		{"in the middle of the answer", []step{says("hi"), breaks("half an ans", model.ErrCut), says("done")}, []string{"user: one", "assistant: hi", "user: two"}},
		{
			"after a call, which is not made again",
			[]step{says("hi"), calls(call("1", "look", "{}")), breaks("half", model.ErrStalled), says("done")},
			[]string{"user: one", "assistant: hi", "user: two", "assistant:", "tool:"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, []tool.Tool{look}, tt.steps...)
			tell(t, r.session, "one")
			failed := tell(t, r.session, "two")
			if failed.Reason != session.StopFailed {
				t.Fatalf("%+v", failed)
			}
			ended := stored[session.TurnEnded](t, r)
			if got := ended[len(ended)-1].Error; got != "test: it broke. Say /retry to try again." {
				t.Errorf("the person is told %q", got)
			}
			if got := tell(t, r.session, "/retry"); got.Reason != session.StopEndTurn || got.Err != nil {
				t.Errorf("%+v", got)
			}
			asked := r.model.requests()
			if got := said(asked[len(asked)-1]); !slices.Equal(got, tt.want) {
				t.Errorf("tried again with %q", got)
			}
			if got := tell(t, r.session, "/retry"); got.Reason != session.StopEndTurn {
				t.Errorf("%+v", got)
			}
			if text := answered(r.face); len(text) != 1 || !strings.Contains(text[0], "the last prompt was answered") {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestThereIsNothingToTryAgainWithoutAnUnansweredPrompt(t *testing.T) {
	r := newRig(t, nil, breaks("", model.ErrServer), breaks("", model.ErrServer), says("done"))
	tell(t, r.session, "/retry")
	tell(t, r.session, "one")
	tell(t, r.session, "/status")
	if got := tell(t, r.session, "/retry"); got.Reason != session.StopFailed { // a command in between is not a prompt
		t.Errorf("%+v", got)
	}
	tell(t, r.session, "/clear")
	tell(t, r.session, "/retry")
	text := answered(r.face)
	if !strings.Contains(text[0], "there was no prompt yet") || !strings.Contains(text[len(text)-1], "begins anew") {
		t.Errorf("%q", text)
	}
}

func TestAPromptThatWasStoppedIsTriedAgain(t *testing.T) {
	began := make(chan struct{})
	waits := func(ctx context.Context, yield func(model.Event, error) bool) {
		if yield(model.TextDelta{Text: "well"}, nil) {
			close(began)
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
	r := newRig(t, nil, waits, says("done"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	r.turn(t, ctx, "one")
	tell(t, r.session, "/retry")
	if got := said(r.model.requests()[1]); !slices.Equal(got, []string{"user: one"}) {
		t.Errorf("%q", got)
	}
}

func TestAnAnswerWithoutItsEndIsAFailure(t *testing.T) {
	r := newRig(t, nil, func(_ context.Context, yield func(model.Event, error) bool) {
		yield(model.TextDelta{Text: "half"}, nil)
	})
	if got := tell(t, r.session, "go"); got.Reason != session.StopFailed || got.Err == nil {
		t.Errorf("%+v", got)
	}
	if ended := stored[session.TurnEnded](t, r); ended[0].ErrorKind != model.ErrCut || !strings.Contains(ended[0].Error, "before it was complete") {
		t.Errorf("%+v", ended)
	}
}

func TestSilenceIsToldOnceARequest(t *testing.T) {
	until := time.Date(2026, 5, 4, 15, 4, 5, 0, time.Local)
	noticed := make(chan struct{}, 2)
	quiet := func(ctx context.Context, yield func(model.Event, error) bool) {
		tell := model.TellSilence(ctx)
		for _, text := range []string{"a", "b"} {
			tell(model.Silence{For: 30 * time.Second, Until: until})
			<-noticed
			if !yield(model.TextDelta{Text: text}, nil) {
				return
			}
		}
		yield(model.Stop{Reason: model.StopEnd}, nil)
	}
	r := newRig(t, nil, quiet)
	r.face.seen = make(chan session.Data)
	done := make(chan struct{})
	defer func() { close(r.face.seen); <-done }()
	go func() {
		defer close(done)
		for d := range r.face.seen {
			if _, ok := d.(session.Notice); ok {
				noticed <- struct{}{}
				noticed <- struct{}{} // the second silence is not told
			}
		}
	}()
	if got := tell(t, r.session, "go"); got.Reason != session.StopEndTurn {
		t.Errorf("%+v", got)
	}
	got := shown[session.Notice](r.face)
	want := "test has sent nothing for 30 s. If nothing comes until 15:04:05, the turn ends; stop it to give up now."
	if len(got) != 1 || got[0].Text != want || got[0].Severity != "warning" {
		t.Errorf("%+v", got)
	}
}
