package session_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// checkConversation gives what a provider would refuse in the messages.
func checkConversation(messages []model.Message) error {
	seen := make(map[string]bool)
	var unanswered []string
	for i, m := range messages {
		if len(m.Parts) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if i == 0 && m.Role != model.RoleUser {
			return fmt.Errorf("the first message is the %s's", m.Role)
		}
		if i > 0 && m.Role == messages[i-1].Role {
			return fmt.Errorf("messages %d and %d are both of %s", i-1, i, m.Role)
		}
		if len(unanswered) > 0 && m.Role != model.RoleTool {
			return fmt.Errorf("message %d is not the answer to calls %v", i, unanswered)
		}
		substance := false
		for _, part := range m.Parts {
			switch p := part.(type) {
			case model.Text:
				substance = true
				if strings.TrimSpace(p.Text) == "" {
					return fmt.Errorf("message %d has a blank text", i)
				}
			case model.ToolCall:
				substance = true
				if m.Role != model.RoleAssistant || seen[p.ID] || p.Name == "" || !json.Valid(p.Args) {
					return fmt.Errorf("message %d has a bad call %+v", i, p)
				}
				seen[p.ID] = true
				unanswered = append(unanswered, p.ID)
			case model.ToolResult:
				substance = true
				if m.Role != model.RoleTool || len(unanswered) == 0 || unanswered[0] != p.CallID || p.Name == "" || len(p.Parts) == 0 {
					return fmt.Errorf("message %d has a result %+v where calls %v wait", i, p, unanswered)
				}
				unanswered = unanswered[1:]
			case model.Thought:
				if m.Role != model.RoleAssistant || p.Text == "" && len(p.Opaque) == 0 {
					return fmt.Errorf("message %d has a bad thought %+v", i, p)
				}
			default:
				substance = true
			}
		}
		if !substance {
			return fmt.Errorf("message %d has thoughts alone", i)
		}
		if m.Role == model.RoleTool && len(unanswered) > 0 {
			return fmt.Errorf("message %d leaves calls %v without an answer", i, unanswered)
		}
	}
	if len(unanswered) > 0 {
		return fmt.Errorf("calls %v have no answer", unanswered)
	}
	return nil
}

// A process can die after any event.
func TestMessagesOfEveryPrefixOfALogAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawLog(t)
		for n := range len(events) + 1 {
			if err := checkConversation(session.Messages(events[:n])); err != nil {
				t.Fatalf("after %d of %d events: %v", n, len(events), err)
			}
		}
	})
}

func TestMessagesStayValidWhenAnotherProcessClosesWhatWasOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawLog(t)
		events = events[:rapid.IntRange(0, len(events)).Draw(t, "crash after")]
		before := session.Messages(events)
		for _, d := range session.Interrupted(stateOf(events)) {
			events = append(events, session.Event{Session: "sess_a", Seq: int64(len(events) + 1), Data: d})
		}
		if after := session.Messages(events); !reflect.DeepEqual(before, after) {
			t.Fatalf("the model is told something else once the log is closed: %s", cmp.Diff(before, after))
		}
		state := stateOf(events)
		if state.Turn != "" || len(state.Calls) != 0 || len(session.Interrupted(state)) != 0 {
			t.Fatalf("something is still open: %+v", state)
		}
	})
}

func TestMessagesOnlyGrowWhileNoCallIsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawLog(t)
		var before []model.Message
		for n := range len(events) + 1 {
			after := session.Messages(events[:n])
			if len(stateOf(events[:n]).Calls) > 0 {
				continue
			}
			for i, m := range before {
				if i >= len(after) || after[i].Role != m.Role {
					t.Fatalf("after %d events message %d is gone", n, i)
				}
			}
			before = after
		}
	})
}

func user(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleUser, Parts: parts}
}

func assistant(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: parts}
}

func results(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleTool, Parts: parts}
}

func text(s string) model.Part { return model.Text{Text: s} }

func prompt(s string) session.Data {
	return session.TurnStarted{Turn: "t", Message: "m", Prompt: []session.Block{{Type: session.BlockText, Text: s}}}
}

func said(id, s string) session.Data {
	return session.MessageSaved{Message: id, Speaker: session.Assistant, Text: s}
}

func saidAll(id string) session.Data {
	return session.MessageDone{Message: id, Speaker: session.Assistant}
}

func thought(id, s string) session.Data {
	return session.MessageSaved{Message: id, Speaker: session.Thinking, Text: s}
}

func thoughtAll(id, opaque string) session.Data {
	d := session.MessageDone{Message: id, Speaker: session.Thinking, Provider: "p"}
	if opaque != "" {
		d.Opaque = json.RawMessage(opaque)
	}
	return d
}

func request(call string) session.Data {
	return session.CallRequested{Call: call, ModelID: "call_0", Tool: "edit", Args: json.RawMessage(`{"a":1}`), Provider: "p", Opaque: json.RawMessage(`"o"`)}
}

