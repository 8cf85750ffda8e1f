package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

func blocks(text string) []session.Block {
	return []session.Block{{Type: session.BlockText, Text: text}}
}

type ran struct {
	TurnResult
	err error
}

// enqueue gives a prompt its place now and runs it aside.
func enqueue(ctx context.Context, s *Session, text string) <-chan ran {
	p := s.Enqueue(blocks(text))
	out := make(chan ran, 1)
	go func() {
		r, err := p.Run(ctx)
		out <- ran{r, err}
	}()
	return out
}

// blocking is a tool that waits until it is let go.
func blocking() (tl tool.Tool, began, goOn chan struct{}) {
	began, goOn = make(chan struct{}), make(chan struct{})
	return fakeTool{spec: tool.Spec{Name: "wait", ReadOnly: true}, class: "read", run: func(ctx context.Context, _ tool.Output) tool.Result {
		close(began)
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return tool.Result{Text: "waited"}
	}}, began, goOn
}

func steering(t *testing.T, r *rig) {
	t.Helper()
	if err := r.session.Set(t.Context(), SettingBusy, busySteer); err != nil {
		t.Fatal(err)
	}
}

func TestAPromptThatSteersReachesTheModelWithItsNextStep(t *testing.T) {
	wait, began, goOn := blocking()
	r := newRig(t, []tool.Tool{wait}, calls(call("1", "wait", "{}")), says("done"), says("next"))
	steering(t, r)
	first := enqueue(t.Context(), r.session, "do it")
	<-began
	second := enqueue(t.Context(), r.session, "but gently")
	close(goOn)
	a, b := <-first, <-second
	if a.err != nil || b.err != nil || a.Steered || !b.Steered || b.Reason != session.StopEndTurn {
		t.Fatalf("%+v\n%+v", a, b)
	}
	asked := r.model.requests()
	if len(asked) != 2 {
		t.Fatalf("%d requests", len(asked))
	}
	if got := said(asked[1]); got[len(got)-1] != "user: but gently" {
		t.Errorf("the second request ends with %q", got[len(got)-1])
	}
	tell(t, r.session, "and then")
	if got := said(r.model.requests()[2]); !slices.Contains(got, "user: but gently") || !slices.Contains(got, "assistant: done") {
		t.Errorf("later the model gets %q", got)
	}
}

func TestAPromptThatSteersDuringTheLastWordsIsAnsweredInTheSameTurn(t *testing.T) {
	speaking, enough := make(chan struct{}), make(chan struct{})
	last := func(_ context.Context, yield func(model.Event, error) bool) {
		close(speaking)
		<-enough
		_ = yield(model.TextDelta{Text: "bye"}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
	}
	r := newRig(t, nil, last, says("one more"))
	steering(t, r)
	first := enqueue(t.Context(), r.session, "a")
	<-speaking
	second := enqueue(t.Context(), r.session, "b")
	close(enough)
	if a, b := <-first, <-second; a.err != nil || b.err != nil || !b.Steered {
		t.Fatalf("%+v\n%+v", a, b)
	}
	if got := stored[session.TurnStarted](t, r); len(got) != 1 {
		t.Errorf("%d turns", len(got))
	}
}

func TestPromptsThatQueueAreAnsweredInTheirOrder(t *testing.T) {
	wait, began, goOn := blocking()
	r := newRig(t, []tool.Tool{wait}, calls(call("1", "wait", "{}")), says("1"), says("2"), says("3"), says("4"))
	all := []<-chan ran{enqueue(t.Context(), r.session, "p1")}
	<-began
	ctx, cancel := context.WithCancelCause(t.Context())
	given := errors.New("given up")
	for _, p := range []string{"p2", "p3", "p4"} {
		c := t.Context()
		if p == "p3" {
			c = ctx
		}
		all = append(all, enqueue(c, r.session, p))
	}
	cancel(given)
	if got := <-all[2]; !errors.Is(got.err, given) {
		t.Errorf("the one that was given up: %+v", got)
	}
	close(goOn)
	for _, i := range []int{0, 1, 3} {
		if got := <-all[i]; got.err != nil || got.Steered {
			t.Errorf("%d: %+v", i, got)
		}
	}
	var order []string
	for _, s := range stored[session.TurnStarted](t, r) {
		order = append(order, s.Prompt[0].Text)
	}
	if got := strings.Join(order, " "); got != "p1 p2 p4" {
		t.Errorf("answered in the order %s", got)
	}
}

func TestAPromptThatNoTurnHasTakenGetsItsOwn(t *testing.T) {
	wait, began, goOn := blocking()
	broken := func(_ context.Context, yield func(model.Event, error) bool) {
		yield(nil, &model.Error{Kind: model.ErrServer, Provider: "test", Message: "it broke"})
	}
	r := newRig(t, []tool.Tool{wait}, calls(call("1", "wait", "{}")), broken, says("own"))
	steering(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	first := enqueue(ctx, r.session, "a")
	<-began
	second := enqueue(t.Context(), r.session, "b")
	cancel() // the turn ends before it can take anything
	close(goOn)
	if a := <-first; a.Reason != session.StopCancelled {
		t.Errorf("%+v", a)
	}
	b := <-second
	if b.err != nil || b.Steered {
		t.Errorf("%+v", b)
	}
	if got := stored[session.TurnStarted](t, r); len(got) != 2 || got[1].Prompt[0].Text != "b" {
		t.Errorf("%+v", got)
	}
}

func TestACommandNeverSteers(t *testing.T) {
	wait, began, goOn := blocking()
	r := newRig(t, []tool.Tool{wait}, calls(call("1", "wait", "{}")), says("1"))
	steering(t, r)
	first := enqueue(t.Context(), r.session, "a")
	<-began
	second := enqueue(t.Context(), r.session, "/status")
	close(goOn)
	<-first
	if b := <-second; b.err != nil || b.Steered || len(answered(r.face)) != 1 {
		t.Errorf("%+v", b)
	}
}
