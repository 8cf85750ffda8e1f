package session_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// numbered makes events of data, as a store would.
func numbered(data ...session.Data) []session.Event {
	events := make([]session.Event, len(data))
	for i, d := range data {
		events[i] = session.Event{Session: "sess_a", Seq: int64(i + 1), Time: time.Unix(int64(i), 0), Data: d}
	}
	return events
}

func stateOf(events []session.Event) session.State {
	var s session.State
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// logs draws what sessions look like: turns of steps with thoughts, text and calls that run side by side, cut off by
// cancels, refusals, errors and crashes, after which another process closes what was open and goes on.
type logs struct {
	t        *rapid.T
	data     []session.Data
	messages int
	calls    int
	turns    int
}

func drawLog(t *rapid.T) []session.Event {
	l := &logs{t: t}
	l.add(session.Created{Roots: []string{"/project"}, Mode: approval.ModeAsk, Model: "a/b"})
	for range rapid.IntRange(0, 4).Draw(t, "turns") {
		l.turn()
	}
	return numbered(l.data...)
}

func (l *logs) add(data ...session.Data) { l.data = append(l.data, data...) }

func (l *logs) chance(percent int, what string) bool {
	return rapid.IntRange(0, 99).Draw(l.t, what) < percent
}

func (l *logs) message() string {
	l.messages++
	return fmt.Sprintf("msg_%d", l.messages)
}

func (l *logs) turn() {
	l.turns++
	turn := fmt.Sprintf("turn_%d", l.turns)
	l.add(session.TurnStarted{Turn: turn, Message: l.message(), Prompt: rapid.SliceOfN(drawBlock(), 0, 3).Draw(l.t, "prompt")})
	l.aside()
	if l.chance(30, "attached") {
		l.add(session.Attached{Blocks: rapid.SliceOfN(drawBlock(), 1, 2).Draw(l.t, "blocks")})
	}
	steps := rapid.IntRange(0, 3).Draw(l.t, "steps")
	for range steps {
		if crashed := l.step(); crashed {
			return
		}
	}
	l.add(session.TurnEnded{Turn: turn, Reason: rapid.SampledFrom([]session.StopReason{session.StopEndTurn, session.StopFailed, session.StopCancelled, session.StopMaxTokens}).Draw(l.t, "reason")})
}

// aside is what may stand anywhere.
func (l *logs) aside() {
	switch rapid.IntRange(0, 9).Draw(l.t, "aside") {
	case 0:
		l.add(session.Notice{Message: l.message(), Text: "note", Severity: "info"})
	case 1:
		l.add(session.Titled{Title: rapid.StringN(0, 5, -1).Draw(l.t, "title"), By: rapid.SampledFrom([]string{"prompt", "model", "person"}).Draw(l.t, "by")})
	case 2:
		l.add(session.Configured{Mode: rapid.SampledFrom([]approval.Mode{"", approval.ModeOff, approval.ModeAuto}).Draw(l.t, "mode"), Edits: l.chance(50, "edits")})
	case 3:
		l.add(session.UsageRecorded{Model: "a/b", Usage: model.Usage{Input: 5, Output: 1}})
	case 4:
		l.add(session.PlanChanged{Entries: []tool.PlanEntry{{Content: "x", Status: tool.PlanPending}}})
	case 6:
		l.add(session.CommandAnswered{Message: l.message(), Text: "so many"})
	case 5:
		l.add(session.Unknown{Name: "future", Raw: []byte(`{}`)})
	}
}

// step is one answer of the model and the calls in it. It tells whether the process died in it.
func (l *logs) step() (crashed bool) {
	if l.chance(40, "thinks") {
		l.say(session.Thinking)
	}
	if l.chance(70, "speaks") {
		l.say(session.Assistant)
	}
	var open []string
	for range rapid.IntRange(0, 3).Draw(l.t, "calls") {
		l.calls++
		call := session.CallID(l.calls)
		l.add(session.CallRequested{Call: call, ModelID: "call_0", Tool: "edit", Args: []byte(`{}`)})
		open = append(open, call)
		l.aside()
	}
	ends := rapid.Permutation(open).Draw(l.t, "order")
	for _, call := range ends {
		if l.chance(10, "crash") {
			l.crash()
			return true
		}
		l.call(call)
	}
	return false
}

func (l *logs) say(speaker session.Speaker) {
	id := l.message()
	for range rapid.IntRange(0, 3).Draw(l.t, "pieces") {
		l.add(session.MessageSaved{Message: id, Speaker: speaker, Text: rapid.SampledFrom([]string{"", " ", "\n", "words ", "more"}).Draw(l.t, "text")})
	}
	if l.chance(80, "done") {
		done := session.MessageDone{Message: id, Speaker: speaker}
		if l.chance(50, "opaque") {
			done.Provider, done.Opaque = "a", []byte(`"signature"`)
		}
		l.add(done)
	}
}

func (l *logs) call(call string) {
	if l.chance(80, "presented") {
		l.add(session.CallPresented{Call: call, Presentation: tool.Presentation{Title: "Edit"}})
	}
	status := rapid.SampledFrom([]session.CallStatus{session.CallCompleted, session.CallFailed, session.CallRefused, session.CallCancelled}).Draw(l.t, "status")
	if status != session.CallRefused && l.chance(90, "started") {
		l.add(session.CallStarted{Call: call, Rule: "r"})
		if l.chance(5, "dies running") {
			return
		}
	}
	result := tool.Result{Text: rapid.SampledFrom([]string{"", "ok"}).Draw(l.t, "result"), Failed: status == session.CallFailed}
	if l.chance(30, "views") {
		path := rapid.SampledFrom([]string{"/project/a", "/project/b"}).Draw(l.t, "path")
		result.Views = map[string]tool.View{path: {Version: host.Version{Source: host.FromDisk, Digest: rapid.StringMatching("[a-f]{3}").Draw(l.t, "digest")}}}
	}
	l.add(session.CallDone{Call: call, Status: status, Result: result})
	l.aside()
}

// crash ends the process; mostly another one finds what was left.
func (l *logs) crash() {
	if l.chance(70, "repaired") {
		l.add(session.Interrupted(stateOf(numbered(l.data...)))...)
	}
}

func drawBlock() *rapid.Generator[session.Block] {
	return rapid.SampledFrom([]session.Block{
		{Type: session.BlockText, Text: "do it"},
		{Type: session.BlockText},
		{Type: session.BlockText, Text: " \n"},
		{Type: session.BlockImage, MIMEType: "image/png", Data: []byte{1}},
		{Type: session.BlockFile, URI: "file:///project/a", Text: ""},
		{Type: session.BlockLink, URI: "https://example.com"},
		{Type: "future"},
	})
}
