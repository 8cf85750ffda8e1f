package offline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
)

// chat drives the model as a turn loop does.
type chat struct {
	tb       testing.TB
	folder   *folder
	tools    []model.ToolSpec
	messages []model.Message
}

func newChat(tb testing.TB, f *folder, tools ...string) *chat {
	return &chat{tb: tb, folder: f, tools: f.specs(tools...)}
}

// turnLog is what one prompt came to.
type turnLog struct {
	answer   string // all the text
	thoughts string
	calls    []model.ToolCall
	rounds   int
	log      string // readable: calls and text in order
}

func (l turnLog) callNames() string {
	var names []string
	for _, c := range l.calls {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// say sends a prompt and works through its turn.
func (c *chat) say(prompt string, more ...string) turnLog {
	c.tb.Helper()
	parts := []model.Part{model.Text{Text: prompt}}
	for _, m := range more {
		parts = append(parts, model.Text{Text: m})
	}
	c.messages = append(c.messages, model.Message{Role: model.RoleUser, Parts: parts})
	var l turnLog
	var log strings.Builder
	for {
		l.rounds++
		if l.rounds > 60 {
			c.tb.Fatalf("the turn does not end:\n%s", log.String())
		}
		r := c.stream()
		l.answer += r.text
		l.thoughts += r.thought
		l.calls = append(l.calls, r.calls...)
		if r.thought != "" {
			fmt.Fprintf(&log, "(%s)\n", strings.TrimSpace(r.thought))
		}
		log.WriteString(r.text)
		message := model.Message{Role: model.RoleAssistant}
		if r.text != "" {
			message.Parts = append(message.Parts, model.Text{Text: r.text})
		}
		results := model.Message{Role: model.RoleTool}
		for _, call := range r.calls {
			fmt.Fprintf(&log, "> %s %s\n", call.Name, call.Args)
			message.Parts = append(message.Parts, call)
			results.Parts = append(results.Parts, c.folder.call(call))
		}
		c.messages = append(c.messages, message)
		if r.stop == model.StopEnd {
			l.log = log.String()
			return l
		}
		c.messages = append(c.messages, results)
	}
}

type round struct {
	text, thought string
	calls         []model.ToolCall
	stop          model.StopReason
	usage         model.Usage
}

// stream asks the model once and checks what holds for every answer.
func (c *chat) stream() round {
	c.tb.Helper()
	var r round
	thinking, stopped := false, false
	for event, err := range New().Stream(c.tb.Context(), model.Request{Messages: c.messages, Tools: c.tools}) {
		if err != nil {
			c.tb.Fatal(err)
		}
		if stopped {
			c.tb.Fatalf("%T after the stop", event)
		}
		switch e := event.(type) {
		case model.TextDelta:
			if thinking {
				c.tb.Fatal("text before the thought is done")
			}
			r.text += e.Text
		case model.ThoughtDelta:
			thinking = true
			r.thought += e.Text
		case model.ThoughtDone:
			thinking = false
		case model.CallDone:
			if !json.Valid(e.Call.Args) {
				c.tb.Fatalf("arguments are no JSON: %s", e.Call.Args)
			}
			r.calls = append(r.calls, e.Call)
		case model.Usage:
			r.usage = e
		case model.Stop:
			r.stop, stopped = e.Reason, true
		}
	}
	if !stopped || (r.stop == model.StopCalls) != (len(r.calls) > 0) {
		c.tb.Fatalf("stop %q after %d calls", r.stop, len(r.calls))
	}
	if r.usage.Input == 0 {
		c.tb.Fatal("no usage")
	}
	return r
}
