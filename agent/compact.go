package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

//go:embed compact.md
var compactText string

// What is known of the size of a conversation without asking the provider is an estimate on the safe side.
const (
	bytesPerToken  = 3.5  // of code and English, roughly
	tokensPerImage = 1600 // the most that providers count for a picture of the usual size
	roomShare      = 8    // the part of the window that is kept free for the answer: an eighth
	keptShare      = 4    // the newest turn is kept word for word when it takes no more than a quarter of the window
)

// errNoSummary is an empty answer.
var errNoSummary = errors.New("the model gave no summary")

// errNothing is a conversation of which no model has got anything.
var errNothing = errors.New("there is nothing to shorten yet")

// makeRoom shortens the conversation when the next request would not leave room for an answer.
func (t *turn) makeRoom(ctx context.Context, overhead int) error {
	info := t.model.Info()
	if info.ContextWindow == 0 {
		return nil // the provider says when it is too long
	}
	events := t.s.snapshot()
	last := t.s.State().Usage.Usage
	used := max(overhead+estimate(session.Messages(events)), last.Input+last.Output)
	if used <= info.ContextWindow-info.ContextWindow/roomShare {
		return nil
	}
	_, err := t.compact(ctx, "", overhead)
	return err
}

// compact asks the model for a summary and puts it in place of what came before. A failure is told and leaves everything as
// it was; the error is that of the context or the log.
func (t *turn) compact(ctx context.Context, focus string, overhead int) (session.CompactionEnded, error) {
	s := t.s
	id := session.NewCompactionID()
	if err := s.record(ctx, session.CompactionStarted{ID: id}); err != nil {
		return session.CompactionEnded{}, err
	}
	ended := session.CompactionEnded{ID: id, Status: session.CompactionFailed}
	summary, err := t.summarise(ctx, focus, overhead)
	switch {
	case ctx.Err() != nil:
		ended.Status = session.CompactionCancelled
	case err != nil:
		s.agent.log.Warn("shorten a conversation", "session", s.id, "error", err)
		ended.Nothing = errors.Is(err, errNothing)
		ended.Error = "The conversation could not be shortened: " + err.Error()
	default:
		ended.Status, ended.Summary, ended.Kept = session.CompactionCompleted, summary, t.kept()
		ended.Window = t.model.Info().ContextWindow
		after := append(s.snapshot(), session.Event{Data: ended})
		ended.Tokens = overhead + estimate(session.Messages(after))
	}
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	if err := s.record(keep, ended); err != nil {
		return ended, err
	}
	return ended, context.Cause(ctx)
}

// kept tells from where on the events stay as they are: from the newest prompt, if what followed it is short.
func (t *turn) kept() int64 {
	events := t.s.snapshot()
	for i := len(events) - 1; i >= 0; i-- {
		if started, ok := events[i].Data.(session.TurnStarted); ok && (started.Command == "" || started.Sent != nil) {
			if window := t.model.Info().ContextWindow; window > 0 && estimate(session.Messages(events[i:])) <= window/keptShare {
				return events[i].Seq - 1
			}
			return 0
		}
	}
	return 0
}

// summarise asks the model.
func (t *turn) summarise(ctx context.Context, focus string, overhead int) (string, error) {
	if err := t.withinBudget(); err != nil {
		return "", err
	}
	info := t.model.Info()
	if info.Offline {
		return "", errors.New("the embedded model cannot summarise. Use /clear, or choose another model")
	}
	messages := fit(session.Messages(t.s.snapshot()), info)
	if len(messages) == 0 {
		return "", errNothing
	}
	if info.ContextWindow > 0 {
		messages = newest(messages, info.ContextWindow-info.ContextWindow/roomShare-overhead)
	}
	ask := strings.TrimSpace(compactText)
	if focus != "" {
		ask += "\n\nAbove all keep this: " + focus
	}
	if plan := planText(t.s); plan != "" {
		ask += "\n\nThe plan as it stands:\n" + plan
	}
	messages = append(messages, model.Message{Role: model.RoleUser, Parts: []model.Part{model.Text{Text: ask}}})
	req := model.Request{Messages: messages}
	text, usage, err := t.told(ctx, req)
	if err == nil || usage != (model.Usage{}) || text != "" { // what failed was paid too
		keep, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer done()
		err = firstError(err, t.s.record(keep, t.account(usage, session.JobSummary, req, len(text))...))
	}
	if err != nil {
		return "", err
	}
	summary := strings.TrimSpace(text)
	if summary == "" {
		return "", errNoSummary
	}
	return summary, nil
}

// told sends a request whose answer is not for the person, and gives the answer, whole unless there is an
// error. What the person waits for is told.
func (t *turn) told(ctx context.Context, req model.Request) (text string, usage model.Usage, err error) {
	in := t.send(ctx, req)
	defer in.close()
	var out strings.Builder
	stopped, silence := false, false
	for {
		select {
		case it, open := <-in.items:
			switch {
			case it.err != nil:
				return out.String(), usage, it.err
			case open:
			case ctx.Err() != nil:
				return out.String(), usage, context.Cause(ctx)
			case !stopped:
				return out.String(), usage, t.cut()
			default:
				return out.String(), usage, nil
			}
			switch e := it.event.(type) {
			case model.TextDelta:
				out.WriteString(e.Text)
			case model.Usage:
				usage = e
			case model.Waiting:
				err = t.tellWaiting(ctx, e)
			case model.Stop:
				stopped = true
			}
		case s := <-in.silent:
			if !silence {
				silence, err = true, t.tellSilence(ctx, s)
			}
		}
		if err != nil {
			return out.String(), usage, err
		}
	}
}

// newest drops messages from the front until the rest fits into so many tokens. What is left begins with a user's message, so
// that no result stands without its call.
func newest(messages []model.Message, budget int) []model.Message {
	for i := range messages {
		if messages[i].Role == model.RoleUser && estimate(messages[i:]) <= budget {
			return messages[i:]
		}
	}
	for i := len(messages) - 1; i >= 0; i-- { // nothing fits: the newest prompt, and the provider's answer to that
		if messages[i].Role == model.RoleUser {
			return messages[i:]
		}
	}
	return messages
}

// estimate is about how many tokens messages take.
func estimate(messages []model.Message) int {
	size := 0.0
	var count func(parts []model.Part)
	count = func(parts []model.Part) {
		for _, p := range parts {
			switch p := p.(type) {
			case model.Text:
				size += float64(len(p.Text)) / bytesPerToken
			case model.Thought:
				size += float64(len(p.Text)+len(p.Opaque)) / bytesPerToken
			case model.ToolCall:
				size += float64(len(p.Name)+len(p.Args)) / bytesPerToken
			case model.ToolResult:
				count(p.Parts)
			case model.Image, model.Audio:
				size += tokensPerImage
			}
		}
	}
	for _, m := range messages {
		count(m.Parts)
	}
	return int(size)
}

// overhead is about how many tokens the system prompt and the tools take.
func overhead(system string, tools []model.ToolSpec) int {
	size := len(system)
	for _, tl := range tools {
		size += len(tl.Name) + len(tl.Description) + len(tl.Schema)
	}
	return int(float64(size) / bytesPerToken)
}

func planText(s *Session) string {
	var b strings.Builder
	for _, e := range s.Entries() {
		fmt.Fprintf(&b, "- %s: %s\n", e.Status, e.Content)
	}
	return b.String()
}

// isTooLong tells whether the provider refused a conversation for its length.
func isTooLong(err error) bool {
	var failure *model.Error
	return errors.As(err, &failure) && failure.Kind == model.ErrContextFull
}
