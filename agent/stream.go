package agent

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// How often streamed text is shown and stored. Showing is bounded so that a fast model does not flood an editor;
// storing, so that a crash loses no more than a moment.
const (
	showEvery  = 33 * time.Millisecond
	saveEvery  = 500 * time.Millisecond
	saveBytes  = 16 << 10
	longestArg = 8 << 20 // of a call's arguments, bytes
)

// ask sends one request and records what comes back. It returns the calls that the model wants.
func (t *turn) ask(ctx context.Context, req model.Request) ([]session.CallRequested, model.StopReason, error) {
	if err := t.withinBudget(); err != nil {
		return nil, "", err
	}
	w := &writer{t: t}
	var calls []session.CallRequested
	said := 0 // bytes
	var usage model.Usage
	var stop model.StopReason

	in := t.send(ctx, req)
	defer in.close() // the stream is closed before anything else happens

	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	var failed error
	told := false
read:
	for {
		select {
		case it, open := <-in.items:
			if !open {
				break read
			}
			if it.err != nil {
				failed = it.err
				break read
			}
			switch e := it.event.(type) {
			case model.TextDelta:
				said += len(e.Text)
				failed = w.add(ctx, session.Assistant, e.Text)
			case model.ThoughtDelta:
				said += len(e.Text)
				failed = w.add(ctx, session.Thinking, e.Text)
			case model.ThoughtDone:
				failed = w.thoughtDone(ctx, e.Opaque)
			case model.CallDone:
				said += len(e.Call.Args)
				calls = append(calls, t.requested(e.Call, t.s.State().LastCall+len(calls)+1))
			case model.Usage:
				usage = e
			case model.Waiting:
				failed = t.tellWaiting(ctx, e)
			case model.Stop:
				stop = e.Reason
			}
			if failed != nil {
				break read
			}
		case <-tick.C:
			w.flush(ctx)
			if failed = w.save(ctx, time.Now()); failed != nil {
				break read
			}
		case s := <-in.silent:
			if !told {
				told, failed = true, t.tellSilence(ctx, s)
			}
			if failed != nil {
				break read
			}
		}
	}
	switch {
	case failed != nil:
	case ctx.Err() != nil:
		failed = context.Cause(ctx)
	case stop == "":
		failed = t.cut()
	}
	var used []session.Data
	if failed == nil || usage != (model.Usage{}) || said > 0 {
		used = t.account(usage, "", req, said)
	}

	// What was streamed is kept, also when the rest is lost: calls of a broken stream are not.
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	if failed != nil {
		return nil, "", firstError(failed, w.cut(keep), t.s.record(keep, used...))
	}
	data := append(w.rest(), used...)
	for _, c := range calls {
		data = append(data, c)
	}
	if err := t.s.record(keep, data...); err != nil {
		return nil, "", err
	}
	return calls, stop, ctx.Err()
}

// requested turns a model's call into an event. Arguments that are not JSON are kept as a string.
func (t *turn) requested(c model.ToolCall, number int) session.CallRequested {
	args := c.Args
	switch {
	case len(strings.TrimSpace(string(args))) == 0:
		args = json.RawMessage("{}")
	case len(args) > longestArg || !json.Valid(args):
		text, err := json.Marshal(string(args[:min(len(args), longestArg)]))
		if err != nil { // a string always marshals
			panic(err)
		}
		args = text
	}
	return session.CallRequested{
		Call: session.CallID(number), ModelID: c.ID, Tool: c.Name, Args: args, Provider: c.Provider, Opaque: c.Opaque,
	}
}

// writer turns deltas into messages: one message for each uninterrupted run of one speaker. Only the goroutine of the
// turn uses it.
type writer struct {
	t       *turn
	message string // id of the open message; empty for none
	speaker session.Speaker
	unshown strings.Builder
	unsaved strings.Builder
	shown   time.Time
	saved   time.Time
}

// add appends a delta to the open message of the speaker, opening one if need be.
func (w *writer) add(ctx context.Context, speaker session.Speaker, text string) error {
	if text == "" {
		return nil
	}
	if w.message != "" && w.speaker != speaker {
		if err := w.done(ctx, nil); err != nil {
			return err
		}
	}
	now := time.Now()
	if w.message == "" {
		w.message, w.speaker, w.saved = session.NewMessageID(), speaker, now
	}
	w.unshown.WriteString(text)
	w.unsaved.WriteString(text)
	if now.Sub(w.shown) >= showEvery {
		w.flush(ctx)
	}
	return w.save(ctx, now)
}

// save stores what is not stored yet when it is much, or has waited long enough: also while the model is silent.
func (w *writer) save(ctx context.Context, now time.Time) error {
	if w.unsaved.Len() == 0 || w.unsaved.Len() < saveBytes && now.Sub(w.saved) < saveEvery {
		return nil
	}
	w.flush(ctx)
	w.saved = now
	return w.t.s.record(ctx, w.take())
}

// flush shows what is not shown yet.
func (w *writer) flush(ctx context.Context) {
	if w.unshown.Len() == 0 {
		return
	}
	w.t.s.live(ctx, session.MessageDelta{Message: w.message, Speaker: w.speaker, Text: w.unshown.String()})
	w.unshown.Reset()
	w.shown = time.Now()
}

func (w *writer) take() session.MessageSaved {
	saved := session.MessageSaved{Message: w.message, Speaker: w.speaker, Text: w.unsaved.String()}
	w.unsaved.Reset()
	return saved
}

// close gives the events that complete the open message.
func (w *writer) close(opaque json.RawMessage) []session.Data {
	var data []session.Data
	if w.unsaved.Len() > 0 {
		data = append(data, w.take())
	}
	done := session.MessageDone{Message: w.message, Speaker: w.speaker, Opaque: opaque}
	if opaque != nil {
		done.Provider = w.t.model.Info().Provider
	}
	w.message = ""
	return append(data, done)
}

// done completes the open message.
func (w *writer) done(ctx context.Context, opaque json.RawMessage) error {
	w.flush(ctx)
	return w.t.s.record(ctx, w.close(opaque)...)
}

// thoughtDone completes the open thought, or stores a thought without text.
func (w *writer) thoughtDone(ctx context.Context, opaque json.RawMessage) error {
	if w.message != "" && w.speaker != session.Thinking {
		if err := w.done(ctx, nil); err != nil {
			return err
		}
	}
	if w.message == "" {
		if len(opaque) == 0 {
			return nil
		}
		w.message, w.speaker = session.NewMessageID(), session.Thinking
	}
	return w.done(ctx, opaque)
}

// rest shows what is left and gives the events that complete the open message.
func (w *writer) rest() []session.Data {
	if w.message == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	w.flush(ctx)
	return w.close(nil)
}

// cut stores what is left of a message that will not be completed.
func (w *writer) cut(ctx context.Context) error {
	if w.message == "" {
		return nil
	}
	w.flush(ctx)
	if w.unsaved.Len() == 0 {
		return nil
	}
	return w.t.s.record(ctx, w.take())
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
