package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
)

//go:embed submit_plan.md
var submitPlanDescription string

const maxPlanText = 20_000 // characters

// PlanView is a plan as a person must see it before it is approved.
type PlanView struct {
	Text    string        `json:"text"` // Markdown
	Entries []PlanEntry   `json:"entries,omitzero"`
	After   approval.Mode `json:"after"` // the mode that the session has once it is approved
}

type submitPlanArgs struct {
	Plan    string          `json:"plan" jsonschema:"The plan in Markdown, whole."`
	Entries []planEntryArgs `json:"entries,omitzero" jsonschema:"Its tasks, in order."`
}

func submitPlanTool() Tool {
	return New(Spec{Name: "submit_plan", Description: submitPlanDescription, Planning: true}, prepareSubmitPlan)
}

func prepareSubmitPlan(_ context.Context, env Env, args submitPlanArgs) (Call, error) {
	text := strings.TrimSpace(cleanText(args.Plan))
	switch {
	case text == "":
		return nil, errors.New(`"plan" is empty: say what you will do`)
	case len([]rune(text)) > maxPlanText:
		return nil, fmt.Errorf(`"plan" is longer than %d characters: a person has to read it`, maxPlanText)
	}
	entries, err := planEntries(args.Entries)
	if err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(text, "\n")
	title = oneLine("Plan:", strings.TrimLeft(title, "# "))
	after := env.AfterPlan
	return &prepared{
		shown: Presentation{Class: approval.ClassPlan, Title: title, Kind: KindSwitchMode, Plan: &PlanView{Text: text, Entries: entries, After: after}},
		run: func(context.Context, Output) Result {
			result := Result{Text: "The person approved the plan. " + nowAllowed(after), Display: "Approved."}
			if len(entries) > 0 {
				result.Plan, result.SetsPlan = entries, true
			}
			return result
		},
	}, nil
}

func nowAllowed(after approval.Mode) string {
	if after == approval.ModeOff {
		return "But the session is read-only: nothing can be written or run until the person chooses another mode. Say so and stop."
	}
	return "Begin with the work, in this order, and keep the states of the tasks true."
}
