package bridge

import (
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/model"
)

// compactionOf is how a client was told of a compaction: its states in order, and what is left to see of it.
func compactionOf(t *testing.T, updates []acp.SessionUpdate) (states []string, text string, usage int) {
	t.Helper()
	say := func(status string, m acp.Meta) {
		if own, ok := m.Get(metaKey); ok && status != "completed" && status != "in_progress" {
			status += " " + string(own)
		}
		states = append(states, status)
	}
	var id acp.ToolCallID
	for _, u := range updates {
		switch u := u.(type) {
		case acp.ToolCall:
			id = u.ToolCallID
			say(string(u.Status), u.Meta)
		case acp.ToolCallUpdate:
			if u.ToolCallID != id {
				t.Errorf("an update of %s, which was never announced", u.ToolCallID)
			}
			say(string(u.Status), u.Meta)
			text = plainText(u.Content)
		case acp.CompactionUpdate:
			say(string(u.Status), u.Meta.Apply(nil))
			for _, b := range u.Summary.Apply(nil) {
				text += acp.PlainText(b)
			}
			text += u.Error.Apply("")
		case acp.UsageUpdate:
			if n := len(states); n > 0 && states[n-1] != "in_progress" {
				usage++
			}
		}
	}
	return states, text, usage
}

func plainText(content []acp.ToolCallContent) string { return text(acp.ToolCall{Content: content}) }

func TestACompactionIsSeenFromItsBeginningToItsEnd(t *testing.T) {
	takes := func(c *acp.ClientCapabilities) {
		c.Session = &acp.ClientSessionCapabilities{Compaction: &acp.CompactionCapabilities{}}
	}
	for name, caps := range map[string]func(*acp.ClientCapabilities){"as a tool call": nil, "as a compaction": takes} {
		for _, tt := range []struct {
			name, before, prompt string
			end                  string // as a tool call
			asCompaction         string
			text                 string
			usage                int
		}{
			{"completed", "[[text: one]]", "/compact [[text: IN SHORT]]", "completed", "completed", "IN SHORT", 1},
			{"failed", "[[text: one]]", "/compact [[status 400 always]]", `failed {"compaction":"failed"}`, `failed {"compaction":"failed"}`, "could not be shortened", 0},
			{"nothing to do", "", "/compact", `failed {"compaction":"nothing"}`, `failed {"compaction":"nothing"}`, "nothing to shorten yet", 0},
			{"stopped", "[[text: one]]", "/compact [[stall]]", `failed {"compaction":"cancelled"}`, "cancelled", "", 0},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				server := double(t)
				r := connectAgent(t, hosted(t, server, model.Info{ContextWindow: 100_000}, once), t.TempDir(), acp.ClientOptions{Capabilities: caps})
				s := r.open(t)
				if tt.before != "" {
					prompt(t, s, tt.before)
				}
				turn := s.Prompt(t.Context(), acp.Text(tt.prompt))
				if tt.name == "stopped" {
					if _, err := server.Await(t.Context(), 2); err != nil {
						t.Fatal(err)
					}
					turn.Cancel()
				}
				states, text, usage := compactionOf(t, slices.Collect(turn.Updates()))
				want := tt.end
				if caps != nil {
					want = tt.asCompaction
				}
				if !slices.Equal(states, []string{"in_progress", want}) || !strings.Contains(text, tt.text) || usage != tt.usage {
					t.Errorf("%q, %q, and %d usage updates", states, text, usage)
				}
				load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
				if again, _, _ := compactionOf(t, slices.Collect(load.Updates())); !slices.Equal(again, states) {
					t.Errorf("loaded: %q", again)
				}
				if _, err := load.Result(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
