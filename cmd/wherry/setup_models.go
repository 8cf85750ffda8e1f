package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/config"
	"github.com/wherry-acp/wherry/agent/keys"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/provider"
	"github.com/wherry-acp/wherry/agent/session"
)

// stateFolder is where this person's state is kept; "" if that is not known.
func stateFolder() string {
	path, err := session.DefaultPath(os.LookupEnv)
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

// openKeys makes the store of this person's API keys. It does no I/O.
func openKeys() *keys.Store {
	variables := map[string]string{}
	for _, s := range provider.Services() {
		if s.KeyVar != "" {
			variables[s.ID] = s.KeyVar
		}
	}
	return keys.New(keys.Options{Folder: stateFolder(), Lookup: os.LookupEnv, Variables: variables})
}

// serviceOf finds the provider of a model's id.
func serviceOf(id string) (provider.Service, bool) {
	prefix, _, _ := strings.Cut(id, "/")
	if prefix == "google" {
		prefix = "gemini"
	}
	for _, s := range provider.Services() {
		if s.ID == prefix {
			return s, true
		}
	}
	return provider.Service{}, false
}

// modelSource lists and opens models with the keys and the addresses that are configured.
type modelSource struct {
	keys     *keys.Store
	settings *config.Settings
}

// lookup reads the environment, and where that says nothing what is configured. key is the provider's.
func (m modelSource) lookup(service provider.Service, key string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if v, ok := os.LookupEnv(name); ok && strings.TrimSpace(v) != "" {
			return v, true
		}
		switch {
		case name == service.KeyVar && key != "":
			return key, true
		case name == service.BaseVar && m.settings.Providers[service.ID].BaseURL != "":
			return m.settings.Providers[service.ID].BaseURL, true
		}
		return "", false
	}
}

// key finds the key for a provider; "" if there is none.
func (m modelSource) key(ctx context.Context, service provider.Service) (string, error) {
	if service.KeyVar == "" {
		return "", nil
	}
	k, err := m.keys.Get(ctx, service.ID)
	switch {
	case err == nil:
		return k.Secret(), nil
	case errors.Is(err, keys.ErrNoKey):
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return "", &model.Error{Kind: model.ErrAuth, Provider: service.ID, Message: err.Error()}
}

// list gives the models that a person can choose, and those that only lack a key.
func (m modelSource) list() []agent.ModelChoice {
	used, _ := serviceOf(m.settings.Model) // it was set up, so it has a key, wherever that is
	env := provider.Env{Lookup: func(name string) (string, bool) {
		for _, s := range provider.Services() {
			if (s.KeyVar != "" && s.KeyVar == name && (s.ID == used.ID || m.keys.Seen(s.ID))) || s.BaseVar == name {
				return m.lookup(s, "present")(name)
			}
		}
		return os.LookupEnv(name)
	}}
	var all []agent.ModelChoice
	for _, info := range m.configured(provider.List(env)) {
		all = append(all, agent.ModelChoice{Info: info})
	}
	for _, other := range provider.Unavailable(env) {
		all = append(all, agent.ModelChoice{Info: other.Info, Unavailable: other.Why + ", or run `wherry setup`"})
	}
	return all
}

// configured adds the models that are configured by name to a list, and their limits to those that are in it.
func (m modelSource) configured(list []model.Info) []model.Info {
	for i := range list {
		list[i] = m.limits(list[i])
	}
	for _, id := range slices.Sorted(maps.Keys(m.settings.Providers)) {
		for _, c := range m.settings.Providers[id].Models {
			if !slices.ContainsFunc(list, func(i model.Info) bool { return i.Provider == id && i.Name == c.Name }) {
				list = append(list, m.limits(model.Info{Provider: id, Name: c.Name, Images: true})) // unknown counts as yes
			}
		}
	}
	return list
}

// limits puts what is configured for a model into what is known of it.
func (m modelSource) limits(info model.Info) model.Info {
	for _, c := range m.settings.Providers[info.Provider].Models {
		if c.Name == info.Name {
			info.ContextWindow = cmp.Or(c.ContextWindow, info.ContextWindow)
			info.MaxOutput = cmp.Or(c.MaxOutput, info.MaxOutput)
			if c.InputPrice > 0 || c.OutputPrice > 0 {
				info.Price = &model.Price{Input: c.InputPrice, Output: c.OutputPrice}
			}
		}
	}
	return info
}

// open gives the model with this id. What is wrong with the settings is told in place of every answer, because then it is
// not known which model, and whose server, was meant.
func (m modelSource) open(ctx context.Context, id string) (model.Model, error) {
	if len(m.settings.Problems) > 0 {
		return nil, &model.Error{Kind: model.ErrBadRequest, Provider: "settings", Message: m.settings.Problems[0].Error() + ". Correct it and start again"}
	}
	service, ok := serviceOf(id)
	if !ok { // the embedded model, or an error that says so
		return provider.Open(ctx, id, provider.Env{Lookup: os.LookupEnv})
	}
	k := &keyed{models: m, id: id, service: service}
	if _, err := k.current(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// keyed is a model whose key is looked up before each request, so that a new one is used without a restart.
type keyed struct {
	models  modelSource
	id      string
	service provider.Service

	mu    sync.Mutex
	model model.Model // nil until it is opened
	key   string      // that it was opened with
}

// current gives the model with the key that holds now.
func (k *keyed) current(ctx context.Context) (model.Model, error) {
	key, err := k.models.key(ctx, k.service)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.model != nil && key == k.key {
		return k.model, nil
	}
	m, err := provider.Open(ctx, k.id, provider.Env{Lookup: k.models.lookup(k.service, key)})
	if err != nil {
		return nil, withSetup(err)
	}
	k.model, k.key = m, key
	return m, nil
}

// Info describes the model, with the limits that are configured for it.
func (k *keyed) Info() model.Info {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.models.limits(k.model.Info())
}

// Stream asks the model.
func (k *keyed) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		m, err := k.current(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for event, err := range m.Stream(ctx, req) {
			if !yield(event, withSetup(err)) {
				return
			}
		}
	}
}

// withSetup adds to a refused or missing key the way that helps without a restart.
func withSetup(err error) error {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != model.ErrAuth {
		return err
	}
	told := *failure
	told.Message += ". Or run `wherry setup`, which stores a key that counts at once"
	return &told
}
