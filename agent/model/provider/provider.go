// Package provider finds models by their ids and the environment: which keys are set, where servers are.
package provider

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/anthropic"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/gemini"
	"github.com/wherry-acp/wherry/agent/model/offline"
	"github.com/wherry-acp/wherry/agent/model/openai"
	"github.com/wherry-acp/wherry/agent/model/retry"
)

// OfflineID names the embedded model, which needs no key and no network.
const OfflineID = "offline/offline"

// Env is what models are configured from.
type Env struct {
	// Lookup reads an environment variable, as os.LookupEnv does. Nil means that none is set.
	Lookup func(name string) (value string, ok bool)
	// Client sends the requests. Nil makes one that honours HTTPS_PROXY, HTTP_PROXY, NO_PROXY and SSL_CERT_FILE; see
	// [NewHTTPClient].
	Client *http.Client
	// Idle is how long a connection may be silent before a request is given up; 0 for two minutes, negative for ever.
	Idle time.Duration
	// Retry says how patient to be with a busy provider.
	Retry retry.Policy
}

// get reads a variable. White space around a value, as pasted keys have it, is left out.
func (e Env) get(name string) string {
	if e.Lookup == nil {
		return ""
	}
	v, _ := e.Lookup(name)
	return strings.TrimSpace(v)
}

func (e Env) or(name, fallback string) string {
	if v := e.get(name); v != "" {
		return v
	}
	return fallback
}

// service is one provider: how it is spoken of, where its configuration is, how a model of it is made.
type service struct {
	id       string // what stands before the slash in a model's id
	title    string
	keyVar   string // "" if it needs no key
	baseVars []string
	modelVar string // names the default model
	model    string // the default model's name; "" if there is none
	local    func(Env) string
	start    string
}

// services are the providers in the order in which [Default] prefers them.
func services() []service {
	return []service{
		{id: "anthropic", title: "Anthropic", keyVar: "ANTHROPIC_API_KEY", baseVars: []string{"ANTHROPIC_BASE_URL"}, modelVar: "ANTHROPIC_MODEL", model: "claude-sonnet-5-5"},
		{id: "openai", title: "OpenAI", keyVar: "OPENAI_API_KEY", baseVars: []string{"OPENAI_BASE_URL"}, modelVar: "OPENAI_MODEL", model: "gpt-6.1-sol"},
		{id: "gemini", title: "Gemini", keyVar: "GEMINI_API_KEY", baseVars: []string{"GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"}, modelVar: "GEMINI_MODEL", model: "gemini-3.7-flash"},
		{id: "ollama", title: "Ollama", baseVars: []string{"OLLAMA_HOST"}, local: ollamaURL,
			start: "Start Ollama (ollama serve), or set OLLAMA_HOST to where it runs"},
		{id: "lmstudio", title: "LM Studio", baseVars: []string{"LMSTUDIO_BASE_URL"}, local: lmstudioURL,
			start: "Start LM Studio's server (lms server start), or set LMSTUDIO_BASE_URL to where it runs"},
	}
}

func find(id string) (service, bool) {
	for _, s := range services() {
		if s.id == id || id == "google" && s.id == "gemini" {
			return s, true
		}
	}
	return service{}, false
}

// endpoint configures the service from the environment.
func (s service) endpoint(e Env) (endpoint.Endpoint, error) {
	at := endpoint.Endpoint{Title: s.title, KeyVar: s.keyVar, BaseVar: s.baseVars[0], Start: s.start, Client: e.Client, Idle: e.Idle}
	if s.keyVar != "" {
		at.Key = e.get(s.keyVar)
	}
	for _, name := range s.baseVars {
		if v := e.get(name); v != "" {
			at.BaseURL, at.BaseVar = v, name
			break
		}
	}
	if s.local != nil {
		at.BaseURL = s.local(e)
	}
	if at.BaseURL != "" {
		if u, err := url.Parse(at.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return at, s.fail(model.ErrBadRequest, "%s is not an address that begins with http:// or https://. Correct it, or unset it", at.BaseVar)
		}
	}
	if at.Client == nil {
		client, err := NewHTTPClient(e.Lookup)
		if err != nil {
			return at, s.fail(model.ErrNetwork, "%v", err)
		}
		at.Client = client
	}
	return at, nil
}

func (s service) fail(kind model.ErrorKind, format string, args ...any) *model.Error {
	return &model.Error{Kind: kind, Provider: s.id, Message: fmt.Sprintf(format, args...)}
}

// configured tells whether models of the service can be asked without further ado: its key is set, or a server of the
// person's own takes its place.
func (s service) configured(e Env) bool {
	return s.keyVar != "" && (e.get(s.keyVar) != "" || s.id == "openai" && e.get("OPENAI_BASE_URL") != "" && e.get(s.modelVar) != "")
}

