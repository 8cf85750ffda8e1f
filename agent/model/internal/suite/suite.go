// Package suite holds the behaviours that every provider has, as tests against the double.
package suite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// Provider is what the suite tests.
type Provider struct {
	Dialect modeltest.Dialect
	Name    string // a model's name that makes the provider use Dialect
	Path    string // what follows the double's URL in the base URL
	New     func(at endpoint.Endpoint, info model.Info) model.Model

	Signed       bool // thoughts carry something opaque
	ResultImages bool // tool results take pictures in their own place
	NoIDs        bool // the format gives no ids to calls
}

// Canary is the key that the suite uses. It must never be seen outside of a request's headers.
const Canary = "sk-canary-0123456789abcdef"

// Run runs the suite.
func Run(t *testing.T, p Provider) {
	t.Run("the streamed text joined is the reply", p.testText)
	t.Run("thoughts are apart from text and go back with what the provider signed", p.testThoughts)
	t.Run("a tool call and its result make a round trip", p.testCall)
	t.Run("several calls in one completion keep order and ids", p.testParallelCalls)
	t.Run("calls without ids or with the same id get ids of their own", p.testIDs)
	t.Run("arguments that are not JSON arrive as they are and go back as an object", p.testBadArguments)
	t.Run("pictures go out in prompts and in tool results", p.testImages)
	t.Run("a model without pictures gets words in their place", p.testNoImages)
	t.Run("usage counts cached tokens as input", p.testUsage)
	t.Run("stop reasons are told", p.testStops)
	t.Run("a failure has its kind, a sentence and no key", p.testFaults)
	t.Run("a silent server is given up after the idle time-out", p.testStall)
	t.Run("ending the context closes the connection", p.testCancel)
	t.Run("leaving the loop closes the connection", p.testLeave)
	t.Run("a long answer arrives whole", p.testLong)
	t.Run("a redirect is not followed, so that the key stays", p.testRedirect)
	t.Run("a host that is not there is an error of the network", p.testNetwork)
}

func (p Provider) start(t *testing.T, change ...func(*endpoint.Endpoint, *model.Info)) (*modeltest.Server, model.Model) {
	t.Helper()
	s := modeltest.NewServer()
	tr := &http.Transport{}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
	})
	at := endpoint.Endpoint{Title: "Double", BaseURL: s.URL + p.Path, Key: Canary, KeyVar: "DOUBLE_API_KEY", BaseVar: "DOUBLE_BASE_URL",
		Client: &http.Client{Transport: tr}, Idle: 10 * time.Second}
	info := model.Info{Provider: "double", Name: p.Name, Images: true}
	for _, c := range change {
		c(&at, &info)
	}
	return s, p.New(at, info)
}

// Answer is a collected stream.
type Answer struct {
	Text, Thought string
	Opaque        []json.RawMessage
	Calls         []model.ToolCall
	Usage         model.Usage
	Waiting       []model.Waiting
	Stop          model.StopReason
	Events        int
	Err           error
}

// Collect reads a stream to its end.
func Collect(ctx context.Context, m model.Model, req model.Request) Answer {
	var a Answer
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			a.Err = err
			return a
		}
		a.Events++
		switch ev := ev.(type) {
		case model.TextDelta:
			a.Text += ev.Text
		case model.ThoughtDelta:
			a.Thought += ev.Text
		case model.ThoughtDone:
			a.Opaque = append(a.Opaque, ev.Opaque)
		case model.CallDone:
			a.Calls = append(a.Calls, ev.Call)
		case model.Usage:
			a.Usage = ev
		case model.Waiting:
			a.Waiting = append(a.Waiting, ev)
		case model.Stop:
			a.Stop = ev.Reason
		}
	}
	return a
}

