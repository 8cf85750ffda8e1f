package agent

import (
	"context"
	"slices"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// afterPlan is the mode that the session has once a plan is approved: the one before mode plan, and the mode now when that
// is another one.
func (s *Session) afterPlan() approval.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modeAfterPlan()
}

// modeAfterPlan is afterPlan; the caller holds mu.
func (s *Session) modeAfterPlan() approval.Mode {
	stored := s.state.Mode
	if stored == approval.ModePlan {
		if stored = s.state.Before; !stored.Valid() || stored == approval.ModePlan {
			stored = approval.ModeAsk // it began with mode plan
		}
	}
	switch {
	case s.effectiveMode() != approval.ModePlan:
		return s.effectiveMode()
	case s.after != "":
		return s.after
	case s.mode == approval.ModePlan: // of this process: the stored one may be looser than what the person wants here
		return stricter(stored, approval.ModeAsk)
	}
	return stored
}

func stricter(a, b approval.Mode) approval.Mode {
	all := approval.Modes()
	return all[min(slices.Index(all, a), slices.Index(all, b))]
}

// recordAfterPlan stores the approval of a plan together with the mode that follows it, and shows both. shown is the mode
// that the person was told would follow: it never is a looser one.
func (s *Session) recordAfterPlan(ctx context.Context, shown approval.Mode, data ...session.Data) error {
	s.modes.Lock()
	defer s.modes.Unlock()
	s.mu.Lock()
	if s.effectiveMode() != approval.ModePlan { // the person has chosen another one meanwhile
		s.mu.Unlock()
		return s.record(ctx, data...)
	}
	before, own, mode := s.mode, s.after != "", stricter(s.modeAfterPlan(), shown)
	c := session.Configured{Mode: mode}
	if own {
		if c.Mode = s.state.Before; c.Mode == "" {
			c.Mode = approval.ModeAsk
		}
	}
	s.mode = mode
	s.mu.Unlock()
	err := s.record(ctx, slices.Insert(slices.Clone(data), 1, session.Data(c))...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.mode = before
		return err
	}
	s.after = ""
	if !own {
		s.mode = ""
		return nil
	}
	if mode != c.Mode { // what has been shown is the stored one
		s.show(ctx, session.Event{Session: s.id, Time: time.Now(), Data: session.Configured{Mode: mode}})
	}
	return nil
}

// submittedBefore tells why a plan is not shown again: the person has refused exactly this one in this turn.
func (t *turn) submittedBefore(p tool.Presentation) string {
	if p.Class != approval.ClassPlan || !slices.Contains(t.refusedPlans, p.Digest()) {
		return ""
	}
	return "The person has not approved exactly this plan a moment ago, so it was not shown again. Change it by what they said, or ask them."
}

// notApproved remembers a plan that was refused, and tells the model how to go on.
func (t *turn) notApproved(p tool.Presentation) string {
	t.refusedPlans = append(t.refusedPlans, p.Digest())
	return " The session stays in mode plan: nothing is written or run. Change the plan by what they want and submit it again, or ask them."
}

// beginPlan puts the session into mode plan.
func beginPlan(ctx context.Context, t *turn) error { return t.s.SetMode(ctx, approval.ModePlan) }

func planPrompt(args string) string {
	return "Plan this, and submit the plan before anything is done: " + args
}
