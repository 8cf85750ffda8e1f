// Package agent is the coding agent: sessions, the turn loop, and the gate before every effect. It knows no wire
// protocol; a [Face] is all it knows of clients.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/customcmd"
	"github.com/wherry-acp/wherry/agent/guard"
	"github.com/wherry-acp/wherry/agent/mcp"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Options is what an agent is made of.
type Options struct {
	Store session.Store
	Tools []tool.Tool
	// OpenModel gives the model with the id provider/name. It may fail with an [*model.Error]; that is then the
	// answer to the prompt, never to the opening of a session.
	OpenModel func(ctx context.Context, id string) (model.Model, error)
	// CheckLogin tells whether the credentials for a model will do, reading them again; an [*model.Error] says what is
	// missing. Nil opens the model.
	CheckLogin func(ctx context.Context, id string) error
	// Models lists the models that the person can choose from, those that cannot be used now included. It does no I/O
	// and is called often. Nil means the default model alone.
	Models func() []ModelChoice
	// DefaultModel is the id for new sessions. ModelChosen tells that the person named it; when they did not and it
	// is the offline model, a session says so once.
	DefaultModel string
	ModelChosen  bool
	// ModelFixed has every new session begin with the default model, whatever was chosen before in its folder.
	ModelFixed bool
	// DefaultMode is the mode of new sessions in a folder where none was chosen; empty means [approval.ModeAsk].
	DefaultMode approval.Mode
	// DefaultThought is the level of reasoning of new sessions whose model has it; empty leaves it to the provider.
	DefaultThought string
	// Mode, when set, is the gate's mode in this process: with it every session is opened, whatever mode is stored for
	// it, and it is not stored. The person can then choose another one, but out of [approval.ModeOff] there is no way.
	// When it is empty, sessions have their stored mode, new ones DefaultMode.
	Mode approval.Mode
	// MaxSteps bounds the model calls of one turn; 0 means 100.
	MaxSteps int
	// Titles has the model name a session after its first answer. Without it the title is of the first prompt's words.
	Titles bool
	// Budget bounds what one turn may use.
	Budget Budget
	// AskTimeout is how long a permission waits for its answer before it counts as refused; 0 means 5 minutes.
	AskTimeout time.Duration
	// Roots are the folders of a session whose client names none; empty when there are none.
	Roots []string
	// Privacy is what may be sent to a model; its zero value replaces secrets and leaves personal data alone. It does not
	// concern the embedded model, which sends nothing anywhere.
	Privacy guard.Policy
	// Servers are the MCP servers of every session, besides those that its client brings. One of the client's with the
	// same name is used instead.
	Servers []mcp.Server
	// Commands, when set, gives the files with the person's own slash commands for sessions in this folder, the weaker
	// claim to a name later, and what is wrong with others. It is called when a session is opened and when a turn begins.
	Commands func(folder string) ([]customcmd.File, []customcmd.Problem)
	// Version is the program's, which MCP servers are told.
	Version string
	// In, when set, gives the options of the sessions in these folders, and what the person should be told of them, each
	// a sentence. It is called when a session is made or opened. Store and Logger stay as they are.
	In func(roots []string, base Options) (Options, []string)
	// Logger takes what is for the operator; nil discards it.
	Logger *slog.Logger
}

// FolderError says which of a session's folders cannot be used, and why.
type FolderError struct{ Err error }

// Error is a sentence that begins with the folder.
func (e *FolderError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *FolderError) Unwrap() error { return e.Err }

// Agent opens sessions. Its methods are safe for concurrent use.
type Agent struct {
	opts   Options
	log    *slog.Logger
	mu     sync.Mutex
	models map[string]model.Model
	logins *logins
}

// New makes an agent.
func New(opts Options) (*Agent, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Agent{opts: opts, log: log, models: map[string]model.Model{}, logins: &logins{}}, nil
}

