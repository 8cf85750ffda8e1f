// Package gemini makes models of Google, by Gemini's generateContent.
//
// It speaks the format itself. Google's library was tried first: it made the start of the program 7.5 ms longer, began a
// goroutine at start that never ends, and printed to the standard log.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// DefaultBaseURL is where Gemini is.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Model speaks to one model. It is safe for concurrent use.
type Model struct {
	at     endpoint.Endpoint
	info   model.Info
	client *http.Client
}

// New makes a model. The endpoint's BaseURL is without a version; empty means [DefaultBaseURL]. It does no I/O.
func New(at endpoint.Endpoint, info model.Info) *Model {
	at.BaseURL = strings.TrimSuffix(strings.TrimRight(at.BaseURL, "/"), "/v1beta")
	if at.BaseURL == "" {
		at.BaseURL = DefaultBaseURL
	}
	return &Model{at: at, info: info, client: at.HTTP()}
}

// Info describes the model.
func (m *Model) Info() model.Info { return m.info }

// Models lists what the provider offers, by name. Failures are *[model.Error].
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, call := m.at.Begin(ctx, m.info, model.Request{})
	defer call.End()
	names, err := m.models(ctx)
	if err != nil {
		return nil, call.Error(err, said(err))
	}
	for i, n := range names {
		names[i] = strings.TrimPrefix(n, "models/")
	}
	return names, nil
}

// Stream asks the model. See [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, call := m.at.Begin(ctx, m.info, req)
		defer call.End()
		a := &answer{m: m, yield: yield}
		for resp, err := range m.generate(ctx, m.request(req)) {
			if err != nil {
				a.fail(call, err)
				return
			}
			if !a.response(resp) {
				return
			}
		}
		if !a.finish() {
			a.fail(call, nil)
		}
	}
}
