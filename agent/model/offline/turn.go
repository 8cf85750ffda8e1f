package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
)

// turn runs a task as straight-line code although the model is asked anew after every round of calls: do gives the
// recorded results while there are any, and what was said before them is dropped, because it was streamed then. The
// first do without a record suspends the task: its calls are what the model asks for now.
type turn struct {
	offered map[string]bool
	past    []exchange // not yet consumed
	serial  int        // calls in the whole conversation, for ids
	said    []speech
	calls   []model.ToolCall
}

// exchange is a call of this turn and its result.
type exchange struct {
	tool  string
	reply reply
}

// speech is something said since the last recorded result.
type speech struct {
	text    string
	thought bool
}

// ask is a tool call to make.
type ask struct {
	tool string
	args any
}

// reply is the result of an ask.
type reply struct {
	text    string
	failed  bool
	missing bool // the tool is not offered; nothing was called
}

var (
	// errSuspended ends a task's run until the results of its calls are there.
	errSuspended = errors.New("waiting for tool results")
	// errDiverged says that the recorded calls are not those this task makes.
	errDiverged = errors.New("the recorded calls are not those of this task")
)

func newTurn(tools []model.ToolSpec, c conversation) *turn {
	t := &turn{offered: make(map[string]bool, len(tools)), past: c.past, serial: c.calls}
	for _, tool := range tools {
		t.offered[tool.Name] = true
	}
	return t
}

// say adds to the answer.
func (t *turn) say(text string) { t.add(speech{text: text}) }

// sayf adds to the answer.
func (t *turn) sayf(format string, args ...any) { t.say(fmt.Sprintf(format, args...)) }

// think tells what is being done.
func (t *turn) think(text string) { t.add(speech{text: text, thought: true}) }

func (t *turn) add(s speech) {
	if n := len(t.said); n > 0 && t.said[n-1].thought == s.thought {
		t.said[n-1].text += s.text
		return
	}
	t.said = append(t.said, s)
}

// do makes the calls of one round and gives their replies in order. Tools that are not offered are not called.
func (t *turn) do(asks ...ask) ([]reply, error) {
	replies := make([]reply, len(asks))
	var called []int
	for i, a := range asks {
		if t.offered[a.tool] {
			called = append(called, i)
			continue
		}
		replies[i] = reply{missing: true, failed: true, text: "the tool `" + a.tool + "` is not offered here"}
	}
	if len(called) == 0 {
		return replies, nil
	}
	if len(t.past) == 0 {
		for _, i := range called {
			t.call(asks[i])
		}
		return nil, errSuspended
	}
	if len(t.past) < len(called) {
		return nil, errDiverged
	}
	for n, i := range called {
		if t.past[n].tool != asks[i].tool {
			return nil, errDiverged
		}
		replies[i] = t.past[n].reply
		replies[i].text = strings.TrimPrefix(replies[i].text, asks[i].tool+": ")
	}
	t.past = t.past[len(called):]
	t.said = nil
	return replies, nil
}

// one makes a single call.
func (t *turn) one(tool string, args any) (reply, error) {
	replies, err := t.do(ask{tool, args})
	if err != nil {
		return reply{}, err
	}
	return replies[0], nil
}

func (t *turn) call(a ask) {
	t.serial++
	t.calls = append(t.calls, model.ToolCall{
		ID:       "offline-" + strconv.Itoa(t.serial),
		Name:     a.tool,
		Args:     encode(a.args),
		Provider: "offline",
	})
}

// finish closes the run of a task.
func (t *turn) finish(err error) {
	switch {
	case errors.Is(err, errSuspended):
	case err != nil || len(t.past) > 0:
		// Starting over could do a thing twice, so nothing more is done.
		t.said = nil
		t.calls = nil
		t.say("The conversation was changed while I was at this task, so I cannot tell what is done already and stop here. " +
			"Please say again what is still to do.")
	}
}

func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // plain structs of strings and numbers always encode
		panic(err)
	}
	return bytes.TrimSpace(buf.Bytes())
}
