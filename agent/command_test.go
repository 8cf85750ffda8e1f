package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// answered gives what commands said, in order.
func answered(f *fakeFace) (out []string) {
	for _, a := range shown[session.CommandAnswered](f) {
		out = append(out, a.Text)
	}
	return out
}

func tell(t *testing.T, s *Session, text string) TurnResult {
	t.Helper()
	r, err := s.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: text}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestCommandsAreAnsweredWithoutAModel(t *testing.T) {
	face := &fakeFace{}
	a := choosing(t, memory(t), Options{})
	s := create(t, a, face, t.TempDir())
	for _, test := range []struct{ text, says string }{
		{"/help", "- `/rename TITLE`: Give this session a title"},
		{"  /status ", "- model: a/plain"},
		{"/model", "- `c/far`: Not available: set C_API_KEY"},
		{"/model c/far", "The model c/far is not available: set C_API_KEY."},
		{"/model a/thinks", "Model: **a/thinks**"},
		{"/effort", "- `high`"},
		{"/effort high", "Reasoning: **high**"},
		{"/mode auto", "Mode: **auto**"},
		{"/mode wild", `Mode cannot be "wild"; it can be`},
		{"/plan", "There is no plan."},
		{"/cost", "Nothing has been used yet."},
		{"/sessions", "this one"},
		{"/rename", "Say the title after the command"},
		{"/rename  The *great* \n session", "This session is called **The great** now."},
		{"/clear", "The model begins anew from here"},
	} {
		before := len(answered(face))
		if r := tell(t, s, test.text); r.Reason != session.StopEndTurn || r.Err != nil {
			t.Errorf("%s: %+v", test.text, r)
		}
		got := answered(face)
		if len(got) != before+1 || !strings.Contains(got[before], test.says) {
			t.Errorf("%s: %q, want %q in it", test.text, got[before:], test.says)
		}
	}
	st := s.State()
	if st.Title != "The great" || st.Model != "a/thinks" || st.Mode != "auto" || st.Turns != 0 {
		t.Errorf("%+v", st)
	}
	if m := session.Messages(s.snapshot()); len(m) != 0 {
		t.Errorf("the model would get %+v", m)
	}
	for _, c := range s.Commands() {
		if !strings.Contains(answered(face)[0], "`/"+c.Name) {
			t.Errorf("/help does not name %s", c.Name)
		}
	}
}

func TestWhatOnlyLooksLikeACommandIsAPrompt(t *testing.T) {
	for _, text := range []string{"/etc/passwd is what?", "/helpme", "/", "say /help", "/ help"} {
		if c, _, ok := commandOf([]session.Block{{Type: session.BlockText, Text: text}}, commands()); ok {
			t.Errorf("%q is taken for the command %s", text, c.Name)
		}
	}
	if _, _, ok := commandOf([]session.Block{{Type: session.BlockImage}, {Type: session.BlockText, Text: "/help"}}, commands()); ok {
		t.Error("a prompt that begins with an image is taken for a command")
	}
	if c, args, ok := commandOf([]session.Block{{Type: session.BlockText, Text: "/rename\n a b "}}, commands()); !ok || c.Name != "rename" || args != "a b" {
		t.Errorf("%v %q", ok, args)
	}
}

func TestACommandThatStandsForAPromptGoesToTheModel(t *testing.T) {
	r := newRig(t, nil, says("done"))
	m := r.model
	tell(t, r.session, "/init mind the tests")
	if len(m.asked) != 1 {
		t.Fatalf("%d requests", len(m.asked))
	}
	got := m.asked[0].Messages[0].Parts[0].(model.Text).Text
	if !strings.Contains(got, "AGENTS.md") || !strings.Contains(got, "Mind this: mind the tests") {
		t.Errorf("the model got %q", got)
	}
	if title := r.session.State().Title; !strings.HasPrefix(title, "/init") {
		t.Errorf("title %q", title)
	}
}

func TestAfterClearTheModelGetsNothingFromBefore(t *testing.T) {
	r := newRig(t, nil, says("one"), says("two"))
	m := r.model
	tell(t, r.session, "first question")
	tell(t, r.session, "/clear")
	tell(t, r.session, "second question")
	texts := func(req model.Request) (out []string) {
		for _, msg := range req.Messages {
			for _, p := range msg.Parts {
				out = append(out, p.(model.Text).Text)
			}
		}
		return out
	}
	if got := texts(m.asked[1]); !slices.Equal(got, []string{"second question"}) {
		t.Errorf("the model got %q", got)
	}
}
