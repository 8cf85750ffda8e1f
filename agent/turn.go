package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// TurnResult is how a turn ended.
type TurnResult struct {
	Reason  session.StopReason
	Usage   model.Usage  // of all requests of the turn
	Message string       // the user message's id
	Cost    session.Cost // of the same
	Limit   string       // the key of the limit that ended it, as in the settings; empty when none did
	Steered bool         // the prompt was taken into a turn that was running, and this is that turn's result
	// Err is why a turn failed, with a sentence for the person; nil unless Reason is [session.StopFailed]. The
	// sentence is in the log and has been shown, except for a refused login ([model.ErrAuth]), which the caller tells.
	Err error
}

// errInside is what a person sees of a defect of ours.
var errInside = errors.New("wherry failed inside; the log has the details. The conversation is safe, please try again")

// errDismissed ends a turn whose question the person dismissed: it counts as cancelled.
var errDismissed = errors.New("the question was dismissed")

// Turn answers a prompt. It waits for earlier turns of the session, and ends when the model has said all, ctx ends, or
// something fails. The error is for a turn that could not be begun: another process holds the session
// ([*session.HeldError]), the log cannot be written, the session is closed, or ctx ended before its turn came.
func (s *Session) Turn(ctx context.Context, prompt []session.Block) (TurnResult, error) {
	return s.Enqueue(prompt).Run(ctx)
}

// runTurn runs a turn whose place in the line is the first.
func (s *Session) runTurn(ctx context.Context, prompt []session.Block) (TurnResult, error) {
	if err := s.hold(ctx); err != nil {
		return TurnResult{}, err
	}
	defer s.release(ctx)

	t := &turn{s: s, prompt: prompt, id: session.NewTurnID(), result: TurnResult{Message: session.NewMessageID()}}
	started := session.TurnStarted{Turn: t.id, Message: t.result.Message, Prompt: prompt}
	s.renewCommands(ctx)
	if c, args, ok := s.commandOf(prompt); ok {
		t.command, t.args, started.Command = c, args, c.Name
		if c.Name == retryCommand {
			var before session.TurnStarted
			if before, _, started.Again = s.unanswered(); started.Again {
				t.command.answer, t.command.mode = nil, before.Mode // the model answers
			}
		}
		started.Mode = t.command.mode
		if c.prompt != nil {
			started.Sent = append([]session.Block{{Type: session.BlockText, Text: c.prompt(args)}}, prompt[1:]...)
		}
	}
	begin := append(s.unsettled(nil), started)
	if s.State().Title == "" && (started.Command == "" || started.Sent != nil) {
		if title := session.Title(prompt); title != "" {
			begin = append(begin, session.Titled{Title: title, By: "prompt"})
		}
	}
	if err := s.record(ctx, begin...); err != nil {
		return TurnResult{}, err
	}
	t.run(ctx)
	t.retitle()
	return t.result, t.unsaved
}

// turn is one run of the loop.
type turn struct {
	s       *Session
	id      string
	prompt  []session.Block
	command command // that the prompt is; without a name it is none
	args    string  // of the command
	steered []*Pending
	// shortened says that the conversation was shortened because the provider found it too long.
	shortened    bool
	refusedPlans []string  // digests
	host         host.Host // as it was when the turn began
	model        model.Model
	result       TurnResult
	// unreported is an estimate of what requests used whose provider does not count.
	unreported model.Usage
	unsaved    error // the end could not be stored
}

// run runs the loop and always writes the turn's end.
func (t *turn) run(ctx context.Context) {
	defer t.answerSteered()
	defer t.end(ctx)
	defer t.s.queue.end()
	defer func() {
		if p := recover(); p != nil {
			t.s.agent.log.Error("panic in a turn", "session", t.s.id, "panic", p, "stack", string(debug.Stack()))
			t.fail(errInside)
		}
	}()
	var spent *budgetError
	err := t.loop(ctx)
	if errors.As(err, &spent) {
		err = t.tellBudget(ctx, spent)
	}
	switch {
	case errors.Is(err, errPut):
	case errors.Is(err, errDismissed):
		t.result.Reason = session.StopCancelled
	case err != nil:
		t.fail(err)
	}
}

// answerSteered gives the prompts that the turn has taken its result.
func (t *turn) answerSteered() {
	for _, p := range t.steered {
		result := t.result
		result.Steered = true
		p.result = &result
		close(p.taken)
	}
}

// fail notes why the turn failed, unless it was cancelled.
func (t *turn) fail(err error) {
	t.result.Reason, t.result.Err = session.StopFailed, err
}

