// Package retry asks a model again when it was too busy to begin an answer.
package retry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// Policy says how patient to be. Zero fields mean the defaults.
type Policy struct {
	Tries   int           // how often to ask in all; 5
	MaxWait time.Duration // the longest single wait; a provider that asks for more ends the request; 60 s
	Budget  time.Duration // how long after the first request another one may begin; 2 min
}

// networkTries is how often a network failure is tried: it is told to the person soon, and seldom heals by itself.
const networkTries = 3

// Wrap gives a model that asks m again when m fails with a temporary error before its first event. It yields a
// [model.Waiting] before each wait. After the first event of m the error is the caller's. A wait ends with the context.
func Wrap(m model.Model, p Policy) model.Model {
	if p.Tries == 0 {
		p.Tries = 5
	}
	if p.MaxWait == 0 {
		p.MaxWait = time.Minute
	}
	if p.Budget == 0 {
		p.Budget = 2 * time.Minute
	}
	return &patient{Model: m, policy: p}
}

type patient struct {
	model.Model
	policy Policy
}

// Stream asks until an answer begins. See [model.Model].
func (p *patient) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		start := time.Now()
		pause := backoff.NewExponentialBackOff()
		pause.InitialInterval, pause.Multiplier, pause.MaxInterval = time.Second, 2, p.policy.MaxWait
		for try := 1; ; try++ {
			left, err := p.once(ctx, req, yield)
			if left || err == nil {
				return
			}
			wait, final := p.next(err, try, time.Since(start), pause)
			if final != nil {
				yield(nil, final)
				return
			}
			if !yield(model.Waiting{Reason: reason(err), Seconds: wait.Seconds()}, nil) {
				return
			}
			if !sleep(ctx, wait) {
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// once asks one time. The error is one that came before any event; left means that everything was said.
func (p *patient) once(ctx context.Context, req model.Request, yield func(model.Event, error) bool) (left bool, err error) {
	shown := false
	for ev, err := range p.Model.Stream(ctx, req) {
		if err != nil && !shown {
			return false, err
		}
		shown = true
		if !yield(ev, err) || err != nil {
			return true, nil
		}
	}
	return true, nil
}

// next decides on a failure: how long to wait, or the error to end with.
func (p *patient) next(err error, try int, elapsed time.Duration, pause backoff.BackOff) (time.Duration, error) {
	var e *model.Error
	if !errors.As(err, &e) || !e.Temporary() {
		return 0, err
	}
	if e.RetryAfter > p.policy.MaxWait {
		return 0, tooLong(e)
	}
	wait := pause.NextBackOff()
	if e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	wait = min(wait, p.policy.MaxWait)
	tries := p.policy.Tries
	if e.Kind == model.ErrNetwork {
		tries = min(tries, networkTries)
	}
	if try >= tries || elapsed+wait > p.policy.Budget {
		return 0, gaveUp(e, try)
	}
	return wait, nil
}

// tooLong names the time at which the provider takes requests again.
func tooLong(e *model.Error) error {
	out := *e
	at := time.Now().Add(e.RetryAfter)
	when := at.Format("15:04:05")
	if e.RetryAfter > 12*time.Hour {
		when = at.Format("15:04 on 2 January")
	}
	out.Message = fmt.Sprintf("%s; it takes requests again at %s, in %s. Try again then, or choose another model", reason(e), when, endpoint.Seconds(e.RetryAfter))
	return &out
}

func gaveUp(e *model.Error, tries int) error {
	if tries < 2 {
		return e
	}
	out := *e
	what, todo, ok := strings.Cut(e.Message, ". ")
	out.Message = fmt.Sprintf("%s (tried %d times)", what, tries)
	if ok {
		out.Message += ". " + todo
	}
	return &out
}

// reason is what happened, without what to do about it.
func reason(err error) string {
	var e *model.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	what, _, _ := strings.Cut(e.Message, ". ")
	what, _, _ = strings.Cut(what, "; it asks to wait")
	return what
}

// sleep waits; false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
