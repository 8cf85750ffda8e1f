package agent

import (
	"context"
	"iter"

	"github.com/wherry-acp/wherry/agent/model"
)

// model gives the model with this id, behind the session's guard: nothing is sent to a provider past it.
func (s *Session) model(ctx context.Context, id string) (model.Model, error) {
	m, err := s.agent.model(ctx, id)
	if err != nil || m.Info().Offline {
		return m, err
	}
	return guarded{Model: m, session: s}, nil
}

// guarded is a model whose requests and answers go through a guard.
type guarded struct {
	model.Model
	session *Session
}

// Stream sends what may be sent, and puts personal data back into the text and the calls that come back. A failure of the
// guard is a [*model.Error]: nothing was sent.
func (g guarded) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		sent, report, err := g.session.guard.Outgoing(ctx, req)
		if err != nil {
			if ctx.Err() == nil {
				err = &model.Error{Kind: model.ErrBadRequest, Provider: "privacy", Message: err.Error(), Err: err}
			}
			yield(nil, err)
			return
		}
		if text := report.Notice(); text != "" {
			g.session.tell("info", text)
		}
		text := g.session.guard.Restorer()
		for event, err := range g.Model.Stream(ctx, sent) {
			if delta, ok := event.(model.TextDelta); ok && err == nil {
				delta.Text = text.Add(delta.Text)
				if delta.Text != "" && !yield(delta, nil) {
					return
				}
				continue
			}
			if rest := text.Rest(); rest != "" && !yield(model.TextDelta{Text: rest}, nil) {
				return
			}
			if done, ok := event.(model.CallDone); ok {
				done.Call = g.restore(done.Call)
				event = done
			}
			if !yield(event, err) {
				return
			}
		}
		if rest := text.Rest(); rest != "" {
			yield(model.TextDelta{Text: rest}, nil)
		}
	}
}

// restore puts personal data back into the arguments of a call that stays on this machine. One with the placeholder of a
// secret is left as it is: it will be refused.
func (g guarded) restore(c model.ToolCall) model.ToolCall {
	if !g.session.ownTool(c.Name) { // a server may send them anywhere
		return c
	}
	if args, err := g.session.guard.Arguments(c.Args); err == nil {
		c.Args = args
	}
	return c
}
