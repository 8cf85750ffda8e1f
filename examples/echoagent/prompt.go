package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

const help = `Say anything, and I say it back. Besides:
- read FILE: shows a file, as your editor has it
- write FILE TEXT: writes a file, after asking
- run COMMAND: runs a command in your terminal, after asking
- plan: shows a plan and works it off
- count N: counts slowly, so that you can stop me
`

// commands are offered to the client.
func commands() []acp.AvailableCommand {
	return []acp.AvailableCommand{
		{Name: "help", Description: "what I do"},
		{Name: "read", Description: "show a file", Input: acp.UnstructuredCommandInput{Hint: "FILE"}},
		{Name: "write", Description: "write a file", Input: acp.UnstructuredCommandInput{Hint: "FILE TEXT"}},
		{Name: "run", Description: "run a command", Input: acp.UnstructuredCommandInput{Hint: "COMMAND"}},
		{Name: "plan", Description: "show a plan and work it off"},
		{Name: "count", Description: "count slowly", Input: acp.UnstructuredCommandInput{Hint: "N"}},
	}
}

// A turn is one prompt that is being answered.
type turn struct {
	*session
	client acp.SessionClient
}

// Prompt implements session/prompt. When the client cancels, ctx ends: what waits for it returns its error, and the
// prompt is answered "cancelled" whatever this returns.
func (a *agent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	s, err := a.session(req.SessionID)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	t := turn{s, acp.SessionFrom(ctx)}
	said := acp.PlainText(req.Prompt...)
	for _, block := range req.Prompt { // kept for a later load; the client shows it already
		if err := s.keep(acp.UserMessageChunk{Content: block, MessageID: acp.NewMessageID()}); err != nil {
			return acp.PromptResponse{}, err
		}
	}
	if err := t.name(ctx, said); err != nil {
		return acp.PromptResponse{}, err
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, t.answer(ctx, said)
}

// send shows an update and keeps it for a later load.
func (t turn) send(ctx context.Context, u acp.SessionUpdate) error {
	if err := t.keep(u); err != nil {
		return err
	}
	return t.client.Update(ctx, u)
}

// name gives the session its first prompt as its title.
func (t turn) name(ctx context.Context, said string) error {
	title, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	u := acp.SessionInfoUpdate{UpdatedAt: acp.PatchSet(now())}
	t.mu.Lock()
	if t.info.Title == "" && title != "" {
		t.info.Title = title
		u.Title = acp.PatchSet(title)
	}
	t.mu.Unlock()
	return t.send(ctx, u)
}

func (t turn) answer(ctx context.Context, said string) error {
	word, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
	switch strings.TrimPrefix(word, "/") {
	case "help":
		return t.say(ctx, help)
	case "read":
		return t.read(ctx, rest)
	case "write":
		name, text, _ := strings.Cut(rest, " ")
		return t.write(ctx, name, text)
	case "run":
		return t.run(ctx, rest)
	case "plan":
		return t.plan(ctx)
	case "count":
		return t.count(ctx, rest)
	}
	t.mu.Lock()
	loud := t.mode == "loud"
	t.mu.Unlock()
	if loud {
		said = strings.ToUpper(said)
	}
	if err := t.send(ctx, acp.AgentThoughtChunk{Content: acp.Text("I heard " + fmt.Sprint(len(strings.Fields(said))) + " words.")}); err != nil {
		return err
	}
	return t.say(ctx, said)
}

// say streams a message, a word at a time: the chunks have one message id.
func (t turn) say(ctx context.Context, text string) error {
	id := acp.NewMessageID()
	for word := range strings.SplitAfterSeq(text, " ") {
		if err := t.send(ctx, acp.AgentMessageChunk{Content: acp.Text(word), MessageID: id}); err != nil {
			return err
		}
	}
	return nil
}

// plan shows a plan and works it off.
func (t turn) plan(ctx context.Context) error {
	entries := []acp.PlanEntry{
		{Content: "Think", Priority: acp.PlanPriorityHigh, Status: acp.PlanPending},
		{Content: "Say so", Priority: acp.PlanPriorityMedium, Status: acp.PlanPending},
	}
	for i := range entries {
		for _, status := range []acp.PlanEntryStatus{acp.PlanInProgress, acp.PlanCompleted} {
			entries[i].Status = status
			if err := t.send(ctx, acp.Plan{Entries: entries}); err != nil {
				return err
			}
		}
	}
	return t.say(ctx, "The plan is done.")
}

// count counts to n, a number every tenth of a second, until the turn is cancelled.
func (t turn) count(ctx context.Context, n string) error {
	last := 0
	if _, err := fmt.Sscan(n, &last); err != nil || last < 0 {
		return t.say(ctx, "Count to what? Say a number.")
	}
	tick := time.NewTicker(time.Second / 10)
	defer tick.Stop()
	for i := range last {
		if err := t.say(ctx, fmt.Sprint(i+1, " ")); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
