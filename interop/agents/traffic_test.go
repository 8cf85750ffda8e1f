//go:build linux

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// wire makes a recording: lines that begin with > were sent by the client.
func wire(lines ...string) []line {
	var all []line
	for _, text := range lines {
		from := "agent"
		if rest, ok := strings.CutPrefix(text, ">"); ok {
			from, text = "client", rest
		}
		all = append(all, line{From: from, Line: json.RawMessage(text)})
	}
	return all
}

func sent(update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`
}

func chunk(text string) string {
	return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`
}

func got(source int, updates ...string) []given {
	var all []given
	for _, text := range updates {
		u, err := acp.UnmarshalSessionUpdate([]byte(text))
		if err != nil {
			panic(err)
		}
		all = append(all, given{source, "s", u})
	}
	return all
}

func TestWhatIsLostChangedOrOutOfOrderIsTold(t *testing.T) {
	const odd = `{"sessionUpdate":"shout","loud":[1,{"x":null}]}`
	a, b := chunk("a"), chunk("b")
	for _, tt := range []struct {
		name  string
		given []given
		want  string // in the only problem, "" for none
	}{
		{"all of it", got(1, a, b, odd), ""},
		{"by two ways", append(got(1, a, odd), got(0, b)...), ""},
		{"one lost", got(1, a, odd), `sent, but not given to the caller: {"content":{"text":"b"`},
		{"one twice", got(1, a, b, odd, b), "what was not sent"},
		{"one changed", got(1, a, b, `{"sessionUpdate":"shout","loud":[2]}`), "what was not sent"},
		{"order", got(1, b, a, odd), "given after what was sent later"},
	} {
		problems := lost(wire(sent(a), sent(b), sent(`{"sessionUpdate":"shout","loud":[1,{"x":null}],"soft":null}`)), tt.given)
		switch {
		case tt.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", tt.name, problems)
		case !strings.Contains(strings.Join(problems, "\n"), tt.want):
			t.Errorf("%s: %v, expected %q", tt.name, problems, tt.want)
		}
	}
}

func TestOddTrafficIsSeen(t *testing.T) {
	const (
		ask     = `>{"id":1,"method":"session/new","params":{"cwd":"/"}}`
		opened  = `{"id":1,"result":{"sessionId":"s"}}`
		prompt  = `>{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`
		ended   = `{"id":2,"result":{"stopReason":"end_turn"}}`
		load    = `>{"id":3,"method":"session/load","params":{"sessionId":"s"}}`
		loaded  = `{"id":3,"result":{}}`
		call    = `{"sessionUpdate":"tool_call","toolCallId":"1","title":"t"}`
		done    = `{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"}`
		user    = `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"u"}}`
		command = `{"sessionUpdate":"available_commands_update","availableCommands":[]}`
	)
	for _, tt := range []struct {
		name, odd string
		lines     []string
	}{
		{"a plain turn", "", []string{ask, opened, prompt, sent(chunk("a")), sent(call), sent(done), ended}},
		{"a plain load", "", []string{load, sent(user), sent(chunk("a")), loaded}},
		{"a notification first", "notification _auth/status_update before any session", []string{`{"method":"_auth/status_update"}`, ask, opened}},
		{"a request of its own", "request craft/drain", []string{ask, opened, prompt, `{"id":9,"method":"craft/drain","params":{}}`, ended}},
		{"a call announced twice", "second tool_call with the same id", []string{ask, opened, prompt, sent(call), sent(call), sent(done), ended}},
		{"an update of no call", "tool_call_update before its tool_call", []string{ask, opened, prompt, sent(done), ended}},
		{"a call without an end", "tool call left pending", []string{ask, opened, prompt, sent(call), ended}},
		{"an unknown kind", "unknown update shout", []string{ask, opened, prompt, sent(`{"sessionUpdate":"shout"}`), ended}},
		{"between turns", "agent_message_chunk outside of a turn ×2", []string{ask, opened, sent(chunk("a")), prompt, ended, sent(chunk("b"))}},
		{"before its session", "available_commands_update before session/new is answered", []string{ask, sent(command), opened}},
		{"a late replay", "user_message_chunk outside of a load", []string{load, loaded, prompt, sent(user), ended}},
		{"an answer to nothing", "answer to nothing", []string{`{"id":7,"result":{}}`}},
		{"_meta of the notification", "_meta beside the update", []string{ask, opened, prompt,
			`{"method":"session/update","params":{"sessionId":"s","update":` + chunk("a") + `,"_meta":{"x":1}}}`, ended}},
	} {
		if got := counted(look(wire(tt.lines...)).odd); got != tt.odd {
			t.Errorf("%s: %q, expected %q", tt.name, got, tt.odd)
		}
	}
}

func TestTheTableTellsWhatFailedAndWhatIsNotOffered(t *testing.T) {
	s := look(wire(`{"id":1,"method":"fs/read_text_file"}`, `{"id":2,"method":"fs/read_text_file"}`, `{"id":3,"method":"terminal/create"}`))
	good := report{name: "good", version: "1.2.3", survey: s, checks: []check{{"a", nil}, {"files", errNotOffered}}}
	bad := report{name: "bad", survey: look(nil), checks: []check{{"install", os.ErrNotExist}}}
	var out strings.Builder
	table(&out, []report{good, bad})
	bad.detail(&out)
	for _, want := range []string{"good", "1.2.3", "ok", "1/1 (no files)", "create, read_text_file ×2", "FAILED", "0/1", "2 agents, 1 failed", "FAILED install: file does not exist"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestEveryAgentHasALockOfItsOwn(t *testing.T) {
	for _, a := range catalog() {
		if a.build != "" { // it is of this module
			if _, err := os.Stat("../../" + a.build); err != nil {
				t.Error(err)
			}
			continue
		}
		data, err := os.ReadFile("locks/" + a.name + "/package.json")
		if err != nil {
			t.Error(err)
			continue
		}
		var manifest struct{ Dependencies map[string]string }
		if err := json.Unmarshal(data, &manifest); err != nil || manifest.Dependencies[a.pkg] == "" {
			t.Errorf("the lock of %s does not pin %s (%v)", a.name, a.pkg, err)
		}
		for name, version := range manifest.Dependencies {
			if strings.Trim(version, "0123456789.") != "" {
				t.Errorf("the lock of %s has %s in version %s, which is not an exact one", a.name, name, version)
			}
		}
	}
}

func TestAnAgentThatDoesNotExistIsToldWithThoseThatDo(t *testing.T) {
	if _, err := choose(catalog(), []string{"no-such"}); err == nil || !strings.Contains(err.Error(), "gemini-cli") {
		t.Errorf("got %v", err)
	}
	if chosen, err := choose(catalog(), []string{"opencode", "codex-acp"}); err != nil || len(chosen) != 2 || chosen[0].name != "opencode" {
		t.Errorf("got %v, %v", chosen, err)
	}
}
