package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/provider"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// settings are the flags that every face of the agent has.
type settings struct {
	Model   string `placeholder:"PROVIDER/NAME" env:"WHERRY_MODEL" help:"The model, for example anthropic/claude-sonnet-5-5, openai/gpt-5.5, gemini/gemini-3.7-flash, ollama/qwen3 or offline/offline. By default the first provider with a key in the environment, else the offline model."`
	Approve string `enum:",off,ask,edits,auto" default:"" placeholder:"MODE" help:"What may be done unasked: off (nothing is written or run, and no other mode can be chosen), ask (everything asks), edits (files in the folder), auto (files and commands). It holds for this process; without it a session has the mode that was chosen for it, at first ask."`
	Log     string `type:"path" placeholder:"FILE" help:"Append the log to this file. It holds no prompts, file contents or keys."`
}

// built is an agent with what has to be closed after it.
type built struct {
	agent *agent.Agent
	log   *slog.Logger
	close func() error
}

// build makes the agent. It reads nothing but the flags and the environment: the session store and the model are opened
// when they are first needed.
func (s *settings) build(program string, stderr io.Writer) (*built, error) {
	log, closeLog, err := s.logger(stderr)
	if err != nil {
		return nil, err
	}
	store, err := openStore(program, log)
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	env := provider.Env{Lookup: os.LookupEnv}
	id, chosen := s.Model, s.Model != ""
	if !chosen {
		id = provider.Default(env)
	}
	a, err := agent.New(agent.Options{
		Store: store, Tools: tool.Builtin(), DefaultModel: id, ModelChosen: chosen,
		Mode: approval.Mode(s.Approve), Logger: log,
		OpenModel: func(ctx context.Context, id string) (model.Model, error) { return provider.Open(ctx, id, env) },
		Models:    func() []agent.ModelChoice { return models(env) },
	})
	if err != nil {
		return nil, errors.Join(err, store.Close(), closeLog())
	}
	return &built{agent: a, log: log, close: func() error { return errors.Join(store.Close(), closeLog()) }}, nil
}

func (s *settings) logger(stderr io.Writer) (*slog.Logger, func() error, error) {
	if s.Log == "" {
		options := &slog.HandlerOptions{Level: slog.LevelError}
		return slog.New(slog.NewTextHandler(stderr, options)), func() error { return nil }, nil
	}
	file, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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

// models are those that a person can choose, and those that only lack a key.
func models(env provider.Env) []agent.ModelChoice {
	var all []agent.ModelChoice
	for _, info := range provider.List(env) {
		all = append(all, agent.ModelChoice{Info: info})
	}
	for _, m := range provider.Unavailable(env) {
		all = append(all, agent.ModelChoice{Info: m.Info, Unavailable: m.Why})
	}
	return all
}
