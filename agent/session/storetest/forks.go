package storetest

import (
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
)

func get(t *testing.T, s session.Store, id string) session.Info {
	t.Helper()
	info, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// datas gives what happened in events, apart from when and where.
func datas(events []session.Event) []session.Data {
	var out []session.Data
	for _, e := range events {
		out = append(out, e.Data)
	}
	return out
}

func stateOf(events []session.Event) session.State {
	var state session.State
	for _, e := range events {
		state.Apply(e)
	}
	return state
}

func forkSession(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	add(t, l, everything()...)
	release(t, l)
	before, described := read(t, s, "sess_a", 0), get(t, s, "sess_a")

	if err := s.Fork(t.Context(), "sess_a", "sess_b"); err != nil {
		t.Fatal(err)
	}
	same(t, "the parent's events", read(t, s, "sess_a", 0), before)
	same(t, "the parent's description", get(t, s, "sess_a"), described)
	child := read(t, s, "sess_b", 0)
	same(t, "the number of events", len(child), len(before)+1)
	for i, e := range before {
		e.Session = "sess_b"
		same(t, "copied event", child[i], e)
	}
	same(t, "the last event", child[len(before)].Data, session.Data(session.Forked{Parent: "sess_a", Seq: int64(len(before))}))
	forked := get(t, s, "sess_b")
	same(t, "the first of the listing", ids(listed(t, s, session.Filter{}).Sessions), []string{"sess_b", "sess_a"})
	forked.ID, forked.Created, forked.Updated = described.ID, described.Created, described.Updated
	same(t, "the child's description", forked, described)
	if state := stateOf(child); state.Edits || state.Parent != "sess_a" {
		t.Errorf("every edit is allowed: %v; the parent is %q", state.Edits, state.Parent)
	}

	// Both go on.
	a, b := acquire(t, s, "sess_a"), acquire(t, s, "sess_b")
	same(t, "the parent's next number", add(t, a, session.Notice{Text: "a"})[0].Seq, int64(len(before)+1))
	same(t, "the child's next number", add(t, b, session.Notice{Text: "b"})[0].Seq, int64(len(before)+2))
	release(t, a)
	if err := s.Delete(t.Context(), "sess_a"); err != nil {
		t.Fatal(err)
	}
	same(t, "the child without its parent", len(read(t, s, "sess_b", 0)), len(before)+2)

	wantError(t, "a fork of nothing", s.Fork(t.Context(), "sess_no", "sess_c"), session.ErrNotFound)
	if err := s.Fork(t.Context(), "sess_b", "sess_b"); err == nil {
		t.Error("a session was forked onto itself")
	}
}

func forkWhileRunning(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	first := session.TurnStarted{Turn: "t1", Prompt: []session.Block{}}
	add(t, l, first, session.TurnEnded{Turn: "t1"})
	title := session.Titled{Title: "Title", By: "person"}
	mode := session.Configured{Mode: approval.ModeEdits, Options: map[string]string{"thought": "high"}}
	add(t, l, session.TurnStarted{Turn: "t2"}, title, session.CallRequested{Call: "call_1", Tool: "run", Args: []byte("{}")}, mode)
	if err := s.Fork(t.Context(), "sess_a", "sess_b"); err != nil {
		t.Fatal(err)
	}
	child := read(t, s, "sess_b", 0)
	same(t, "the child's events", datas(child[1:]), []session.Data{
		first, session.TurnEnded{Turn: "t1"}, title, mode, session.Forked{Parent: "sess_a", Seq: 3},
	})
	for i, e := range child {
		same(t, "number", e.Seq, int64(i+1))
	}
	if state := stateOf(child); state.Turn != "" || len(state.Calls) > 0 || state.Title != "Title" || state.Mode != approval.ModeEdits {
		t.Errorf("the child's state is %+v", state)
	}
	info := get(t, s, "sess_b")
	same(t, "turns", info.Turns, 1)
	same(t, "title", info.Title, "Title")
	same(t, "mode", info.Mode, approval.ModeEdits)
	release(t, acquire(t, s, "sess_b"))
}

func forkAfterCrash(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	add(t, l, session.TurnStarted{Turn: "t1"}, session.CallRequested{Call: "call_1", Tool: "run", Args: []byte("{}")})
	release(t, l)
	if err := s.Fork(t.Context(), "sess_a", "sess_b"); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(read(t, s, "sess_b", 0)); state.Turn != "t1" || len(state.Calls) != 1 {
		t.Errorf("the child's state is %+v", state)
	}
}
