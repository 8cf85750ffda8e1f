package bridge

import (
	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/session"
)

// compacting shows that a compaction has begun. A client that does not take compactions sees a tool call, which has the
// same life.
func (r *renderer) compacting(d session.CompactionStarted) []acp.SessionUpdate {
	if r.client.compactions {
		return []acp.SessionUpdate{acp.CompactionUpdate{CompactionID: acp.CompactionID(d.ID), Status: acp.CompactionInProgress}}
	}
	return []acp.SessionUpdate{acp.ToolCall{
		ToolCallID: acp.ToolCallID(d.ID), Title: "Summarise the conversation to make room", Kind: acp.ToolKindThink, Status: acp.ToolCallInProgress,
		Meta: compactionMeta("in_progress"),
	}}
}

// compacted shows the end of a compaction.
func (r *renderer) compacted(d session.CompactionEnded) []acp.SessionUpdate {
	outcome := string(d.Status)
	if d.Nothing {
		outcome = "nothing"
	}
	if r.client.compactions {
		u := acp.CompactionUpdate{CompactionID: acp.CompactionID(d.ID), Status: acp.CompactionCancelled}
		switch d.Status {
		case session.CompactionCompleted:
			u.Status, u.Summary = acp.CompactionCompleted, acp.PatchSet([]acp.ContentBlock{acp.Text(d.Summary)})
		case session.CompactionFailed:
			u.Status, u.Error, u.Meta = acp.CompactionFailed, acp.PatchSet(d.Error), acp.PatchSet(compactionMeta(outcome))
		}
		return []acp.SessionUpdate{u}
	}
	u := acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(d.ID), Status: acp.ToolCallFailed, Meta: compactionMeta(outcome)}
	text := "It was stopped. The conversation is as it was."
	switch d.Status {
	case session.CompactionCompleted:
		u.Status, text = acp.ToolCallCompleted, "The model goes on from this summary:\n\n"+d.Summary
	case session.CompactionFailed:
		text = d.Error
	}
	u.Content = []acp.ToolCallContent{acp.ToolText(text)}
	return []acp.SessionUpdate{u}
}

// compactionMeta says for programs how a compaction stands; a failure whose conversation had nothing to shorten is "nothing".
func compactionMeta(outcome string) acp.Meta { return meta(map[string]string{"compaction": outcome}) }
