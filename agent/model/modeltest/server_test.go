package modeltest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is what a test knows of one format: how to ask, and where the answer's text and calls are.
type wire struct {
	name, path, streamPath string
	body                   func(prompt, history string, stream bool) string
	history                string // a call of the tool run with its result "listing"
	text                   func(m map[string]any) string
	call                   func(m map[string]any) string
}

const tools = `{"type":"object","properties":{"command":{"type":"string"},"why":{"type":"string"}},"required":["command","why"]}`

var wires = []wire{
	{
		name: "openai chat", path: "/v1/chat/completions", streamPath: "/v1/chat/completions",
		body: func(prompt, history string, stream bool) string {
			return fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":%q}%s],
				"tools":[{"type":"function","function":{"name":"run","parameters":%s}}]}`, stream, prompt, history, tools)
		},
		history: `,{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"listing"}`,
		text: func(m map[string]any) string {
			return at(m, "choices", 0, "delta", "content") + at(m, "choices", 0, "message", "content")
		},
		call: func(m map[string]any) string {
			return at(m, "choices", 0, "delta", "tool_calls", 0, "function", "name") + at(m, "choices", 0, "delta", "tool_calls", 0, "function", "arguments") +
				at(m, "choices", 0, "message", "tool_calls", 0, "function", "name") + at(m, "choices", 0, "message", "tool_calls", 0, "function", "arguments")
		},
	},
	{
		name: "openai responses", path: "/v1/responses", streamPath: "/v1/responses",
		body: func(prompt, history string, stream bool) string {
			return fmt.Sprintf(`{"model":"m","stream":%t,"input":[{"role":"user","content":[{"type":"input_text","text":%q}]}%s],
				"tools":[{"type":"function","name":"run","parameters":%s}]}`, stream, prompt, history, tools)
		},
		history: `,{"type":"reasoning"},{"type":"function_call","call_id":"c1","name":"run","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"listing"}`,
		text: func(m map[string]any) string {
			if m["type"] == "response.output_text.delta" {
				return at(m, "delta")
			}
			return at(m, "output", 0, "content", 0, "text")
		},
		call: func(m map[string]any) string {
			if m["type"] == "response.output_item.done" {
				return at(m, "item", "name") + at(m, "item", "arguments")
			}
			return at(m, "output", 1, "name") + at(m, "output", 1, "arguments")
		},
	},
	{
		name: "anthropic", path: "/v1/messages", streamPath: "/v1/messages?beta=true",
		body: func(prompt, history string, stream bool) string {
			return fmt.Sprintf(`{"model":"m","stream":%t,"max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":%q}]}%s],
				"tools":[{"name":"run","input_schema":%s}]}`, stream, prompt, history, tools)
		},
		history: `,{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"run","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"listing"},{"type":"text","text":"<reminder>"}]}`,
		text:    func(m map[string]any) string { return at(m, "delta", "text") + at(m, "content", 0, "text") },
		call: func(m map[string]any) string {
			return at(m, "content_block", "name") + at(m, "delta", "partial_json") + at(m, "content", 1, "name") + raw(m, "content", 1, "input")
		},
	},
	{
		name: "gemini", path: "/v1beta/models/m:generateContent", streamPath: "/v1beta/models/m:streamGenerateContent?alt=sse",
		body: func(prompt, history string, _ bool) string {
			return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}%s],"tools":[{"functionDeclarations":[{"name":"run","parameters":%s}]}]}`,
				prompt, history, tools)
		},
		history: `,{"role":"model","parts":[{"functionCall":{"name":"run","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"run","response":{"output":"listing"}}}]}`,
		text:    func(m map[string]any) string { return at(m, "candidates", 0, "content", "parts", 0, "text") },
		call: func(m map[string]any) string {
			for i := range 2 {
				if name := at(m, "candidates", 0, "content", "parts", i, "functionCall", "name"); name != "" {
					return name + raw(m, "candidates", 0, "content", "parts", i, "functionCall", "args")
				}
			}
			return ""
		},
	},
}

// at walks into decoded JSON and gives the string there, "" if there is none.
func at(v any, path ...any) string {
	s, _ := walk(v, path).(string)
	return s
}

func raw(v any, path ...any) string {
	if v = walk(v, path); v == nil {
		return ""
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func walk(v any, path []any) any {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// ask sends a request and joins the text and the call of the answer.
func ask(t *testing.T, s *modeltest.Server, w wire, prompt, history string, stream bool) (text, call string) {
	t.Helper()
	path := w.path
	if stream {
		path = w.streamPath
	}
	resp, err := http.Post(s.URL+path, "application/json", strings.NewReader(w.body(prompt, history, stream)))
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("status %s: %s", resp.Status, b)
	}
	decode := func(b []byte) {
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		text += w.text(m)
		call += w.call(m)
	}
	if !stream {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		decode(b)
		return text, call
	}
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok && data != "[DONE]" {
			decode([]byte(data))
		}
	}
	if sc.Err() != nil {
		t.Fatal(sc.Err())
	}
	return text, call
}

func TestDirectivesAreAnsweredInEveryFormatStreamedAndNot(t *testing.T) {
	const prompt = `Do it. [[text: Grüße, this is the beginning]] [[tool-shell: ls -l]] [[text: done: ]] [[result]]`
	const wantCall = `run{"command":"ls -l","why":"as asked"}`
	for _, w := range wires {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s stream=%t", w.name, stream), func(t *testing.T) {
				s := modeltest.NewServer()
				defer s.Close()
				text, call := ask(t, s, w, prompt, "", stream)
				if text != "Grüße, this is the beginning" || call != wantCall {
					t.Errorf("first completion: text %q call %q", text, call)
				}
				text, call = ask(t, s, w, prompt, w.history, stream)
				if text != "done: listing" || call != "" {
					t.Errorf("second completion: text %q call %q", text, call)
				}
				text, _ = ask(t, s, w, prompt, w.history+w.history, stream)
				if text != "ok" {
					t.Errorf("past the end of the script: text %q, want the default", text)
				}
				reqs := s.Requests()
				if len(reqs) != 3 || len(reqs[1].Items) < 3 || reqs[1].Items[1].Calls[0].Name != "run" || len(reqs[0].Tools) != 1 {
					t.Errorf("the record of the requests is not what was sent")
				}
			})
		}
	}
}
