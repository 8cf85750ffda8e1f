package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/session"
)

// exchange is a turn: a prompt and the answer to it, in two pieces.
func exchange(prompt, answer string) []session.Data {
	half := len(answer) / 2
	return []session.Data{
		session.TurnStarted{Turn: "t", Message: "u", Prompt: []session.Block{{Type: session.BlockText, Text: prompt}}},
		session.MessageSaved{Message: "h", Speaker: session.Thinking, Text: "a thought about quokkas"},
		session.MessageSaved{Message: "m", Speaker: session.Assistant, Text: answer[:half]},
		session.CallRequested{Call: "call_1", Tool: "run", Args: []byte(`{"command":"wombat"}`)},
		session.MessageSaved{Message: "m", Speaker: session.Assistant, Text: answer[half:]},
		session.TurnEnded{Turn: "t"},
	}
}

func found(t *testing.T, s session.Store, text string) []session.Info {
	t.Helper()
	return listed(t, s, session.Filter{Text: text}).Sessions
}

func searching(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	a := hold(t, s, "sess_a")
	add(t, a, append(exchange("Where is the RETRY_LIMIT set?", "In config/limits.go, line 12:\n\nconst RetryLimit = 7"), session.Titled{Title: "Zwölf Überläufe", By: "model"})...)
	b := hold(t, s, "sess_b")
	add(t, b, exchange("Rename the parser", "Done: the retry of the parser is called again now.")...)
	add(t, b, exchange("and the lexer", "Done as well.")...)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"retry", []string{"sess_b", "sess_a"}},
		{"retry limit", []string{"sess_a"}},
		{"RETRYLIM", []string{"sess_a"}},
		{"retry_limit", []string{"sess_a"}},
		{"limits.go, line", []string{"sess_a"}}, // across the pieces
		{"überläufe", []string{"sess_a"}},
		{"uberlaufe", []string{"sess_a"}},
		{"LEXER", []string{"sess_b"}},
		{"parser lexer", nil}, // in two prompts
		{"etry", nil},
		{"quokkas", nil},
		{"wombat", nil},
		{`" OR parser*`, nil},
		{`parser" "the`, []string{"sess_b"}},
		{"NOT parser", nil},
	} {
		if got := ids(found(t, s, c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%q finds %v, want %v", c.text, got, c.want)
		}
	}
	if got := found(t, s, "retrylimit")[0].Match; !strings.Contains(got, "const RetryLimit = 7") || strings.Contains(got, "\n") {
		t.Errorf("the place is %q", got)
	}
	same(t, "the place of a title", found(t, s, "zwölf")[0].Match, "")
	same(t, "the place without a search", listed(t, s, session.Filter{}).Sessions[0].Match, "")
	_, err := s.List(t.Context(), session.Filter{Text: "?!"})
	wantError(t, "a search for nothing", err, session.ErrNoWords)
	same(t, "in another folder", listed(t, s, session.Filter{Text: "retry", Folder: "/elsewhere"}), session.Page{})

	if err := s.Fork(t.Context(), "sess_a", "sess_c"); err != nil {
		t.Fatal(err)
	}
	same(t, "with a fork", ids(found(t, s, "retry limit")), []string{"sess_c", "sess_a"})
}

func searchPages(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	var want []string
	leases := make(map[string]session.Lease)
	for n := range 12 {
		id := fmt.Sprintf("sess_%02d", n)
		leases[id] = hold(t, s, id)
		text := "needle"
		if n%3 == 0 {
			text = "hay"
		} else {
			want = append([]string{id}, want...)
		}
		add(t, leases[id], exchange(text, "answer")...)
	}
	var got []string
	filter := session.Filter{Text: "needle", Limit: 3}
	for turn := 0; ; turn++ {
		page := listed(t, s, filter)
		got = append(got, ids(page.Sessions)...)
		if page.Next == "" {
			break
		}
		_, err := s.List(t.Context(), session.Filter{Text: "other", Cursor: page.Next})
		wantError(t, "the cursor of another search", err, session.ErrBadCursor)
		filter.Cursor = page.Next
		add(t, leases[want[(turn*5)%len(want)]], exchange("needle again", "yes")...)
	}
	same(t, "found", got, want)
}

func searchForgets(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	add(t, l, session.Titled{Title: "Koala", By: "prompt"})
	add(t, l, exchange("prompt with an emu", "answer with a dingo")...)
	add(t, l, session.Titled{Title: "Numbat", By: "person"})
	add(t, l, session.Titled{Title: "Possum", By: "model"}) // is not taken
	for text, want := range map[string]int{"koala": 0, "numbat": 1, "possum": 0, "emu": 1, "dingo": 1} {
		same(t, "found "+text, len(found(t, s, text)), want)
	}
	release(t, l)
	if err := s.Delete(t.Context(), "sess_a"); err != nil {
		t.Fatal(err)
	}
	create(t, s, "sess_b")
	for _, text := range []string{"numbat", "emu", "dingo"} {
		same(t, "found "+text, len(found(t, s, text)), 0)
	}
}
