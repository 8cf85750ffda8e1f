//go:build unix

package editors

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// barrier has wherry answer something, after which everything that it sent before has arrived.
func (d *desk) barrier() {
	d.t.Helper()
	if _, err := d.ListSessions(d.t.Context(), acp.ListSessionsRequest{Cwd: d.home}); err != nil {
		d.t.Fatal(err)
	}
}

func isUpdate(f frame, id acp.SessionID) bool {
	return f.Method == "session/update" && f.Params.SessionID == string(id)
}

func TestNothingIsSaidOfASessionBeforeTheAnswerThatOpensIt(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, "[[text: hello]]")
		in := d.wire.fromAgent()
		answered := d.wire.answerTo("session/new", 1)
		first := slices.IndexFunc(in, func(f frame) bool { return isUpdate(f, s.ID()) })
		areCommands := func(f frame) bool { return f.text("sessionUpdate") == "available_commands_update" }
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		commands := d.wire.await(ctx, areCommands)
		if answered < 0 || first < answered || commands < answered {
			t.Errorf("session/new was answered by message %d, the first update is message %d, the commands are message %d", answered, first, commands)
		}

		d.restart()
		_, replayed := d.load(s.ID())
		commands = d.wire.await(ctx, areCommands)
		answered = d.wire.answerTo("session/load", 1)
		if spoken(replayed) != "hello" || commands < answered {
			t.Errorf("%q was replayed before the answer, which is message %d; the commands are message %d", spoken(replayed), answered, commands)
		}

		d.restart()
		if _, err := d.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionID: s.ID(), Cwd: d.folder, MCPServers: p.servers}); err != nil {
			t.Fatal(err)
		}
		if d.wire.await(ctx, areCommands) < 0 {
			t.Error("a resumed session has no commands")
		}
		answered = d.wire.answerTo("session/resume", 1)
		for i, f := range d.wire.fromAgent() {
			if isUpdate(f, s.ID()) && (i < answered || strings.HasSuffix(f.text("sessionUpdate"), "_chunk")) {
				t.Errorf("message %d is a %s; session/resume was answered by message %d", i, f.text("sessionUpdate"), answered)
			}
		}
	})
}

func TestNothingIsSaidOfAForkBeforeTheAnswerThatOpensIt(t *testing.T) {
	l, d := speak(t)
	s := l.begin(d.folder)
	l.write(prompt("2", s, "[[text: hello]]"))
	l.until(answers(2))
	l.write(`{"jsonrpc":"2.0","id":3,"method":"session/fork","params":{"sessionId":` + quoted(s) + `,"cwd":` + quoted(d.folder) + `,"mcpServers":[]}}`)
	from := len(l.got)
	result, _ := l.until(answers(3))["result"].(map[string]any)
	fork, _ := result["sessionId"].(string)
	if before := strings.Join(l.got[from:len(l.got)-1], "\n"); fork == "" || strings.Contains(before, fork) {
		t.Errorf("before the answer %v came %s", result, before)
	}
	l.until(func(m map[string]any) bool {
		params, _ := m["params"].(map[string]any)
		update, _ := params["update"].(map[string]any)
		return params["sessionId"] == fork && update["sessionUpdate"] == "available_commands_update"
	})
	if after := l.got[len(l.got)-1]; strings.Contains(after, "hello") {
		t.Errorf("replayed is %s", after)
	}
}

func TestEverythingOfATurnComesBeforeItsAnswer(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, `[[call: run {"command":"seq 1 2000"}]] [[chunks 200 20]]`)
		d.barrier()
		answered := d.wire.answerTo("session/prompt", 1)
		for i, f := range d.wire.fromAgent() {
			if i > answered && isUpdate(f, s.ID()) {
				t.Errorf("a %s came after the turn's answer", f.text("sessionUpdate"))
			}
		}
		if call := lastCall(t, s); call.Status != acp.ToolCallCompleted {
			t.Errorf("the call is %s at the turn's end", call.Status)
		}
	})
}

func TestWhatTheModelSaysArrivesOnceAndThePromptIsNotEchoed(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		_, updates := d.say(s, "[[text: one ]] [[thought: two ]] [[text: three]] [[call: plan {\"entries\":[{\"content\":\"x\",\"status\":\"pending\"}]}]] [[text: four]]")
		if got := spoken(updates); got != "one threefour" {
			t.Errorf("the answer is %q", got)
		}
		ids := map[string]map[acp.MessageID]bool{}
		for _, u := range updates {
			kind, id := "", acp.MessageID("")
			switch u := u.(type) {
			case acp.UserMessageChunk:
				t.Errorf("the prompt was echoed: %q", acp.PlainText(u.Content))
				continue
			case acp.AgentMessageChunk:
				kind, id = "message", u.MessageID
			case acp.AgentThoughtChunk:
				kind, id = "thought", u.MessageID
			default:
				continue
			}
			if id == "" {
				t.Errorf("a chunk of a %s has no id", kind)
			}
			if ids[kind] == nil {
				ids[kind] = map[acp.MessageID]bool{}
			}
			ids[kind][id] = true
		}
		for id := range ids["thought"] {
			if ids["message"][id] {
				t.Errorf("a thought has the id %s of a message", id)
			}
		}
		if len(ids["thought"]) == 0 {
			t.Error("the thought did not arrive")
		}
	})
}

