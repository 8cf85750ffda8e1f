package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// post sends a body to the double and gives the status and the answer.
func post(t *testing.T, s *modeltest.Server, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func listen(t *testing.T, o modeltest.Options) *modeltest.Server {
	t.Helper()
	s, err := modeltest.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// say asks by chat completions and gives the answer's text. messages is JSON; tools tells whether any are offered.
func say(t *testing.T, s *modeltest.Server, messages string, tools bool) string {
	t.Helper()
	offered := ""
	if tools {
		offered = `,"tools":[{"type":"function","function":{"name":"run","parameters":{"properties":{"command":{}}}}}]`
	}
	status, body := post(t, s, "/v1/chat/completions", `{"model":"m","messages":[`+messages+`]`+offered+`}`)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	_, after, _ := strings.Cut(body, `"content":`)
	text, _, _ := strings.Cut(after, `,"`)
	text, _, _ = strings.Cut(text, `}`)
	return strings.Trim(text, `"`)
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

const (
	called = `,{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"run","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}`
	said   = `,{"role":"assistant","content":"said"},`
)

func TestDirectivesAreFoundAmongRemindersAndNotInOldPrompts(t *testing.T) {
	s := listen(t, modeltest.Options{})
	prompt := user("[[text: one]] [[call: run {}]] [[text: two]] [[call: run {}]] [[text: three]]")
	reminder := user("<reminder> be good")
	for _, tt := range []struct{ name, messages, want string }{
		{"a reminder after the prompt", prompt + "," + reminder, "one"},
		{"directives in two items", user("[[text: a ]]") + "," + user("[[text: b]]"), "a b"},
		{"after a call", prompt + called, "two"},
		{"after a call and a reminder", prompt + called + "," + reminder, "two"},
		{"after two calls", prompt + called + called, "three"},
		{"a new prompt", prompt + called + said + user("[[text: new]]"), "new"},
		{"a new prompt without directives", prompt + said + user("thanks"), "ok"},
		{"a new prompt after calls that were cancelled", prompt + called + "," + user("[[text: new]]"), "new"},
		{"a new prompt that makes an unanswered one forgotten", user("[[text: old]]") + "," + user("[[anew]] [[text: new]]"), "new"},
		{"the call of such a prompt", user("[[text: old]] [[call: run {}]]") + "," + user("[[anew]] [[call: run {}]] [[text: new]]") + called, "new"},
		{"past the end", prompt + called + called + called, "ok"},
		{"directives in results do not count", user("[[call: run {}]] [[text: end]]") + strings.Replace(called, `"r"`, `"[[text: evil]]"`, 1), "end"},
	} {
		if got := say(t, s, tt.messages, true); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestEveryAnswerHasItsOwnID(t *testing.T) {
	s := listen(t, modeltest.Options{})
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"messages":[` + user("hi") + `]}`,
		"/v1/messages":         `{"max_tokens":9,"messages":[` + user("hi") + `]}`,
		"/v1/responses":        `{"input":"hi"}`,
	} {
		seen := map[string]bool{}
		for range 2 {
			var answer struct{ ID string }
			_, text := post(t, s, path, body)
			if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.ID == "" || seen[answer.ID] {
				t.Errorf("%s: %v, the id is %q after %v: %s", path, err, answer.ID, seen, text)
			}
			seen[answer.ID] = true
		}
	}
}

func TestRequestsWithoutToolsAreAnsweredPlainly(t *testing.T) {
	s := listen(t, modeltest.Options{})
	if got := say(t, s, user("Give a title to: [[text: x]] [[call: run {}]]"), false); got != "ok" {
		t.Errorf("a script with calls: %q", got)
	}
	if got := say(t, s, user("[[text: x]]"), false); got != "x" {
		t.Errorf("a script without calls: %q", got)
	}
	s = listen(t, modeltest.Options{NeedTools: true, Default: "A title"})
	if got := say(t, s, user("[[text: x]]"), false); got != "A title" {
		t.Errorf("with NeedTools: %q", got)
	}
}

func TestRequestsForJSONGetJSONOfTheirSchema(t *testing.T) {
	s := listen(t, modeltest.Options{})
	_, body := post(t, s, "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"[[call: run {}]]"}]}],
		"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"reasoning":{"type":"STRING"},"model_choice":{"type":"STRING","enum":["flash","pro"]}},"required":["reasoning","model_choice"]}}}`)
	if !strings.Contains(body, `{\"model_choice\":\"flash\",\"reasoning\":\"as asked\"}`) {
		t.Errorf("got %s", body)
	}
}

func TestAStatusIsGivenOnceAndAgainOnAnotherDay(t *testing.T) {
	s := listen(t, modeltest.Options{})
	body := `{"model":"m","messages":[` + user("[[status 429 3]] [[status 503]] [[text: x]]") + `]}`
	for i, want := range []int{429, 503, 200, 429, 503, 200} {
		if got, _ := post(t, s, "/v1/chat/completions", body); got != want {
			t.Errorf("request %d: %d, want %d", i+1, got, want)
		}
	}
	always := strings.Replace(body, "429 3", "429 always", 1)
	for range 3 {
		if got, _ := post(t, s, "/v1/chat/completions", always); got != 429 {
			t.Errorf("always: %d", got)
		}
	}
}

func TestQueuedRepliesAndRulesAnswerPromptsWithoutDirectives(t *testing.T) {
	rules, queue, err := modeltest.ParseScript("first\n---\nwhen: weather\n[[text: sun ]] [[call: run {}]]\n[[text: rain]]\n---\n\n---\nsecond [[text: and last]]\n")
	if err != nil {
		t.Fatal(err)
	}
	s := listen(t, modeltest.Options{Rules: rules})
	s.Queue(queue...)
	for _, tt := range []struct{ messages, want string }{
		{user("hi"), "first"},
		{user("the weather?"), "sun "},
		{user("the weather?") + called, "rain"},
		{user("hi"), "and last"},
		{user("hi"), "ok"},
		{user("the weather? [[text: own]]"), "own"},
	} {
		if got := say(t, s, tt.messages, true); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.messages, got, tt.want)
		}
	}
	if _, _, err := modeltest.ParseScript("[[status]]"); err == nil {
		t.Error("a malformed script is taken")
	}
}

func TestAMalformedDirectiveIsToldToTheClient(t *testing.T) {
	s := listen(t, modeltest.Options{})
	if status, body := post(t, s, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"[[status]]"}]}`); status != 400 || !strings.Contains(body, "[[status]]") {
		t.Errorf("%d %s", status, body)
	}
}

func TestOnlyTheKeyIsTaken(t *testing.T) {
	s := listen(t, modeltest.Options{Key: "right"})
	if status, _ := post(t, s, "/v1/chat/completions", `{"model":"m","messages":[`+user("x")+`]}`); status != 401 {
		t.Errorf("without a key: %d", status)
	}
	if status, _ := post(t, s, "/v1beta/models/m:generateContent?key=right", `{"contents":[]}`); status != 200 {
		t.Errorf("with the key: %d", status)
	}
}

func TestOtherPathsAndModelsAreNotFound(t *testing.T) {
	s := listen(t, modeltest.Options{})
	if status, _ := post(t, s, "/v1/embeddings", `{}`); status != 404 {
		t.Errorf("another path: %d", status)
	}
	if status, _ := post(t, s, "/v1/chat/completions", `{"model":"missing-1","messages":[]}`); status != 404 {
		t.Errorf("a missing model: %d", status)
	}
}

func TestCloseEndsWhatStalls(t *testing.T) {
	s := listen(t, modeltest.Options{})
	done := make(chan error, 1)
	go func() {
		resp, err := http.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[`+user("[[stall]]")+`]}`))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		done <- err
	}()
	r, err := s.Await(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-r.Done()
	<-done
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Await(ctx, 2); err == nil {
		t.Error("a request that never came has arrived")
	}
}