// complete checks the options and fills in what is left out.
func (o *Options) complete() error {
	switch {
	case o.Store == nil:
		return errors.New("agent: Options.Store is nil")
	case o.OpenModel == nil:
		return errors.New("agent: Options.OpenModel is nil")
	case o.DefaultModel == "":
		return errors.New("agent: Options.DefaultModel is empty")
	}
	if o.Mode != "" && !o.Mode.Valid() {
		return fmt.Errorf("agent: unknown mode %q", o.Mode)
	}
	if o.DefaultMode == "" {
		o.DefaultMode = approval.ModeAsk
	}
	if !o.DefaultMode.Valid() {
		return fmt.Errorf("agent: unknown mode %q", o.DefaultMode)
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 100
	}
	if o.AskTimeout == 0 {
		o.AskTimeout = 5 * time.Minute
	}
	return nil
}

// in gives the agent as it is configured for sessions in these folders, and what the person should know of that.
func (a *Agent) in(roots []string) (*Agent, []string, error) {
	if a.opts.In == nil {
		return a, nil, nil
	}
	opts, told := a.opts.In(roots, a.opts)
	opts.Store, opts.Logger = a.opts.Store, a.opts.Logger
	if err := opts.complete(); err != nil {
		return nil, nil, err
	}
	return &Agent{opts: opts, log: a.log, models: map[string]model.Model{}, logins: a.logins}, told, nil
}

// Create makes a session in the folders, the first of which is the working folder, with the MCP servers that the client
// brings. The folders must exist, else the error is a [*FolderError]. The session is stored before Create returns; it must
// be closed.
func (a *Agent) Create(ctx context.Context, roots []string, servers []mcp.Server, face Face) (*Session, error) {
	h, err := face.Host(roots)
	if err != nil {
		return nil, &FolderError{Err: err}
	}
	a, told, err := a.in(clean(roots))
	if err != nil {
		return nil, err
	}
	id := session.NewID()
	first := session.Created{Roots: clean(roots), Mode: a.opts.DefaultMode, Model: a.opts.DefaultModel}
	if err := a.recall(ctx, &first); err != nil {
		return nil, err
	}
	if err := a.opts.Store.Create(ctx, id, first); err != nil {
		return nil, err
	}
	s := newSession(a, id, face, h)
	s.tell("warning", told...)
	if err := s.catchUp(ctx, nil); err != nil {
		return nil, err
	}
	s.readCommands()
	s.Bring(servers)
	return s, nil
}

// Open opens a stored session in the folders, which replace the stored ones; with none, the stored ones are used. servers
// are the MCP servers that the client brings. What a dead process left open in its log is closed, and nothing is run
// again. It fails with [session.ErrNotFound] or a [*FolderError]. The session must be closed.
func (a *Agent) Open(ctx context.Context, id string, roots []string, servers []mcp.Server, face Face) (*Session, error) {
	info, err := a.opts.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		roots = info.Roots
	}
	h, err := face.Host(roots)
	if err != nil {
		return nil, &FolderError{Err: err}
	}
	a, told, err := a.in(clean(roots))
	if err != nil {
		return nil, err
	}
	s := newSession(a, id, face, h)
	s.tell("warning", told...)
	if err := s.catchUp(ctx, nil); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, clean(roots)); err != nil {
		return nil, err
	}
	s.readCommands()
	s.Bring(servers)
	return s, nil
}

// Roots are the folders of a session whose client names none.
func (a *Agent) Roots() []string { return slices.Clone(a.opts.Roots) }

// modes are those that the person can choose from in this process.
func (a *Agent) modes() []approval.Mode {
	if a.opts.Mode == approval.ModeOff {
		return []approval.Mode{approval.ModeOff}
	}
	return approval.Modes()
}

// List describes stored sessions, newest first.
func (a *Agent) List(ctx context.Context, filter session.Filter) (session.Page, error) {
	return a.opts.Store.List(ctx, filter)
}

// Delete removes a stored session. Deleting one that is not there is no error.
func (a *Agent) Delete(ctx context.Context, id string) error {
	return a.opts.Store.Delete(ctx, id)
}

// model gives the model with this id, opened once.
func (a *Agent) model(ctx context.Context, id string) (model.Model, error) {
	a.mu.Lock()
	m, ok := a.models[id]
	a.mu.Unlock()
	if ok {
		return m, nil
	}
	m, err := a.opts.OpenModel(ctx, id)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.models[id] = m
	a.mu.Unlock()
	return m, nil
}

func clean(roots []string) []string {
	out := make([]string, len(roots))
	for i, r := range roots {
		out[i] = filepath.Clean(r)
	}
	return out
}
