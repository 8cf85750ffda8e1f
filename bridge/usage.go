package bridge

import (
	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/session"
)

// currency is that of all prices.
const currency = "USD"

// usage says how full the context is, and what the session has cost when all of it is known.
func usage(d session.ContextMeasured) acp.UsageUpdate {
	u := acp.UsageUpdate{Used: uint64(d.Used), Size: uint64(d.Window)}
	if d.Cost.Known() {
		u.Cost = &acp.Cost{Amount: d.Cost.USD, Currency: currency}
	}
	return u
}

// spent is what a turn used: as the protocol's usage, which is sent to clients that opted in, and as wherry's own members
// of the answer's _meta, for all.
func spent(result agent.TurnResult) (*acp.UnstableUsage, map[string]any) {
	own := map[string]any{}
	if result.Steered {
		own["steered"] = true
	}
	if result.Limit != "" {
		own["limit"] = result.Limit
	}
	u := result.Usage
	total := u.Input + u.Output
	if total == 0 {
		return nil, own
	}
	tokens := map[string]int{"totalTokens": total, "inputTokens": u.Input, "outputTokens": u.Output}
	out := &acp.UnstableUsage{TotalTokens: uint64(total), InputTokens: uint64(u.Input), OutputTokens: uint64(u.Output)}
	for _, more := range []struct {
		name  string
		count int
		field *acp.Opt[uint64]
	}{
		{"thoughtTokens", u.Thought, &out.ThoughtTokens}, {"cachedReadTokens", u.CacheRead, &out.CachedReadTokens},
		{"cachedWriteTokens", u.CacheWrite, &out.CachedWriteTokens},
	} {
		if more.count > 0 {
			tokens[more.name], *more.field = more.count, acp.Some(uint64(more.count))
		}
	}
	own["usage"] = tokens
	if result.Cost.Known() {
		own["cost"] = map[string]any{"amount": result.Cost.USD, "currency": currency}
	}
	return out, own
}
