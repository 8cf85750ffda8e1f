package agent

import (
	"context"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// What a model is given and may take to name a session.
const (
	titleWait   = 30 * time.Second
	titlePrompt = 2000 // characters of the prompt
	titleAnswer = 1000 // characters of the answer
	titleTokens = 1000 // of output: some models think before they speak
)

const titleAsk = `Give the conversation that begins below a title: one line of at most 60 characters, in the language of the conversation, without
quotation marks and without a stop. Answer with the title alone.`

// retitle has the model find a better title than the first prompt's words, aside, when the first turn has been answered.
func (t *turn) retitle() {
	s := t.s
	state := s.State()
	switch {
	case s.life.Err() != nil, !s.agent.opts.Titles, state.Turns != 1, state.TitledBy != "prompt", t.model == nil, t.result.Reason != session.StopEndTurn:
		return
	case t.model.Info().Offline, t.withinBudget() != nil:
		return
	}
	req := titleRequest(t.prompt, s.snapshot(), t.id, t.model.Info())
	m := t.model
	s.jobs.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, titleWait)
		defer cancel()
		if err := s.retitle(ctx, m, req); err != nil && s.life.Err() == nil {
			s.agent.log.Info("a title could not be made", "session", s.id, "error", err)
		}
	})
}

func titleRequest(prompt []session.Block, events []session.Event, turn string, info model.Info) model.Request {
	var asked, answer strings.Builder
	for _, b := range prompt {
		if b.Type == session.BlockText {
			asked.WriteString(b.Text + "\n")
		}
	}
	begun := false
	for _, e := range events {
		switch d := e.Data.(type) {
		case session.TurnStarted:
			begun = d.Turn == turn
		case session.MessageSaved:
			if begun && d.Speaker == session.Assistant {
				answer.WriteString(d.Text)
			}
		}
	}
	req := model.Request{MaxOutput: titleTokens, Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text{
		Text: titleAsk + "\n\nThe person says:\n\n" + clip(strings.TrimSpace(asked.String()), titlePrompt) +
			"\n\nThe answer begins:\n\n" + clip(strings.TrimSpace(answer.String()), titleAnswer),
	}}}}}
	if len(info.Thoughts) > 0 {
		req.Thought = info.Thoughts[0]
	}
	return req
}

// retitle asks the model, and gives the session its title unless the person has given it one meanwhile.
func (s *Session) retitle(ctx context.Context, m model.Model, req model.Request) error {
	var text strings.Builder
	var usage model.Usage
	var failed error
	for event, err := range m.Stream(ctx, req) {
		if err != nil {
			failed = err
			break
		}
		switch e := event.(type) {
		case model.TextDelta:
			text.WriteString(e.Text)
		case model.Usage:
			usage = e
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var data []session.Data
	if info := m.Info(); usage != (model.Usage{}) {
		used := session.UsageRecorded{Model: info.ID(), Usage: usage, Job: session.JobTitle}
		if info.Price != nil {
			cost := info.Price.Of(usage)
			used.Cost = &cost
		}
		data = append(data, used)
	}
	title := strings.Trim(session.Title([]session.Block{{Type: session.BlockText, Text: text.String()}}), "\"'“”„«» .")
	if err := s.hold(ctx); err != nil {
		return err
	}
	defer s.release(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed == nil && title != "" && s.state.TitledBy == "prompt" && title != s.state.Title {
		data = append(data, session.Titled{Title: title, By: "model"})
	}
	stored, err := s.store(ctx, data)
	for _, e := range stored {
		s.show(ctx, e)
	}
	if failed != nil {
		return failed
	}
	return err
}
