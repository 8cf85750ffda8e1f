package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// file is the format of both files. A pointer tells that a key is there.
type file struct {
	Model      *string                 `toml:"model"`
	Mode       *string                 `toml:"mode"`
	Thought    *string                 `toml:"thought"`
	Titles     *string                 `toml:"titles"`
	PII        *string                 `toml:"pii"`
	PIINames   []string                `toml:"pii_names"`
	Secrets    *string                 `toml:"secrets"`
	Log        *string                 `toml:"log"`
	WireLog    *string                 `toml:"wire_log"`
	Roots      []string                `toml:"roots"`
	Commands   *string                 `toml:"commands"`
	AskTimeout *string                 `toml:"ask_timeout"`
	Budget     fileBudget              `toml:"budget"`
	Providers  map[string]fileProvider `toml:"providers"`
	MCP        map[string]fileServer   `toml:"mcp"`
}

type fileBudget struct {
	Steps  *int     `toml:"steps"`
	Tokens *int     `toml:"tokens"`
	Cost   *float64 `toml:"cost"`
}

type fileProvider struct {
	BaseURL string               `toml:"base_url"`
	Models  []string             `toml:"models"`
	Model   map[string]fileModel `toml:"model"`
}

type fileModel struct {
	ContextWindow int     `toml:"context_window"`
	MaxOutput     int     `toml:"max_output"`
	InputPrice    float64 `toml:"input_price"`
	OutputPrice   float64 `toml:"output_price"`
}

type fileServer struct {
	Transport    string            `toml:"transport"`
	Command      string            `toml:"command"`
	Args         []string          `toml:"args"`
	Env          map[string]string `toml:"env"`
	URL          string            `toml:"url"`
	Headers      map[string]string `toml:"headers"`
	Trust        string            `toml:"trust"`
	StartTimeout string            `toml:"start_timeout"`
	CallTimeout  string            `toml:"call_timeout"`
	Disabled     bool              `toml:"disabled"`
}

// layer is what one file, the environment or the flags say.
type layer struct {
	values    map[string]value // of options
	providers map[string]Provider
	mcp       map[string]Server
	sources   map[string]Source // of providers and mcp
}

// place says how a file is read.
type place struct {
	layer     Layer
	path      string
	base      string   // relative paths begin there; "" if they are refused
	home      string   // for ~/; "" if unknown
	providers []string // ids that exist; nil for any
}

// parse reads a file strictly.
func (p place) parse(data []byte) (layer, []*Problem) {
	var f file
	decoder := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return layer{}, p.problems(err)
	}
	at, err := locate(data)
	if err != nil { // not possible: it was just decoded
		return layer{}, p.problems(err)
	}
	r := reader{place: p, at: at, layer: layer{
		values: map[string]value{}, providers: map[string]Provider{}, mcp: map[string]Server{}, sources: map[string]Source{},
	}}
	r.options(f)
	for _, id := range slices.Sorted(maps.Keys(f.Providers)) {
		r.provider(id, f.Providers[id])
	}
	for _, name := range slices.Sorted(maps.Keys(f.MCP)) {
		r.server(name, f.MCP[name])
	}
	return r.layer, r.problems
}

// problems explains a failure of the decoder.
func (p place) problems(err error) []*Problem {
	var strict *toml.StrictMissingError
	var one *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		var list []*Problem
		for i := range strict.Errors {
			e := &strict.Errors[i]
			row, column := e.Position()
			list = append(list, &Problem{Path: p.path, Line: row, Column: column, Text: unknown(e.Key())})
		}
		return list
	case errors.As(err, &one):
		row, column := one.Position()
		text := strings.TrimPrefix(one.Error(), "toml: ")
		if strings.Contains(text, " into struct field ") { // speaks of Go
			text = fmt.Sprintf("%s has a value of the wrong type", strings.Join(one.Key(), "."))
		}
		return []*Problem{{Path: p.path, Line: row, Column: column, Text: text}}
	}
	return []*Problem{{Path: p.path, Text: strings.TrimPrefix(err.Error(), "toml: ")}}
}

