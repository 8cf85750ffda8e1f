package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// renderer turns a session's events into the protocol's updates: one function, for live turns and for replays. It
// remembers what it has announced and is used by one goroutine at a time.
type renderer struct {
	client   shows
	streamed map[string]bool
	calls    map[string]*shownCall
}

// shownCall is what the client has been told of a tool call.
type shownCall struct {
	tool      string
	args      json.RawMessage
	announced bool
	p         tool.Presentation
	terminal  string // of the client, in which it runs
	live      liveOutput
}

// shows says which updates the client takes, of those that not every client does.
type shows struct {
	notices, compactions bool
	outputs              outputs
}

func newRenderer(client shows) *renderer {
	return &renderer{client: client, streamed: map[string]bool{}, calls: map[string]*shownCall{}}
}

// render gives the updates of an event. live tells that the event happens now, in a turn that this client asked for.
func (r *renderer) render(e session.Event, live bool) []acp.SessionUpdate {
	switch d := e.Data.(type) {
	case session.TurnStarted:
		if live {
			return nil // the client has just sent it
		}
		return r.prompt(d)
	case session.Steered:
		if live {
			return nil // likewise
		}
		return r.prompt(session.TurnStarted{Message: d.Message, Prompt: d.Prompt})
	case session.Titled:
		return []acp.SessionUpdate{acp.SessionInfoUpdate{
			Title: acp.PatchSet(d.Title), UpdatedAt: acp.PatchSet(e.Time.UTC().Format(time.RFC3339)),
		}}
	case session.Configured:
		if d.Mode != "" {
			return []acp.SessionUpdate{acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(d.Mode)}}
		}
	case session.MessageDelta:
		r.streamed[d.Message] = true
		return said(d.Message, d.Speaker, d.Text)
	case session.MessageSaved:
		if !r.streamed[d.Message] {
			return said(d.Message, d.Speaker, d.Text)
		}
	case session.MessageDone:
		delete(r.streamed, d.Message)
	case session.CallRequested:
		r.calls[d.Call] = &shownCall{tool: d.Tool, args: d.Args}
	case session.CallPresented:
		return r.presented(d)
	case session.CallStarted:
		return []acp.SessionUpdate{acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(d.Call), Status: acp.ToolCallInProgress}}
	case session.CallOutput:
		return r.output(d)
	case session.CallDone:
		return r.done(d)
	case session.QuestionAnswered:
		if d.Text != "" {
			return said(d.Message, session.Assistant, d.Text)
		}
	case session.PlanChanged:
		return []acp.SessionUpdate{plan(d.Entries)}
	case session.ContextMeasured:
		return []acp.SessionUpdate{usage(d)}
	case session.Notice:
		return r.notice(d, live)
	case session.CompactionStarted:
		return r.compacting(d)
	case session.CompactionEnded:
		return r.compacted(d)
	case session.CommandAnswered:
		return said(d.Message, session.Assistant, d.Text)
	case session.TurnEnded:
		return ended(d)
	}
	return nil
}

func (r *renderer) prompt(d session.TurnStarted) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	for _, block := range promptOut(d.Prompt) {
		out = append(out, acp.UserMessageChunk{Content: block, MessageID: acp.MessageID(d.Message)})
	}
	return out
}

func said(message string, speaker session.Speaker, text string) []acp.SessionUpdate {
	if speaker == session.Thinking {
		return []acp.SessionUpdate{acp.AgentThoughtChunk{Content: acp.Text(text), MessageID: acp.MessageID(message)}}
	}
	return []acp.SessionUpdate{acp.AgentMessageChunk{
		Content: acp.Text(text), MessageID: acp.MessageID(message)}}
}

// call finds what is known of a call; of one that was never requested, which a damaged log may hold, nothing.
func (r *renderer) call(id string) *shownCall {
	c, ok := r.calls[id]
	if !ok {
		c = &shownCall{}
		r.calls[id] = c
	}
	return c
}

func (r *renderer) presented(d session.CallPresented) []acp.SessionUpdate {
	c := r.call(d.Call)
	c.p = d.Presentation
	if c.announced {
		return []acp.SessionUpdate{r.callUpdate(d.Call, c, acp.ToolCallPending)}
	}
	c.announced = true
	u := r.callUpdate(d.Call, c, acp.ToolCallPending)
	call := acp.ToolCall{
		ToolCallID: u.ToolCallID, Title: u.Title, Kind: u.Kind, Status: u.Status, Content: u.Content,
		Locations: u.Locations, RawInput: u.RawInput,
	}
	if r.drawn(c) {
		call.Meta = terminalInfo(d.Call, c.p.Command.Dir)
	}
	return []acp.SessionUpdate{call}
}

// callUpdate shows a call as it was presented: in the announcement and in the permission request alike.
func (r *renderer) callUpdate(id string, c *shownCall, status acp.ToolCallStatus) acp.ToolCallUpdate {
	u := acp.ToolCallUpdate{
		ToolCallID: acp.ToolCallID(id), Title: c.p.Title, Kind: acp.ToolKind(c.p.Kind), Status: status,
		Content: presentation(c.p), Locations: locations(c.p), RawInput: jsontext.Value(c.args),
	}
	if r.drawn(c) {
		u.Content = append(u.Content, acp.ToolCallTerminal{TerminalID: acp.TerminalID(id)})
	}
	return u
}

