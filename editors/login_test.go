//go:build unix

package editors

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestALoginIsOfferedAsTheEditorCanShowIt(t *testing.T) {
	old := zed() // as Zed was before the protocol had a capability for it
	detail := old.detail
	old.detail = func(c *acp.ClientCapabilities) { detail(c); c.Auth.Terminal = false }
	for name, tt := range map[string]struct {
		p    profile
		want string
	}{"Zed": {zed(), "agent terminal"}, "an older Zed": {old, "agent legacy"}, "JetBrains": {jetbrains(), "agent"}, "bare": {bare(), "agent"}} {
		d := sit(t, tt.p, nil)
		var got []string
		for _, m := range d.AuthMethods() {
			switch m := m.(type) {
			case acp.AuthMethodTerminal:
				got = append(got, "terminal")
				if len(m.Args) == 0 {
					t.Errorf("%s: the login in a terminal is %+v", name, m)
				}
			case acp.AuthMethodAgent:
				if how, ok := m.Meta.Get("terminal-auth"); ok {
					got = append(got, "legacy")
					if !strings.Contains(string(how), wherry) {
						t.Errorf("%s: the login in a terminal is %s", name, how)
					}
					continue
				}
				got = append(got, "agent")
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s is offered %q, expected %q", name, got, tt.want)
		}
	}
}

func TestAfterALoginTheSessionGoesOnWithoutARestart(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		d.key = ""
		d.restart()
		s := d.open()
		_, err := s.Prompt(t.Context(), acp.Text("[[text: hello]]")).Result()
		var refused *acp.RequestError
		if !errors.As(err, &refused) || refused.Code != -32000 {
			t.Fatalf("without a key the prompt was answered with %v", err)
		}
		if err := d.Authenticate(t.Context(), d.AuthMethods()[0].(acp.AuthMethodAgent).ID); err == nil {
			t.Error("a login without a key succeeded")
		}
		setup := exec.Command(wherry, "setup", "--provider", "openai", "--model", "fake", "--key-stdin", "--no-test", "--yes")
		setup.Env, setup.Stdin = d.environment(), strings.NewReader(apiKey+"\n")
		if out, err := setup.CombinedOutput(); err != nil {
			t.Fatalf("wherry setup: %v: %s", err, out)
		}
		if err := d.Authenticate(t.Context(), d.AuthMethods()[0].(acp.AuthMethodAgent).ID); err != nil {
			t.Errorf("the login failed: %v", err)
		}
		if _, updates := d.say(s, "[[anew]] [[text: here again]]"); spoken(updates) != "here again" {
			t.Errorf("after the login it said %q", spoken(updates))
		}
	})
}
