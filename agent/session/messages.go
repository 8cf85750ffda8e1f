package session

import (
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Messages is the conversation as a model is shown it, made from a session's events in order (any prefix of a log
// will do). It is always one that a provider takes:
//
//   - roles alternate as providers want: what comes from the same side without a break is one message, and a prompt that
//     was never answered is followed by a sentence that says so;
//   - every call is answered exactly once, in the message after it; a call without a [CallDone] is answered by a
//     sentence that says so, and whether it may have had an effect;
//   - ids of calls are the session's own, unique in the whole conversation;
//   - a message that was cut short is kept as text; a thought that was cut short is left out, because providers refuse
//     thoughts without their signature;
//   - an assistant message has text or calls; one of thoughts alone is left out.
//
// While no call is open, a log only adds to the messages of the log before it, so that providers' prompt caches hold; but a
// turn that goes on with an unanswered prompt takes back what was said last.
func Messages(events []Event) []model.Message {
	c := newConversation()
	for _, e := range fromCompaction(&c, events) {
		c.apply(e.Data)
	}
	return c.messages()
}

// fromCompaction begins the conversation with the newest summary, if there is one, and gives the events that the model
// gets after it.
func fromCompaction(c *conversation, events []Event) []Event {
	for i := len(events) - 1; i >= 0; i-- {
		switch d := events[i].Data.(type) {
		case Cleared:
			return events[i:]
		case CompactionEnded:
			if d.Status != CompactionCompleted {
				continue
			}
			c.steps = append(c.steps, &step{user: []model.Part{model.Text{Text: summaryHead + d.Summary}}}, c.accepted())
			kept := make([]Event, 0, len(events)-i)
			for _, e := range events[:i] {
				if e.Seq > d.Kept && d.Kept > 0 {
					kept = append(kept, e)
				}
			}
			if open := openPrompt(events[:i]); len(kept) == 0 && open != nil {
				kept = append(kept, *open) // the turn goes on, and its prompt is not in the summary alone
			}
			return append(kept, events[i+1:]...)
		}
	}
	return events
}

// summaryHead stands before a summary, where the conversation was.
const summaryHead = "The conversation before this was long and is summarised here:\n\n"

// accepted is the model's side of a summary, so that the next prompt is not taken for a part of it.
func (c *conversation) accepted() *step {
	p := &piece{speaker: Assistant}
	p.text.WriteString("I go on from this summary.")
	return &step{assistant: []slot{{piece: p}}}
}

// openPrompt finds the beginning of the turn that has not ended.
func openPrompt(events []Event) *Event {
	again := false
	for i := len(events) - 1; i >= 0; i-- {
		switch d := events[i].Data.(type) {
		case TurnEnded:
			if !again {
				return nil
			}
		case TurnStarted:
			again = again || d.Again
			if !again || d.Command == "" || d.Sent != nil {
				return &events[i]
			}
		}
	}
	return nil
}

// conversation collects steps: a user's prompt, or what the model said in one go and the results of its calls.
type conversation struct {
	steps  []*step
	pieces map[string]*piece       // by message id
	calls  map[string]*pendingCall // by call id
}

type step struct {
	user      []model.Part
	steered   bool // said while the model worked
	assistant []slot
}

// slot is one part of an assistant's message; exactly one member is set.
type slot struct {
	piece *piece
	call  *pendingCall
}

type piece struct {
	speaker Speaker
	text    strings.Builder
	done    *MessageDone
}

type pendingCall struct {
	request CallRequested
	started bool
	done    *CallDone
}

func newConversation() conversation {
	return conversation{pieces: make(map[string]*piece), calls: make(map[string]*pendingCall)}
}

func (c *conversation) apply(data Data) {
	switch d := data.(type) {
	case Cleared:
		*c = newConversation()
	case TurnStarted:
		switch {
		case d.Again:
			c.takeBack()
		case d.Sent != nil:
			c.steps = append(c.steps, &step{user: promptParts(d.Sent)})
		case d.Command == "":
			c.steps = append(c.steps, &step{user: promptParts(d.Prompt)})
		}
	case Steered:
		c.steps = append(c.steps, &step{user: promptParts(d.Prompt), steered: true})
	case Attached:
		c.attach(promptParts(d.Blocks))
	case MessageSaved:
		c.piece(d.Message, d.Speaker).text.WriteString(d.Text)
	case MessageDone:
		c.piece(d.Message, d.Speaker).done = &d
	case CallRequested:
		if c.calls[d.Call] != nil {
			return
		}
		call := &pendingCall{request: d}
		c.calls[d.Call] = call
		s := c.assistantStep()
		s.assistant = append(s.assistant, slot{call: call})
	case CallStarted:
		if call := c.calls[d.Call]; call != nil {
			call.started = true
		}
	case CallDone:
		if call := c.calls[d.Call]; call != nil && call.done == nil {
			call.done = &d
		}
	}
}

// takeBack leaves out what was last said without calling anything: the model says it anew.
func (c *conversation) takeBack() {
	n := len(c.steps)
	if n == 0 || c.steps[n-1].user != nil {
		return
	}
	for _, slot := range c.steps[n-1].assistant {
		if slot.call != nil {
			return
		}
	}
	c.steps = c.steps[:n-1]
}

// attach adds to the prompt that was taken last.
func (c *conversation) attach(parts []model.Part) {
	if n := len(c.steps); n > 0 && c.steps[n-1].user != nil {
		last := c.steps[n-1]
		last.user = append(slices.Clip(last.user), parts...)
		return
	}
	c.steps = append(c.steps, &step{user: parts, steered: true})
}

// piece finds the message with this id, or begins it in the current step.
func (c *conversation) piece(id string, speaker Speaker) *piece {
	if p := c.pieces[id]; p != nil {
		return p
	}
	p := &piece{speaker: speaker}
	c.pieces[id] = p
	s := c.assistantStep()
	s.assistant = append(s.assistant, slot{piece: p})
	return p
}

// assistantStep is the step that the model speaks in: the last one, unless that is a prompt or its calls are all
// answered, because what comes then was said with the results in view.
func (c *conversation) assistantStep() *step {
	if n := len(c.steps); n > 0 {
		if last := c.steps[n-1]; last.user == nil && !last.answered() {
			return last
		}
	}
	s := &step{}
	c.steps = append(c.steps, s)
	return s
}

// answered tells whether the step has calls and none of them is open.
func (s *step) answered() bool {
	calls := false
	for _, slot := range s.assistant {
		if slot.call != nil {
			calls = true
			if slot.call.done == nil {
				return false
			}
		}
	}
	return calls
}

// unanswered stands where a turn ended before the model said anything, so that its prompt is not taken for a part of the
// next one.
const unanswered = "(This prompt was not answered: the turn ended before.)"

func (c *conversation) messages() []model.Message {
	var out []model.Message
	add := func(role model.Role, parts []model.Part) {
		if len(parts) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role && role != model.RoleTool {
			out[n-1].Parts = append(out[n-1].Parts, parts...)
			return
		}
		out = append(out, model.Message{Role: role, Parts: parts})
	}
	for _, s := range c.steps {
		if n := len(out); n > 0 && out[n-1].Role == model.RoleUser && len(s.user) > 0 && !s.steered {
			add(model.RoleAssistant, []model.Part{model.Text{Text: unanswered}})
		}
		add(model.RoleUser, s.user)
		said, results := s.parts()
		add(model.RoleAssistant, said)
		add(model.RoleTool, results)
	}
	return out
}

// parts gives the assistant's parts of the step and the results of its calls, in the same order.
func (s *step) parts() (said, results []model.Part) {
	substance := false
	for _, slot := range s.assistant {
		var part model.Part
		switch {
		case slot.call != nil:
			part = slot.call.part()
			results = append(results, slot.call.result())
		case slot.piece.speaker == Thinking:
			part = slot.piece.thought()
		default:
			part = slot.piece.message()
		}
		if part == nil {
			continue
		}
		if _, thought := part.(model.Thought); !thought {
			substance = true
		}
		said = append(said, part)
	}
	if !substance {
		return nil, nil
	}
	return said, results
}

func (p *piece) message() model.Part {
	if strings.TrimSpace(p.text.String()) == "" {
		return nil
	}
	return model.Text{Text: p.text.String()}
}

func (p *piece) thought() model.Part {
	if p.done == nil || p.text.Len() == 0 && len(p.done.Opaque) == 0 {
		return nil
	}
	return model.Thought{Text: p.text.String(), Provider: p.done.Provider, Opaque: p.done.Opaque}
}

func (c *pendingCall) part() model.Part {
	r := c.request
	return model.ToolCall{ID: r.Call, Name: r.Tool, Args: r.Args, Provider: r.Provider, Opaque: r.Opaque}
}

func (c *pendingCall) result() model.Part {
	if c.done == nil {
		return c.answer(interruptedText(c.started), nil, true)
	}
	text := c.done.Result.Text
	if text == "" && len(c.done.Result.Images) == 0 {
		text = c.silent()
	}
	return c.answer(text, c.done.Result.Images, c.done.Result.Failed || c.done.Status != CallCompleted)
}

func (c *pendingCall) answer(text string, images []tool.Image, failed bool) model.Part {
	var parts []model.Part
	if text != "" {
		parts = append(parts, model.Text{Text: text})
	}
	for _, i := range images {
		parts = append(parts, model.Image{MIMEType: i.MIMEType, Data: i.Data})
	}
	return model.ToolResult{CallID: c.request.Call, Name: c.request.Tool, Parts: parts, Failed: failed}
}

// silent is what stands for a result without text.
func (c *pendingCall) silent() string {
	switch c.done.Status {
	case CallCompleted:
		return "Done, without output."
	case CallRefused:
		return "This call was refused and not run."
	case CallCancelled:
		if c.started {
			return "This call was stopped: the turn was cancelled. Whether it took effect is not known."
		}
		return "This call was not run: the turn was cancelled."
	case CallInterrupted:
		return interruptedText(c.started)
	}
	return "This call failed without saying why."
}
