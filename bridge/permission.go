package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/approval"
)

// The options of a permission request. Clients choose by kind.
const (
	optionOnce      acp.PermissionOptionID = "allow-once"
	optionSession   acp.PermissionOptionID = "allow-edits-session"
	optionCommand   acp.PermissionOptionID = "allow-command-session"
	optionTool      acp.PermissionOptionID = "allow-tool-session"
	optionReject    acp.PermissionOptionID = "reject"
	optionRejectWhy acp.PermissionOptionID = "reject-with-reason"
)

// Ask implements [agent.Face].
func (f *face) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	f.mu.Lock()
	c := f.render.call(q.Call)
	call := f.render.callUpdate(q.Call, c, acp.ToolCallPending)
	f.mu.Unlock()
	call.Content = append(call.Content, acp.ToolText(why(q)))
	if sizeOf(call) > longestUpdate {
		call.RawInput, call.Content = fitCall(call.RawInput, call.Content)
	}
	req := acp.RequestPermissionRequest{SessionID: acp.SessionID(q.Session), ToolCall: call, Options: options(q)}
	if f.hasForms() && !f.givesReasons() {
		name := "Reject and say why"
		if q.Presentation.Plan != nil {
			name = "Keep planning, and say what to change"
		}
		req.Options = append(req.Options, acp.PermissionOption{OptionID: optionRejectWhy, Name: name, Kind: acp.PermissionRejectOnce})
	}
	resp, err := f.client.RequestPermission(ctx, req)
	if err != nil {
		return agent.Answer{}, err
	}
	var answer agent.Answer
	answer.Reason, answer.Nobody = note(resp.Meta)
	switch outcome := resp.Outcome.(type) {
	case acp.SelectedPermissionOutcome:
		answer.Scope = approval.ScopeOnce
		switch outcome.OptionID {
		case optionSession:
			answer.Scope = approval.ScopeSession
		case optionCommand:
			answer.Scope = approval.ScopeCommand
		case optionTool:
			answer.Scope = approval.ScopeTool
		}
		i := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return o.OptionID == outcome.OptionID })
		if i >= 0 { // what was not offered allows nothing
			answer.Allowed = req.Options[i].Kind == acp.PermissionAllowOnce || req.Options[i].Kind == acp.PermissionAllowAlways
		}
		if i >= 0 && outcome.OptionID == optionRejectWhy {
			answer.Reason = f.askReason(ctx, q)
		}
	case acp.CancelledPermissionOutcome:
		answer.Cancelled = true
	}
	return answer, nil
}

// options are what the person can choose from, in words that say what is then allowed.
func options(q agent.Question) []acp.PermissionOption {
	once, session, reject := "Allow", "Allow every write this session", "Reject"
	if v := q.Presentation.Plan; v != nil {
		once, session, reject = "Approve, and "+afterPlan(v.After), "Approve, and allow every write this session", "Keep planning"
	}
	out := []acp.PermissionOption{{OptionID: optionOnce, Name: once, Kind: acp.PermissionAllowOnce}}
	for _, scope := range q.Scopes {
		switch scope {
		case approval.ScopeSession:
			out = append(out, acp.PermissionOption{OptionID: optionSession, Name: session, Kind: acp.PermissionAllowAlways})
		case approval.ScopeTool:
			name := "Allow every call of this tool until the session is closed"
			if r := q.Presentation.Request; r != nil {
				name = "Allow every call of " + r.Tool + " of " + r.Server + " until the session is closed"
			}
			out = append(out, acp.PermissionOption{OptionID: optionTool, Name: name, Kind: acp.PermissionAllowAlways})
		case approval.ScopeCommand:
			out = append(out, acp.PermissionOption{OptionID: optionCommand, Name: allowCommand(q), Kind: acp.PermissionAllowAlways})
		}
	}
	return append(out, acp.PermissionOption{OptionID: optionReject, Name: reject, Kind: acp.PermissionRejectOnce})
}

// longestCommand bounds a command that an option names, in bytes.
const longestCommand = 60

func allowCommand(q agent.Question) string {
	c := q.Presentation.Command
	if c == nil || len(c.Line) > longestCommand || strings.ContainsFunc(c.Line, misleads) {
		return "Allow exactly this command this session"
	}
	return "Allow `" + c.Line + "` this session"
}

// misleads tells of a character with which a line of an option could look like another one.
func misleads(r rune) bool { return r == '`' || !unicode.IsPrint(r) }

// afterPlan says what a mode means that follows a plan.
func afterPlan(mode approval.Mode) string {
	switch mode {
	case approval.ModeOff:
		return "leave the session read-only"
	case approval.ModeEdits:
		return "edit files unasked (mode edits)"
	case approval.ModeAuto:
		return "edit files and run commands unasked (mode auto)"
	}
	return "ask before every edit and command"
}

// why says why it is asked, and what an approval for the session would cover.
func why(q agent.Question) string {
	text := "Asked because: " + q.Reason + "."
	if slices.Contains(q.Scopes, approval.ScopeSession) {
		text += " An approval for the session covers edits of files in its folders; commands, files that hold secrets and protected files still ask."
	}
	if slices.Contains(q.Scopes, approval.ScopeCommand) {
		text += " An approval for the session covers exactly this command in this folder."
	}
	return text
}

// givesReasons tells whether the client asks for the reason of a rejection itself and sends it along.
func (f *face) givesReasons() bool {
	raw, ok := f.client.Capabilities().Meta.Get(metaKey)
	if !ok {
		return false
	}
	var own struct {
		Reasons bool `json:"reasons"`
	}
	return json.Unmarshal(raw, &own) == nil && own.Reasons
}

// reasonField is the form's only field.
const reasonField = "reason"

// askReason asks for the reason of a rejection, which stands with or without one.
func (f *face) askReason(ctx context.Context, q agent.Question) string {
	resp, err := f.client.Elicit(ctx, acp.CreateElicitationRequest{
		Message: "Rejected: " + q.Presentation.Title + ". What should be done instead?",
		Mode: acp.ElicitationFormMode{
			RequestedSchema: acp.ElicitationSchema{
				Type: acp.ElicitationSchemaObject,
				Properties: acp.Members[acp.ElicitationPropertySchema]{{
					Name: reasonField, Value: acp.StringPropertySchema{Title: "Why", Description: "The model is told this."},
				}},
			},
			Scope: acp.ElicitationSessionScope{SessionID: acp.SessionID(q.Session), ToolCallID: acp.ToolCallID(q.Call)},
		},
	})
	if err != nil {
		return ""
	}
	if accepted, ok := resp.Action.(acp.ElicitationAcceptAction); ok {
		if text, ok := accepted.Content[reasonField].(acp.ElicitationString); ok {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}
