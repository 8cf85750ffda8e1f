package gemini_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/gemini"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(at endpoint.Endpoint, info model.Info) model.Model { return gemini.New(at, info) }

func third() suite.Provider {
	return suite.Provider{Dialect: modeltest.Gemini, Name: "gemini-3-pro-preview", New: build, Signed: true, ResultImages: true}
}

func TestGenerateContent(t *testing.T) { suite.Run(t, third()) }

func TestGenerateContentOfTheSecondGeneration(t *testing.T) {
	suite.Run(t, suite.Provider{Dialect: modeltest.Gemini, Name: "gemini-2.0-flash", New: build, Signed: true})
}

func TestRequestsAreMappedAsTheGoldenFileShows(t *testing.T) {
	third().Golden(t, "generate.json", `{"thoughtSignature":"c2lnbmVk"}`)
}

func ask(t *testing.T, h http.Handler) suite.Answer {
	t.Helper()
	s := modeltest.NewServer()
	t.Cleanup(s.Close)
	s.QueueHandler(h)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	m := gemini.New(endpoint.Endpoint{Title: "Double", KeyVar: "K", BaseURL: s.URL, Key: "k", Client: &http.Client{Transport: tr}}, model.Info{Provider: "double", Name: "gemini-3"})
	return suite.Collect(t.Context(), m, suite.Prompt("x"))
}

func body(status int, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
}

func TestWhatGeminiSaysInDetailsCounts(t *testing.T) {
	tests := []struct {
		name   string
		answer http.Handler
		kind   model.ErrorKind
		wait   time.Duration
	}{
		{"a key that is not valid comes as 400",
			body(400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`), model.ErrAuth, 0},
		{"a limit of a minute passes, and says when",
			body(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"violations":[{"quotaId":"RequestsPerMinute"}]},{"retryDelay":"37.5s"}]}}`),
			model.ErrRateLimit, 37500 * time.Millisecond},
		{"a limit of a day does not",
			body(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"RequestsPerDay-Free"}]}]}}`), model.ErrQuota, 0},
		{"an error in a list", body(503, `[{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}]`), model.ErrOverloaded, 0},
		{"an error of status 200 without events", body(200, "{\n  \"error\": {\"code\": 429, \"status\": \"RESOURCE_EXHAUSTED\"}\n}"), model.ErrRateLimit, 0},
		{"an answer of something else", body(200, "hello"), model.ErrCut, 0},
		{"an answer of something else in lines", body(200, "hello\nworld\n"), model.ErrGarbage, 0},
		{"a body that says nothing", body(500, ""), model.ErrServer, 0},
	}
	for _, tt := range tests {
		a := ask(t, tt.answer)
		var e *model.Error
		if !errors.As(a.Err, &e) || e.Kind != tt.kind || e.RetryAfter != tt.wait {
			t.Errorf("%s: got %+v", tt.name, a)
		}
	}
}

func TestFiltersAreARefusal(t *testing.T) {
	for _, data := range []string{`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"candidates":[{"finishReason":"RECITATION"}]}`} {
		if a := ask(t, body(200, "data: "+data+"\r\n\r\n")); a.Err != nil || a.Stop != model.StopRefusal {
			t.Errorf("%s: got %+v", data, a)
		}
	}
}

func TestAnEventMayHaveSeveralLinesAndTheLastNoEmptyOne(t *testing.T) {
	a := ask(t, body(200, ": hello\ndata: {\"candidates\":[{\"content\":\ndata: {\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}]}\n"))
	if a.Err != nil || a.Text != "hi" {
		t.Errorf("got %+v", a)
	}
}
