package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
	"github.com/wherry-acp/wherry/agent/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(at endpoint.Endpoint, info model.Info) model.Model { return openai.New(at, info) }

func chat() suite.Provider {
	return suite.Provider{Dialect: modeltest.OpenAIChat, Name: "small", Path: "/v1", New: build}
}

func responses() suite.Provider {
	return suite.Provider{Dialect: modeltest.OpenAIResponses, Name: "gpt-6-sol", Path: "/v1", New: build, Signed: true, ResultImages: true}
}

func TestChatCompletions(t *testing.T) { suite.Run(t, chat()) }

func TestResponses(t *testing.T) { suite.Run(t, responses()) }

func TestRequestsAreMappedAsTheGoldenFilesShow(t *testing.T) {
	chat().Golden(t, "chat.json", `{"field":"reasoning_content"}`)
	responses().Golden(t, "responses.json", `{"id":"rs_1","encrypted_content":"secret"}`)
}

// ask sends one prompt to a server that answers with the given lines of data.
func ask(t *testing.T, name string, req model.Request, handlers ...http.Handler) (suite.Answer, *modeltest.Server) {
	t.Helper()
	s := modeltest.NewServer()
	t.Cleanup(s.Close)
	for _, h := range handlers {
		s.QueueHandler(h)
	}
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	m := openai.New(endpoint.Endpoint{Title: "Double", BaseURL: s.URL + "/v1", Client: &http.Client{Transport: tr}}, model.Info{Provider: "double", Name: name})
	return suite.Collect(t.Context(), m, req), s
}

func lines(data ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			fmt.Fprintf(w, "%s\n\n", d)
		}
	})
}

func TestTheWaysOfOtherServersAreUnderstood(t *testing.T) {
	tests := []struct {
		name string
		data []string
		want func(a suite.Answer) bool
	}{
		{
			"reasoning in the field of that name",
			[]string{`data: {"choices":[{"delta":{"reasoning":"hm"}}]}`, `data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`, `data: [DONE]`},
			func(a suite.Answer) bool {
				return a.Thought == "hm" && a.Text == "hi" && len(a.Opaque) == 1 && a.Opaque[0] == nil
			},
		},
		{
			"comments while waiting, an event's name, no space after the colon",
			[]string{": PROCESSING", ": PROCESSING", "event: x\ndata:{\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}"},
			func(a suite.Answer) bool { return a.Text == "hi" && a.Stop == model.StopEnd },
		},
		{
			"an error after comments",
			[]string{": PROCESSING", `data: {"error":{"message":"The server is overloaded","type":"overloaded","code":503}}`},
			func(a suite.Answer) bool {
				return a.Err != nil && strings.Contains(a.Err.Error(), "overloaded (HTTP 503)")
			},
		},
		{
			"an error with a space before it, and after text",
			[]string{`data: {"choices":[{"delta":{"content":"hi"}}]}`, `data: { "error": {"message":"context length exceeded","code":"context_length_exceeded"}}`},
			func(a suite.Answer) bool {
				return a.Err != nil && strings.Contains(a.Err.Error(), "longer than m can take")
			},
		},
		{
			"an error that is a string",
			[]string{`data: {"error":"model runner has unexpectedly stopped"}`},
			func(a suite.Answer) bool { return a.Err != nil && strings.Contains(a.Err.Error(), "internal error") },
		},
		{
			"no reason to stop, but the end mark",
			[]string{`data: {"choices":[{"delta":{"content":"hi"}}]}`, `data: [DONE]`},
			func(a suite.Answer) bool { return a.Err == nil && a.Text == "hi" && a.Stop == model.StopEnd },
		},
		{
			"calls that stop as if there were none",
			[]string{`data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"run","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"view","arguments":"{}"}}]},"finish_reason":"stop"}]}`},
			func(a suite.Answer) bool {
				return len(a.Calls) == 2 && a.Calls[0].Name == "run" && string(a.Calls[0].Args) == `{"x":1}` && a.Calls[1].Name == "view" && a.Stop == model.StopCalls
			},
		},
		{
			"calls that are all number 0",
			[]string{`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"run","arguments":"{\"x\":1}"}}]}}]}`,
				`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"run","arguments":"{\"x\":2}"}}]},"finish_reason":"tool_calls"}]}`},
			func(a suite.Answer) bool { return len(a.Calls) == 2 && string(a.Calls[1].Args) == `{"x":2}` },
		},
		{
			"a call that the output limit cut in two is left out",
			[]string{`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"run","arguments":"{\"x\":"}}]},"finish_reason":"length"}]}`},
			func(a suite.Answer) bool { return a.Err == nil && len(a.Calls) == 0 && a.Stop == model.StopMaxTokens },
		},
		{
			"usage in the last chunk of content",
			[]string{`data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`},
			func(a suite.Answer) bool { return a.Usage.Input == 7 && a.Usage.Output == 2 },
		},
		{
			"a plain JSON error with status 200",
			[]string{`{"error":{"message":"no model is loaded","type":"server_error"}}`},
			func(a suite.Answer) bool { return a.Err != nil && strings.Contains(a.Err.Error(), "internal error") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, _ := ask(t, "m", suite.Prompt("x"), lines(tt.data...)); !tt.want(a) {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestAnAccountWithoutSummariesOfReasoningGetsItsAnswer(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)
	})
	answer := lines(`data: {"type":"response.output_text.delta","delta":"hi"}`, `data: {"type":"response.completed","response":{"status":"completed"}}`)
	a, s := ask(t, "gpt-6-sol", suite.Prompt("x"), refuse, answer)
	if a.Err != nil || a.Text != "hi" || len(s.Requests()) != 2 {
		t.Fatalf("got %+v after %d requests", a, len(s.Requests()))
	}
	if strings.Contains(string(s.Last().Body), `"summary":"auto"`) {
		t.Error("the second request asks for summaries again")
	}
}
