package session_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

func viewed(call, path, digest string) session.Data {
	return session.CallDone{Call: call, Result: tool.Result{Views: map[string]tool.View{path: {Version: host.Version{Source: host.FromDisk, Digest: digest}}}}}
}

func TestState(t *testing.T) {
	for _, test := range []struct {
		name string
		data []session.Data
		want session.State
	}{
		{
			"begins as the session was created",
			[]session.Data{session.Created{Roots: []string{"/a", "/b"}, Mode: approval.ModeEdits, Model: "a/b"}},
			session.State{Roots: []string{"/a", "/b"}, Mode: approval.ModeEdits, Model: "a/b"},
		},
		{
			"changes only what is configured",
			[]session.Data{session.Created{Mode: approval.ModeEdits, Model: "a/b"}, session.Configured{Model: "c/d"}, session.Rooted{Roots: []string{"/x"}}},
			session.State{Roots: []string{"/x"}, Mode: approval.ModeEdits, Model: "c/d"},
		},
		{
			"options are changed one by one, and taken back",
			[]session.Data{
				session.Created{Options: map[string]string{"a": "1", "b": "2"}}, session.Configured{Options: map[string]string{"b": "3", "c": "4"}},
				session.Configured{Options: map[string]string{"a": ""}},
			},
			session.State{Options: map[string]string{"b": "3", "c": "4"}},
		},
		{
			"what a model gets begins anew after a clearing",
			[]session.Data{
				session.TurnStarted{Turn: "a"}, session.PlanChanged{Entries: []tool.PlanEntry{{Content: "x"}}}, session.UsageRecorded{Usage: model.Usage{Input: 5}},
				session.TurnEnded{Turn: "a"}, session.TurnStarted{Turn: "b", Command: "clear"}, session.Cleared{}, session.TurnEnded{Turn: "b"},
			},
			session.State{Turns: 1, Spent: model.Usage{Input: 5}, Cost: session.Cost{Partial: true}},
		},
		{
			"allowing every edit lasts",
			[]session.Data{session.Configured{Edits: true}, session.Configured{Model: "c/d"}},
			session.State{Model: "c/d", Edits: true},
		},
		{
			"choosing a mode takes back that every edit is allowed",
			[]session.Data{session.Configured{Edits: true}, session.Configured{Mode: approval.ModeAsk}},
			session.State{Mode: approval.ModeAsk},
		},
		{
			"a configuration that cannot be read is taken for a stricter one",
			[]session.Data{session.Created{Mode: approval.ModeAuto}, session.Configured{Edits: true}, session.Unknown{Name: session.KindConfigured}},
			session.State{Mode: approval.ModeAsk},
		},
		{
			"a configuration that cannot be read does not loosen",
			[]session.Data{session.Created{Mode: approval.ModeOff}, session.Unknown{Name: session.KindConfigured}, session.Unknown{Name: "else"}},
			session.State{Mode: approval.ModeOff},
		},
		{
			"a person's title is not replaced by another",
			[]session.Data{session.Titled{Title: "a", By: "prompt"}, session.Titled{Title: "b", By: "person"}, session.Titled{Title: "c", By: "model"}},
			session.State{Title: "b", TitledBy: "person"},
		},
		{
			"the newest view of a file counts",
			[]session.Data{viewed("call_1", "/a", "1"), viewed("call_2", "/b", "2"), viewed("call_3", "/a", "3")},
			session.State{Views: map[string]host.Version{"/a": {Source: host.FromDisk, Digest: "3"}, "/b": {Source: host.FromDisk, Digest: "2"}}},
		},
		{
			"open calls are in the order of their requests",
			[]session.Data{session.TurnStarted{Turn: "t1"}, request("call_7"), request("call_8"), request("call_9"), session.CallStarted{Call: "call_9"}, done("call_8", session.CallCompleted, "")},
			session.State{Turns: 1, Turn: "t1", LastCall: 9, Calls: []session.OpenCall{{Call: "call_7", Tool: "edit"}, {Call: "call_9", Tool: "edit", Started: true}}},
		},
		{
			"ids of another form have no number",
			[]session.Data{request("call_7"), done("call_7", "", ""), request("call_x"), done("call_x", "", ""), request("call_-9"), done("call_-9", "", ""), request("9"), done("9", "", "")},
			session.State{LastCall: 7},
		},
		{
			"the plan is the newest one",
			[]session.Data{session.PlanChanged{Entries: []tool.PlanEntry{{Content: "a"}}}, session.PlanChanged{Entries: []tool.PlanEntry{{Content: "b"}}}},
			session.State{Plan: []tool.PlanEntry{{Content: "b"}}},
		},
		{
			"a compaction and a clearing say how full the context is then",
			[]session.Data{
				session.UsageRecorded{Usage: model.Usage{Input: 90}, Window: 100, Cost: usd(0)},
				session.CompactionStarted{ID: "a"}, session.CompactionEnded{ID: "a", Status: session.CompactionCompleted, Tokens: 20, Window: 100},
			},
			session.State{Usage: session.UsageRecorded{Usage: model.Usage{Input: 20}, Window: 100}, TurnUsage: model.Usage{Input: 90}, Spent: model.Usage{Input: 90}},
		},
		{
			"usage is of the newest request, and of the turn",
			[]session.Data{
				session.UsageRecorded{Usage: model.Usage{Input: 100}, Cost: usd(4)},
				session.TurnStarted{Turn: "t1"}, session.UsageRecorded{Cost: usd(2), Usage: model.Usage{Input: 1, Output: 2, Thought: 3, CacheRead: 4, CacheWrite: 5}},
				session.UsageRecorded{Job: session.JobSummary, Usage: model.Usage{Input: 1000}, Cost: usd(1)},
				session.UsageRecorded{Model: "a/b", Usage: model.Usage{Input: 10, Output: 20, Thought: 30, CacheRead: 40, CacheWrite: 50}, Window: 9, Cost: usd(0.5)}, session.TurnEnded{Turn: "t1"},
				session.UsageRecorded{Job: session.JobTitle, Usage: model.Usage{Input: 5000}, Cost: usd(8)},
			},
			session.State{
				Turns: 1, Usage: session.UsageRecorded{Model: "a/b", Usage: model.Usage{Input: 10, Output: 20, Thought: 30, CacheRead: 40, CacheWrite: 50}, Window: 9, Cost: usd(0.5)},
				TurnCost: session.Cost{USD: 3.5}, Cost: session.Cost{USD: 15.5},
				TurnUsage: model.Usage{Input: 1011, Output: 22, Thought: 33, CacheRead: 44, CacheWrite: 55},
				Spent:     model.Usage{Input: 6111, Output: 22, Thought: 33, CacheRead: 44, CacheWrite: 55},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.Session, test.want.Seq = "sess_a", int64(len(test.data))
			if diff := cmp.Diff(test.want, stateOf(numbered(test.data...))); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLiveEventsDoNotNumberAState(t *testing.T) {
	state := stateOf(numbered(session.Created{}))
	state.Apply(session.Event{Data: session.MessageDelta{Text: "x"}})
	if state.Seq != 1 || state.Session != "sess_a" {
		t.Errorf("state is of event %d of %q", state.Seq, state.Session)
	}
}

func TestACopyOfAStateIsASnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawLog(t)
		n := rapid.IntRange(0, len(events)).Draw(t, "snapshot after")
		state := stateOf(events[:n])
		snapshot := state
		for _, e := range events[n:] {
			state.Apply(e)
		}
		if want := stateOf(events[:n]); !reflect.DeepEqual(snapshot, want) {
			t.Fatalf("the snapshot changed: %s", cmp.Diff(want, snapshot))
		}
		if want := stateOf(events); !reflect.DeepEqual(state, want) {
			t.Fatalf("going on from a snapshot is not the same: %s", cmp.Diff(want, state))
		}
	})
}

func TestTwoCopiesOfAStateGoTheirOwnWays(t *testing.T) {
	state := stateOf(numbered(request("call_1"), request("call_2"), request("call_3"))) // and room for a fourth
	a, b := state, state
	a.Apply(session.Event{Session: "sess_a", Seq: 4, Data: request("call_4")})
	b.Apply(session.Event{Session: "sess_b", Seq: 4, Data: request("call_5")})
	if got := a.Calls[3].Call; got != "call_4" {
		t.Errorf("the open call of one copy became %s of the other", got)
	}
}

// A session that is loaded again is the session that was left.
func TestAStateFromTheStoreIsTheOneBuiltLive(t *testing.T) {
	store := session.NewMemory()
	defer store.Close()
	rapid.Check(t, func(rt *rapid.T) {
		events := drawLog(rt)
		id := session.NewID()
		if err := store.Create(t.Context(), id, events[0].Data.(session.Created)); err != nil {
			rt.Fatal(err)
		}
		lease, err := store.Acquire(t.Context(), id)
		if err != nil {
			rt.Fatal(err)
		}
		defer lease.Release(t.Context())
		var live, stored session.State
		live.Apply(session.Event{Session: id, Seq: 1, Data: events[0].Data})
		for rest := events[1:]; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "step")
			var data []session.Data
			for _, e := range rest[:n] {
				data = append(data, e.Data)
			}
			appended, err := lease.Append(t.Context(), data...)
			if err != nil {
				rt.Fatal(err)
			}
			for _, e := range appended {
				live.Apply(e)
			}
			rest = rest[n:]
		}
		var all []session.Event
		for e, err := range store.Events(t.Context(), id, 0) {
			if err != nil {
				rt.Fatal(err)
			}
			stored.Apply(e)
			all = append(all, e)
		}
		if diff := cmp.Diff(live, stored); diff != "" {
			rt.Fatalf("state (-live +stored):\n%s", diff)
		}
		if diff := cmp.Diff(session.Messages(events), session.Messages(all)); diff != "" {
			rt.Fatalf("messages (-live +stored):\n%s", diff)
		}
		info, err := store.Get(t.Context(), id)
		if err != nil {
			rt.Fatal(err)
		}
		if info.Title != stored.Title || info.Turns != stored.Turns || info.Model != stored.Model || !reflect.DeepEqual(info.Roots, stored.Roots) {
			rt.Fatalf("the listing says %+v, the log says %+v", info, stored)
		}
	})
}

func TestInterruptedClosesWhatIsOpen(t *testing.T) {
	state := stateOf(numbered(session.TurnStarted{Turn: "t1"}, request("call_1"), request("call_2"), session.CallStarted{Call: "call_2"}, session.UsageRecorded{Usage: model.Usage{Input: 3}}))
	want := []session.Data{
		session.CallDone{Call: "call_1", Status: session.CallInterrupted, Result: tool.Failure("This call was not run: the program ended before it started.")},
		session.CallDone{Call: "call_2", Status: session.CallInterrupted, Result: tool.Failure("This call was running when the program ended. Whether it took effect is not known: look before doing it again.")},
		session.TurnEnded{Turn: "t1", Reason: session.StopInterrupted, Usage: model.Usage{Input: 3}},
	}
	if diff := cmp.Diff(want, session.Interrupted(state)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := session.Interrupted(session.State{}); len(got) != 0 {
		t.Errorf("closed what was not open: %v", got)
	}
}

func usd(amount float64) *float64 { return &amount }
