package acp

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// A Turn is a prompt that is being worked on.
type Turn = Stream[PromptResponse]

// A Load is a session whose conversation is being replayed.
type Load = Stream[*Session]

// A Stream is a call whose answer comes after any number of session updates. The updates
// are never dropped: while nobody reads them, the session waits, and only it. Its methods
// may be called concurrently.
type Stream[R any] struct {
	session *Session
	updates *updateQueue
	done    chan struct{} // closed when result and err are set
	result  R
	err     error

	mu        sync.Mutex
	reading   bool
	cancelled bool
	call      *jsonrpc.Call
	stop      context.CancelCauseFunc // of the call
	grace     *time.Timer
	ended     func() error // Err of the caller's context
}

func newStream[R any](s *Session) *Stream[R] {
	return &Stream[R]{
		session: s,
		updates: newUpdateQueue(),
		done:    make(chan struct{}),
	}
}

// failed returns a stream that has ended before it began.
func failed[R any](err error) *Stream[R] {
	t := newStream[R](nil)
	t.fail(err)
	return t
}

// fail ends a stream that has not begun.
func (t *Stream[R]) fail(err error) {
	t.err = err
	close(t.done)
	t.updates.end()
}

// Updates iterates over the session's updates while the call runs, in order; it ends
// after the last one that was received before the answer. A question to the user (a permission, an elicitation) is asked after
// the loop has done its work for the updates before it, so the loop must not wait for one. Leaving the loop early cancels
// the call and waits for its end, bounded by ClientOptions.CancelGrace. Updates can be
// read once.
func (t *Stream[R]) Updates() iter.Seq[SessionUpdate] {
	return func(yield func(SessionUpdate) bool) {
		t.mu.Lock()
		again := t.reading
		t.reading = true
		t.mu.Unlock()
		if again {
			return
		}
		t.updates.begin()
		var run []SessionUpdate
		finished, at := false, 0
		defer func() {
			if !finished {
				t.updates.leave(run[at:])
				t.Cancel()
				<-t.done
			}
		}()
		for run = t.updates.next(run); run != nil; run = t.updates.next(run) {
			for at = 0; at < len(run); {
				u := run[at]
				at++
				if !yield(u) {
					return
				}
				t.updates.read()
			}
		}
		finished = true
	}
}

// Result waits for the answer. Without an Updates loop the updates go to
// ClientOptions.Updates. A turn that was cancelled has stop reason "cancelled" and no
// error, unless the agent did not end it in time: ErrCancelTimeout.
func (t *Stream[R]) Result() (R, error) {
	t.mu.Lock()
	reading := t.reading
	t.reading = true
	t.mu.Unlock()
	if !reading {
		t.updates.leave(nil)
		t.handOver()
	}
	<-t.done
	return t.result, t.err
}

// handOver gives what nobody has read, and nobody will, to the default handler.
func (t *Stream[R]) handOver() {
	t.updates.handOver(func(u SessionUpdate) {
		t.session.agent.unclaimed(t.session.agent.values, SessionNotification{SessionID: t.session.id, Update: u})
	})
}

// Done is closed when the result is known.
func (t *Stream[R]) Done() <-chan struct{} { return t.done }

// Cancel asks the agent to end the call: session/cancel goes out at once, and the
// session's open permission requests are answered "cancelled". It does not wait; Result
// does. It may be called more than once, and after the end.
func (t *Stream[R]) Cancel() {
	select {
	case <-t.done:
		return
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancelled || t.session == nil {
		return
	}
	t.cancelled = true
	if t.call == nil { // not begun
		return
	}
	t.cancelCall()
}

// cancelCall is called with t.mu held.
func (t *Stream[R]) cancelCall() {
	if !t.call.Queued() {
		t.stop(context.Canceled) // nothing has been sent, and nothing will be
		return
	}
	grace := t.session.agent.opts.CancelGrace
	if grace <= 0 {
		grace = DefaultCancelGrace
	}
	t.grace = time.AfterFunc(grace, func() { t.stop(ErrCancelTimeout) })
	t.session.cancelNow()
}

// isCancelled reports whether Cancel was called.
func (t *Stream[R]) isCancelled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cancelled || t.ended != nil && t.ended() != nil
}

// push hands an update to the reader, waiting for it. It reports false if nobody reads;
// what came before has been given to the default handler then.
func (t *Stream[R]) push(ctx context.Context, u SessionUpdate) bool {
	if t.updates.push(ctx, u) {
		return true
	}
	t.handOver()
	return false
}

// caughtUp waits until an Updates loop has done its work for every update so far, as long as patience lasts; for a
// loop to begin it waits a moment only.
func (t *Stream[R]) caughtUp(ctx context.Context, patience <-chan time.Time) {
	done := t.updates.caughtUp()
	begin := time.NewTimer(beginPatience)
	defer begin.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-patience:
			return
		case <-begin.C:
			if !t.updates.hasReader() {
				return
			}
		}
	}
}

// How long a question to the user waits for the loop that reads the updates before it: to begin, and to be done with them.
const (
	beginPatience   = 200 * time.Millisecond
	updatesPatience = 5 * time.Second
)

// active is the part of a stream that a session needs.
type active interface {
	push(ctx context.Context, u SessionUpdate) bool
	caughtUp(ctx context.Context, patience <-chan time.Time)
	isCancelled() bool
	Done() <-chan struct{}
}

// begin makes t the session's stream, or refuses.
func (t *Stream[R]) begin(ctx context.Context, f func(ctx context.Context, how *jsonrpc.Call) (R, error)) {
	s := t.session
	t.ended = ctx.Err
	if prev := s.claim(t); prev != nil {
		if !prev.isCancelled() {
			t.fail(ErrTurnInProgress)
			return
		}
		go func() { // a cancelled turn ends within its grace
			for prev != nil {
				select {
				case <-prev.Done():
				case <-ctx.Done():
					t.fail(&CallError{Method: MethodSessionPrompt, Err: context.Cause(ctx)})
					return
				}
				if prev = s.claim(t); prev != nil && !prev.isCancelled() {
					t.fail(ErrTurnInProgress)
					return
				}
			}
			t.run(ctx, f)
		}()
		return
	}
	go t.run(ctx, f)
}

// run makes the call and ends the stream.
func (t *Stream[R]) run(ctx context.Context, f func(ctx context.Context, how *jsonrpc.Call) (R, error)) {
	callCtx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	t.mu.Lock()
	t.call, t.stop = on(t.session.id), stop
	t.call.OnDeliver = func() { t.session.release(t) } // what comes later is not the call's
	if t.cancelled {
		stop(context.Canceled)
	}
	t.mu.Unlock()
	unwatch := context.AfterFunc(ctx, t.Cancel)
	result, err := f(callCtx, t.call)
	unwatch()
	if errors.Is(err, ErrConnectionClosed) {
		// What was received before the end still belongs to the reader.
		select {
		case <-t.session.agent.conn.Handled(string(t.session.id)):
		case <-ctx.Done():
		}
	}
	t.mu.Lock()
	if t.grace != nil {
		t.grace.Stop()
	}
	cancelled := t.cancelled
	t.mu.Unlock()
	if cause := context.Cause(ctx); err != nil && cancelled && cause != nil && errors.Is(err, ErrNotSent) {
		err = &CallError{Method: t.call.Method(), Err: cause}
	}
	t.session.release(t)
	t.result, t.err = result, err
	close(t.done)
	t.updates.end()
	t.handOver()
}
