package anthropic_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/anthropic"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(at endpoint.Endpoint, info model.Info) model.Model { return anthropic.New(at, info) }

func messages() suite.Provider {
	return suite.Provider{Dialect: modeltest.Anthropic, Name: "claude-sonnet-5", New: build, Signed: true, ResultImages: true}
}

func TestMessages(t *testing.T) { suite.Run(t, messages()) }

func TestRequestsAreMappedAsTheGoldenFileShows(t *testing.T) {
	messages().Golden(t, "messages.json", `{"signature":"signed"}`)
}

func ask(t *testing.T, name string, h http.Handler, more ...model.Message) (suite.Answer, *modeltest.Server) {
	t.Helper()
	s := modeltest.NewServer()
	t.Cleanup(s.Close)
	s.QueueHandler(h)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	m := anthropic.New(endpoint.Endpoint{Title: "Double", BaseURL: s.URL, Key: "k", Client: &http.Client{Transport: tr}}, model.Info{Provider: "double", Name: name})
	return suite.Collect(t.Context(), m, suite.Prompt("x", more...)), s
}

func events(data ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			kind, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, d)
		}
	})
}

func TestHiddenThoughtsGoBackAsTheyCame(t *testing.T) {
	a, _ := ask(t, "claude-sonnet-5", events(
		`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"hidden-1"}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a b","name":"run","input":{}}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`))
	if a.Err != nil || len(a.Opaque) != 1 || len(a.Calls) != 1 || string(a.Calls[0].Args) != "{}" || a.Usage.Input != 5 || a.Usage.Output != 9 {
		t.Fatalf("got %+v", a)
	}
	b, s := ask(t, "claude-sonnet-5", events(`{"type":"message_stop"}`), a.Then("double", suite.TextResult("y"))...)
	body := string(s.Last().Body)
	if b.Err != nil || !strings.Contains(body, `"data":"hidden-1"`) || !strings.Contains(body, `"type":"redacted_thinking"`) {
		t.Errorf("the request is %s, error %v", body, b.Err)
	}
	if it := s.Last().Items; it[1].Calls[0].ID != "a_b" || it[2].CallID != "a_b" {
		t.Errorf("ids with letters that the provider does not take: %+v", it)
	}
}

func TestAnOverloadInTheStreamIsOne(t *testing.T) {
	a, _ := ask(t, "claude-sonnet-5", events(`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	var e *model.Error
	if !errors.As(a.Err, &e) || e.Kind != model.ErrOverloaded || a.Events != 0 {
		t.Errorf("got %+v; nothing may come before the error, so that it can be tried again", a)
	}
}

func TestOnlyModelsThatDecideForThemselvesAreAskedToThink(t *testing.T) {
	for name, want := range map[string]bool{"claude-sonnet-5-5": true, "claude-opus-4-6": true, "claude-opus-4-5-20251101": false, "claude-sonnet-4-20250514": false,
		"claude-haiku-4-5": false, "glm-5": false, "claude": false} {
		_, s := ask(t, name, events(`{"type":"message_stop"}`))
		if got := strings.Contains(string(s.Last().Body), `"thinking"`); got != want {
			t.Errorf("%s: asked to think %t, want %t", name, got, want)
		}
	}
}
