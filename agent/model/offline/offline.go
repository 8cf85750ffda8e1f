// Package offline is the model that is always there: no network, no key, no I/O. It carries out plain instructions (a
// small grammar that "help" prints) and answers questions about the folder by searching it and quoting what fits best,
// with file and line. Everything it does to the world it asks for through tool calls, like any model. It is not a
// language model: what it says about code is a quotation or a count, never prose of its own.
//
// It is a function of the request. The last user message is the task; the calls and results after it are replayed to
// find out where the task stands (see turn), so the same conversation always gets the same answer.
package offline

import (
	"context"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/model"
)

// New gives the offline model. It has no state; the value may be shared and used concurrently.
func New() model.Model { return offline{} }

type offline struct{}

// Info implements [model.Model]. The context window is 0: there is none to fill.
func (offline) Info() model.Info {
	return model.Info{Provider: "offline", Name: "offline", Offline: true, Price: &model.Price{}}
}

// Stream implements [model.Model]. The only error it ever yields is the context's.
func (offline) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		for _, event := range answer(ctx, req) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// answer works out everything that is said and called now. When the context ends meanwhile, what it gives means nothing.
func answer(ctx context.Context, req model.Request) []model.Event {
	c := readConversation(req.Messages)
	t := newTurn(req.Tools, c)
	t.finish(c.work(ctx, t))

	var events []model.Event
	out := 0
	for i, p := range t.said {
		out += utf8.RuneCountInString(p.text)
		for piece := range pieces(p.text) {
			if p.thought {
				events = append(events, model.ThoughtDelta{Text: piece})
			} else {
				events = append(events, model.TextDelta{Text: piece})
			}
		}
		if p.thought && (i+1 == len(t.said) || !t.said[i+1].thought) {
			events = append(events, model.ThoughtDone{})
		}
	}
	for _, call := range t.calls {
		out += len(call.Name) + len(call.Args)
		events = append(events, model.CallDone{Call: call})
	}
	events = append(events, model.Usage{Input: tokens(inputSize(req)), Output: tokens(out)})
	stop := model.StopEnd
	if len(t.calls) > 0 {
		stop = model.StopCalls
	}
	return append(events, model.Stop{Reason: stop})
}

// tokens estimates the tokens in so many characters.
func tokens(chars int) int { return (chars + 3) / 4 }

func inputSize(req model.Request) int {
	n := utf8.RuneCountInString(req.System)
	for _, tool := range req.Tools {
		n += len(tool.Name) + utf8.RuneCountInString(tool.Description) + len(tool.Schema)
	}
	for _, m := range req.Messages {
		n += partsSize(m.Parts)
	}
	return n
}

func partsSize(parts []model.Part) int {
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			n += utf8.RuneCountInString(p.Text)
		case model.Thought:
			n += utf8.RuneCountInString(p.Text)
		case model.ToolCall:
			n += len(p.Name) + len(p.Args)
		case model.ToolResult:
			n += partsSize(p.Parts)
		}
	}
	return n
}

// pieces cuts text into groups of a few words; joined, they are the text again.
func pieces(text string) iter.Seq[string] {
	const target = 32 // bytes
	return func(yield func(string) bool) {
		for len(text) > target {
			cut := strings.IndexAny(text[target:], " \n\t")
			if cut < 0 {
				break
			}
			cut += target + 1
			if !yield(text[:cut]) {
				return
			}
			text = text[cut:]
		}
		if text != "" {
			yield(text)
		}
	}
}
