package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/config"
	"github.com/wherry-acp/wherry/agent/model/provider"
)

// manual is what "wherry acp --help" prints, its lines joined.
func manual(t *testing.T) string {
	t.Helper()
	var out, errOut bytes.Buffer
	env := &environment{ctx: t.Context(), stdin: strings.NewReader(""), stdout: &out, stderr: &errOut}
	if code := run(env, []string{"acp", "--help"}); code != exitOK || errOut.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

func TestTheManualHasEverySettingWithItsVariable(t *testing.T) {
	text := manual(t)
	for _, e := range config.Load(config.Options{}).List() {
		if name := config.Variable(e.Key); !strings.Contains(text, name) {
			t.Errorf("it does not name %s", name)
		}
	}
	for _, s := range provider.Services() {
		if !strings.Contains(text, s.KeyVar) || !strings.Contains(text, s.BaseVar) {
			t.Errorf("it does not name %s %s", s.KeyVar, s.BaseVar)
		}
	}
	for _, word := range []string{
		"agent_servers", "ANTHROPIC_API_KEY", "Exit codes", "130", "sessions.db", "keys.json", "trust.json", "wherry setup --trust",
		"Who answers:", "What it may see and do:", "Where things are:", "Logs:",
	} {
		if !strings.Contains(text, word) {
			t.Errorf("it does not have %q", word)
		}
	}
}

func TestEveryFlagSaysWhichVariableAndKeyDoTheSame(t *testing.T) {
	text := manual(t)
	s := settings{Model: "m", Approve: "ask", Root: []string{"/r"}, PII: "off", Log: "/l", WireLog: "/w"}
	set := map[string]bool{}
	for _, f := range s.flags() {
		set[f.Key] = true
	}
	for field := range reflect.TypeFor[settings]().Fields() {
		key, variable := field.Tag.Get("key"), field.Tag.Get("variable")
		switch {
		case key != "" && !set[key]:
			t.Errorf("the flag %s says that it sets %s, and does not", field.Name, key)
		case key != "" && !strings.Contains(text, "["+config.Variable(key)+", or the key "+key+"]"):
			t.Errorf("the manual does not say what does the same as the flag %s", field.Name)
		case key == "" && (variable == "" || !strings.Contains(text, "["+variable+"]")):
			t.Errorf("the flag %s has neither a key nor a variable", field.Name)
		case field.Tag.Get("group") == "":
			t.Errorf("the flag %s is under no heading", field.Name)
		}
		delete(set, key)
	}
	for key := range set {
		t.Errorf("the flag for %s does not say so", key)
	}
}