// Default is the id of the model to use when nobody chose one: of the first provider whose key is set, else [OfflineID].
// It does no I/O.
func Default(e Env) string {
	for _, s := range services() {
		if s.configured(e) {
			return s.id + "/" + e.or(s.modelVar, s.model)
		}
	}
	return OfflineID
}

// List gives the models that can be opened with the keys that are set, those known by name, the default first, and the
// embedded one last. It does no I/O; [Remote] asks a provider.
func List(e Env) []model.Info {
	var list []model.Info
	for _, s := range services() {
		if !s.configured(e) {
			continue
		}
		first := e.or(s.modelVar, s.model)
		list = append(list, s.describe(e, first))
		for _, k := range known() {
			if k.Provider == s.id && k.Name != first && s.officialAddress(e) {
				list = append(list, s.describe(e, k.Name))
			}
		}
	}
	return append(list, offline.New().Info())
}

// Missing is a model that cannot be opened, and why.
type Missing struct {
	model.Info
	Why string // what to do about it, as a clause: "set OPENAI_API_KEY"
}

// Unavailable gives the default models of the hosted providers that have no key. It does no I/O.
func Unavailable(e Env) []Missing {
	var list []Missing
	for _, s := range services() {
		if s.keyVar != "" && !s.configured(e) {
			list = append(list, Missing{Info: s.describe(e, e.or(s.modelVar, s.model)), Why: "set " + s.keyVar})
		}
	}
	return list
}

// officialAddress tells that the service is where it always is, so that its well-known models are there.
func (s service) officialAddress(e Env) bool {
	for _, name := range s.baseVars {
		if e.get(name) != "" {
			return false
		}
	}
	return true
}

// Open finds a model by its id, provider/name. Failures are *[model.Error]: [model.ErrAuth] when the provider's key is
// not set, [model.ErrNotFound] for an unknown provider or a malformed id.
//
// Hosted models are not asked before the first prompt. Servers on the person's machine (ollama, lmstudio) are: whether they
// run and have the model. The model that Open returns retries as e.Retry says.
func Open(ctx context.Context, id string, e Env) (model.Model, error) {
	if id == OfflineID || id == "offline" {
		return offline.New(), nil
	}
	s, name, err := parse(id)
	if err != nil {
		return nil, err
	}
	at, err := s.endpoint(e)
	if err != nil {
		return nil, err
	}
	if s.keyVar != "" && at.Key == "" && (s.id != "openai" || at.BaseURL == "") {
		return nil, s.fail(model.ErrAuth, "no API key of %s is set. Put one into %s and start again, or choose another model (%s needs no key)", s.title, s.keyVar, OfflineID)
	}
	info := s.describe(e, name)
	if s.local != nil {
		if name, err = s.check(ctx, at, name); err != nil {
			return nil, err
		}
		info.Name = name
	}
	return retry.Wrap(s.make(at, info), e.Retry), nil
}

// lister is a model whose server can say what it has.
type lister interface {
	model.Model
	Models(ctx context.Context) ([]string, error)
}

func (s service) make(at endpoint.Endpoint, info model.Info) lister {
	switch s.id {
	case "anthropic":
		return anthropic.New(at, info)
	case "gemini":
		return gemini.New(at, info)
	}
	return openai.New(at, info)
}

// parse splits an id into its provider and the model's name, which may hold further slashes.
func parse(id string) (service, string, error) {
	prefix, name, ok := strings.Cut(id, "/")
	s, found := find(prefix)
	switch {
	case !ok || name == "":
		return s, "", &model.Error{Kind: model.ErrNotFound, Provider: "models",
			Message: fmt.Sprintf("%q does not name a model. Write provider/name, for instance %s", id, example(s))}
	case !found:
		return s, "", &model.Error{Kind: model.ErrNotFound, Provider: "models",
			Message: fmt.Sprintf("there is no provider %q. Write one of %s before the slash; for another server that speaks like OpenAI set OPENAI_BASE_URL and write openai/%s",
				prefix, providerNames(), name)}
	}
	return s, name, nil
}

func example(s service) string {
	switch {
	case s.model != "":
		return s.id + "/" + s.model
	case s.id != "":
		return s.id + "/qwen3"
	}
	return "anthropic/" + services()[0].model
}

func providerNames() string {
	var names []string
	for _, s := range services() {
		names = append(names, s.id)
	}
	return strings.Join(append(names, "offline"), ", ")
}

// Remote asks a provider for the names of its models, for instance "ollama". Failures are *[model.Error].
func Remote(ctx context.Context, provider string, e Env) ([]string, error) {
	s, _, err := parse(provider + "/all")
	if err != nil {
		return nil, err
	}
	at, err := s.endpoint(e)
	if err != nil {
		return nil, err
	}
	return s.make(at, model.Info{Provider: s.id}).Models(ctx)
}
