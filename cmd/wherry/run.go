package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/bridge"
)

// Exit codes of run: how the turn ended.
const (
	exitRefusal    = 3 // the model declined
	exitLimit      = 4 // the answer or the turn reached a limit
	exitNotAllowed = 5 // the turn ended, and something it wanted to do was not allowed
)

type runCommand struct {
	settings
	Session string   `placeholder:"ID" help:"Go on with this session of the folder, also one of an editor; \"last\" is the newest. \"wherry sessions\" lists them."`
	Prompt  []string `arg:"" help:"The prompt; several words are joined."`
}

// Help is the long help of the command.
func (*runCommand) Help() string {
	return `The answer goes to stdout; tool calls, plans, notices and questions go to stderr. Questions are asked on the
terminal; without one, everything that would ask is refused.

Exit codes:
  0    the turn ended normally
  1    it failed: the reason is on stderr
  2    wrong usage
  3    the model declined to answer
  4    the answer or the turn reached a limit
  5    it ended, and something was not allowed
  130  interrupted; the turn was cancelled and is kept`
}

// Run runs one turn as a client of the bridge, over a pipe in memory.
func (c *runCommand) Run(env *environment) (err error) {
	prompt := strings.TrimSpace(strings.Join(c.Prompt, " "))
	if prompt == "" {
		fmt.Fprintln(env.stderr, "wherry: the prompt is empty")
		return exitStatus(exitUsage)
	}
	folder, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	built, err := c.build("wherry run", env.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, built.close()) }()

	// The connection outlives an interrupt, so that the turn can be cancelled on it.
	ctx, end := context.WithCancel(context.WithoutCancel(env.ctx))
	ours, theirs := transport.Pipe()
	served := make(chan error, 1)
	b := bridge.New(built.agent, host.LocalOptions{})
	go func() {
		served <- acp.Serve(ctx, theirs, b, b.Options(built.protocol, implementation("wherry", "wherry")))
	}()
	defer func() {
		end()
		<-served
		err = errors.Join(err, closeSessions(ctx, b))
	}()
	t := &terminalClient{console: newConsole(env.stdout, env.stderr)}
	defer t.close()
	client := implementation("wherry run", "wherry run")
	agent, err := acp.Connect(ctx, ours, &acp.ClientOptions{
		Options: acp.Options{Logger: built.log}, Info: &client, Permission: acp.PermissionFunc(t.permission), Elicitation: t, Capabilities: givesReasons,
	})
	if err != nil {
		return err
	}
	defer agent.Close()
	session, err := c.open(env, agent, folder)
	if err != nil {
		return misused(env, readable(err))
	}
	return t.turn(env.ctx, session.Prompt(env.ctx, acp.Text(prompt)))
}

// terminalClient is the person at a terminal as a client.
type terminalClient struct {
	mu      sync.Mutex // guards the rest
	console *console
	asker   *asker
	refused bool
}

// turn shows a turn and gives its exit code.
func (t *terminalClient) turn(ctx context.Context, turn *acp.Turn) error {
	for update := range turn.Updates() {
		t.mu.Lock()
		t.console.update(update)
		t.mu.Unlock()
	}
	result, err := turn.Result()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.console.endLine()
	if t.console.broken != nil {
		return fmt.Errorf("write the answer: %w", t.console.broken)
	}
	switch {
	case err != nil && ctx.Err() != nil, result.StopReason == acp.StopCancelled:
		t.console.say("Cancelled.")
		return exitStatus(exitInterrupted)
	case errors.Is(err, &acp.RequestError{Code: acp.CodeAuthRequired}):
		return exitStatus(exitError) // told in the conversation
	case err != nil:
		return readable(err)
	case failed(result.Meta):
		return exitStatus(exitError) // told in the conversation
	}
	switch result.StopReason {
	case acp.StopRefusal:
		t.console.say("The model declined to answer.")
		return exitStatus(exitRefusal)
	case acp.StopMaxTokens, acp.StopMaxTurnRequests:
		t.console.say("The turn reached a limit (%s).", result.StopReason)
		return exitStatus(exitLimit)
	}
	if t.refused {
		return exitStatus(exitNotAllowed)
	}
	return nil
}

// readable leaves the wire's code out of an error for a person.
func readable(err error) error {
	var answer *acp.RequestError
	if errors.As(err, &answer) {
		return errors.New(answer.Message)
	}
	return err
}

// failed tells whether the agent says that the turn failed.
func failed(meta acp.Meta) bool {
	raw, ok := meta.Get("wherry")
	if !ok {
		return false
	}
	var own struct {
		Error *struct{} `json:"error"`
	}
	return json.Unmarshal(raw, &own) == nil && own.Error != nil
}

// permission asks the person, or refuses when there is nobody to ask.
func (t *terminalClient) permission(
	ctx context.Context, req acp.RequestPermissionRequest,
) (acp.RequestPermissionResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.console.question(req)
	picked, err := t.ask(ctx, req.Options)
	switch {
	case ctx.Err() != nil:
		return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
	case err != nil:
		t.console.say("Refused: %v. Say --approve edits or --approve auto to allow it unasked.", err)
		picked = choice{option: optionOf(req.Options, acp.PermissionRejectOnce), reason: err.Error()}
	}
	if !allows(req.Options, picked.option) {
		t.refused = true
	}
	resp := acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: picked.option}}
	if nobody := err != nil; nobody || picked.reason != "" {
		resp.Meta, err = acp.NewMeta(map[string]any{"wherry": map[string]any{"reason": picked.reason, "nobody": nobody}})
		if err != nil {
			return acp.RequestPermissionResponse{}, err
		}
	}
	return resp, nil
}

// ask offers the options on the terminal.
func (t *terminalClient) ask(ctx context.Context, options []acp.PermissionOption) (choice, error) {
	if err := t.open(); err != nil {
		return choice{}, err
	}
	return t.asker.ask(ctx, options)
}

// line shows a prompt on the terminal and gives the line that follows.
func (t *terminalClient) line(ctx context.Context, prompt string) (string, error) {
	if err := t.open(); err != nil {
		return "", err
	}
	return t.asker.line(ctx, prompt)
}

// open opens the terminal when it is needed first.
func (t *terminalClient) open() error {
	if t.asker != nil {
		return nil
	}
	if !isTerminal(t.console.aside) {
		return errNoTerminal // a question that nobody sees is not put
	}
	a, err := openAsker(t.console.aside)
	if err != nil {
		return err
	}
	t.asker = a
	return nil
}

func (t *terminalClient) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asker != nil {
		t.asker.close()
	}
}

// optionOf gives the option of a kind; clients choose by kind, never by id.
func optionOf(options []acp.PermissionOption, kind acp.PermissionOptionKind) acp.PermissionOptionID {
	for _, o := range options {
		if o.Kind == kind {
			return o.OptionID
		}
	}
	return ""
}

// allows tells whether the chosen option is one that allows.
func allows(options []acp.PermissionOption, id acp.PermissionOptionID) bool {
	for _, o := range options {
		if o.OptionID == id {
			return o.Kind == acp.PermissionAllowOnce || o.Kind == acp.PermissionAllowAlways
		}
	}
	return false
}
