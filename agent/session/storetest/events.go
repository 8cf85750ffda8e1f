package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

func createdSession(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	before := time.Now().Add(-time.Second)
	want := session.Created{Roots: []string{"/project", "/more"}, Mode: approval.ModeEdits, Model: "offline/quotes"}
	if err := s.Create(t.Context(), "sess_a", want); err != nil {
		t.Fatal(err)
	}
	events := read(t, s, "sess_a", 0)
	if len(events) != 1 || events[0].Seq != 1 || events[0].Session != "sess_a" {
		t.Fatalf("got %#v", events)
	}
	same(t, "first event", events[0].Data, session.Data(want))
	info, err := s.Get(t.Context(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	if info.Created.Before(before) || info.Created.After(time.Now()) || !info.Updated.Equal(info.Created) {
		t.Errorf("created %v, updated %v", info.Created, info.Updated)
	}
	same(t, "info", info, session.Info{ID: "sess_a", Roots: want.Roots, Model: want.Model, Mode: want.Mode, Created: info.Created, Updated: info.Updated})
}

func createTwice(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	create(t, s, "sess_a")
	if err := s.Create(t.Context(), "sess_a", first("/other")); err == nil {
		t.Fatal("a second session was created under the same id")
	}
	same(t, "events", len(read(t, s, "sess_a", 0)), 1)
	if err := s.Create(t.Context(), "sess_b", session.Created{}); err == nil {
		t.Error("a session without a folder was created")
	}
	if err := s.Create(t.Context(), "", first("/project")); err == nil {
		t.Error("a session without an id was created")
	}
}

// everything has every stored kind, with every member set.
func everything() []session.Data {
	old := "before"
	version := host.Version{Source: host.FromEditor, Digest: "abc"}
	usage := model.Usage{Input: 1, Output: 2, Thought: 3, CacheRead: 4, CacheWrite: 5}
	return []session.Data{
		session.Titled{Title: "Grüße, 世界 \u0000 \u2028", By: "model"},
		session.Configured{Mode: approval.ModeAuto, Before: approval.ModeAsk, Model: "a/b", Edits: true, Options: map[string]string{"thought": "high"}},
		session.Rooted{Roots: []string{"/project", "/third"}},
		session.TurnStarted{Turn: "turn_1", Message: "msg_1", Prompt: []session.Block{
			{Type: session.BlockText, Text: "hello\r\n\t\"quoted\" <b>&"},
			{Type: session.BlockImage, MIMEType: "image/png", Data: []byte{0, 1, 255}},
			{Type: session.BlockLink, URI: "file:///a%20b", Name: "a b"},
		}, Command: "review", Sent: []session.Block{{Type: session.BlockText, Text: "look"}}, Mode: approval.ModeOff},
		session.Attached{
			Message: "msg_1", Blocks: []session.Block{{Type: session.BlockFile, URI: "file:///a%20b", Text: "x", Lines: "1-2 of 3"}},
			Views: map[string]tool.View{"/a b": {Version: version}},
		},
		session.CommandAnswered{Message: "msg_9", Text: "**yes**"},
		session.Cleared{},
		session.Steered{Turn: "turn_1", Message: "msg_8", Prompt: []session.Block{{Type: session.BlockText, Text: "not that one"}}},
		session.CompactionStarted{ID: "c1"},
		session.CompactionEnded{ID: "c1", Status: session.CompactionFailed, Summary: "so far", Kept: 7, Error: "it broke"},
		session.MessageSaved{Message: "msg_2", Speaker: session.Thinking, Text: "hm"},
		session.MessageDone{Message: "msg_2", Speaker: session.Thinking, Provider: "p", Opaque: json.RawMessage(`{"signature":"x","n":1.50}`)},
		session.CallRequested{Call: "call_1", ModelID: "c0", Tool: "edit", Args: json.RawMessage(`{"a":1,"a":2}`), Provider: "p", Opaque: json.RawMessage(`"o"`)},
		session.CallPresented{Call: "call_1", Presentation: tool.Presentation{
			Class: approval.ClassEdit, Title: "Edit a", Kind: tool.KindEdit, Stale: true,
			Locations: []tool.Location{{Path: "/project/a", Line: 3}},
			Diffs:     []tool.Diff{{Path: "/project/a", Old: &old, New: "after", Base: version}},
			Command:   &tool.CommandView{Line: "go test ./...", Dir: "/project"},
		}},
		session.PermissionAsked{Call: "call_1", Digest: "d", Reason: "r", Scopes: []approval.Scope{approval.ScopeOnce, approval.ScopeSession}},
		session.PermissionAnswered{Call: "call_1", Digest: "d", Answer: session.Allowed, Scope: approval.ScopeSession, Reason: "fine", By: "zed"},
		session.CallStarted{Call: "call_1", Rule: "mode auto"},
		session.CallDone{Call: "call_1", Status: session.CallCompleted, Result: tool.Result{
			Text: "done", Display: "**done**", Images: []tool.Image{{MIMEType: "image/png", Data: []byte{1}}}, Failed: true,
			Views: map[string]tool.View{"/project/a": {Version: version}}, Changed: []string{"/project/a"},
			Diverged: map[string]string{"/project/b": "def"}, Ended: &tool.CommandEnd{Code: 3, Signal: "SIGKILL", Output: 9},
			Plan: []tool.PlanEntry{{Content: "c", Status: tool.PlanPending, Priority: "low"}}, SetsPlan: true,
		}},
		session.CommandAllowed{Command: approval.Command{Line: "make", Dir: "/project"}},
		session.Forgotten{Edits: true, Commands: []approval.Command{{Line: "make", Dir: "/project"}}},
		session.QuestionAsked{Call: "call_1", Questions: []tool.Question{{Text: "which?", Options: []tool.Option{{Label: "a", Description: "the first"}, {Label: "b"}}, Several: true}}},
		session.QuestionAnswered{Call: "call_1", Answers: tool.Answers{
			Outcome: tool.Answered, Replies: []tool.Reply{{Chosen: []string{"a"}, Text: "and more"}}, Reason: "r",
		}, By: "zed", Message: "msg_7", Text: "which?"},
		session.PlanChanged{Entries: []tool.PlanEntry{{Content: "c", Status: tool.PlanInProgress, Priority: "high"}}},
		session.UsageRecorded{Model: "a/b", Usage: usage, Window: 1000},
		session.Notice{Message: "msg_3", Text: "note", Severity: "warning"},
		session.TurnEnded{Turn: "turn_1", Reason: session.StopFailed, Usage: usage, Error: "it broke", ErrorKind: model.ErrServer},
		session.Forked{Parent: "sess_0", Seq: 9},
		session.Unknown{Name: "future.kind", Raw: []byte(`{"x":[1,2]}`)},
	}
}

func roundTrip(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	data := everything()
	appended := add(t, l, data...)
	stored := read(t, s, "sess_a", 1)
	same(t, "number of events", len(stored), len(data))
	for i, e := range stored {
		same(t, fmt.Sprintf("stored %s", e.Data.Kind()), e.Data, data[i])
		same(t, fmt.Sprintf("appended %s", e.Data.Kind()), appended[i], e)
	}
	if _, err := l.Append(t.Context(), first("/again")); err == nil {
		t.Error("a session was created in the middle of its log")
	}
}

func numbering(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	other := hold(t, s, "sess_b")
	var want int64 = 2
	for n := range 5 {
		for _, e := range add(t, l, make3(n)...) {
			same(t, "number", e.Seq, want)
			want++
		}
		same(t, "number in the other session", add(t, other, session.Notice{})[0].Seq, int64(n+2))
	}
	if events, err := l.Append(t.Context()); err != nil || len(events) != 0 {
		t.Errorf("appending nothing: %v, %v", events, err)
	}
	for i, e := range read(t, s, "sess_a", 0) {
		same(t, "stored number", e.Seq, int64(i+1))
	}
}

func make3(n int) []session.Data {
	return []session.Data{
		session.Notice{Text: fmt.Sprint(n)},
		session.MessageSaved{Message: "m", Speaker: session.Assistant, Text: fmt.Sprint(n)},
		session.PlanChanged{Entries: []tool.PlanEntry{}},
	}
}

func readAfter(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	for range 4 { // more than a reader takes at once
		add(t, l, session.Notice{Text: strings.Repeat("x", 600_000)})
	}
	for after := int64(0); after <= 5; after++ {
		events := read(t, s, "sess_a", after)
		same(t, "number of events", len(events), int(5-after))
		if len(events) > 0 {
			same(t, "first number", events[0].Seq, after+1)
		}
	}
	same(t, "past the end", len(read(t, s, "sess_a", 99)), 0)
}

func nestedUse(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	seen := 0
	for e, err := range s.Events(t.Context(), "sess_a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if e.Seq > 3 {
			break
		}
		add(t, l, session.Notice{})
		if _, err := s.List(t.Context(), session.Filter{}); err != nil {
			t.Fatal(err)
		}
		same(t, "nested read", len(read(t, s, "sess_a", 0)), int(e.Seq)+1)
	}
	if seen == 0 {
		t.Fatal("nothing was read")
	}
}

func liveOnly(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	for _, live := range []session.Data{session.MessageDelta{Text: "x"}, session.CallOutput{Text: "x"}} {
		if _, err := l.Append(t.Context(), live); err == nil {
			t.Errorf("%s was stored", live.Kind())
		}
	}
	same(t, "events", len(read(t, s, "sess_a", 0)), 1)
}

func allOrNothing(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	bad := session.CallRequested{Call: "call_1", Args: json.RawMessage(`{not json`)}
	if _, err := l.Append(t.Context(), session.Titled{Title: "new", By: "person"}, session.TurnStarted{Turn: "t"}, bad); err == nil {
		t.Fatal("what is not JSON was stored")
	}
	same(t, "events", len(read(t, s, "sess_a", 0)), 1)
	info, err := s.Get(t.Context(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	if info.Title != "" || info.Turns != 0 {
		t.Errorf("the session's description changed: %+v", info)
	}
	same(t, "next number", add(t, l, session.Notice{})[0].Seq, int64(2))
}

func invalidText(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	appended := add(t, l, session.CallDone{Call: "call_1", Status: session.CallCompleted, Result: tool.Result{Text: "a\xffb\xc3"}})
	text := appended[0].Data.(session.CallDone).Result.Text
	if !strings.HasPrefix(text, "a\uFFFDb") {
		t.Errorf("appended as %q", text)
	}
	same(t, "stored", read(t, s, "sess_a", 1), appended)
}

func notFound(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	create(t, s, "sess_a")
	for _, id := range []string{"", "sess_b", "sess_A", "sess_", "sess_a ", "%"} {
		_, err := s.Get(t.Context(), id)
		wantError(t, "get "+id, err, session.ErrNotFound)
		_, err = s.Acquire(t.Context(), id)
		wantError(t, "acquire "+id, err, session.ErrNotFound)
		for _, after := range []int64{0, 1} {
			err = nil
			for _, err = range s.Events(t.Context(), id, after) {
			}
			wantError(t, "read "+id, err, session.ErrNotFound)
		}
	}
}

func endedContext(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Append(ended, session.Notice{})
	wantError(t, "append", err, context.Canceled)
	err = nil
	for _, err = range s.Events(ended, "sess_a", 0) {
	}
	wantError(t, "read", err, context.Canceled)
	same(t, "next number", add(t, l, session.Notice{})[0].Seq, int64(2))
}

func concurrentWriters(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	const sessions, writers, appends = 4, 3, 8
	var wg sync.WaitGroup
	var failures sync.Map
	for n := range sessions {
		id := fmt.Sprintf("sess_%d", n)
		l := hold(t, s, id)
		for w := range writers {
			wg.Go(func() {
				for i := range appends {
					events, err := l.Append(t.Context(), session.Notice{Text: fmt.Sprint(w, i)}, session.Notice{Text: fmt.Sprint(w, i)})
					if err == nil && (len(events) != 2 || events[1].Seq != events[0].Seq+1) {
						err = errors.New("an append was torn")
					}
					if err == nil {
						_, err = s.List(t.Context(), session.Filter{})
					}
					if err != nil {
						failures.Store(err.Error(), true)
					}
				}
			})
		}
	}
	wg.Wait()
	failures.Range(func(err, _ any) bool {
		t.Error(err)
		return true
	})
	for n := range sessions {
		same(t, "events", len(read(t, s, fmt.Sprintf("sess_%d", n), 0)), 1+writers*appends*2)
	}
}
