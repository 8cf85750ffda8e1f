package agent

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// using is a step that counts tokens.
func using(u model.Usage, then step) step {
	return func(ctx context.Context, yield func(model.Event, error) bool) {
		if yield(u, nil) {
			then(ctx, yield)
		}
	}
}

// budgeted opens a session whose turns have a budget, with a tool named look.
func budgeted(t *testing.T, b Budget, price *model.Price, steps ...step) *rig {
	t.Helper()
	look := fakeTool{spec: tool.Spec{Name: "look", ReadOnly: true}, class: "read"}
	r := newRigOn(t, memory(t), Options{Tools: []tool.Tool{look}, Budget: b}, steps...)
	r.model.info = model.Info{Provider: "test", Name: "scripted", ContextWindow: 1_000_000, Price: price}
	return r
}

func TestABudgetEndsTheTurnBeforeTheNextRequest(t *testing.T) {
	look := calls(call("1", "look", "{}"))
	mute := func(ctx context.Context, yield func(model.Event, error) bool) { // a provider that does not count
		if yield(model.TextDelta{Text: strings.Repeat("x", 7000)}, nil) {
			look(ctx, yield)
		}
	}
	price := &model.Price{Input: 1, Output: 10}
	for _, tt := range []struct {
		name   string
		budget Budget
		price  *model.Price
		first  step
		limit  string
		reason session.StopReason
		says   string
	}{
		{"tokens", Budget{Tokens: 1000}, nil, using(model.Usage{Input: 900, Output: 100}, look), LimitTokens, session.StopMaxTokens, "it has used 1000 tokens, and a turn may use 1000"},
		{"cost", Budget{Cost: 0.5}, price, using(model.Usage{Input: 200_000, Output: 40_000}, look), LimitCost, session.StopMaxSteps, "it has cost $0.60, and a turn may cost $0.50"},
		{"tokens that the provider does not count", Budget{Tokens: 1000}, nil, mute, LimitTokens, session.StopMaxTokens, "a turn may use 1000"},
		{"cost that the provider does not count", Budget{Cost: 0.015}, price, mute, LimitCost, session.StopMaxSteps, "a turn may cost $0.0150"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := budgeted(t, tt.budget, tt.price, tt.first, says("again"))
			got := r.turn(t, t.Context(), "go")
			if got.Reason != tt.reason || got.Limit != tt.limit || got.Err != nil {
				t.Errorf("%+v", got)
			}
			if n := len(r.model.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
			notices := shown[session.Notice](r.face)
			if len(notices) != 1 || !strings.Contains(notices[0].Text, tt.says) || !strings.Contains(notices[0].Text, "raise "+tt.limit) {
				t.Errorf("%+v", notices)
			}
			if next := r.turn(t, t.Context(), "go on"); next.Reason != session.StopEndTurn || next.Limit != "" {
				t.Errorf("the next turn has a budget of its own: %+v", next)
			}
		})
	}
}

func TestWithinItsBudgetATurnGoesOn(t *testing.T) {
	r := budgeted(t, Budget{Tokens: 1000, Cost: 1}, &model.Price{Input: 1, Output: 10}, using(model.Usage{Input: 900, Output: 99}, calls(call("1", "look", "{}"))), says("done"))
	if got := r.turn(t, t.Context(), "go"); got.Reason != session.StopEndTurn || got.Limit != "" {
		t.Errorf("%+v", got)
	}
}

func TestACostBudgetWithoutAPriceSendsNothing(t *testing.T) {
	r := budgeted(t, Budget{Cost: 1}, nil, says("never"))
	got := r.turn(t, t.Context(), "go")
	var failure *model.Error
	if !errors.As(got.Err, &failure) || failure.Kind != model.ErrBadRequest || !strings.Contains(failure.Message, `input_price and output_price in [providers.test.model."scripted"]`) {
		t.Errorf("%+v", got)
	}
	if n := len(r.model.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	r.turn(t, t.Context(), "/compact")
	if n := len(r.model.requests()); n != 0 {
		t.Errorf("the summary was asked for")
	}
	if text := answered(r.face); len(text) != 1 || !strings.Contains(text[0], "the price of test/scripted is not known") {
		t.Errorf("%q", text)
	}
}

func TestTheContextFallsWithASummaryAndIsEmptyAfterAClearing(t *testing.T) {
	r := budgeted(t, Budget{}, &model.Price{Input: 2, Output: 0},
		using(model.Usage{Input: 40_000, Output: 500}, says("one")), using(model.Usage{Input: 50_000}, says("SUMMARY")))
	tell(t, r.session, "first")
	tell(t, r.session, "/compact")
	tell(t, r.session, "/clear")
	got := shown[session.ContextMeasured](r.face)
	if len(got) != 4 {
		t.Fatalf("%+v", got)
	}
	if got[0].Used != 40_500 || got[0].Window != 1_000_000 || got[0].Cost != (session.Cost{USD: 0.08}) {
		t.Errorf("after the answer: %+v", got[0])
	}
	if got[1].Used != 40_500 || math.Abs(got[1].Cost.USD-0.18) > 1e-9 {
		t.Errorf("the request of the summary changes the cost alone: %+v", got[1])
	}
	if got[2].Used == 0 || got[2].Used > 100 || got[2].Cost != got[1].Cost {
		t.Errorf("after the summary: %+v", got[2])
	}
	if got[3].Used != 0 || got[3].Window != 1_000_000 {
		t.Errorf("after the clearing: %+v", got[3])
	}
}

func TestNothingIsMeasuredWithoutAWindow(t *testing.T) {
	r := newRig(t, nil, using(model.Usage{Input: 10, Output: 5}, says("one")))
	tell(t, r.session, "first")
	if got := shown[session.ContextMeasured](r.face); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestARequestThatFailsIsPaidForToo(t *testing.T) {
	broken := func(_ context.Context, yield func(model.Event, error) bool) {
		_ = yield(model.TextDelta{Text: "half"}, nil) && yield(model.Usage{Input: 500_000, Output: 1}, nil) &&
			yield(nil, &model.Error{Kind: model.ErrCut, Provider: "test", Message: "it broke"})
	}
	r := budgeted(t, Budget{}, &model.Price{Input: 2}, broken)
	got := r.turn(t, t.Context(), "go")
	if got.Err == nil || got.Usage.Input != 500_000 || got.Cost != (session.Cost{USD: 1}) {
		t.Errorf("%+v", got)
	}
	tell(t, r.session, "/cost")
	tell(t, r.session, "/status")
	text := answered(r.face)
	if !strings.Contains(text[0], "500000 in") || !strings.Contains(text[0], "Cost: $1.00.") || !strings.Contains(text[1], "- cost: $1.00") {
		t.Errorf("%q", text)
	}
}

func TestACostThatIsNotWhollyKnownSaysSo(t *testing.T) {
	for want, c := range map[string]session.Cost{
		"$0.00": {}, "$12.35": {USD: 12.345678}, "$0.0123": {USD: 0.01234}, "less than $0.0001": {USD: 1e-6},
		"more than $1.00 (some of the prices are not known)": {USD: 1, Partial: true}, "": {Partial: true},
	} {
		if got := costText(c); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