// presentation is what a call will do: its diffs, its command, or what it sends to a server.
func presentation(p tool.Presentation) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	for _, d := range p.Diffs {
		diff := acp.ToolCallDiff{Path: d.Path, NewText: d.New}
		if d.Old != nil {
			diff.OldText = acp.Some(*d.Old)
		}
		out = append(out, diff)
	}
	if c := p.Command; c != nil {
		out = append(out, acp.ToolText("In "+c.Dir+":\n\n"+fenced("sh", c.Line)))
	}
	if v := p.Folder; v != nil {
		out = append(out, acp.ToolText(wider(*v)))
	}
	if v := p.Plan; v != nil {
		out = append(out, acp.ToolText(proposed(*v)))
	}
	if len(p.Questions) > 0 {
		out = append(out, acp.ToolText(asked(p.Questions)))
	}
	if r := p.Request; r != nil {
		args := jsontext.Value(slices.Clone(r.Args))
		if args.Indent() != nil {
			args = jsontext.Value(r.Args)
		}
		out = append(out, acp.ToolText(fmt.Sprintf("Calls %q of the server %q with:\n\n%s", r.Tool, r.Server, fenced("json", string(args)))))
	}
	return out
}

func locations(p tool.Presentation) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, l := range p.Locations {
		loc := acp.ToolCallLocation{Path: l.Path}
		if l.Line > 0 {
			loc.Line = acp.Some(uint32(l.Line))
		}
		out = append(out, loc)
	}
	return out
}

func (r *renderer) done(d session.CallDone) []acp.SessionUpdate {
	c := r.call(d.Call)
	delete(r.calls, d.Call)
	update := acp.ToolCallUpdate{
		ToolCallID: acp.ToolCallID(d.Call), Status: acp.ToolCallFailed, Content: r.result(c, d),
	}
	if r.drawn(c) {
		update.Meta = terminalEnd(c, d)
	}
	if d.Status == session.CallCompleted {
		update.Status = acp.ToolCallCompleted
	}
	if c.announced {
		return []acp.SessionUpdate{update}
	}
	// It failed before it could be presented.
	title := c.tool
	if title == "" {
		title = "tool call"
	}
	return []acp.SessionUpdate{acp.ToolCall{
		ToolCallID: acp.ToolCallID(d.Call), Title: title, Kind: acp.ToolKindOther, Status: acp.ToolCallPending,
		RawInput: jsontext.Value(c.args),
	}, update}
}

// result is what is left to see of an ended call: its diffs, its terminal or its text, its pictures, and what went wrong.
func (r *renderer) result(c *shownCall, d session.CallDone) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	if len(c.p.Diffs) > 0 || c.p.Plan != nil {
		out = presentation(tool.Presentation{Diffs: c.p.Diffs, Plan: c.p.Plan})
	}
	terminal := c.terminal
	if r.drawn(c) && d.Result.Ended != nil {
		terminal = d.Call
	}
	if terminal != "" {
		out = append(out, acp.ToolCallTerminal{TerminalID: acp.TerminalID(terminal)})
	}
	text := d.Result.Display
	if end := d.Result.Ended; text == "" && terminal != "" && end != nil && end.Output > 0 && end.Output <= len(d.Result.Text) {
		text = strings.TrimSpace(d.Result.Text[:end.Output]) // the terminal has the rest
	}
	if text == "" && d.Result.Text != "" {
		text = fenced("", d.Result.Text)
		if d.Result.Failed && c.p.Command == nil {
			text = d.Result.Text
		}
	}
	settled := d.Status == session.CallCompleted && (len(c.p.Diffs) > 0 || terminal != "")
	if text != "" && (!settled || d.Result.Display != "") && !d.Result.SetsPlan {
		out = append(out, acp.ToolText(text))
	}
	for _, image := range d.Result.Images {
		out = append(out, acp.ToolCallBlock{Content: acp.Image(image.MIMEType, image.Data)})
	}
	return out
}

// notice shows a sentence of wherry itself. A client that does not take notices gets it as a message of its own.
func (r *renderer) notice(d session.Notice, live bool) []acp.SessionUpdate {
	if r.client.notices {
		if !live {
			return nil // the protocol's notices are of the moment
		}
		return []acp.SessionUpdate{acp.Notice{Severity: acp.NoticeSeverity(d.Severity), Title: d.Text}}
	}
	return []acp.SessionUpdate{acp.AgentMessageChunk{
		Content: acp.Text(d.Text + "\n\n"), MessageID: acp.MessageID(d.Message), Meta: meta(map[string]string{"notice": d.Severity}),
	}}
}

// ended shows why a turn did not end as it should have.
func ended(d session.TurnEnded) []acp.SessionUpdate {
	text := d.Error
	if d.Reason == session.StopInterrupted {
		text = "The program ended during this turn. Nothing is run again by itself; say how to go on."
	}
	if text == "" {
		return nil
	}
	return []acp.SessionUpdate{acp.AgentMessageChunk{
		Content: acp.Text("\n\n" + text), MessageID: acp.MessageID(d.Turn + "_end"), Meta: meta(map[string]string{"notice": "error"}),
	}}
}

// fenced quotes text as a code block whose fence the text cannot close.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + language + "\n" + text + fence
}
