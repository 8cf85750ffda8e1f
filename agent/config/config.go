// Package config is what a person has configured: a TOML file of theirs, one of the project, environment variables and
// flags, put together into [Settings] that can say where each value came from.
//
// The later one wins: built in, the person's file, the project's file, environment variables, flags. A project's file,
// .wherry/config.toml in the session's folder, is part of what was checked out, so until the person trusts it, it can only
// make things stricter: see [Trust].
//
// Nothing is ignored in silence. A file that cannot be used leaves the strictest mode and policy in force, and
// [Settings.Problems] says which line is wrong; what an untrusted project asked for and did not get is in
// [Settings.Withheld].
//
// Keys have no place here: see the package keys.
package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
)

// Secrets says what is done about passwords, keys and tokens on their way to a model.
type Secrets string

// The choices, the stricter first.
const (
	SecretsRedact Secrets = "redact" // they are sent with placeholders in their place
	SecretsOff    Secrets = "off"    // they are sent as they are
)

// PII says what is done about personal data on its way to a model.
type PII string

// The policies, strictest first.
const (
	PIIRefuse PII = "refuse" // a request that holds personal data is not sent
	PIIRedact PII = "redact" // it is sent with placeholders in its place
	PIIOff    PII = "off"    // it is sent as it is
)

// Titles says who names a session.
type Titles string

// The ways.
const (
	TitlesModel  Titles = "model"  // the model, after its first answer, by a small request of its own
	TitlesPrompt Titles = "prompt" // nobody: it is called by the words of its first prompt
)

// Settings are the effective values. They never change after [Load] made them.
type Settings struct {
	Model    string        // id of the default model, provider/name; "" if nobody chose one
	Mode     approval.Mode // the gate's mode
	Thought  string        // how much a model thinks: "", "off", "low", "medium" or "high"; "" leaves it to the model
	PII      PII
	PIINames []string // names of people that count as personal data
	Secrets  Secrets
	Log      string   // absolute path of the log file; "" for none
	WireLog  string   // absolute path of the log of protocol messages; "" for none
	Roots    []string // absolute paths of folders that a session has when the client names none
	Commands string   // absolute path of the folder with the person's own slash commands; "" if unknown
	// ProjectCommands is the folder with the project's slash commands; "" unless the project is trusted.
	ProjectCommands string
	AskTimeout      time.Duration // how long a question waits for its answer
	Budget          Budget
	Titles          Titles
	Providers       map[string]Provider // by the provider's id
	MCP             map[string]Server   // MCP servers by name

	// Problems say what is wrong with a file or a variable; with any, what is configured is not known in full.
	Problems []*Problem
	// Withheld are the keys of the project's file that are not in force because the project is not trusted.
	Withheld []string
	// Project is the folder whose .wherry/config.toml was found, "" if there is none, and Trusted whether it is trusted.
	Project string
	Trusted bool

	origins map[string]Source
}

// Budget bounds one turn.
type Budget struct {
	Steps  int     // calls of the model
	Tokens int     // in and out; 0 for no limit
	Cost   float64 // in US dollars; 0 for no limit
}

// Provider is what is configured for the models of one provider.
type Provider struct {
	BaseURL string  // where it is reached; "" for its usual address
	Models  []Model // offered by name, in this order, besides those that are known anyway
}

// Model describes a model that is not known by name.
type Model struct {
	Name          string
	ContextWindow int     // tokens; 0 if unknown
	MaxOutput     int     // tokens; 0 if unknown
	InputPrice    float64 // US dollars for a million tokens; 0 if unknown
	OutputPrice   float64
}

// ServerTrust says how far an MCP server is trusted.
type ServerTrust string

// The levels.
const (
	ServerAsk     ServerTrust = "ask"     // every call of its tools asks
	ServerTrusted ServerTrust = "trusted" // what it marks as read-only does not ask
)

// Server is an MCP server.
type Server struct {
	Name         string
	Transport    string // "stdio", "http" or "sse"
	Command      string // of stdio
	Args         []string
	Env          map[string]string // added to the environment of the command; values may be secret
	URL          string            // of http and sse
	Headers      map[string]string // values may be secret
	Trust        ServerTrust
	StartTimeout time.Duration // 0 for the usual one
	CallTimeout  time.Duration // 0 for the usual one
	Disabled     bool
	FromProject  bool // the project's file named it
}

// Layer is where a value comes from.
type Layer string

// The layers, the weakest first.
const (
	BuiltIn     Layer = "built in"
	Global      Layer = "global"      // the person's file
	Project     Layer = "project"     // the project's file
	Environment Layer = "environment" // a variable
	Flag        Layer = "flag"
	FailClosed  Layer = "fail closed" // the strictest value, because something could not be read
)

// Source is the origin of a value.
type Source struct {
	Layer Layer
	Where string // the file with its line, the variable or the flag; "" for what is built in
}

// String is the source as a person reads it.
func (s Source) String() string {
	if s.Where == "" {
		return string(s.Layer)
	}
	return s.Where
}

// Problem is a mistake in what was configured, as a sentence that begins with its place.
type Problem struct {
	Path   string // the file; "" for a variable or a flag
	Line   int    // from 1; 0 if the whole file is meant
	Column int
	Text   string
}

// Error is the sentence.
func (p *Problem) Error() string {
	switch {
	case p.Path == "":
		return p.Text
	case p.Line == 0:
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Text)
}

// Origin tells where the value of a key came from, for instance "mode", "budget.steps", "providers.openai.base_url"
// or "mcp.github".
func (s *Settings) Origin(key string) Source {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Source{Layer: BuiltIn}
}

// Entry is one effective value for people to read. Values that may be secret are left out.
type Entry struct {
	Key, Value string
	Source     Source
}

// List gives all effective values, in a fixed order.
func (s *Settings) List() []Entry {
	var list []Entry
	for _, o := range options() {
		list = append(list, Entry{o.key, o.show(s), s.Origin(o.key)})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Providers)) {
		p := s.Providers[id]
		if p.BaseURL != "" {
			list = append(list, s.entry("providers."+id+".base_url", bareURL(p.BaseURL)))
		}
		if len(p.Models) > 0 {
			var names []string
			for _, m := range p.Models {
				names = append(names, m.Name)
			}
			list = append(list, s.entry("providers."+id+".models", strings.Join(names, ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.MCP)) {
		list = append(list, s.entry("mcp."+name, s.MCP[name].String()))
	}
	return list
}

func (s *Settings) entry(key, value string) Entry { return Entry{key, value, s.Origin(key)} }

// String describes the server without the values of Env and Headers.
func (s Server) String() string {
	text := s.Transport + " " + cmp.Or(bareURL(s.URL), strings.Join(append([]string{s.Command}, s.Args...), " "))
	for _, about := range []struct {
		word   string
		values map[string]string
	}{{"env", s.Env}, {"headers", s.Headers}} {
		if len(about.values) > 0 {
			text += fmt.Sprintf(", %s: %s", about.word, strings.Join(slices.Sorted(maps.Keys(about.values)), " "))
		}
	}
	if s.Disabled {
		text += ", disabled"
	}
	return text + ", trust: " + string(s.Trust)
}

// bareURL leaves out of an address what may be secret: user, password and query.
func bareURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