// unknown says that there is no such key, and which one was probably meant.
func unknown(key []string) string {
	if len(key) == 0 {
		return "there is no such key"
	}
	t := reflect.TypeFor[file]()
	for i, name := range key {
		switch t.Kind() {
		case reflect.Map:
			t = t.Elem()
			continue
		case reflect.Struct:
		default:
			return fmt.Sprintf("%s has nothing below it", strings.Join(key[:i], "."))
		}
		var known []string
		next, found := t, false
		for field := range t.Fields() {
			tag := field.Tag.Get("toml")
			known = append(known, tag)
			if tag == name {
				next, found = field.Type, true
			}
		}
		if found {
			t = next
			continue
		}
		text := fmt.Sprintf("there is no key %q", strings.Join(key[:i+1], "."))
		if meantAsKey(name) {
			return text + "; API keys are not kept in this file: run `wherry setup`"
		}
		return text + suggestion(name, known)
	}
	return fmt.Sprintf("%s is not used here", strings.Join(key, "."))
}

// keyPath joins the parts of a key so that dots in names do not matter.
func keyPath(parts ...string) string { return strings.Join(parts, "\x00") }

// locate finds where each key and each table of a document stands.
func locate(data []byte) (map[string]unstable.Position, error) {
	at := map[string]unstable.Position{}
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		if e.Kind != unstable.KeyValue {
			table = nil
		}
		parts, start := expressionKey(&p, e)
		full := slices.Concat(table, parts)
		for i := range full { // a.b.c is also the first place of a and a.b
			if _, ok := at[keyPath(full[:i+1]...)]; !ok {
				at[keyPath(full[:i+1]...)] = start
			}
		}
		if e.Kind != unstable.KeyValue {
			table = full
			continue
		}
		locateInline(&p, e.Value(), full, at)
	}
	return at, p.Error()
}

func locateInline(p *unstable.Parser, v *unstable.Node, table []string, at map[string]unstable.Position) {
	if v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		if it.Node().Kind != unstable.KeyValue {
			continue
		}
		parts, start := expressionKey(p, it.Node())
		full := slices.Concat(table, parts)
		at[keyPath(full...)] = start
		locateInline(p, it.Node().Value(), full, at)
	}
}

// expressionKey gives the parts of an expression's key and where it begins.
func expressionKey(p *unstable.Parser, e *unstable.Node) (parts []string, start unstable.Position) {
	for it := e.Key(); it.Next(); {
		if len(parts) == 0 {
			start = p.Shape(it.Node().Raw).Start
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts, start
}

// reader turns a decoded file into a layer.
type reader struct {
	place
	at       map[string]unstable.Position
	layer    layer
	problems []*Problem
}

func (r *reader) source(key ...string) Source {
	return Source{Layer: r.place.layer, Where: fmt.Sprintf("%s:%d", r.path, r.at[keyPath(key...)].Line)}
}

func (r *reader) wrong(err error, key ...string) {
	if err == nil {
		return
	}
	pos := r.at[keyPath(key...)]
	r.problems = append(r.problems, &Problem{
		Path: r.path, Line: pos.Line, Column: pos.Column, Text: strings.Join(key, ".") + ": " + err.Error(),
	})
}

func (r *reader) options(f file) {
	texts := map[string]*string{
		"model": f.Model, "mode": f.Mode, "thought": f.Thought, "titles": f.Titles, "pii": f.PII, "secrets": f.Secrets, "log": f.Log, "wire_log": f.WireLog,
		"commands": f.Commands, "ask_timeout": f.AskTimeout,
	}
	if f.Budget.Steps != nil {
		texts["budget.steps"] = new(strconv.Itoa(*f.Budget.Steps))
	}
	if f.Budget.Tokens != nil {
		texts["budget.tokens"] = new(strconv.Itoa(*f.Budget.Tokens))
	}
	if f.Budget.Cost != nil {
		texts["budget.cost"] = new(strconv.FormatFloat(*f.Budget.Cost, 'g', -1, 64))
	}
	lists := map[string][]string{"pii_names": f.PIINames, "roots": f.Roots}
	for _, o := range options() {
		key := strings.Split(o.key, ".")
		v := value{source: r.source(key...)}
		switch {
		case texts[o.key] != nil:
			v.text = *texts[o.key]
		case lists[o.key] != nil:
			v.list = slices.Clone(lists[o.key])
		default:
			continue
		}
		r.expand(o.key, &v)
		if o.key == "commands" && r.place.layer == Project {
			r.wrong(inside(v.text, filepath.Dir(r.path)), key...)
		}
		r.wrong(o.apply(&Settings{}, v), key...)
		r.layer.values[o.key] = v
	}
}

// expand makes the paths of an option absolute.
func (r *reader) expand(key string, v *value) {
	switch key {
	case "log", "wire_log", "commands":
		v.text = r.absolute(v.text)
	case "roots":
		for i := range v.list {
			v.list[i] = r.absolute(v.list[i])
		}
	}
}

func (p place) absolute(path string) string {
	switch rest, ok := strings.CutPrefix(path, "~/"); {
	case ok && p.home != "":
		return filepath.Join(p.home, rest)
	case path != "" && !filepath.IsAbs(path) && p.base != "":
		return filepath.Join(p.base, path)
	}
	return path
}

// inside tells that a project names a folder that its digest does not cover.
func inside(path, folder string) error {
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return nil
	}
	return fmt.Errorf("a project's commands are in its folder %s, because that is what a person trusts", projectFolder)
}

func (r *reader) provider(id string, f fileProvider) {
	if r.providers != nil && !slices.Contains(r.providers, id) {
		r.wrong(fmt.Errorf("there is no such provider: %w", oneOf(id, r.providers)), "providers", id)
	}
	p := Provider{BaseURL: f.BaseURL}
	if f.BaseURL != "" {
		r.wrong(checkURL(f.BaseURL), "providers", id, "base_url")
		r.layer.sources["providers."+id+".base_url"] = r.source("providers", id, "base_url")
	}
	list := slices.Clone(f.Models)
	for _, name := range slices.Sorted(maps.Keys(f.Model)) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, name := range list {
		if name == "" || strings.ContainsFunc(name, isControl) {
			r.wrong(fmt.Errorf("%q is no name of a model", name), "providers", id, "models")
		}
		m := f.Model[name]
		if m.ContextWindow < 0 || m.MaxOutput < 0 || !(m.InputPrice >= 0) || !(m.OutputPrice >= 0) {
			r.wrong(errors.New("limits and prices are not negative"), "providers", id, "model", name)
		}
		p.Models = append(p.Models, Model{name, m.ContextWindow, m.MaxOutput, m.InputPrice, m.OutputPrice})
	}
	if len(list) > 0 {
		first := "models"
		if len(f.Models) == 0 {
			first = "model"
		}
		r.layer.sources["providers."+id+".models"] = r.source("providers", id, first)
	}
	r.layer.providers[id] = p
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("this is not an address that begins with http:// or https://")
	case u.User != nil:
		return errors.New("the address holds a user name or password; write it without")
	}
	return nil
}

