package acp_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/acp"
)

// A naive is a transcript that is made in the plainest way: lines of text, found by
// looking at all of them.
type naive struct {
	lines []*naiveLine
	turn  int // the first line of the turn
	mode  acp.SessionModeID
	title string
	live  bool
	turns int
}

type naiveLine struct {
	kind, id, text string
	status, title  string
	sent, late     bool
	cancelled      bool
	announced      bool
	before         int // the turn in which a message without id may go on
}

func (n *naive) late() bool { return n.turns > 0 && !n.live }

func (n *naive) find(kind, id string) *naiveLine {
	for _, l := range n.lines {
		if l.kind == kind && l.id == id {
			return l
		}
	}
	return nil
}

func (n *naive) add(l naiveLine) *naiveLine {
	l.late, l.before = n.late(), n.turns
	n.lines = append(n.lines, &l)
	return &l
}

func (n *naive) chunk(kind, id, text string) {
	var at *naiveLine
	if id != "" {
		at = n.find(kind, id)
	} else {
		for _, l := range slices.Backward(n.lines) {
			if l.kind == "notice" {
				continue
			}
			if l.kind == kind && l.id == "" && !l.sent && l.before == n.turns {
				at = l
			}
			break
		}
	}
	if at == nil {
		n.add(naiveLine{kind: kind, id: id, text: text})
		return
	}
	at.text += text
	at.late = at.late || n.late()
}

func (n *naive) call(id, title, status string, announced bool) {
	at := n.find("call", id)
	if at == nil {
		at = n.add(naiveLine{kind: "call", id: id, status: "pending"})
	}
	if title != "" {
		at.title = title
	}
	if status != "" {
		at.status = status
	}
	if status == "completed" {
		at.cancelled = false
	}
	at.announced = at.announced || announced
	at.late = at.late || n.late()
}

func (n *naive) cancel() {
	for _, l := range n.lines[n.turn:] {
		if l.kind == "call" && l.status != "completed" && l.status != "failed" {
			l.cancelled = true
		}
	}
}

