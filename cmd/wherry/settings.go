package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/wirelog"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/config"
	"github.com/wherry-acp/wherry/agent/guard"
	"github.com/wherry-acp/wherry/agent/keys"
	"github.com/wherry-acp/wherry/agent/mcp"
	"github.com/wherry-acp/wherry/agent/model/provider"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// settings are the flags that every face of the agent has.
type settings struct {
	Model   string   `group:"model" key:"model" placeholder:"PROVIDER/NAME" help:"The model, for example anthropic/claude-sonnet-5-5, openai/gpt-5.5, gemini/gemini-3.7-flash, ollama/qwen3 or offline/offline. By default the one that \"wherry setup\" stored, or the first provider with a key in the environment, else the offline model."`
	Approve string   `group:"limits" key:"mode" enum:",off,plan,ask,edits,auto" default:"" placeholder:"MODE" help:"What may be done unasked: off (nothing is written or run, and no other mode can be chosen), plan (likewise, until you approve a plan), ask (everything asks), edits (files in the folder), auto (files and commands). It holds for this process; without it a session has the mode that was chosen for it, at first ask."`
	Root    []string `group:"limits" key:"roots" type:"existingdir" sep:"none" placeholder:"DIR" help:"A folder of the sessions whose client names none. May be given several times; the first is the working folder."`
	PII     string   `group:"limits" key:"pii" name:"pii" enum:",off,redact,refuse" default:"" placeholder:"POLICY" help:"Personal data on its way to a model: off (it is sent), redact (placeholders are sent in its place), refuse (the request is not sent)."`
	Config  string   `group:"places" variable:"WHERRY_CONFIG" type:"path" placeholder:"FILE" help:"The file with your settings, in place of the usual one."`
	State   string   `group:"places" variable:"WHERRY_STATE" type:"path" placeholder:"DIR" help:"The folder with the sessions and the keys, in place of the usual one."`
	Log     string   `group:"logs" key:"log" type:"path" placeholder:"FILE" help:"Append the log to this file. It holds no prompts, file contents or keys."`
	WireLog string   `group:"logs" key:"wire_log" type:"path" placeholder:"FILE" help:"Write every message of the protocol to this file, as JSON lines. It holds prompts and file contents; what looks like a key is left out."`
}

