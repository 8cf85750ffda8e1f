package agent

import (
	"context"
	"runtime/debug"

	"github.com/wherry-acp/wherry/agent/model"
)

// incoming is a request to the model that has been sent: what comes back, beside the news that nothing does.
type incoming struct {
	items  <-chan item // closed at the end
	silent <-chan model.Silence
	cancel context.CancelFunc
}

// item is an event of the model's answer, or why there are no more.
type item struct {
	event model.Event
	err   error
}

// send sends a request. The caller reads the items and calls close, also when it has read them all.
func (t *turn) send(ctx context.Context, req model.Request) incoming {
	silent := make(chan model.Silence, 1)
	ctx, cancel := context.WithCancel(model.WithSilence(ctx, func(s model.Silence) {
		select {
		case silent <- s:
		default: // one is enough
		}
	}))
	items := make(chan item)
	go func() {
		defer close(items)
		defer func() {
			if p := recover(); p != nil {
				t.s.agent.log.Error("panic in a model", "model", t.model.Info().ID(), "panic", p, "stack", string(debug.Stack()))
				select {
				case items <- item{err: errInside}:
				case <-ctx.Done():
				}
			}
		}()
		for event, err := range t.model.Stream(ctx, req) {
			select {
			case items <- item{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return incoming{items, silent, cancel}
}

// close ends the request and waits until its stream is closed.
func (in incoming) close() {
	in.cancel()
	for range in.items {
	}
}

// cut is the error of an answer that ended without saying so.
func (t *turn) cut() error {
	return &model.Error{Kind: model.ErrCut, Provider: t.model.Info().Provider, Message: "the answer ended before it was complete"}
}
