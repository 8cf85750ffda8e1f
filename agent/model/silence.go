package model

import (
	"context"
	"time"
)

// Silence says that a provider has sent nothing for a while: no part of an answer and no sign of life.
type Silence struct {
	For   time.Duration // how long it has been silent
	Until time.Time     // when the request is given up
}

type silenceKey struct{}

// WithSilence gives a context with which a request says that its provider is silent. tell is called from another goroutine,
// at most once for each time that the provider falls silent, and must not block.
func WithSilence(ctx context.Context, tell func(Silence)) context.Context {
	return context.WithValue(ctx, silenceKey{}, tell)
}

// TellSilence gives what was given to [WithSilence]; nil if nothing was.
func TellSilence(ctx context.Context) func(Silence) {
	tell, _ := ctx.Value(silenceKey{}).(func(Silence))
	return tell
}