func calls(call string) model.Part {
	return model.ToolCall{ID: call, Name: "edit", Args: json.RawMessage(`{"a":1}`), Provider: "p", Opaque: json.RawMessage(`"o"`)}
}

func done(call string, status session.CallStatus, text string) session.Data {
	return session.CallDone{Call: call, Status: status, Result: tool.Result{Text: text}}
}

func result(call, s string, failed bool) model.Part {
	return model.ToolResult{CallID: call, Name: "edit", Parts: []model.Part{text(s)}, Failed: failed}
}

const notAnswered = "(This prompt was not answered: the turn ended before.)"

func TestMessages(t *testing.T) {
	const (
		ran    = "This call was running when the program ended. Whether it took effect is not known: look before doing it again."
		notRun = "This call was not run: the program ended before it started."
	)
	for _, test := range []struct {
		name string
		data []session.Data
		want []model.Message
	}{
		{"a session without a prompt has no messages", []session.Data{session.Created{}, session.Notice{Text: "n"}}, nil},
		{
			"a message is the pieces that were saved of it",
			[]session.Data{prompt("hi"), said("1", "Hel"), said("1", "lo"), saidAll("1"), session.TurnEnded{}, prompt("more")},
			[]model.Message{user(text("hi")), assistant(text("Hello")), user(text("more"))},
		},
		{
			"thoughts keep what the provider wants back",
			[]session.Data{prompt("hi"), thought("1", "hm"), thoughtAll("1", `{"s":1}`), thoughtAll("2", `"redacted"`), said("3", "yes"), saidAll("3")},
			[]model.Message{user(text("hi")), assistant(
				model.Thought{Text: "hm", Provider: "p", Opaque: json.RawMessage(`{"s":1}`)},
				model.Thought{Provider: "p", Opaque: json.RawMessage(`"redacted"`)}, text("yes"))},
		},
		{
			"what was cut short is kept as text, and a thought left out",
			[]session.Data{prompt("hi"), thought("1", "hm"), said("2", "half a sen"), prompt("go on")},
			[]model.Message{user(text("hi")), assistant(text("half a sen")), user(text("go on"))},
		},
		{
			"thoughts alone are no message",
			[]session.Data{prompt("hi"), thought("1", "hm"), thoughtAll("1", `1`), prompt("again")},
			[]model.Message{user(text("hi")), assistant(text(notAnswered)), user(text("again"))},
		},
		{
			"results come in the order of the calls",
			[]session.Data{
				prompt("hi"), said("1", "I edit"), saidAll("1"), request("call_1"), request("call_2"), session.CallStarted{Call: "call_1"}, session.CallStarted{Call: "call_2"},
				done("call_2", session.CallCompleted, "two"), done("call_1", session.CallFailed, "one"), said("2", "done"), saidAll("2"),
			},
			[]model.Message{
				user(text("hi")), assistant(text("I edit"), calls("call_1"), calls("call_2")),
				results(result("call_1", "one", true), result("call_2", "two", false)), assistant(text("done")),
			},
		},
		{
			"each step has its own calls and results",
			[]session.Data{
				prompt("hi"), request("call_1"), done("call_1", session.CallCompleted, "one"),
				request("call_2"), done("call_2", session.CallCompleted, "two"), said("1", "done"),
			},
			[]model.Message{
				user(text("hi")), assistant(calls("call_1")), results(result("call_1", "one", false)),
				assistant(calls("call_2")), results(result("call_2", "two", false)), assistant(text("done")),
			},
		},
		{
			"calls that a crash left open are answered",
			[]session.Data{prompt("hi"), request("call_1"), request("call_2"), session.CallStarted{Call: "call_1"}, prompt("and now?")},
			[]model.Message{user(text("hi")), assistant(calls("call_1"), calls("call_2")), results(result("call_1", ran, true), result("call_2", notRun, true)), user(text("and now?"))},
		},
		{
			"results without text say how the call ended",
			[]session.Data{
				prompt("hi"), request("call_1"), request("call_2"), request("call_3"), request("call_4"), request("call_5"), request("call_6"), session.CallStarted{Call: "call_4"},
				done("call_1", session.CallCompleted, ""), done("call_2", session.CallRefused, ""), done("call_3", session.CallCancelled, ""),
				done("call_4", session.CallCancelled, ""), done("call_5", session.CallInterrupted, ""), done("call_6", session.CallFailed, ""),
			},
			[]model.Message{
				user(text("hi")), assistant(calls("call_1"), calls("call_2"), calls("call_3"), calls("call_4"), calls("call_5"), calls("call_6")),
				results(result("call_1", "Done, without output.", false), result("call_2", "This call was refused and not run.", true),
					result("call_3", "This call was not run: the turn was cancelled.", true),
					result("call_4", "This call was stopped: the turn was cancelled. Whether it took effect is not known.", true),
					result("call_5", notRun, true), result("call_6", "This call failed without saying why.", true)),
			},
		},
		{
			"a refusal's reason reaches the model",
			[]session.Data{prompt("hi"), request("call_1"), done("call_1", session.CallRefused, "not that file")},
			[]model.Message{user(text("hi")), assistant(calls("call_1")), results(result("call_1", "not that file", true))},
		},
		{
			"a call has one result, the first, and a stray result is nobody's",
			[]session.Data{prompt("hi"), request("call_1"), done("call_1", session.CallCompleted, "one"), done("call_1", session.CallCompleted, "two"), done("call_9", session.CallCompleted, "x"), request("call_1")},
			[]model.Message{user(text("hi")), assistant(calls("call_1")), results(result("call_1", "one", false))},
		},
		{
			"a result's pictures follow its text",
			[]session.Data{prompt("hi"), request("call_1"), session.CallDone{Call: "call_1", Status: session.CallCompleted, Result: tool.Result{Images: []tool.Image{{MIMEType: "image/png", Data: []byte{7}}}}}},
			[]model.Message{user(text("hi")), assistant(calls("call_1")), results(model.ToolResult{CallID: "call_1", Name: "edit", Parts: []model.Part{model.Image{MIMEType: "image/png", Data: []byte{7}}}})},
		},
		{
			"prompts that were not answered stay apart",
			[]session.Data{prompt("one"), session.TurnEnded{Reason: session.StopCancelled}, prompt("two"), session.TurnEnded{Reason: session.StopFailed}, prompt("three")},
			[]model.Message{
				user(text("one")), assistant(text(notAnswered)), user(text("two")), assistant(text(notAnswered)), user(text("three")),
			},
		},
		{
			"an empty prompt is still one",
			[]session.Data{session.TurnStarted{}, said("1", "hello?")},
			[]model.Message{user(text("(empty prompt)")), assistant(text("hello?"))},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := session.Messages(numbered(test.data...))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPromptBecomesPartsOfTheUsersMessage(t *testing.T) {
	for _, test := range []struct {
		name  string
		block session.Block
		want  model.Part
	}{
		{"text", session.Block{Type: session.BlockText, Text: " as it is\n"}, text(" as it is\n")},
		{"a link", session.Block{Type: session.BlockLink, URI: "file:///project/a.go", Name: "a.go"}, text("@file:///project/a.go")},
		{"an image", session.Block{Type: session.BlockImage, MIMEType: "image/png", Data: []byte{1}}, model.Image{MIMEType: "image/png", Data: []byte{1}}},
		{"audio", session.Block{Type: session.BlockAudio, MIMEType: "audio/wav", Data: []byte{1}}, model.Audio{MIMEType: "audio/wav", Data: []byte{1}}},
		{"an embedded file", session.Block{Type: session.BlockFile, URI: "file:///project/a%20b.go", Text: "package a\n"}, text("<file path=\"/project/a b.go\">package a\n</file>")},
		{"a file on a drive", session.Block{Type: session.BlockFile, URI: "file:///C:/a.go", Text: "x"}, text("<file path=\"C:/a.go\">x</file>")},
		{"a file from elsewhere", session.Block{Type: session.BlockFile, URI: "zed://x", Text: "x"}, text("<file path=\"zed://x\">x</file>")},
		{"a file that would close its own tag", session.Block{Type: session.BlockFile, URI: "file:///a", Text: "</file></file-2>"}, text("<file-3 path=\"/a\"></file></file-2></file-3>")},
		{"a path that would leave its attribute", session.Block{Type: session.BlockFile, URI: "file:///a%22%3E%0A", Text: "x"}, text(`<file path="/a\">\n">x</file>`)},
		{"an embedded picture", session.Block{Type: session.BlockFile, URI: "file:///a.png", MIMEType: "image/png", Data: []byte{1}}, model.Image{MIMEType: "image/png", Data: []byte{1}}},
		{"an embedded sound", session.Block{Type: session.BlockFile, MIMEType: "audio/wav", Data: []byte{1}}, model.Audio{MIMEType: "audio/wav", Data: []byte{1}}},
		{"another embedded file", session.Block{Type: session.BlockFile, URI: "file:///a.zip", MIMEType: "application/zip", Data: []byte{1, 2}}, text("[/a.zip: a binary file (application/zip, 2 bytes) that cannot be shown]")},
		{"a file of unknown type", session.Block{Type: session.BlockFile, Name: "a", Data: []byte{1, 2}}, text("[a: a binary file (unknown type, 2 bytes) that cannot be shown]")},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := session.Messages(numbered(session.TurnStarted{Prompt: []session.Block{test.block}}))
			if diff := cmp.Diff([]model.Message{user(test.want)}, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}
