package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/keys"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/provider"
	"github.com/wherry-acp/wherry/agent/model/retry"
)

// lookTime is how long a server on this machine may take to say what it has, when it is looked for.
const lookTime = 2 * time.Second

// found is what there is of a provider before anything was asked.
type found struct {
	service provider.Service
	key     keys.Key // its Place is "" if there is none
	keyErr  error
	models  []string // of a server on this machine
	running bool
}

// about says what was found, in a few words.
func (f found) about() string {
	switch {
	case f.service.Local && f.running:
		return fmt.Sprintf("runs on this machine, with %d models", len(f.models))
	case f.service.Local:
		return "does not run on this machine now"
	case f.keyErr != nil:
		return f.keyErr.Error()
	case f.key.Place != "":
		return fmt.Sprintf("key %v in %s", f.key, f.key.Where)
	}
	return "needs an API key"
}

func (f found) ready() bool { return f.running || f.key.Place != "" }

// look finds what is there. Servers on this machine are asked side by side.
func (s *setup) look(services []provider.Service) []found {
	all := make([]found, len(services))
	ctx, cancel := context.WithTimeout(s.env.ctx, lookTime)
	defer cancel()
	var asked sync.WaitGroup
	for i, service := range services {
		all[i].service = service
		if service.Local {
			asked.Go(func() {
				names, err := provider.Remote(ctx, service.ID, provider.Env{Lookup: s.lookup(service, "", "")})
				slices.Sort(names)
				all[i].models, all[i].running = names, err == nil
			})
			continue
		}
		all[i].key, all[i].keyErr = s.keys.Get(s.env.ctx, service.ID)
		if errors.Is(all[i].keyErr, keys.ErrNoKey) {
			all[i].keyErr = nil
		}
	}
	asked.Wait()
	return all
}

// lookup is what a model is opened with: a key and an address that are not stored yet go before everything else.
func (s *setup) lookup(service provider.Service, key, baseURL string) func(string) (string, bool) {
	stored := modelSource{keys: s.keys, settings: s.settings}.lookup(service, "")
	return func(name string) (string, bool) {
		switch {
		case name == service.KeyVar && key != "":
			return key, true
		case name == service.BaseVar && baseURL != "":
			return baseURL, true
		}
		return stored(name)
	}
}

// chooseModel finds out which model to use, with which key, and tries it.
func (s *setup) chooseModel(p *plan) error {
	name, err := s.chooseProvider()
	if err != nil {
		return err
	}
	if name == "offline" {
		p.model = provider.OfflineID
		if s.flags.KeyStdin || s.flags.BaseURL != "" {
			return errUsage{"the offline model has no key and no address"}
		}
		return nil
	}
	service, _ := serviceOf(name)
	p.service, p.baseURL = service, s.flags.BaseURL
	here := s.look([]provider.Service{service})[0]
	key, err := s.chooseKey(p, here)
	if err != nil {
		return err
	}
	for {
		if p.model, err = s.chooseName(service, here, key, p.baseURL); err != nil {
			return err
		}
		if s.flags.NoTest {
			return nil
		}
		err := s.try(service, p.model, key, p.baseURL)
		if err == nil {
			return nil
		}
		if !s.people.there() || s.env.ctx.Err() != nil {
			return fmt.Errorf("nothing is stored, because the model could not be tried (--no-test stores it all the same): %w", err)
		}
		s.say("That did not work: %v", err)
		again, err := s.people.line(s.env.ctx, "Type again to try again, key for another key, model for another model, keep to store it all the same, or quit.", "again")
		if err != nil {
			return err
		}
		switch strings.ToLower(again) {
		case "keep", "k":
			return nil
		case "quit", "q":
			return errNoAnswer
		case "model", "m":
			s.flags.Model = ""
		case "key":
			if service.KeyVar == "" {
				s.say("%s needs no key.", service.Title)
				continue
			}
			if key, err = s.askKey(service); err != nil {
				return err
			}
			p.key = key
		default:
			s.flags.Model = p.model
		}
	}
}

// chooseProvider gives a provider's id or "offline".
func (s *setup) chooseProvider() (string, error) {
	name := strings.ToLower(s.flags.Provider)
	if name == "" && strings.Contains(s.flags.Model, "/") {
		name, _, _ = strings.Cut(s.flags.Model, "/")
	}
	if name != "" {
		if service, ok := serviceOf(name); ok {
			return service.ID, nil
		}
		if name == "offline" {
			return name, nil
		}
		return "", errUsage{fmt.Sprintf("there is no provider %q: it is one of %s, offline", name, strings.Join(providerIDs(), ", "))}
	}
	if !s.people.there() {
		return "", errUsage{"say which provider is meant: --provider NAME"}
	}
	return s.askProvider()
}

func (s *setup) askProvider() (string, error) {
	s.say("Looking for keys and for models on this machine …")
	all := s.look(provider.Services())
	first := 0
	var names []string
	for i, f := range all {
		if f.ready() && first == 0 {
			first = i + 1
		}
		names = append(names, f.service.ID)
		s.say("  %d  %-10s %s: %s", i+1, f.service.ID, f.service.Title, f.about())
	}
	names = append(names, "offline")
	s.say("  %d  %-10s %s", len(names), "offline", "embedded: no key, no network; finds, quotes and edits, and is no language model")
	if first == 0 {
		first = 1
	}
	for {
		answer, err := s.people.line(s.env.ctx, "Which provider? Its number or name:", strconv.Itoa(first))
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) {
			return names[n-1], nil
		}
		if slices.Contains(names, strings.ToLower(answer)) {
			return strings.ToLower(answer), nil
		}
		s.say("Please answer with a number from 1 to %d, or a name.", len(names))
	}
}

