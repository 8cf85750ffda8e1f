package bridge

import (
	"strings"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/tool"
)

// plan is the plan as the protocol has it: always whole, and with no tasks an empty list.
func plan(entries []tool.PlanEntry) acp.Plan {
	out := acp.Plan{Entries: make([]acp.PlanEntry, 0, len(entries))}
	for _, e := range entries {
		priority := acp.PlanEntryPriority(e.Priority)
		if !priority.Known() {
			priority = acp.PlanPriorityMedium
		}
		out.Entries = append(out.Entries, acp.PlanEntry{
			Content: e.Content, Priority: priority, Status: acp.PlanEntryStatus(e.Status),
		})
	}
	return out
}

// proposed is a plan that waits for its approval, whole.
func proposed(v tool.PlanView) string {
	var b strings.Builder
	b.WriteString(v.Text)
	if len(v.Entries) > 0 {
		b.WriteString("\n\nTasks:\n\n")
		for _, e := range v.Entries {
			b.WriteString("- " + e.Content + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}

// wider says what adding a folder means.
func wider(v tool.FolderView) string {
	text := "Adds `" + v.Path + "` to the session's folders: its files are then read unasked, and changed as the mode says."
	if v.Whole != "" {
		text += "\n\n**This is " + v.Whole + ".**"
	}
	if v.Reason != "" {
		text += "\n\nIt is wanted for: " + v.Reason
	}
	return text
}