// Prompt is a request with one user message and two tools.
func Prompt(text string, more ...model.Message) model.Request {
	return model.Request{
		System:   "You are tested.",
		Messages: append([]model.Message{{Role: model.RoleUser, Parts: []model.Part{model.Text{Text: text}}}}, more...),
		Tools: []model.ToolSpec{
			{Name: "run", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
			{Name: "view", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		},
	}
}

// Then is what follows an answer with calls: the calls, and a result of each.
func (a Answer) Then(provider string, results ...model.ToolResult) []model.Message {
	var said, done []model.Part
	if a.Thought != "" || len(a.Opaque) > 0 {
		th := model.Thought{Text: a.Thought, Provider: provider}
		if len(a.Opaque) > 0 {
			th.Opaque = a.Opaque[0]
		}
		said = append(said, th)
	}
	if a.Text != "" {
		said = append(said, model.Text{Text: a.Text})
	}
	for i, c := range a.Calls {
		said = append(said, c)
		r := results[i]
		r.CallID, r.Name = c.ID, c.Name
		done = append(done, r)
	}
	return []model.Message{{Role: model.RoleAssistant, Parts: said}, {Role: model.RoleTool, Parts: done}}
}

// TextResult is a tool result of text.
func TextResult(s string) model.ToolResult {
	return model.ToolResult{Parts: []model.Part{model.Text{Text: s}}}
}

func (p Provider) testText(t *testing.T) {
	s, m := p.start(t)
	a := Collect(t.Context(), m, Prompt("[[text: Grüße aus 東京, and a long enough line to be cut in pieces]]"))
	if a.Err != nil || a.Text != "Grüße aus 東京, and a long enough line to be cut in pieces" || a.Stop != model.StopEnd {
		t.Errorf("got %+v", a)
	}
	if a.Events < 4 {
		t.Errorf("%d events: the text did not arrive in pieces", a.Events)
	}
	r := s.Last()
	if r.Dialect != p.Dialect || r.System != "You are tested." || len(r.Tools) != 2 || r.Model != p.Name || !r.Stream {
		t.Errorf("the server saw %s %q %d tools, model %q, stream %t", r.Dialect, r.System, len(r.Tools), r.Model, r.Stream)
	}
}

func (p Provider) testThoughts(t *testing.T) {
	s, m := p.start(t)
	const prompt = `[[thought: first I think about it]] [[text: Now.]] [[call: run {"command":"ls"}]] [[text: end]]`
	a := Collect(t.Context(), m, Prompt(prompt))
	if a.Err != nil || a.Thought != "first I think about it" || a.Text != "Now." {
		t.Fatalf("got %+v", a)
	}
	b := Collect(t.Context(), m, Prompt(prompt, a.Then("double", TextResult("a file"))...))
	if b.Err != nil || b.Text != "end" {
		t.Fatalf("got %+v", b)
	}
	if body := string(s.Last().Body); p.Signed && !strings.Contains(body, modeltest.Signature) {
		t.Errorf("the signature did not go back: %s", body)
	}
	c := Collect(t.Context(), m, Prompt(prompt, a.Then("another", TextResult("a file"))...))
	if body := string(s.Last().Body); c.Err != nil || strings.Count(body, "first I think") != 1 {
		t.Errorf("another provider's thought went out: %s (%v)", body, c.Err)
	}
}

func (p Provider) testCall(t *testing.T) {
	s, m := p.start(t)
	const prompt = `[[text: I look.]] [[call: run {"command":"ls -la /some/where","n":[[1,2],{"x":null}]}]] [[result]]`
	a := Collect(t.Context(), m, Prompt(prompt))
	if a.Err != nil || a.Stop != model.StopCalls || len(a.Calls) != 1 {
		t.Fatalf("got %+v", a)
	}
	c := a.Calls[0]
	if c.Name != "run" || c.ID == "" || c.Provider != "double" || !sameJSON(string(c.Args), `{"command":"ls -la /some/where","n":[[1,2],{"x":null}]}`) {
		t.Errorf("call %+v with %s", c, c.Args)
	}
	b := Collect(t.Context(), m, Prompt(prompt, a.Then("double", TextResult("total 0"))...))
	if b.Err != nil || b.Text != "total 0" || b.Stop != model.StopEnd {
		t.Errorf("got %+v", b)
	}
	items := s.Last().Items
	if len(items) != 3 || len(items[1].Calls) != 1 || items[1].Calls[0].ID != items[2].CallID || !sameJSON(items[1].Calls[0].Args, string(c.Args)) {
		t.Errorf("the server saw %+v", items)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	ja, _ := json.Marshal(x)
	jb, _ := json.Marshal(y)
	return string(ja) == string(jb)
}

func (p Provider) testParallelCalls(t *testing.T) {
	s, m := p.start(t)
	const prompt = `[[call: run {"command":"one"}]] [[call: view {"path":"two"}]] [[call: run {"command":"three"}]] [[result]]`
	a := Collect(t.Context(), m, Prompt(prompt))
	if a.Err != nil || len(a.Calls) != 3 {
		t.Fatalf("got %+v", a)
	}
	for i, want := range []string{"one", "two", "three"} {
		if !strings.Contains(string(a.Calls[i].Args), want) {
			t.Errorf("call %d has %s", i, a.Calls[i].Args)
		}
	}
	b := Collect(t.Context(), m, Prompt(prompt, a.Then("double", TextResult("1 "), TextResult("2 "), TextResult("3"))...))
	if b.Err != nil || b.Text != "1 2 3" {
		t.Errorf("got %+v", b)
	}
	items := s.Last().Items
	if len(items) != 5 {
		t.Fatalf("the server saw %+v", items)
	}
	for i, c := range items[1].Calls {
		if c.ID != items[2+i].CallID {
			t.Errorf("result %d answers %q, not %q", i, items[2+i].CallID, c.ID)
		}
	}
}

func (p Provider) testIDs(t *testing.T) {
	for _, kind := range []string{"no-ids", "same-ids"} {
		s, m := p.start(t)
		prompt := `[[` + kind + `]] [[call: run {"command":"one"}]] [[call: run {"command":"two"}]]`
		a := Collect(t.Context(), m, Prompt(prompt))
		if a.Err != nil || len(a.Calls) != 2 || a.Calls[0].ID == "" || a.Calls[0].ID == a.Calls[1].ID {
			t.Errorf("%s: got %+v", kind, a)
			continue
		}
		// A provider may restart its ids in each completion. In the history they must be told apart.
		history := a.Then("double", TextResult("1"), TextResult("2"))
		history = append(history, history...)
		if b := Collect(t.Context(), m, Prompt("[[text: x]]", append(history, Prompt("[[seen]]").Messages...)...)); b.Err != nil {
			t.Errorf("%s: %v", kind, b.Err)
		}
		seen := map[string]bool{}
		for _, it := range s.Last().Items {
			for _, c := range it.Calls {
				if seen[c.ID] && !p.NoIDs {
					t.Errorf("%s: id %q occurs twice in the history", kind, c.ID)
				}
				seen[c.ID] = true
			}
		}
	}
}

func (p Provider) testBadArguments(t *testing.T) {
	s, m := p.start(t)
	const prompt = `[[call-raw: run {"command":]] [[text: sorry]]`
	a := Collect(t.Context(), m, Prompt(prompt))
	if a.Err != nil || len(a.Calls) != 1 {
		t.Fatalf("got %+v", a)
	}
	bad := a.Calls[0]
	bad.Args = json.RawMessage(`{"command":`)
	a.Calls[0] = bad
	b := Collect(t.Context(), m, Prompt(prompt, a.Then("double", model.ToolResult{Failed: true, Parts: []model.Part{model.Text{Text: "not JSON"}}})...))
	if b.Err != nil || b.Text != "sorry" {
		t.Fatalf("got %+v", b)
	}
	if args := s.Last().Items[1].Calls[0].Args; !sameJSON(args, `{"invalid_arguments":"{\"command\":"}`) {
		t.Errorf("arguments went back as %s", args)
	}
}

func errorKind(err error) model.ErrorKind {
	var e *model.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}
