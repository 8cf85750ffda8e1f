package tool

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
)

//go:embed plan.md
var planDescription string

const maxPlan = 100 // tasks

type planArgs struct {
	Entries []planEntryArgs `json:"entries" jsonschema:"All tasks, in order; they replace the plan there was."`
}

type planEntryArgs struct {
	Content  string `json:"content" jsonschema:"The task, one short sentence."`
	Status   string `json:"status,omitzero" enum:"pending,in_progress,completed" jsonschema:"How far it is; pending when left out."`
	Priority string `json:"priority,omitzero" enum:"high,medium,low" jsonschema:"How much it matters; medium when left out."`
}

func planTool() Tool {
	return New(Spec{Name: "plan", Description: planDescription}, preparePlan)
}

func preparePlan(_ context.Context, _ Env, args planArgs) (Call, error) {
	entries, err := planEntries(args.Entries)
	if err != nil {
		return nil, err
	}
	done := 0
	for _, entry := range entries {
		if entry.Status == PlanCompleted {
			done++
		}
	}
	summary := fmt.Sprintf("(%d tasks, %d done)", len(entries), done)
	return &prepared{
		shown: Presentation{Class: approval.ClassNote, Title: "Plan " + summary, Kind: KindThink},
		run: func(context.Context, Output) Result {
			return Result{Text: "plan set " + summary, Plan: entries, SetsPlan: true}
		},
	}, nil
}

// planEntries checks and completes the tasks of a plan.
func planEntries(args []planEntryArgs) ([]PlanEntry, error) {
	if len(args) > maxPlan {
		return nil, fmt.Errorf("the plan has %d tasks: at most %d are allowed, so join some", len(args), maxPlan)
	}
	entries := make([]PlanEntry, len(args))
	for i, entry := range args {
		content := strings.Join(strings.Fields(entry.Content), " ")
		if content == "" {
			return nil, fmt.Errorf(`"entries[%d].content" is empty: say what the task is`, i)
		}
		entries[i] = PlanEntry{Content: content, Status: PlanStatus(entry.Status), Priority: entry.Priority}
		if entries[i].Status == "" {
			entries[i].Status = PlanPending
		}
		if entries[i].Priority == "" {
			entries[i].Priority = "medium"
		}
	}
	return entries, nil
}
