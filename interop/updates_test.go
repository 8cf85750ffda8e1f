//go:build unix

package interop

import (
	"encoding/json"
	"slices"
	"strings"
)

// update is a session/update as the tests look at it, whatever its kind.
type update struct {
	SessionUpdate string          `json:"sessionUpdate"`
	Content       json.RawMessage `json:"content"` // a block for messages, a list for tool calls
	MessageID     string          `json:"messageId"`
	ToolCallID    string          `json:"toolCallId"`
	Title         string          `json:"title"`
	Kind          string          `json:"kind"`
	Status        string          `json:"status"`
	Locations     []location      `json:"locations"`
	RawInput      json.RawMessage `json:"rawInput"`
	Entries       []planEntry     `json:"entries"`
}

type location struct {
	Path string `json:"path"`
	Line *int   `json:"line"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// callContent is an entry of a tool call's content.
type callContent struct {
	Type    string  `json:"type"` // "content", "diff" or "terminal"
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
	Content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	TerminalID string `json:"terminalId"`
}

// toolCall is what the updates of one tool call add up to.
type toolCall struct {
	ID        string
	Title     string
	Kind      string
	Statuses  []string // every status in order, repeats left out
	Content   []callContent
	Locations []location
}

// status is the last status of the call.
func (c toolCall) status() string {
	if len(c.Statuses) == 0 {
		return "pending" // what the protocol says of a call without one
	}
	return c.Statuses[len(c.Statuses)-1]
}

func (c toolCall) diffs() []callContent {
	return slices.DeleteFunc(slices.Clone(c.Content), func(p callContent) bool { return p.Type != "diff" })
}

// toolCalls folds updates into their tool calls, in the order in which they began.
func toolCalls(updates []update) []toolCall {
	var calls []toolCall
	for _, u := range updates {
		if u.SessionUpdate != "tool_call" && u.SessionUpdate != "tool_call_update" {
			continue
		}
		i := slices.IndexFunc(calls, func(c toolCall) bool { return c.ID == u.ToolCallID })
		if i < 0 {
			i = len(calls)
			calls = append(calls, toolCall{ID: u.ToolCallID})
		}
		calls[i].apply(u)
	}
	return calls
}

// apply changes what u names and keeps the rest.
func (c *toolCall) apply(u update) {
	if u.Title != "" {
		c.Title = u.Title
	}
	if u.Kind != "" {
		c.Kind = u.Kind
	}
	if u.Status != "" && (len(c.Statuses) == 0 || c.status() != u.Status) {
		c.Statuses = append(c.Statuses, u.Status)
	}
	if u.Locations != nil {
		c.Locations = u.Locations
	}
	var content []callContent
	if u.Content != nil && json.Unmarshal(u.Content, &content) == nil {
		c.Content = content
	}
}

// spoken joins the text of all chunks of one kind: "agent_message_chunk", "user_message_chunk", ….
func spoken(updates []update, kind string) string {
	var b strings.Builder
	for _, u := range updates {
		var block struct {
			Text string `json:"text"`
		}
		if u.SessionUpdate == kind && json.Unmarshal(u.Content, &block) == nil {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// lastPlan gives the entries of the last plan update.
func lastPlan(updates []update) []planEntry {
	for _, u := range slices.Backward(updates) {
		if u.SessionUpdate == "plan" {
			return u.Entries
		}
	}
	return nil
}

// permissionRequest is a session/request_permission.
type permissionRequest struct {
	SessionID string `json:"sessionId"`
	ToolCall  update `json:"toolCall"`
	Options   []struct {
		OptionID string `json:"optionId"`
		Name     string `json:"name"`
		Kind     string `json:"kind"`
	} `json:"options"`
}

func (r permissionRequest) diffs() []callContent {
	c := toolCall{}
	c.apply(r.ToolCall)
	return c.diffs()
}

// offers tells whether an option of the kind is there to choose.
func (r permissionRequest) offers(kind string) bool {
	for _, o := range r.Options {
		if o.Kind == kind {
			return true
		}
	}
	return false
}
