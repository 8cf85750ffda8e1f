package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestALoginInTheMiddleOfASessionKeepsIt(t *testing.T) {
	const wrong, right = "sk-ant-wrong-0123456789-abcd", "sk-ant-right-0123456789-wxyz"
	server, err := modeltest.Listen(modeltest.Options{Key: right, Models: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := newWorld(t, "ANTHROPIC_BASE_URL="+server.URL, "WHERRY_MODEL=anthropic/x", "WHERRY_TITLES=prompt")
	store := func(key string) {
		t.Helper()
		cmd := w.command("setup", "--provider", "anthropic", "--model", "x", "--key-stdin", "--no-test")
		cmd.Stdin = strings.NewReader(key + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	agent := w.spawn(t, acp.ClientOptions{})
	s := w.open(t, agent) // no key is needed for that
	for _, stored := range []struct{ key, says string }{{"", "no API key of Anthropic is set"}, {wrong, "the API key was not accepted"}} {
		if stored.key != "" {
			store(stored.key)
		}
		_, err := s.Prompt(t.Context(), acp.Text("[[text: never]]")).Result()
		for _, failed := range []error{err, agent.Authenticate(t.Context(), "keys")} {
			var answer *acp.RequestError
			if !errors.As(failed, &answer) || answer.Code != acp.CodeAuthRequired || !strings.Contains(answer.Message, stored.says) || !strings.Contains(answer.Message, "wherry setup") {
				t.Errorf("with the key %q: %v", stored.key, failed)
			}
		}
	}
	store(right)
	if err := agent.Authenticate(t.Context(), "keys"); err != nil {
		t.Fatal(err)
	}
	resp, err := s.Prompt(t.Context(), acp.Text("/retry")).Result()
	if err != nil || resp.StopReason != acp.StopEndTurn {
		t.Fatalf("%+v, %v", resp, err)
	}
	if n := len(server.Last().Items); n < 3 {
		t.Errorf("after the login the model gets %d items, not the whole conversation", n)
	}
	w.open(t, agent)
	if err := agent.Authenticate(t.Context(), "another"); err == nil {
		t.Error("a way to log in that was not offered")
	}
}

func TestTheTerminalIsOfferedToThoseWhoHaveOne(t *testing.T) {
	legacy, err := acp.NewMeta(map[string]any{"terminal-auth": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		caps acp.ClientCapabilities
		want string
	}{
		{"none", acp.ClientCapabilities{}, "keys"},
		{"a terminal", acp.ClientCapabilities{Auth: acp.AuthCapabilities{Terminal: true}}, "keys, setup in a terminal: setup"},
		{"in the old form", acp.ClientCapabilities{Meta: legacy}, "keys, setup with a command"},
		{"both", acp.ClientCapabilities{Auth: acp.AuthCapabilities{Terminal: true}, Meta: legacy}, "keys, setup in a terminal: setup"},
	} {
		w := newWorld(t)
		agent := w.spawn(t, acp.ClientOptions{Capabilities: func(c *acp.ClientCapabilities) { c.Auth, c.Meta = tt.caps.Auth, tt.caps.Meta }})
		var got []string
		for _, m := range agent.AuthMethods() {
			switch m := m.(type) {
			case acp.AuthMethodAgent:
				text := string(m.ID)
				if raw, ok := m.Meta.Get("terminal-auth"); ok && strings.Contains(string(raw), `"args":["setup"]`) && strings.Contains(string(raw), `"command":"/`) {
					text += " with a command"
				}
				got = append(got, text)
			case acp.AuthMethodTerminal:
				got = append(got, string(m.ID)+" in a terminal: "+strings.Join(m.Args, " "))
			}
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
		}
	}
	// What an editor runs: the command that starts the agent, with the arguments added.
	w := newWorld(t)
	out, err := w.command("acp", "setup").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "there is no terminal to ask on") {
		t.Errorf("%v: %s", err, out)
	}
}
