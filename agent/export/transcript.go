package export

import (
	"iter"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// transcript is a session as a person follows it.
type transcript struct {
	id      string
	begun   time.Time
	state   session.State
	entries []entry
	prompts int // so far

	messages map[string]*message
	calls    map[string]*call
	plan     *plan // of the turn
}

// entry is one thing that is shown; the set is closed.
type entry interface{ write(p *page) }

type (
	prompt struct {
		number  int // 0 for one that was said while the turn ran
		at      time.Time
		blocks  []session.Block
		command bool
	}
	message struct {
		speaker session.Speaker
		text    strings.Builder
	}
	call struct {
		tool      string
		args      []byte
		presented *tool.Presentation
		answer    *session.PermissionAnswered
		done      *session.CallDone
	}
	plan    struct{ entries []tool.PlanEntry }
	notice  struct{ text string }
	answer  struct{ text string } // of a command
	summary struct{ text string }
	change  struct{ text string } // of a setting
	end     struct{ session.TurnEnded }
)

func newTranscript(events iter.Seq2[session.Event, error]) (*transcript, error) {
	t := &transcript{messages: map[string]*message{}, calls: map[string]*call{}}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if t.id == "" {
			t.id, t.begun = e.Session, e.Time
		}
		t.state.Apply(e)
		t.add(e)
	}
	if t.id == "" {
		return nil, errEmpty
	}
	return t, nil
}

func (t *transcript) show(e entry) { t.entries = append(t.entries, e) }

func (t *transcript) add(e session.Event) {
	switch d := e.Data.(type) {
	case session.TurnStarted:
		t.plan = nil
		t.prompts++
		t.show(&prompt{number: t.prompts, at: e.Time, blocks: d.Prompt, command: d.Command != "" && d.Sent == nil})
	case session.Steered:
		t.show(&prompt{at: e.Time, blocks: d.Prompt})
	case session.MessageSaved:
		m := t.messages[d.Message]
		if m == nil {
			m = &message{speaker: d.Speaker}
			t.messages[d.Message] = m
			t.show(m)
		}
		m.text.WriteString(d.Text)
	case session.CallRequested:
		c := &call{tool: d.Tool, args: d.Args}
		t.calls[d.Call] = c
		t.show(c)
	case session.CallPresented:
		if c := t.calls[d.Call]; c != nil {
			c.presented = &d.Presentation
		}
	case session.PermissionAnswered:
		if c := t.calls[d.Call]; c != nil {
			c.answer = &d
		}
	case session.CallDone:
		if c := t.calls[d.Call]; c != nil {
			c.done = &d
		}
	case session.PlanChanged:
		if t.plan == nil { // once a turn, as it was in the end
			t.plan = &plan{}
			t.show(t.plan)
		}
		t.plan.entries = d.Entries
	default:
		t.addSmall(e)
	}
}

func (t *transcript) addSmall(e session.Event) {
	switch d := e.Data.(type) {
	case session.Notice:
		t.show(&notice{d.Text})
	case session.QuestionAnswered:
		if d.Text != "" { // the questions stand in the conversation
			t.show(&answer{d.Text})
		}
	case session.CommandAnswered:
		t.show(&answer{d.Text})
	case session.CompactionEnded:
		switch d.Status {
		case session.CompactionCompleted:
			t.show(&summary{d.Summary})
		case session.CompactionFailed:
			t.show(&notice{d.Error})
		}
	case session.Configured:
		if d.Model != "" {
			t.show(&change{"The model is now `" + d.Model + "`."})
		}
		if d.Mode != "" {
			t.show(&change{"The mode is now `" + string(d.Mode) + "`."})
		}
	case session.Rooted:
		t.show(&change{"The folders are now `" + strings.Join(d.Roots, "`, `") + "`."})
	case session.Cleared:
		t.show(&change{"The model begins anew here."})
	case session.Forked:
		t.show(&change{"Up to here this is a copy of session `" + d.Parent + "`."})
	case session.TurnEnded:
		t.show(&end{d})
	}
}
