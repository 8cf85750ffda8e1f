//go:build unix

package interop

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// startWithModel starts wherry with a double of a hosted model, which does what the prompts' directives say.
func startWithModel(t *testing.T, handle map[string]handler) (*rawClient, *modeltest.Server) {
	t.Helper()
	server, err := modeltest.Listen(modeltest.Options{NeedTools: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return startWherry(t, t.TempDir(), handle, "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY=of-nobody"), server
}

func TestTwoCommandsOfOneAnswerKeepTheirOwnPermissionsAndEnds(t *testing.T) {
	dir := folder(t, nil)
	var refused string
	e := &editor{t: t}
	e.onAsk = func(_ *editor, r permissionRequest) string {
		if strings.Contains(string(r.ToolCall.RawInput)+r.ToolCall.Title, "second.txt") {
			refused = r.ToolCall.ToolCallID
			return "reject_once"
		}
		return "allow_once"
	}
	c, _ := startWithModel(t, e.nothing())
	stop, updates := c.prompt(c.newSession(dir),
		`[[call: run {"command":"echo 1 > first.txt"}]] [[call: run {"command":"echo 2 > second.txt"}]] [[call: run {"command":"echo 3 > third.txt"}]] [[text: done]]`)
	if stop != "end_turn" {
		t.Errorf("the turn ended with %q", stop)
	}
	for name, want := range map[string]bool{"first.txt": true, "second.txt": false, "third.txt": true} {
		if _, there := onDisk(t, filepath.Join(dir, name)); there != want {
			t.Errorf("%s is there: %v, expected %v", name, there, want)
		}
	}
	calls := toolCalls(updates)
	if len(calls) != 3 {
		t.Fatalf("%d tool calls, expected 3: %+v", len(calls), calls)
	}
	for _, call := range calls {
		want := "completed"
		if call.ID == refused {
			want = "failed"
		}
		if call.status() != want {
			t.Errorf("the call %s (%s) ended as %s, expected %s", call.ID, call.Title, call.status(), want)
		}
	}
	if !slices.ContainsFunc(calls, func(c toolCall) bool { return c.ID == refused }) {
		t.Errorf("the permission that was refused is of call %q, which is none of the turn's", refused)
	}
}

func TestAHostedModelsWordsAndThoughtsArriveWhole(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "from the file\n"})
	c, server := startWithModel(t, (&editor{t: t}).nothing())
	s := c.newSession(dir)
	stop, updates := c.prompt(s, `[[text: Let me look. ]] [[call: view {"path":"a.txt"}]] [[text: There it is: ]] [[chunks 500 20]]`)
	if stop != "end_turn" {
		t.Errorf("the turn ended with %q", stop)
	}
	text := spoken(updates, "agent_message_chunk")
	if !strings.Contains(text, "Let me look.") || !strings.Contains(text, "There it is:") || len(text) < 500*20 {
		t.Errorf("of the answer only this arrived: %d bytes, %.200q", len(text), text)
	}
	assertCalls(t, updates, "completed")
	if got := len(server.Requests()); got != 2 {
		t.Errorf("the model was asked %d times, expected 2", got)
	}
}

func TestAProviderThatRefusesTheKeyIsToldAsASentence(t *testing.T) {
	c, _ := startWithModel(t, (&editor{t: t}).nothing())
	s := c.newSession(folder(t, nil))
	_, failure := c.begin("session/prompt", promptParams(s, `[[status 401]] [[text: never]]`))()
	if failure == nil || failure.Code != -32000 {
		t.Fatalf("the prompt was answered with the error %+v, expected -32000: authentication required", failure)
	}
	text := failure.Message + spoken(c.updatesOf(s), "agent_message_chunk")
	if !strings.Contains(text, "OPENAI_API_KEY") {
		t.Errorf("the person is not told which variable holds the key: %q", text)
	}
	if strings.Contains(text, "of-nobody") || strings.Contains(c.stderr.String(), "of-nobody") {
		t.Error("the key itself is shown")
	}
	// In a session of its own: the model double finds directives that were never answered in the history too.
	if stop, updates := c.prompt(c.newSession(folder(t, nil)), `[[text: hello]]`); stop != "end_turn" || !strings.Contains(spoken(updates, "agent_message_chunk"), "hello") {
		t.Errorf("the next prompt ended with %q: %q", stop, spoken(updates, "agent_message_chunk"))
	}
}
