// Package openai makes models of OpenAI and of every server that speaks its chat completions: Ollama, LM Studio, vLLM,
// OpenRouter and others.
package openai

import (
	"context"
	"errors"
	"iter"
	"math"
	"net/http"
	"strings"
	"sync/atomic"

	api "github.com/sashabaranov/go-openai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// DefaultBaseURL is where OpenAI is.
const DefaultBaseURL = "https://api.openai.com/v1"

// Model speaks to one model. It is safe for concurrent use.
type Model struct {
	at     endpoint.Endpoint
	info   model.Info
	client *api.Client
	own    bool // it is OpenAI itself, not a server that is like it

	noSummary atomic.Bool // the account gets no summaries of reasoning
}

// New makes a model. The endpoint's BaseURL includes the /v1; empty means [DefaultBaseURL]. It does no I/O.
func New(at endpoint.Endpoint, info model.Info) *Model {
	at.BaseURL = strings.TrimRight(at.BaseURL, "/")
	own := at.BaseURL == "" || at.BaseURL == DefaultBaseURL
	if own {
		at.BaseURL = DefaultBaseURL
	}
	m := &Model{at: at, info: info, own: own}
	cfg := api.DefaultConfig(at.Key)
	cfg.BaseURL = at.BaseURL
	cfg.HTTPClient = &dataOnly{at.HTTP()}
	cfg.EmptyMessagesLimit = math.MaxUint // the watchdog ends what is silent; keep-alive lines are no error
	m.client = api.NewClientWithConfig(cfg)
	return m
}

// Info describes the model.
func (m *Model) Info() model.Info { return m.info }

// Stream asks the model. See [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, call := m.at.Begin(ctx, m.info, req)
		defer call.End()
		if m.wantsResponses() {
			m.respond(ctx, call, req, yield)
			return
		}
		m.complete(ctx, call, req, yield)
	}
}

// Models lists what the server offers, by name. Failures are *[model.Error].
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, call := m.at.Begin(ctx, m.info, model.Request{})
	defer call.End()
	list, err := m.client.ListModels(ctx)
	if err != nil {
		return nil, call.Error(err, said(err))
	}
	names := make([]string, 0, len(list.Models))
	for _, l := range list.Models {
		names = append(names, l.ID)
	}
	return names, nil
}

// said reads what OpenAI said about a failure.
func said(err error) endpoint.Said {
	var a *api.APIError
	if errors.As(err, &a) {
		s := endpoint.Said{Status: a.HTTPStatusCode, Code: a.Type, Message: a.Message}
		if code, ok := a.Code.(string); ok && code != "" {
			s.Code = code
		}
		if code, ok := a.Code.(int); ok && s.Status == 0 && code >= 400 && code < 600 {
			s.Status = code
		}
		if a.Type == "insufficient_quota" {
			s.Quota = true
		}
		return s
	}
	var r *api.RequestError
	if errors.As(err, &r) {
		return endpoint.Said{Status: r.HTTPStatusCode}
	}
	return endpoint.Said{}
}

// dataOnly takes out of event streams what the library stumbles over: comments and event names, which it counts as
// errors in the making.
type dataOnly struct{ client *http.Client }

// Do sends the request.
func (d *dataOnly) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && r.Header.Get("Accept") == "text/event-stream" {
		resp.Body = newDataLines(resp.Body)
	}
	return resp, nil
}
