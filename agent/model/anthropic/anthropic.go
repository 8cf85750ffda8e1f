// Package anthropic makes models of Anthropic, by its messages.
package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// DefaultBaseURL is where Anthropic is.
const DefaultBaseURL = "https://api.anthropic.com"

// defaultMaxOutput is asked for when neither the request nor the model's entry says how long an answer may be: the format
// requires a number, and every model takes this one.
const defaultMaxOutput = 8192

// Model speaks to one model. It is safe for concurrent use.
type Model struct {
	at     endpoint.Endpoint
	info   model.Info
	client api.Client
}

// New makes a model. The endpoint's BaseURL is without /v1; empty means [DefaultBaseURL]. It does no I/O, and takes nothing
// from the process's environment.
func New(at endpoint.Endpoint, info model.Info) *Model {
	at.BaseURL = strings.TrimSuffix(strings.TrimRight(at.BaseURL, "/"), "/v1")
	if at.BaseURL == "" {
		at.BaseURL = DefaultBaseURL
	}
	return &Model{at: at, info: info, client: api.NewClient(
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithAPIKey(at.Key),
		option.WithBaseURL(at.BaseURL),
		option.WithHTTPClient(at.HTTP()),
		option.WithMaxRetries(0),
	)}
}

// Info describes the model.
func (m *Model) Info() model.Info { return m.info }

// Models lists what the provider offers, by name. Failures are *[model.Error].
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, call := m.at.Begin(ctx, m.info, model.Request{})
	defer call.End()
	var names []string
	pages := m.client.Models.ListAutoPaging(ctx, api.ModelListParams{})
	for pages.Next() {
		names = append(names, pages.Current().ID)
	}
	if err := pages.Err(); err != nil {
		return nil, call.Error(err, said(err))
	}
	return names, nil
}

// Stream asks the model. See [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, call := m.at.Begin(ctx, m.info, req)
		defer call.End()
		stream := m.client.Messages.NewStreaming(ctx, m.request(req))
		defer func() { _ = stream.Close() }()
		a := &answer{m: m, yield: yield}
		for stream.Next() {
			if !a.event(stream.Current()) {
				return
			}
		}
		err := stream.Err()
		if a.shown && !yield(a.usage, nil) {
			return
		}
		yield(nil, call.Error(err, said(err)))
	}
}

// said reads what Anthropic said about a failure.
func said(err error) endpoint.Said {
	var a *api.Error
	if !errors.As(err, &a) {
		return endpoint.Said{}
	}
	s := endpoint.Said{Code: string(a.Type()), Message: a.Message}
	if a.StatusCode != http.StatusOK { // an error event comes in a stream that began well
		s.Status = a.StatusCode
	}
	if s.Code == "" {
		s.Code = "unknown"
	}
	switch code := string(a.ErrorCode()); {
	case strings.Contains(code, "spend_limit"), strings.Contains(code, "billing"):
		s.Quota = true
	}
	return s
}
