package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/config"
)

// home is a person with a configuration, a state folder and a project.
type home struct {
	t       *testing.T
	env     map[string]string
	path    string // the person's file
	project string
	trust   config.Trust
}

func newHome(t *testing.T) *home {
	dir := t.TempDir()
	h := &home{
		t: t, path: filepath.Join(dir, "conf", "config.toml"), project: filepath.Join(dir, "project"),
		trust: config.Trust{State: filepath.Join(dir, "state")},
	}
	h.env = map[string]string{"HOME": dir, "USERPROFILE": dir, "WHERRY_CONFIG": h.path}
	h.write(filepath.Join(h.project, "main.go"), "package main\n")
	return h
}

func (h *home) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) global(text string) { h.t.Helper(); h.write(h.path, text) }

func (h *home) projectFile(text string) {
	h.t.Helper()
	h.write(config.ProjectPath(h.project), text)
}

func (h *home) trustProject() {
	h.t.Helper()
	review, err := config.ReviewProject(h.project)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.trust.Trust(review); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) lookup(name string) (string, bool) { v, ok := h.env[name]; return v, ok }

func (h *home) load(flags ...config.FlagValue) *config.Settings {
	return config.Load(config.Options{
		Lookup: h.lookup, Flags: flags, Folder: h.project, Trust: h.trust, Providers: []string{"anthropic", "openai", "ollama"},
	})
}

func sound(t *testing.T, s *config.Settings) {
	t.Helper()
	for _, p := range s.Problems {
		t.Errorf("a problem: %v", p)
	}
}

func TestWithoutAnyFileTheDefaultsAreInForce(t *testing.T) {
	h := newHome(t)
	s := h.load()
	sound(t, s)
	if s.Mode != approval.ModeAsk || s.PII != config.PIIOff || s.AskTimeout != 5*time.Minute || s.Model != "" ||
		s.Budget != (config.Budget{Steps: 100}) {
		t.Errorf("got %+v", s)
	}
	if got := s.Origin("mode"); got != (config.Source{Layer: config.BuiltIn}) {
		t.Errorf("the mode is from %v", got)
	}
	if want := filepath.Join(filepath.Dir(h.path), "commands"); s.Commands != want {
		t.Errorf("commands are in %q, want %q", s.Commands, want)
	}
	if s := config.Load(config.Options{}); len(s.Problems) > 0 || s.Mode != approval.ModeAsk {
		t.Errorf("without an environment: %+v", s)
	}
}

