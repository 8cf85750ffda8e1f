//go:build unix

package editors

import (
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestEveryAnnouncedCommandAnswersVisibly(t *testing.T) {
	d := sit(t, zed(), nil)
	s := d.open()
	d.wire.await(t.Context(), func(f frame) bool { return f.text("sessionUpdate") == "available_commands_update" })
	d.say(s, "[[text: hello]]")
	announced := s.State().Commands()
	args := map[string]string{"rename": "A title", "init": "[[text: written]]", "compact": "[[text: a summary]]"}
	hints := 0
	for _, c := range announced {
		if c.Description == "" || strings.HasPrefix(c.Name, "/") {
			t.Errorf("%q is announced with the description %q", c.Name, c.Description)
		}
		if hint, ok := c.Input.(acp.UnstructuredCommandInput); ok && hint.Hint != "" {
			hints++
		}
		stop, updates := d.say(s, strings.TrimSpace("/"+c.Name+" "+args[c.Name]))
		if stop != acp.StopEndTurn || spoken(updates) == "" {
			t.Errorf("/%s ended with %s and said %q", c.Name, stop, spoken(updates))
		}
	}
	for _, name := range []string{"compact", "clear", "rename", "model"} {
		found := false
		for _, c := range announced {
			found = found || c.Name == name
		}
		if !found {
			t.Errorf("/%s is not announced", name)
		}
	}
	if hints == 0 {
		t.Error("no command has a hint")
	}
	d.say(s, "/unheard of [[text: taken as words]]")
	if last := d.model.Last(); !strings.Contains(string(last.Body), "/unheard of") {
		t.Error("what is no command did not go to the model")
	}
}

func TestACompactionIsToldAndCanBeStopped(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, "[[text: much was said]]")
		if stop, updates := d.say(s, "/compact [[text: in short]]"); stop != acp.StopEndTurn || spoken(updates) == "" {
			t.Errorf("the compaction ended with %s and said %q", stop, spoken(updates))
		}
		d.say(s, "[[anew]] [[text: more was said]]")
		asked := len(d.model.Requests())
		turn := s.Prompt(t.Context(), acp.Text("/compact [[anew]] [[stall]]"))
		if _, err := d.model.Await(t.Context(), asked+1); err != nil {
			t.Fatal(err)
		}
		turn.Cancel()
		if result, err := turn.Result(); err != nil || result.StopReason != acp.StopCancelled {
			t.Errorf("the stopped compaction ended with %q, %v", result.StopReason, err)
		}
		if _, updates := d.say(s, "[[anew]] [[text: still here]]"); spoken(updates) != "still here" {
			t.Errorf("the next turn said %q", spoken(updates))
		}
	})
}