// chooseKey gives the key to use, "" if none is needed, and notes it in the plan if it is to be stored.
func (s *setup) chooseKey(p *plan, here found) (string, error) {
	service := here.service
	switch {
	case service.KeyVar == "":
		if s.flags.KeyStdin {
			return "", errUsage{fmt.Sprintf("%s needs no key", service.Title)}
		}
		return "", nil
	case s.flags.KeyStdin:
		if s.people.there() {
			return s.storedKey(p, service, s.askKey)
		}
		return s.storedKey(p, service, func(provider.Service) (string, error) {
			text, err := s.people.all(s.env.ctx)
			if err != nil && !errors.Is(err, errNoAnswer) {
				return "", err
			}
			key, err := keys.Check(text)
			if err != nil {
				return "", errUsage{fmt.Sprintf("on stdin: %v", err)}
			}
			return key, nil
		})
	case here.keyErr != nil:
		return "", here.keyErr
	case !s.people.there() && here.key.Place != "":
		return here.key.Secret(), nil
	case !s.people.there() && s.keyless(p):
		return "", nil
	case !s.people.there():
		return "", errUsage{fmt.Sprintf("there is no key for %s: pass it on stdin with --key-stdin, or set %s", service.Title, service.KeyVar)}
	case here.key.Place == "":
		return s.storedKey(p, service, s.askKey)
	}
	use, err := s.people.yes(s.env.ctx, fmt.Sprintf("Use the key %v in %s?", here.key, here.key.Where), true)
	switch {
	case err != nil:
		return "", err
	case !use:
		return s.storedKey(p, service, s.askKey)
	case here.key.Place != keys.InEnvironment:
		return here.key.Secret(), nil
	}
	store, err := s.people.yes(s.env.ctx, "Store it too? An editor that was not started from this shell does not see the variable.", true)
	if store && err == nil {
		p.key = here.key.Secret()
	}
	return here.key.Secret(), err
}

// keyless tells that a server of the person's own takes the place of the provider, which may need no key.
func (s *setup) keyless(p *plan) bool {
	at, _ := s.lookup(p.service, "", p.baseURL)(p.service.BaseVar)
	return p.service.ID == "openai" && at != ""
}

func (s *setup) storedKey(p *plan, service provider.Service, get func(provider.Service) (string, error)) (string, error) {
	key, err := get(service)
	p.key = key
	return key, err
}

func (s *setup) askKey(service provider.Service) (string, error) {
	return s.people.secret(s.env.ctx, fmt.Sprintf("The API key of %s (it does not show):", service.Title), keys.Check)
}

// chooseName gives the model's id.
func (s *setup) chooseName(service provider.Service, here found, key, baseURL string) (string, error) {
	name := strings.TrimPrefix(s.flags.Model, service.ID+"/")
	byDefault := service.Model
	if service.Local && len(here.models) > 0 {
		byDefault = here.models[0]
	}
	switch {
	case name == "" && !s.people.there() && byDefault == "":
		return "", errUsage{fmt.Sprintf("say which model of %s: --model NAME. %s", service.Title, service.Start)}
	case name == "" && !s.people.there():
		name = byDefault
	case name == "":
		var err error
		if name, err = s.askName(service, here, byDefault, key, baseURL); err != nil {
			return "", err
		}
	}
	id := service.ID + "/" + name
	if other, ok := serviceOf(name); ok && strings.Contains(name, "/") && s.flags.Model != "" && other.ID != service.ID && service.ID != "openai" {
		return "", errUsage{fmt.Sprintf("--model %s is not one of %s", name, service.Title)}
	}
	return id, nil
}

func (s *setup) askName(service provider.Service, here found, byDefault, key, baseURL string) (string, error) {
	if len(here.models) > 0 {
		s.say("%s has: %s", service.Title, strings.Join(here.models, ", "))
	}
	for {
		answer, err := s.people.line(s.env.ctx, "Which model? Its name, or ? for a list:", byDefault)
		switch {
		case err != nil:
			return "", err
		case answer == "?":
			ctx, cancel := context.WithTimeout(s.env.ctx, 15*time.Second)
			names, err := provider.Remote(ctx, service.ID, provider.Env{Lookup: s.lookup(service, key, baseURL)})
			cancel()
			if err != nil {
				s.say("%v", err)
				continue
			}
			slices.Sort(names)
			s.say("%s", strings.Join(names, "\n"))
		case answer != "":
			return strings.TrimPrefix(answer, service.ID+"/"), nil
		}
	}
}

// tryTime bounds the question that a model is tried with.
const tryTime = 90 * time.Second

// try asks the model a question, and shows its answer.
func (s *setup) try(service provider.Service, id, key, baseURL string) error {
	ctx, cancel := context.WithTimeoutCause(s.env.ctx, tryTime, fmt.Errorf("no complete answer came within %s", tryTime))
	defer cancel()
	s.say("Asking %s …", id)
	m, err := provider.Open(ctx, id, provider.Env{Lookup: s.lookup(service, key, baseURL), Retry: retry.Policy{}})
	if err != nil {
		return err
	}
	var answer strings.Builder
	request := model.Request{Messages: []model.Message{{
		Role: model.RoleUser, Parts: []model.Part{model.Text{Text: "This is a test of the connection. Answer with the one word: ready"}},
	}}}
	for event, err := range m.Stream(ctx, request) {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
		switch event := event.(type) {
		case model.TextDelta:
			answer.WriteString(event.Text)
		case model.Waiting:
			s.say("%s", event.Reason)
		}
	}
	if strings.TrimSpace(answer.String()) == "" {
		s.say("It answers, without a word.")
		return nil
	}
	s.say("It answers: %s", clipped(firstLine(answer.String())))
	return nil
}

func clipped(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + " …"
	}
	return text
}
