package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/wherry-acp/wherry/acp"
)

// A toolCall is a tool call that is shown and kept for a later load.
type toolCall struct {
	turn
	tracker *acp.ToolCallTracker
	ended   bool
}

// start announces a tool call. Its end must be deferred: it ends what was left open.
func (t turn) start(ctx context.Context, call acp.ToolCall) (*toolCall, error) {
	call.ToolCallID = acp.NewToolCallID()
	if err := t.keep(call); err != nil {
		return nil, err
	}
	tracker, err := t.client.StartToolCall(ctx, call)
	return &toolCall{turn: t, tracker: tracker}, err
}

func (c *toolCall) update(ctx context.Context, u acp.ToolCallUpdate) error {
	u.ToolCallID = c.tracker.ID()
	if err := c.keep(u); err != nil {
		return err
	}
	return c.tracker.Update(ctx, u)
}

// complete ends the call well.
func (c *toolCall) complete(ctx context.Context, content ...acp.ToolCallContent) error {
	c.ended = true
	return c.update(ctx, acp.ToolCallUpdate{Status: acp.ToolCallCompleted, Content: content})
}

// end ends the call as failed, if nothing has ended it, and says why.
func (c *toolCall) end(ctx context.Context, err *error) {
	if c.ended {
		return
	}
	u := acp.ToolCallUpdate{Status: acp.ToolCallFailed}
	if *err != nil {
		u.Content = []acp.ToolCallContent{acp.ToolText((*err).Error())}
	}
	if failed := c.update(ctx, u); failed != nil {
		*err = errors.Join(*err, failed)
		return
	}
	if *err == nil || ctx.Err() != nil {
		return
	}
	// What went wrong is part of the answer: the turn goes on.
	*err = c.say(ctx, "That failed: "+(*err).Error())
}

// path is a file of the session's folder.
func (t turn) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(t.info.Cwd, name)
}

// read shows a file through fs/read_text_file.
func (t turn) read(ctx context.Context, name string) (err error) {
	path := t.path(name)
	call, err := t.start(ctx, acp.ToolCall{
		Title: "Read " + name, Kind: acp.ToolKindRead, Status: acp.ToolCallInProgress, Locations: []acp.ToolCallLocation{{Path: path}},
	})
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	text, err := t.client.ReadTextFile(ctx, path)
	if err != nil {
		return err
	}
	if err := call.complete(ctx, acp.ToolText(text)); err != nil {
		return err
	}
	return t.say(ctx, fmt.Sprintf("%s has %d bytes.", name, len(text)))
}

// write shows the change, asks, and writes through fs/write_text_file.
func (t turn) write(ctx context.Context, name, text string) (err error) {
	path := t.path(name)
	diff := acp.ToolNewFile(path, text)
	if old, err := t.client.ReadTextFile(ctx, path); err == nil {
		diff = acp.ToolDiff(path, old, text)
	}
	call, err := t.start(ctx, acp.ToolCall{
		Title: "Write " + name, Kind: acp.ToolKindEdit, Content: []acp.ToolCallContent{diff}, Locations: []acp.ToolCallLocation{{Path: path}},
	})
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if allowed, err := call.ask(ctx); err != nil || !allowed {
		return errors.Join(err, t.say(ctx, "I left it."))
	}
	if err := t.client.WriteTextFile(ctx, path, text); err != nil {
		return err
	}
	if err := call.complete(ctx); err != nil {
		return err
	}
	return t.say(ctx, "Written.")
}

// run asks, and runs a command in the client's terminal, whose output the tool call shows as it comes.
func (t turn) run(ctx context.Context, line string) (err error) {
	call, err := t.start(ctx, acp.ToolCall{Title: "`" + line + "`", Kind: acp.ToolKindExecute})
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	if allowed, err := call.ask(ctx); err != nil || !allowed {
		return errors.Join(err, t.say(ctx, "I left it."))
	}
	// A line without arguments is run by the client's shell.
	terminal, err := t.client.NewTerminal(ctx, acp.CreateTerminalRequest{Command: line, Cwd: t.info.Cwd})
	if err != nil {
		return err
	}
	defer terminal.Close() // also ends the command when the turn is cancelled
	if err := call.update(ctx, acp.ToolCallUpdate{
		Status: acp.ToolCallInProgress, Content: []acp.ToolCallContent{acp.ToolCallTerminal{TerminalID: terminal.ID()}},
	}); err != nil {
		return err
	}
	exit, err := terminal.Wait(ctx)
	if err != nil {
		return err
	}
	output, err := terminal.Output(ctx)
	if err != nil {
		return err
	}
	if code, ended := exit.ExitCode.Get(); !ended {
		return fmt.Errorf("ended by %s", exit.Signal)
	} else if code != 0 {
		return fmt.Errorf("exit status %d", code)
	}
	if err := call.complete(ctx); err != nil {
		return err
	}
	return t.say(ctx, fmt.Sprintf("Done, with %d bytes of output.", len(output.Output)))
}

// ask asks the user for the call, which has been announced.
func (c *toolCall) ask(ctx context.Context) (allowed bool, err error) {
	allowed, _, err = c.tracker.AskPermission(ctx)
	return allowed, err
}