func TestEverythingInTheFileArrives(t *testing.T) {
	h := newHome(t)
	h.global(`# mine
model = "openai/gpt-5.5"
mode = "edits"
thought = "high"
titles = "prompt"
pii = "redact"
pii_names = ["Ada"]
log = "~/wherry.log"
roots = ["~/src"]
ask_timeout = "90s"

[budget]
steps = 7
tokens = 1000
cost = 2.5

[providers.openai]
base_url = "https://models.example/v1"
models = ["b", "a"]
[providers.openai.model."x.y"]
context_window = 32768
input_price = 0.5

[mcp.files]
command = "files-server"
args = ["-v"]
env = { TOKEN = "t" }
start_timeout = "20s"
[mcp."far away"]
url = "https://mcp.example/mcp?key=abc"
headers = { Authorization = "Bearer canary" }
trust = "trusted"
`)
	s := h.load()
	sound(t, s)
	dir := h.env["HOME"]
	want := config.Settings{
		Model: "openai/gpt-5.5", Mode: "edits", Thought: "high", Titles: config.TitlesPrompt, PII: "redact", Secrets: config.SecretsRedact, PIINames: []string{"Ada"},
		Log: filepath.Join(dir, "wherry.log"), Roots: []string{filepath.Join(dir, "src")},
		Commands: filepath.Join(filepath.Dir(h.path), "commands"), AskTimeout: 90 * time.Second,
		Budget: config.Budget{Steps: 7, Tokens: 1000, Cost: 2.5},
		Providers: map[string]config.Provider{"openai": {BaseURL: "https://models.example/v1", Models: []config.Model{
			{Name: "b"}, {Name: "a"}, {Name: "x.y", ContextWindow: 32768, InputPrice: 0.5},
		}}},
		MCP: map[string]config.Server{
			"files": {
				Name: "files", Transport: "stdio", Command: "files-server", Args: []string{"-v"},
				Env: map[string]string{"TOKEN": "t"}, Trust: "ask", StartTimeout: 20 * time.Second,
			},
			"far away": {
				Name: "far away", Transport: "http", URL: "https://mcp.example/mcp?key=abc",
				Headers: map[string]string{"Authorization": "Bearer canary"}, Trust: "trusted",
			},
		},
	}
	if diff := cmp.Diff(want, *s, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".origins" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	for key, line := range map[string]string{"model": ":2", "budget.steps": ":13", "providers.openai.base_url": ":18", "mcp.far away": ":29"} {
		if got := s.Origin(key).String(); got != h.path+line {
			t.Errorf("%s comes from %s, want line %s", key, got, line)
		}
	}
	for _, e := range s.List() {
		if strings.Contains(e.Value, "canary") || strings.Contains(e.Value, "abc") || e.Key == "mcp.files" && !strings.Contains(e.Value, "env: TOKEN") {
			t.Errorf("listed as %q", e.Value)
		}
	}
}

func TestTheStrongerLayerWins(t *testing.T) {
	h := newHome(t)
	h.global("mode = \"edits\"\nmodel = \"openai/a\"\nlog = \"/g\"\n[budget]\nsteps = 9\n")
	h.projectFile("model = \"openai/b\"\n[budget]\nsteps = 12\n")
	h.trustProject()
	h.env["WHERRY_LOG"] = "~/e"
	h.env["WHERRY_BUDGET_STEPS"] = "5"
	s := h.load(config.FlagValue{Name: "--steps", Key: "budget.steps", Value: "3"})
	sound(t, s)
	if !s.Trusted || s.Project != h.project {
		t.Errorf("project %q, trusted %v", s.Project, s.Trusted)
	}
	got := map[string]string{}
	for _, e := range s.List() {
		got[e.Key] = e.Value + " from " + e.Source.String()
	}
	for key, want := range map[string]string{
		"mode": "edits from " + h.path + ":1", "model": "openai/b from " + config.ProjectPath(h.project) + ":1",
		"log": filepath.Join(h.env["HOME"], "e") + " from WHERRY_LOG", "budget.steps": "3 from --steps",
		"pii": "off from built in",
	} {
		if got[key] != want {
			t.Errorf("%s: %s, want %s", key, got[key], want)
		}
	}
}

func TestAnUntrustedProjectOnlyTightens(t *testing.T) {
	h := newHome(t)
	h.global("mode = \"edits\"\npii = \"redact\"\npii_names = [\"Ada\"]\nask_timeout = \"1m\"\n[budget]\nsteps = 10\ncost = 1.0\n")
	for _, test := range []struct {
		name, file string
		key, value string // afterwards
		withheld   bool
	}{
		{"a stricter mode", `mode = "ask"`, "mode", "ask", false},
		{"the strictest mode", `mode = "off"`, "mode", "off", false},
		{"a looser mode", `mode = "auto"`, "mode", "edits", true},
		{"a stricter policy", `pii = "refuse"`, "pii", "refuse", false},
		{"a looser policy", `pii = "off"`, "pii", "redact", true},
		{"more names", `pii_names = ["Bob"]`, "pii_names", "Ada, Bob", false},
		{"fewer names", `pii_names = []`, "pii_names", "Ada", false},
		{"less patience", `ask_timeout = "10s"`, "ask_timeout", "10s", false},
		{"more patience", `ask_timeout = "1h"`, "ask_timeout", "1m0s", true},
		{"fewer steps", `budget.steps = 2`, "budget.steps", "2", false},
		{"more steps", `budget.steps = 11`, "budget.steps", "10", true},
		{"a limit where there was none", `budget.tokens = 10`, "budget.tokens", "10", false},
		{"less money", `budget.cost = 0.5`, "budget.cost", "0.5 USD", false},
		{"no limit on money", `budget.cost = 0.0`, "budget.cost", "1 USD", true},
		{"a model", `model = "openai/x"`, "model", "", true},
		{"a log", `log = "/tmp/x"`, "log", "", true},
		{"a log of messages", `wire_log = "x"`, "wire_log", "", true},
		{"roots", `roots = ["/"]`, "roots", "", true},
		{"thinking", `thought = "high"`, "thought", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.projectFile(test.file + "\n")
			s := h.load()
			sound(t, s)
			if s.Trusted {
				t.Error("the project is trusted")
			}
			for _, e := range s.List() {
				if e.Key == test.key && e.Value != test.value {
					t.Errorf("%s is %q, want %q", e.Key, e.Value, test.value)
				}
			}
			if withheld := len(s.Withheld) > 0; withheld != test.withheld || withheld && s.Withheld[0] != test.key {
				t.Errorf("withheld: %v", s.Withheld)
			}
		})
	}
	h.projectFile("commands = \".wherry/commands\"\n[mcp.x]\ncommand = \"sh\"\n[providers.openai]\nbase_url = \"http://evil.example\"\nmodels = [\"m\"]\n")
	s := h.load()
	sound(t, s)
	if len(s.MCP) > 0 || len(s.Providers) > 0 || s.ProjectCommands != "" {
		t.Errorf("in force: %v %v %q", s.MCP, s.Providers, s.ProjectCommands)
	}
	if diff := cmp.Diff([]string{"commands", "providers.openai", "mcp.x"}, s.Withheld); diff != "" {
		t.Error(diff)
	}
	h.trustProject()
	s = h.load()
	sound(t, s)
	if !s.MCP["x"].FromProject || s.Providers["openai"].BaseURL != "http://evil.example" ||
		s.ProjectCommands != filepath.Join(h.project, ".wherry", "commands") || len(s.Withheld) > 0 {
		t.Errorf("after trusting: %+v", s)
	}
}