func (r *reader) server(name string, f fileServer) {
	wrong := func(field string, err error) { r.wrong(err, "mcp", name, field) }
	s := Server{
		Name: name, Transport: f.Transport, Command: f.Command, Args: f.Args, Env: f.Env, URL: f.URL, Headers: f.Headers,
		Trust: ServerTrust(cmp.Or(f.Trust, string(ServerAsk))), Disabled: f.Disabled, FromProject: r.place.layer == Project,
	}
	if s.Transport == "" {
		s.Transport = "stdio"
		if s.URL != "" {
			s.Transport = "http"
		}
	}
	switch s.Transport {
	case "stdio":
		if s.Command == "" {
			r.wrong(errors.New("command is missing: the program to start, or url for a server that runs elsewhere"), "mcp", name)
		}
		if s.URL != "" || len(s.Headers) > 0 {
			r.wrong(errors.New("url and headers are for the transports http and sse; this server is started as a command"), "mcp", name)
		}
	case "http", "sse":
		if s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 {
			r.wrong(errors.New("command, args and env are for the transport stdio; this server is reached at its url"), "mcp", name)
		}
		if s.URL == "" {
			r.wrong(errors.New("url is missing: the address of the server"), "mcp", name)
		} else {
			wrong("url", checkURL(s.URL))
		}
	default:
		wrong("transport", oneOf(s.Transport, []string{"stdio", "http", "sse"}))
	}
	if levels := []ServerTrust{ServerAsk, ServerTrusted}; !slices.Contains(levels, s.Trust) {
		wrong("trust", oneOf(string(s.Trust), names(levels)))
	}
	for _, limit := range []struct {
		field, text string
		into        *time.Duration
	}{{"start_timeout", f.StartTimeout, &s.StartTimeout}, {"call_timeout", f.CallTimeout, &s.CallTimeout}} {
		if limit.text != "" {
			d, err := checkDuration(limit.text, time.Second, 24*time.Hour)
			wrong(limit.field, err)
			*limit.into = d
		}
	}
	r.layer.mcp[name] = s
	r.layer.sources["mcp."+name] = r.source("mcp", name)
}