// AfterApply has the flags that say where to look count like their variables, for this process.
func (s *settings) AfterApply() error {
	for name, value := range map[string]string{"WHERRY_CONFIG": s.Config, "WHERRY_STATE": s.State} {
		if value != "" {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// flags are those that were given.
func (s *settings) flags() []config.FlagValue {
	var flags []config.FlagValue
	for _, f := range []config.FlagValue{
		{Name: "--model", Key: "model", Value: s.Model}, {Name: "--approve", Key: "mode", Value: s.Approve},
		{Name: "--root", Key: "roots", List: s.Root}, {Name: "--pii", Key: "pii", Value: s.PII},
		{Name: "--log", Key: "log", Value: s.Log}, {Name: "--wire-log", Key: "wire_log", Value: s.WireLog},
	} {
		if f.Value != "" || f.List != nil {
			flags = append(flags, f)
		}
	}
	return flags
}

// load puts the flags, the environment and the files together. folder is the session's, whose own settings count too; ""
// for none.
func (s *settings) load(folder string) *config.Settings {
	return config.Load(config.Options{
		Lookup: os.LookupEnv, Flags: s.flags(), Folder: folder, Trust: config.Trust{State: stateFolder()}, Providers: providerIDs(),
	})
}

func providerIDs() []string {
	var ids []string
	for _, s := range provider.Services() {
		ids = append(ids, s.ID)
	}
	return ids
}

// onceProgram ends with its first answer and has no time for a title.
const onceProgram = "wherry run"

// built is an agent with what has to be closed after it.
type built struct {
	agent    *agent.Agent
	log      *slog.Logger
	protocol acp.Options // of the agent's side of a connection
	close    func() error
}

// build makes the agent. It reads the flags, the environment and the person's file; those of projects, the session store,
// the keys and the model are opened when they are first needed.
func (s *settings) build(program string, stderr io.Writer) (*built, error) {
	conf := s.load("")
	log, closeLog, err := logger(conf.Log, stderr)
	if err != nil {
		return nil, err
	}
	store, err := openStore(program, log)
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	for _, p := range conf.Problems {
		log.Warn("settings", "problem", p) // the conversation tells it
	}
	apiKeys := openKeys()
	options := configure(agent.Options{Titles: program != onceProgram, Store: store, Tools: tool.Builtin(), Logger: log, Version: version()}, conf, apiKeys)
	options.Commands = s.commandFiles
	options.In = func(roots []string, base agent.Options) (agent.Options, []string) {
		conf := s.load(roots[0])
		var told []string
		if len(conf.Withheld) > 0 {
			told = append(told, fmt.Sprintf("%s sets %s, which is not in force because you have not trusted this project. To look at it and decide: wherry setup --trust %s",
				config.ProjectPath(conf.Project), strings.Join(conf.Withheld, ", "), conf.Project))
		}
		return configure(base, conf, apiKeys), told
	}
	wire, err := openWireLog(conf.WireLog, program)
	if err != nil {
		return nil, errors.Join(err, store.Close(), closeLog())
	}
	a, err := agent.New(options)
	if err != nil {
		return nil, errors.Join(err, store.Close(), wire.close(), closeLog())
	}
	protocol := acp.Options{Logger: log, Tap: wire.tap, Garbage: wire.garbage}
	return &built{
		agent: a, log: log, protocol: protocol,
		close: func() error { return errors.Join(store.Close(), wire.close(), closeLog()) },
	}, nil
}

// configure puts what is configured into the agent's options.
func configure(options agent.Options, conf *config.Settings, apiKeys *keys.Store) agent.Options {
	source := modelSource{keys: apiKeys, settings: conf}
	options.OpenModel, options.Models, options.CheckLogin = source.open, source.list, source.checkLogin
	options.DefaultModel, options.ModelChosen = conf.Model, conf.Model != ""
	if !options.ModelChosen {
		options.DefaultModel = provider.Default(provider.Env{Lookup: os.LookupEnv})
	}
	options.DefaultThought, options.MaxSteps, options.AskTimeout = conf.Thought, conf.Budget.Steps, conf.AskTimeout
	options.Titles = options.Titles && conf.Titles == config.TitlesModel
	options.Budget = agent.Budget{Tokens: conf.Budget.Tokens, Cost: conf.Budget.Cost}
	options.Mode, options.DefaultMode = "", ""
	switch conf.Origin("mode").Layer {
	case config.BuiltIn:
	case config.Global: // where a session begins; what is chosen in it is kept
		options.DefaultMode = conf.Mode
	default: // for this process alone
		options.Mode = conf.Mode
	}
	switch conf.Origin("model").Layer {
	case config.BuiltIn, config.Global:
		options.ModelFixed = false
	default:
		options.ModelFixed = true
	}
	options.Privacy = guard.Policy{
		PII: guard.PII(conf.PII), Names: conf.PIINames, Secrets: guard.Secrets(conf.Secrets), SecretPath: tool.SecretPath,
	}
	options.Servers, options.Roots = servers(conf), conf.Roots
	return options
}

// servers are the MCP servers that are configured.
func servers(conf *config.Settings) []mcp.Server {
	var out []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(conf.MCP)) {
		c := conf.MCP[name]
		if c.Disabled {
			continue
		}
		s := mcp.Server{
			Name: c.Name, Transport: mcp.Transport(c.Transport), Command: c.Command, Args: c.Args, Env: c.Env, URL: c.URL, Headers: c.Headers,
			StartTimeout: c.StartTimeout, CallTimeout: c.CallTimeout,
		}
		if c.Trust == config.ServerTrusted && !c.FromProject { // what comes with a project does not vouch for itself
			s.Trust = mcp.TrustHints
		}
		out = append(out, s)
	}
	return out
}

// wireLog is where the messages of a connection are written.
type wireLog struct {
	tap     func(dir acp.Direction, at time.Time, message []byte)
	garbage func(message []byte, problem string)
	close   func() error
}

// openWireLog begins a wire log in the file at path, which must not be there yet or is replaced; none when path is empty.
func openWireLog(path, program string) (wireLog, error) {
	if path == "" {
		return wireLog{close: func() error { return nil }}, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return wireLog{}, fmt.Errorf("open the wire log: %w", err)
	}
	log := wirelog.NewWriter(file, &wirelog.WriterOptions{Side: wirelog.Agent, Program: program})
	return wireLog{tap: log.Tap, garbage: log.Garbage, close: func() error { return errors.Join(log.Close(), file.Close()) }}, nil
}

// logger writes into the file at path, or errors alone to stderr when that is empty.
func logger(path string, stderr io.Writer) (*slog.Logger, func() error, error) {
	if path == "" {
		options := &slog.HandlerOptions{Level: slog.LevelError}
		return slog.New(slog.NewTextHandler(stderr, options)), func() error { return nil }, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log file: %w", err)
	}
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	return slog.New(slog.NewTextHandler(file, options)), file.Close, nil
}

func openStore(program string, log *slog.Logger) (session.Store, error) {
	path, err := session.DefaultPath(os.LookupEnv)
	if err != nil {
		return noStore{why: &session.StoreError{Path: "(unknown)", Kind: session.FaultOther, Err: err}}, nil
	}
	return session.OpenSQLite(path, session.Options{Program: program, Logger: log})
}