func TestAProjectsCommandsStayInItsFolder(t *testing.T) {
	h := newHome(t)
	for _, path := range []string{"commands", "/etc", ".wherry/../x", "~/x"} {
		h.projectFile("commands = \"" + path + "\"\n")
		if s := h.load(); len(s.Problems) != 1 || s.Problems[0].Line != 1 {
			t.Errorf("%s: %v", path, s.Problems)
		}
	}
}

func TestAMistakeIsToldWithItsPlaceAndFailsClosed(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"a typo", "\nmodle = \"a/b\"\n", `:2:1: there is no key "modle"; did you mean "model"?`},
		{"a typo in a table", "[budget]\nstep = 1\n", `:2:1: there is no key "budget.step"; did you mean "steps"?`},
		{"a typo of a table", "[budgets]\nsteps = 1\n", `:1:2: there is no key "budgets"; did you mean "budget"?`},
		{"a typo in a server", "[mcp.x]\ncommand = \"c\"\nheader = {}\n", `:3:1: there is no key "mcp.x.header"; did you mean "headers"?`},
		{"nothing like it", "qwertyuiop = 1\n", `:1:1: there is no key "qwertyuiop"`},
		{"a key in the wrong place", "[providers.openai]\napi_key = \"sk-canary\"\n", "API keys are not kept in this file: run `wherry setup`"},
		{"the wrong type", "model = 3\n", `:1:9: model has a value of the wrong type`},
		{"a wrong word", "mode = \"edit\"\n", `:1:1: mode: "edit" is not one of off, plan, ask, edits, auto; did you mean "edits"?`},
		{"no TOML", "mode = \n", ":1:8: "},
		{"twice", "mode = \"ask\"\nmode = \"auto\"\n", ":2:1: "},
		{"a relative path", "log = \"x.log\"\n", `:1:1: log: "x.log" is a relative path`},
		{"no steps", "[budget]\nsteps = 0\n", `:2:1: budget.steps: "0" is not a whole number from 1`},
		{"no amount", "budget.cost = nan\n", `:1:1: budget.cost:`},
		{"no time", "ask_timeout = \"5\"\n", `:1:1: ask_timeout: "5" is not a time between 1s and 24h0m0s`},
		{"no address", "[providers.openai]\nbase_url = \"models.example\"\n", `:2:1: providers.openai.base_url: this is not an address`},
		{"a password in an address", "[providers.openai]\nbase_url = \"https://me:canary@models.example\"\n", `write it without`},
		{"an unknown provider", "[providers.opnai]\n", `:1:2: providers.opnai: there is no such provider: "opnai" is not one of anthropic, openai, ollama; did you mean "openai"?`},
		{"a server without a command", "[mcp.x]\nargs = [\"a\"]\n", `:1:2: mcp.x: command is missing`},
		{"a server without an address", "[mcp.x]\ntransport = \"sse\"\n", `:1:2: mcp.x: url is missing`},
		{"a server of both kinds", "[mcp.x]\ncommand = \"c\"\nheaders = {a = \"canary\"}\n", `:1:2: mcp.x: url and headers are for`},
		{"a wrong trust", "[mcp.x]\ncommand = \"c\"\ntrust = \"yes\"\n", `:3:1: mcp.x.trust: "yes" is not one of ask, trusted`},
		{"a wrong time in an inline table", "mcp = { x = { command = \"c\", call_timeout = \"0s\" } }\n", `:1:30: mcp.x.call_timeout:`},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHome(t)
			h.global(test.file)
			s := h.load()
			if len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Error(), test.want) || !strings.HasPrefix(s.Problems[0].Error(), h.path) {
				t.Fatalf("got %v, want %s", s.Problems, test.want)
			}
			if strings.Contains(s.Problems[0].Error(), "canary") {
				t.Errorf("a secret is quoted: %v", s.Problems[0])
			}
			if s.Mode != approval.ModeOff || s.PII != config.PIIRefuse || s.Origin("mode").Layer != config.FailClosed {
				t.Errorf("mode %s from %v, personal data %s", s.Mode, s.Origin("mode"), s.PII)
			}
			h.global("")
			h.projectFile(test.file)
			if s := h.load(); test.name != "a relative path" &&
				(len(s.Problems) == 0 || s.Mode != approval.ModeOff || s.PII != config.PIIRefuse) {
				t.Errorf("in a project: %v, mode %s", s.Problems, s.Mode)
			}
		})
	}
}

