// Package gemini makes models of Google, by Gemini's generateContent.
package gemini

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"google.golang.org/genai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// DefaultBaseURL is where Gemini is.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Model speaks to one model. It is safe for concurrent use.
type Model struct {
	at     endpoint.Endpoint
	info   model.Info
	client *genai.Client
}

// New makes a model. The endpoint's BaseURL is without a version; empty means [DefaultBaseURL]. It does no I/O. Without a
// key it fails: the library would look for one in the process's environment.
func New(at endpoint.Endpoint, info model.Info) (*Model, error) {
	if at.Key == "" {
		return nil, at.Error(info, model.ErrAuth, fmt.Sprintf("no API key of %s is set. Put one into %s", at.Title, at.KeyVar))
	}
	at.BaseURL = strings.TrimRight(at.BaseURL, "/")
	if at.BaseURL == "" {
		at.BaseURL = DefaultBaseURL
	}
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: at.Key, HTTPClient: at.HTTP(), HTTPOptions: genai.HTTPOptions{BaseURL: at.BaseURL + "/"},
	})
	if err != nil { // its text holds the whole configuration, the key too
		return nil, at.Error(info, model.ErrBadRequest, fmt.Sprintf("the configuration for %s is not valid", at.Title))
	}
	return &Model{at: at, info: info, client: client}, nil
}

// Info describes the model.
func (m *Model) Info() model.Info { return m.info }

// Models lists what the provider offers, by name. Failures are *[model.Error].
func (m *Model) Models(ctx context.Context) ([]string, error) {
	ctx, call := m.at.Begin(ctx, m.info, model.Request{})
	defer call.End()
	var names []string
	for entry, err := range m.client.Models.All(ctx) {
		if err != nil {
			return nil, call.Error(err, said(err))
		}
		names = append(names, strings.TrimPrefix(entry.Name, "models/"))
	}
	return names, nil
}

// Stream asks the model. See [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, call := m.at.Begin(ctx, m.info, req)
		defer call.End()
		contents, config := m.request(req)
		a := &answer{m: m, yield: yield}
		for resp, err := range m.client.Models.GenerateContentStream(ctx, m.info.Name, contents, config) {
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