func (n *naive) String() string {
	var out strings.Builder
	for i, l := range n.lines {
		fmt.Fprintf(&out, "%d ", i)
		switch l.kind {
		case "call":
			fmt.Fprintf(&out, "call %s %q other %s", l.id, l.title, l.status)
			if !l.announced {
				out.WriteString(" unannounced")
			}
			if l.cancelled {
				out.WriteString(" cancelled")
			}
		case "notice":
			fmt.Fprintf(&out, "notice %s", l.text)
		default:
			fmt.Fprintf(&out, "%s %q", l.kind, l.text)
			if l.id != "" {
				fmt.Fprintf(&out, " id=%s", l.id)
			}
			if l.sent {
				out.WriteString(" sent")
			}
		}
		if l.late {
			out.WriteString(" late")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestAnyUpdatesAddUpToWhatAPlainModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b acp.StateBuilder
		model := &naive{}
		turn := 0
		var kept []*acp.SessionState
		var keptAs []string

		// An observer that redraws what it is told to has the whole picture.
		next, stop := iter.Pull2(b.Changes(t.Context()))
		defer stop()
		var drawn []string
		look := func() {
			b.Apply(acp.UsageUpdate{}) // there is something to see
			c, s, _ := next()
			if c.All {
				drawn = nil
			}
			lines := strings.SplitAfter(transcriptOf(s), "\n")
			for _, i := range c.Entries {
				if i == len(drawn) {
					drawn = append(drawn, "")
				}
				drawn[i] = lines[i]
			}
		}

		ids := rapid.SampledFrom([]string{"", "", "1", "2", "3"})
		callIDs := rapid.SampledFrom([]string{"1", "2", "3", "4", "5"})
		texts := rapid.StringMatching(`[a-c]{1,3}`)
		titles := rapid.SampledFrom([]string{"", "A", "B"})
		statuses := rapid.SampledFrom([]acp.ToolCallStatus{"", acp.ToolCallPending, acp.ToolCallInProgress, acp.ToolCallCompleted, acp.ToolCallFailed})
		t.Repeat(map[string]func(*rapid.T){
			"user": func(t *rapid.T) {
				id, text := ids.Draw(t, "id"), texts.Draw(t, "text")
				b.Apply(acp.UserMessageChunk{Content: acp.Text(text), MessageID: acp.MessageID(id)})
				model.chunk("user", id, text)
			},
			"agent": func(t *rapid.T) {
				id, text := ids.Draw(t, "id"), texts.Draw(t, "text")
				b.Apply(saidAs(acp.MessageID(id), text))
				model.chunk("agent", id, text)
			},
			"thought": func(t *rapid.T) {
				id, text := ids.Draw(t, "id"), texts.Draw(t, "text")
				b.Apply(acp.AgentThoughtChunk{Content: acp.Text(text), MessageID: acp.MessageID(id)})
				model.chunk("thought", id, text)
			},
			"call": func(t *rapid.T) {
				id, title, status := callIDs.Draw(t, "id"), titles.Draw(t, "title"), statuses.Draw(t, "status")
				b.Apply(acp.ToolCall{ToolCallID: acp.ToolCallID(id), Title: title, Status: status})
				model.call(id, title, string(status), true)
			},
			"callUpdate": func(t *rapid.T) {
				id, title, status := callIDs.Draw(t, "id"), titles.Draw(t, "title"), statuses.Draw(t, "status")
				b.Apply(acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(id), Title: title, Status: status})
				model.call(id, title, string(status), false)
			},
			"notice": func(t *rapid.T) {
				text := texts.Draw(t, "text")
				b.Apply(acp.Notice{Title: text})
				model.add(naiveLine{kind: "notice", text: text})
			},
			"others": func(t *rapid.T) {
				model.mode, model.title = acp.SessionModeID(texts.Draw(t, "mode")), texts.Draw(t, "title")
				b.Apply(acp.CurrentModeUpdate{CurrentModeID: model.mode})
				b.Apply(acp.SessionInfoUpdate{Title: acp.PatchSet(model.title)})
				b.Apply(acp.SessionInfoUpdate{UpdatedAt: acp.PatchSet("x")})
			},
			"begin": func(t *rapid.T) {
				turn = b.BeginTurn(acp.Text("PROMPT"))
				model.turns++
				model.live = true
				model.turn = len(model.lines)
				model.add(naiveLine{kind: "user", text: "PROMPT", sent: true})
			},
			"end": func(t *rapid.T) {
				reason := rapid.SampledFrom([]acp.StopReason{acp.StopEndTurn, acp.StopCancelled}).Draw(t, "reason")
				b.EndTurn(turn, acp.PromptResponse{StopReason: reason}, nil)
				if model.live && reason == acp.StopCancelled {
					model.cancel()
				}
				model.live = false
			},
			"cancel": func(*rapid.T) { b.Cancel(); model.cancel() },
			"reset":  func(*rapid.T) { b.Reset(); *model = naive{} },
			"keep": func(*rapid.T) {
				kept = append(kept, b.State())
				keptAs = append(keptAs, transcriptOf(b.State()))
			},
			"look": func(*rapid.T) { look() },
			"": func(t *rapid.T) {
				s := b.State()
				if got, want := transcriptOf(s), model.String(); got != want {
					t.Fatalf("got\n%swant\n%s", got, want)
				}
				if m := s.Modes(); m != nil && m.CurrentModeID != model.mode || s.Title() != model.title || s.Turn().Running != model.live {
					t.Fatalf("mode %+v, title %q, turn %+v, want %+v", s.Modes(), s.Title(), s.Turn(), model)
				}
			},
		})
		look()
		if got, want := strings.Join(drawn, ""), transcriptOf(b.State()); got != want {
			t.Fatalf("redrawn\n%swant\n%s", got, want)
		}
		for i, s := range kept {
			if got := transcriptOf(s); got != keptAs[i] {
				t.Fatalf("snapshot %d has become\n%sfrom\n%s", i, got, keptAs[i])
			}
		}
	})
}