func TestAFileThatCannotBeReadFailsClosed(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(h.path, 0o700); err != nil {
		t.Fatal(err)
	}
	s := h.load()
	if s.Mode != approval.ModeOff || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Error(), "not a regular file") {
		t.Errorf("mode %s, %v", s.Mode, s.Problems)
	}
	h = newHome(t)
	h.global("# " + strings.Repeat("x", 1<<20))
	if s := h.load(); s.Mode != approval.ModeOff || len(s.Problems) != 1 {
		t.Errorf("a huge file: mode %s, %v", s.Mode, s.Problems)
	}
	h = newHome(t)
	h.env["WHERRY_CONFIG"] = "relative.toml"
	if s := h.load(); s.Mode != approval.ModeOff || len(s.Problems) != 1 {
		t.Errorf("a relative path: mode %s, %v", s.Mode, s.Problems)
	}
}

func TestAWrongVariableOrFlagIsToldAndFailsClosed(t *testing.T) {
	h := newHome(t)
	h.global("mode = \"auto\"\n")
	h.env["WHERRY_MODE"] = "everything"
	s := h.load()
	if s.Mode != approval.ModeOff || len(s.Problems) != 1 || !strings.HasPrefix(s.Problems[0].Error(), "WHERRY_MODE: ") {
		t.Errorf("mode %s, %v", s.Mode, s.Problems)
	}
	delete(h.env, "WHERRY_MODE")
	s = h.load(config.FlagValue{Name: "--approve", Key: "mode", Value: "yes"})
	if s.Mode != approval.ModeOff || len(s.Problems) != 1 || !strings.HasPrefix(s.Problems[0].Error(), "--approve: ") {
		t.Errorf("mode %s, %v", s.Mode, s.Problems)
	}
}

func TestAFlagIsThePersonsWordOverABrokenFile(t *testing.T) {
	h := newHome(t)
	h.projectFile("mode = 5\n")
	s := h.load(config.FlagValue{Name: "--approve", Key: "mode", Value: "edits"})
	if s.Mode != approval.ModeEdits || len(s.Problems) != 1 {
		t.Errorf("mode %s, %v", s.Mode, s.Problems)
	}
}
