package adapt_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

func TestCallIDsBecomeUniqueAndResultsFollowThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// A conversation of rounds with calls, whose ids repeat, and their results in the same order.
		ids := rapid.SampledFrom([]string{"", "call_0", "call_1", "call_0_2", "a b"})
		var msgs []model.Message
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var said, done []model.Part
			for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
				id := ids.Draw(t, "id")
				said = append(said, model.ToolCall{ID: id, Name: fmt.Sprint(len(msgs), i)})
				done = append(done, model.ToolResult{CallID: id, Name: fmt.Sprint(len(msgs), i)})
			}
			msgs = append(msgs, model.Message{Role: model.RoleAssistant, Parts: said}, model.Message{Role: model.RoleTool, Parts: done})
		}
		before := fmt.Sprint(msgs)
		out := adapt.UniqueCalls(msgs, nil)
		if fmt.Sprint(msgs) != before {
			t.Fatal("the messages that were given have changed")
		}
		seen := map[string]bool{}
		for i, m := range out {
			for j, p := range m.Parts {
				c, ok := p.(model.ToolCall)
				if !ok {
					continue
				}
				if seen[c.ID] || c.ID == "" {
					t.Fatalf("id %q is not unique in %v", c.ID, out)
				}
				seen[c.ID] = true
				if r := out[i+1].Parts[j].(model.ToolResult); r.CallID != c.ID || r.Name != c.Name {
					t.Fatalf("result %+v does not answer call %+v", r, c)
				}
			}
		}
	})
}

func TestArgumentsAreAlwaysAnObject(t *testing.T) {
	for in, want := range map[string]string{"": "{}", " \n": "{}", `{"a": 1}`: `{"a":1}`, `[1]`: `{"invalid_arguments":"[1]"}`, `{"a":`: `{"invalid_arguments":"{\"a\":"}`,
		"null": `{"invalid_arguments":"null"}`, "{} {}": `{"invalid_arguments":"{} {}"}`} {
		if got := string(adapt.Arguments(json.RawMessage(in))); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestPiecesOfCallsAreJoinedHoweverTheyAreSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "calls")
		var calls adapt.Calls
		want := make([]string, n)
		for i := range n {
			want[i] = fmt.Sprintf(`{"call":%d,"text":%q}`, i, rapid.String().Draw(t, "text"))
			if !json.Valid([]byte(want[i])) {
				want[i] = "{}"
			}
		}
		sent := make([]int, n)
		for {
			var open []int
			for i := range n {
				if sent[i] < len(want[i]) {
					open = append(open, i)
				}
			}
			if len(open) == 0 {
				break
			}
			i := rapid.SampledFrom(open).Draw(t, "next")
			size := rapid.IntRange(1, len(want[i])-sent[i]).Draw(t, "size")
			id, name := "", ""
			if sent[i] == 0 {
				id, name = fmt.Sprint("id", i), fmt.Sprint("tool", i)
			}
			calls.Piece(i, id, name, want[i][sent[i]:sent[i]+size], nil)
			sent[i] += size
		}
		got := map[string]string{}
		for _, c := range calls.Done("p", true) {
			got[c.ID] = c.Name + string(c.Args)
		}
		for i := range n {
			if got[fmt.Sprint("id", i)] != fmt.Sprint("tool", i)+want[i] {
				t.Fatalf("call %d is %q, want %q", i, got[fmt.Sprint("id", i)], want[i])
			}
		}
	})
}

func TestCallsWithoutNumbersAreToldApart(t *testing.T) {
	var calls adapt.Calls
	calls.Piece(-1, "a", "run", `{"x":`, nil)
	calls.Piece(-1, "", "", `1}`, nil)
	calls.Piece(-1, "b", "run", `{}`, nil)
	calls.Piece(-1, "", "view", `{}`, nil)
	done := calls.Done("p", false)
	if len(done) != 3 || string(done[0].Args) != `{"x":1}` || done[1].ID != "b" || done[2].Name != "view" || done[2].ID != "call" {
		t.Errorf("got %+v", done)
	}
}