// end closes what is open and stores the turn's end, however the turn ended.
func (t *turn) end(ctx context.Context) {
	if ctx.Err() != nil {
		t.result.Reason, t.result.Err = session.StopCancelled, nil
	}
	if t.result.Reason == "" {
		t.result.Reason = session.StopEndTurn
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	t.result.Cost = t.s.State().TurnCost
	ended := session.TurnEnded{Turn: t.id, Reason: t.result.Reason, Usage: t.result.Usage}
	data := t.s.rest()
	for _, call := range t.s.State().Calls {
		data = append(data, session.CallDone{
			Call: call.Call, Status: session.CallCancelled,
			Result: tool.Failure("The turn ended before this call did."),
		})
	}
	if err := t.result.Err; err != nil {
		ended.Error, ended.ErrorKind = failure(err)
		if ended.ErrorKind == model.ErrAuth {
			t.s.agent.logins.refused(t.s.agent, t.s.State().Model)
		}
		t.s.agent.log.Warn("a turn failed", "session", t.s.id, "error", err)
	}
	if err := t.s.record(ctx, append(data, ended)...); err != nil {
		t.s.agent.log.Error("store the end of a turn", "session", t.s.id, "error", err)
		t.unsaved = fmt.Errorf("the end of the turn could not be stored: %w", err)
		for _, d := range data { // whoever opens the session next stores it; here it is at least seen
			t.s.live(ctx, d)
		}
	}
}

// loop asks the model, runs the calls it wants, and asks again.
func (t *turn) loop(ctx context.Context) error {
	s := t.s
	if t.command.answer != nil {
		return t.answer(ctx, t.command, t.args)
	}
	if t.command.begin != nil {
		if err := t.command.begin(ctx, t); err != nil {
			return t.reply(ctx, "", err)
		}
	}
	state := s.State()
	t.host = s.hostNow()
	m, err := s.model(ctx, state.Model)
	if err != nil {
		return err
	}
	t.model = m
	if err := t.sayOffline(ctx, state); err != nil {
		return err
	}
	if err := t.takeIn(ctx, t.result.Message, t.prompt); err != nil {
		return err
	}
	s.servers.wait(ctx)
	s.queue.steerable(t)
	for range s.agent.opts.MaxSteps {
		if ctx.Err() != nil { // what comes in now is not for this turn
			return context.Cause(ctx)
		}
		if err := t.steer(ctx, s.queue.take()); err != nil {
			return err
		}
		if err := t.withinBudget(); err != nil {
			return err
		}
		if err := t.tellRest(ctx); err != nil {
			return err
		}
		o, err := t.offer()
		if err != nil {
			return err
		}
		if err := t.makeRoom(ctx, o.size); err != nil {
			return err
		}
		if err := t.steer(ctx, s.queue.take()); err != nil { // said during the compaction
			return err
		}
		request := func() ([]session.CallRequested, model.StopReason, error) {
			messages := fit(session.Messages(s.snapshot()), m.Info())
			return t.ask(ctx, model.Request{System: o.system, Messages: messages, Tools: o.specs, Thought: t.thought()})
		}
		calls, stop, err := request()
		if isTooLong(err) && !t.shortened {
			t.shortened = true // once a turn: if that does not help, nothing here does
			if _, err := t.compact(ctx, "", o.size); err != nil {
				return err
			}
			calls, stop, err = request()
		}
		if err != nil {
			return err
		}
		if len(calls) == 0 {
			switch stop {
			case model.StopMaxTokens:
				t.result.Reason = session.StopMaxTokens
				return nil
			case model.StopRefusal:
				t.result.Reason = session.StopRefusal
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			more := s.queue.last()
			if len(more) == 0 {
				return nil
			}
			if err := t.steer(ctx, more); err != nil { // said while the model said its last words
				return err
			}
			continue
		}
		if err := t.tellRest(ctx); err != nil {
			return err
		}
		if err := t.calls(ctx, o.tools, calls); err != nil {
			return err
		}
	}
	t.result.Reason = session.StopMaxSteps
	return t.notice(ctx, "warning", fmt.Sprintf(
		"The turn was ended after %d requests to the model. Say \"go on\" to continue.", s.agent.opts.MaxSteps))
}

// sayOffline tells once a session that no model is configured.
func (t *turn) sayOffline(ctx context.Context, state session.State) error {
	if !t.model.Info().Offline || t.s.agent.opts.ModelChosen || state.Turns > 1 {
		return nil
	}
	return t.notice(ctx, "info", "No model is configured, so wherry's embedded offline model answers: it searches and quotes "+
		"this folder and carries out plain instructions (say \"help\"). For a real model set ANTHROPIC_API_KEY, OPENAI_API_KEY "+
		"or GEMINI_API_KEY, or use --model ollama/NAME.")
}

func (t *turn) notice(ctx context.Context, severity, text string) error {
	return t.s.record(ctx, session.Notice{Message: session.NewMessageID(), Text: text, Severity: severity})
}
