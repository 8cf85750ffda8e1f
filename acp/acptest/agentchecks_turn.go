package acptest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// turnChecks are about prompts.
func turnChecks() []agentCheck {
	return []agentCheck{
		{name: "a prompt is answered with a stop reason, after all of its updates", run: turnsAreWhole},
		{name: "two sessions work side by side", run: sessionsAreIndependent},
		{name: "a cancelled turn is answered in time, and the session goes on", run: cancelEndsTheTurn},
		{name: "a cancelled request is answered in time", run: cancelEndsTheRequest},
		{name: "the agent ends when its input does, also during a turn", run: func(ctx context.Context, s *subject) error {
			d, id, err := s.session(ctx)
			if err != nil {
				return err
			}
			if _, err := s.running(ctx, d, id); err != nil {
				return err
			}
			return d.end()
		}},
	}
}

func turnsAreWhole(ctx context.Context, s *subject) error {
	d, id, err := s.session(ctx)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := d.runPrompt(ctx, id, s.prompt()); err != nil {
			return err
		}
		before := len(d.updates)
		// What comes too late comes soon.
		lctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		for err == nil {
			err = d.read(lctx)
		}
		late := lctx.Err() != nil
		cancel()
		if !late {
			return err
		}
		if err = d.ping(ctx); err != nil {
			return err
		}
		for _, u := range d.updates[before:] {
			switch u.Update.(type) {
			case acp.AgentMessageChunk, acp.AgentThoughtChunk, acp.UserMessageChunk, acp.ToolCall, acp.ToolCallUpdate, acp.Plan:
				return fmt.Errorf("an update of the turn (%T) came after its answer", u.Update)
			}
		}
	}
	for _, u := range d.updates {
		if u.SessionID != id {
			return fmt.Errorf("an update is for the session %q, not %q", u.SessionID, id)
		}
		if unknown, ok := u.Update.(acp.UnknownSessionUpdate); ok {
			return fmt.Errorf("an update has the kind %q, which the protocol does not have", unknown.Tag)
		}
	}
	return nil
}

func sessionsAreIndependent(ctx context.Context, s *subject) error {
	d, first, err := s.session(ctx)
	if err != nil {
		return err
	}
	second, err := d.newSession(ctx, s.opts.Cwd)
	if err != nil {
		return err
	}
	blocks, runs := s.longPrompt()
	start := d.startPrompt
	if runs { // the second turn comes when the first one has begun
		start = func(ctx context.Context, id acp.SessionID, _ []acp.ContentBlock) (string, error) {
			return s.running(ctx, d, id)
		}
	}
	a, err := start(ctx, first, blocks)
	if err != nil {
		return err
	}
	if stop, err := d.runPrompt(ctx, second, s.prompt()); err != nil {
		return fmt.Errorf("the turn of a session beside another one: %w", err)
	} else if stop == acp.StopCancelled {
		return errors.New("the turn of a session beside another one is answered \"cancelled\"")
	}
	if runs {
		if m, ended := d.answers[a]; ended {
			return fmt.Errorf("the long prompt has ended by itself: %s", &m)
		}
		if err := d.notify(ctx, acp.MethodSessionCancel, `{"sessionId":`+quoted(string(first))+`}`); err != nil {
			return err
		}
	}
	_, err = d.endPrompt(ctx, a)
	return err
}

// running starts the long prompt and waits until the turn has begun, as far as that can
// be seen.
func (s *subject) running(ctx context.Context, d *dialog, id acp.SessionID) (request string, err error) {
	blocks, _ := s.longPrompt()
	if request, err = d.startPrompt(ctx, id, blocks); err != nil {
		return "", err
	}
	seen := len(d.updates)
	wctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for len(d.updates) == seen {
		if _, ended := d.answers[request]; ended {
			break
		}
		if err := d.read(wctx); err != nil {
			if wctx.Err() != nil && ctx.Err() == nil {
				break // an agent that shows nothing
			}
			return "", err
		}
	}
	return request, nil
}

func cancelEndsTheTurn(ctx context.Context, s *subject) error {
	d, id, err := s.session(ctx)
	if err != nil {
		return err
	}
	request, err := s.running(ctx, d, id)
	if err != nil {
		return err
	}
	if err := d.notify(ctx, acp.MethodSessionCancel, `{"sessionId":`+quoted(string(id))+`}`); err != nil {
		return err
	}
	cctx, cancel := context.WithTimeout(ctx, s.within())
	defer cancel()
	stop, err := d.endPrompt(cctx, request)
	switch _, runs := s.longPrompt(); {
	case err != nil && cctx.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("no answer %v after session/cancel", s.within())
	case err != nil:
		return err
	case runs && stop != acp.StopCancelled:
		return fmt.Errorf("the cancelled turn is answered with %q", stop)
	}
	if stop, err = d.runPrompt(ctx, id, s.prompt()); err != nil {
		return fmt.Errorf("the next prompt: %w", err)
	} else if stop == acp.StopCancelled {
		return errors.New("the next prompt is answered \"cancelled\" too")
	}
	return nil
}

func cancelEndsTheRequest(ctx context.Context, s *subject) error {
	d, id, err := s.session(ctx)
	if err != nil {
		return err
	}
	request, err := s.running(ctx, d, id)
	if err != nil {
		return err
	}
	if err := d.notify(ctx, acp.MethodCancelRequest, `{"requestId":`+request+`}`); err != nil {
		return err
	}
	cctx, cancel := context.WithTimeout(ctx, s.within())
	defer cancel()
	m, err := d.await(cctx, request)
	switch {
	case err != nil && cctx.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("no answer %v after $/cancel_request", s.within())
	case err != nil:
		return err
	case m.kind == anError:
		code, err := errorCode(m)
		if err == nil && code != acp.CodeRequestCancelled {
			err = fmt.Errorf("the cancelled request is answered with error %d, want %d", code, acp.CodeRequestCancelled)
		}
		return err
	}
	return nil
}