func TestAToolCallIsPendingUntilItIsAnsweredThenRunsThenEnds(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		for _, tt := range []struct {
			answer acp.PermissionOptionKind
			steps  []string
		}{
			{acp.PermissionAllowOnce, []string{"tool_call pending", "asked pending", "tool_call_update in_progress", "tool_call_update completed"}},
			{acp.PermissionRejectOnce, []string{"tool_call pending", "asked pending", "tool_call_update failed"}},
		} {
			d.answers(tt.answer)
			s := d.open()
			stop, updates := d.say(s, `[[call: create {"path":"`+string(tt.answer)+`.txt","content":"x"}]] [[text: on it goes]]`)
			if stop != acp.StopEndTurn || !strings.Contains(spoken(updates), "on it goes") {
				t.Errorf("%s: the turn ended with %s and said %q", tt.answer, stop, spoken(updates))
			}
			var steps []string
			var id string
			for _, f := range d.wire.fromAgent() {
				if f.Params.SessionID != string(s.ID()) {
					continue
				}
				step := ""
				switch kind := f.text("sessionUpdate"); {
				case f.Method == "session/request_permission":
					step = "asked " + f.Params.ToolCall.Status
					if f.Params.ToolCall.ID != id {
						t.Errorf("%s: asked about the call %q, announced was %q", tt.answer, f.Params.ToolCall.ID, id)
					}
				case kind == "tool_call":
					step, id = kind+" "+f.text("status"), f.text("toolCallId")
				case kind == "tool_call_update" && f.text("status") != "":
					step = kind + " " + f.text("status")
				default:
					continue
				}
				if n := len(steps); n == 0 || steps[n-1] != step {
					steps = append(steps, step)
				}
			}
			if !slices.Equal(steps, tt.steps) {
				t.Errorf("%s: the steps were %q, expected %q", tt.answer, steps, tt.steps)
			}
			for _, q := range d.questions() {
				var kinds []acp.PermissionOptionKind
				for _, o := range q.Options {
					kinds = append(kinds, o.Kind)
				}
				if !slices.Contains(kinds, acp.PermissionAllowOnce) || !slices.Contains(kinds, acp.PermissionRejectOnce) {
					t.Errorf("%s: the choices are %v", tt.answer, kinds)
				}
			}
		}
	})
}

func TestSessionsThatWorkAtTheSameTimeDoNotMix(t *testing.T) {
	d := sit(t, zed(), nil)
	names := []string{"ada", "bob", "cyd", "dan", "eve", "flo", "gus", "hal"}
	turns := map[string]*acp.Turn{}
	folders, of := map[string]string{}, map[string]string{} // by name; names by session
	for _, name := range names {
		folders[name] = realFolder(t)
		s := d.openIn(folders[name])
		of[string(s.ID())] = name
		turns[name] = s.Prompt(t.Context(), acp.Text(
			`[[slow 2ms]] [[chunks 20 8]] [[call: run {"command":"echo `+name+`-ran; pwd"}]] [[text: `+name+`-said]] [[result]]`))
	}
	for _, name := range names {
		var text strings.Builder
		for u := range turns[name].Updates() {
			if c, ok := u.(acp.AgentMessageChunk); ok {
				text.WriteString(acp.PlainText(c.Content))
			}
		}
		if _, err := turns[name].Result(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, other := range names {
			if got := strings.Contains(text.String(), other+"-said") && strings.Contains(text.String(), other+"-ran"); got != (other == name) {
				t.Errorf("the session of %s: %v that it says what %s said: %q", name, got, other, text.String())
			}
		}
	}
	foreign := func(name, text string) string {
		for _, other := range names {
			if other != name && (strings.Contains(text, other+"-") || strings.Contains(text, folders[other])) {
				return other
			}
		}
		return ""
	}
	updates := map[string]int{}
	for _, f := range d.wire.fromAgent() {
		if f.Method == "" {
			continue
		}
		name, known := of[f.Params.SessionID]
		if !known {
			t.Errorf("a %s names the session %q", f.Method, f.Params.SessionID)
		}
		updates[name]++
		for member, value := range f.Params.Update {
			if other := foreign(name, string(value)); other != "" {
				t.Errorf("an update of %s has %s of %s: %s", name, member, other, value)
			}
		}
	}
	for _, q := range d.questions() {
		if other := foreign(of[string(q.SessionID)], q.ToolCall.Title+string(q.ToolCall.RawInput)+shown(acp.ToolCall{Content: q.ToolCall.Content})); other != "" {
			t.Errorf("%s was asked about what %s does", of[string(q.SessionID)], other)
		}
	}
	for _, started := range d.started {
		if name := of[string(started.SessionID)]; started.Cwd != folders[name] || foreign(name, strings.Join(started.Args, " ")) != "" {
			t.Errorf("a terminal of %s runs %q in %s", name, started.Args, started.Cwd)
		}
	}
	if len(d.started) != len(names) {
		t.Errorf("%d terminals were started", len(d.started))
	}
	for _, req := range d.model.Requests() {
		var own []string
		for _, name := range names {
			if strings.Contains(string(req.Body), name+"-said") || strings.Contains(string(req.Body), folders[name]) {
				own = append(own, name)
			}
		}
		if len(own) != 1 {
			t.Errorf("a request to the model holds what is of %q", own)
		}
	}
	for _, name := range names {
		if updates[name] < 10 {
			t.Errorf("%s got %d updates", name, updates[name])
		}
	}
}
