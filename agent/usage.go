package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// Budget bounds what one turn may use. The zero value is no limit.
type Budget struct {
	Tokens int     // of all requests of the turn, in and out
	Cost   float64 // of the same, in US dollars
}

// The limits that end a turn, by the keys that set them.
const (
	LimitTokens = "budget.tokens"
	LimitCost   = "budget.cost"
)

// budgetError ends a turn that has used what it may.
type budgetError struct {
	limit  string
	reason session.StopReason
	text   string
}

func (e *budgetError) Error() string { return e.text }

// withinBudget tells whether the model may be asked once more.
func (t *turn) withinBudget() error {
	budget := t.s.agent.opts.Budget
	if budget.Tokens > 0 {
		used := t.result.Usage.Add(t.unreported)
		if n := used.Input + used.Output; n >= budget.Tokens {
			return &budgetError{LimitTokens, session.StopMaxTokens, fmt.Sprintf(
				"The turn was ended: it has used %d tokens, and a turn may use %d. %s", n, budget.Tokens, howToRaise(LimitTokens))}
		}
	}
	if budget.Cost > 0 {
		info := t.model.Info()
		if info.Price == nil {
			return &model.Error{Kind: model.ErrBadRequest, Provider: "settings", Message: fmt.Sprintf(
				"%s is set (%s), and the price of %s is not known, so nothing was sent. Say in the settings what it costs (input_price and output_price in [providers.%s.model.%q]), take the limit away, or choose another model",
				LimitCost, dollars(budget.Cost), info.ID(), info.Provider, info.Name)}
		}
		cost := t.s.State().TurnCost.USD + info.Price.Of(t.unreported)
		if cost >= budget.Cost {
			return &budgetError{LimitCost, session.StopMaxSteps, fmt.Sprintf(
				"The turn was ended: it has cost %s, and a turn may cost %s. %s", dollars(cost), dollars(budget.Cost), howToRaise(LimitCost))}
		}
	}
	return nil
}

func howToRaise(key string) string {
	return fmt.Sprintf("Say \"go on\" to continue with as much again, or raise %s in the settings and start again.", key)
}

// tellBudget ends the turn by a limit, visibly.
func (t *turn) tellBudget(ctx context.Context, e *budgetError) error {
	t.result.Reason, t.result.Limit = e.reason, e.limit
	return t.notice(ctx, "warning", e.text)
}

// account counts a request and gives the event of it. said is how many bytes came back, for providers that do not count.
func (t *turn) account(usage model.Usage, job session.Job, req model.Request, said int) []session.Data {
	info := t.model.Info()
	used := session.UsageRecorded{Model: info.ID(), Usage: usage, Window: info.ContextWindow, Job: job}
	if usage == (model.Usage{}) {
		t.unreported = t.unreported.Add(model.Usage{
			Input: estimate(req.Messages) + overhead(req.System, req.Tools), Output: int(float64(said) / bytesPerToken),
		})
		if info.Price == nil || *info.Price == (model.Price{}) {
			return nil // the cost is as known as it was
		}
		return []session.Data{used}
	}
	t.result.Usage = t.result.Usage.Add(usage)
	if info.Price != nil {
		cost := info.Price.Of(usage)
		used.Cost = &cost
	}
	return []session.Data{used}
}

// measures tells whether an event changes how full the context is or what was paid in a turn.
func measures(data session.Data) bool {
	switch d := data.(type) {
	case session.UsageRecorded:
		return d.Job != session.JobTitle
	case session.CompactionEnded:
		return d.Status == session.CompactionCompleted
	case session.Cleared:
		return true
	}
	return false
}

// showContext shows how full the context is, when it is known how much there is; the caller holds mu.
func (s *Session) showContext(ctx context.Context) {
	if s.state.Usage.Window == 0 {
		return
	}
	used := s.state.Usage.Usage
	s.show(ctx, session.Event{Session: s.id, Time: time.Now(), Data: session.ContextMeasured{
		Used: max(0, used.Input+used.Output), Window: s.state.Usage.Window, Cost: s.state.Cost,
	}})
}

// ShowContext shows the face how full the context is.
func (s *Session) ShowContext(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.showContext(ctx)
}

// costText is what the session has cost, as a person reads it; empty when none of it is known.
func costText(c session.Cost) string {
	switch {
	case c.Known():
		return dollars(c.USD)
	case c.USD > 0:
		return "more than " + dollars(c.USD) + " (some of the prices are not known)"
	}
	return ""
}

// dollars writes an amount with cents, or more digits when it is less than one.
func dollars(usd float64) string {
	if usd == 0 || usd >= 0.1 {
		return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
	}
	text := strconv.FormatFloat(usd, 'f', 4, 64)
	if strings.Trim(text, "0.") == "" {
		return "less than $0.0001"
	}
	return "$" + text
}

func cost(_ context.Context, t *turn, _ string) (string, error) {
	st := t.s.State()
	spent := st.Spent
	if spent.Input+spent.Output == 0 {
		return "Nothing has been used yet.", nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Tokens of this session: %d in", spent.Input)
	if spent.CacheRead > 0 {
		fmt.Fprintf(&b, " (%d of them from the provider's cache)", spent.CacheRead)
	}
	fmt.Fprintf(&b, ", %d out", spent.Output)
	if spent.Thought > 0 {
		fmt.Fprintf(&b, " (%d of them reasoning)", spent.Thought)
	}
	b.WriteString(".")
	if text := costText(st.Cost); text != "" {
		b.WriteString(" Cost: " + text + ".")
	} else {
		b.WriteString(" What they cost is not known: the settings can say what the model's tokens cost (input_price, output_price).")
	}
	if budget := t.s.agent.opts.Budget; budget != (Budget{}) {
		b.WriteString(" A turn may use " + budget.text() + ".")
	}
	return b.String(), nil
}

func (b Budget) text() string {
	var all []string
	if b.Tokens > 0 {
		all = append(all, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.Cost > 0 {
		all = append(all, dollars(b.Cost))
	}
	return strings.Join(all, " and ")
}
