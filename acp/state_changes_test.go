package acp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

func TestAnObserverIsToldOfEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b acp.StateBuilder
		b.Apply(said("a"))
		type seen struct {
			acp.Change
			s *acp.SessionState
		}
		got := make(chan seen, 10)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(got)
			for c, s := range b.Changes(ctx) {
				got <- seen{c, s}
			}
		}()
		if c := <-got; !c.All || !c.Parts.Has(acp.ChangedEntries|acp.ChangedPlan) || !slices.Equal(c.Entries, []int{0}) || c.s.Len() != 1 {
			t.Errorf("first %+v", c.Change)
		}
		for _, k := range []struct {
			do      func()
			parts   acp.StateParts
			entries []int
		}{
			{func() { b.Apply(said("b")) }, acp.ChangedEntries, []int{0}},
			{func() { b.Apply(acp.ToolCall{ToolCallID: "t"}) }, acp.ChangedEntries, []int{1}},
			{func() { b.Apply(acp.ToolCallUpdate{ToolCallID: "t"}); b.Apply(said("c")); b.Apply(said("d")) }, acp.ChangedEntries, []int{1, 2}},
			{func() { b.Apply(acp.Notice{Title: "n"}) }, acp.ChangedEntries, []int{3}},
			{func() { b.Apply(acp.CompactionUpdate{CompactionID: "k"}) }, acp.ChangedEntries, []int{4}},
			{func() { b.Apply(acp.UnstableSessionMessage{MessageID: "m"}) }, acp.ChangedEntries, []int{5}},
			{func() { b.Apply(acp.Plan{}) }, acp.ChangedPlan, nil},
			{func() { b.Apply(acp.UnstablePlanRemoved{}) }, acp.ChangedPlan, nil},
			{func() { b.Apply(acp.CurrentModeUpdate{}) }, acp.ChangedModes, nil},
			{func() { b.Apply(acp.ConfigOptionUpdate{}) }, acp.ChangedConfigOptions, nil},
			{func() { b.Apply(acp.AvailableCommandsUpdate{}) }, acp.ChangedCommands, nil},
			{func() { b.Apply(acp.UsageUpdate{}) }, acp.ChangedUsage, nil},
			{func() { b.Apply(acp.SessionInfoUpdate{}) }, acp.ChangedInfo, nil},
			{func() { b.Apply(acp.UnstableSubagentUpdate{}) }, acp.ChangedSubagents, nil},
			{func() { b.Apply(acp.UnknownSessionUpdate{}) }, acp.ChangedUnknown, nil},
			{func() { b.BeginTurn(acp.Text("x")) }, acp.ChangedTurn | acp.ChangedEntries, []int{6}},
			{func() { b.Cancel() }, acp.ChangedTurn | acp.ChangedEntries, []int{}},
			{func() { b.EndTurn(1, acp.PromptResponse{}, nil) }, acp.ChangedTurn, nil},
			{func() { b.Setup(&acp.SessionModeState{}, []acp.SessionConfigOption{}) }, acp.ChangedModes | acp.ChangedConfigOptions, nil},
		} {
			k.do()
			synctest.Wait()
			var parts acp.StateParts
			var entries []int
			for len(got) > 0 {
				c := <-got
				parts |= c.Parts
				entries = append(entries, c.Entries...)
				if c.All || c.s.Revision() == 0 {
					t.Errorf("%+v", c.Change)
				}
			}
			slices.Sort(entries)
			entries = slices.Compact(entries)
			if k.parts.Has(acp.ChangedTurn | acp.ChangedEntries) {
				parts &= k.parts // a cancel marks no calls here
				k.parts = parts
			}
			if parts != k.parts || !slices.Equal(entries, k.entries) {
				t.Errorf("got parts %b entries %v, want %b %v", parts, entries, k.parts, k.entries)
			}
		}
		b.Reset()
		if c := <-got; !c.All || len(c.Entries) != 0 || c.s.Len() != 0 {
			t.Errorf("after a reset %+v", c.Change)
		}
		cancel()
		if _, more := <-got; more {
			t.Error("the loop went on after its context")
		}
	})
}

func TestASlowObserverIsToldOnceOfAllThatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b acp.StateBuilder
		for i := range 100 {
			b.Apply(acp.ToolCall{ToolCallID: acp.ToolCallID(fmt.Sprint(i))})
		}
		n, last := 0, 0
		for c, s := range b.Changes(t.Context()) {
			switch n++; n {
			case 1: // while it is busy
				for i := range 10_000 {
					b.Apply(acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(fmt.Sprint(i % 3 * 10)), Title: fmt.Sprint(i)})
					b.Apply(said("x"))
				}
				b.Apply(acp.Plan{})
				b.Close()
			case 2:
				if !slices.Equal(c.Entries, []int{0, 10, 20, 100}) || c.All || c.Parts != acp.ChangedEntries|acp.ChangedPlan {
					t.Errorf("it is told %+v", c)
				}
				last = len(s.Entry(100).(acp.MessageEntry).Text())
			}
		}
		if n != 2 || last != 10_000 {
			t.Errorf("%d changes, the last with %d chunks", n, last)
		}
	})
}

func TestObserversDoNotDisturbEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b acp.StateBuilder
		lens := make(chan int)
		for i := range 3 {
			go func() {
				last := 0
				for _, s := range b.Changes(t.Context()) {
					if last = s.Len(); i == 0 {
						break // leaves early
					}
				}
				lens <- last
			}()
		}
		synctest.Wait()
		for i := range 50 {
			b.Apply(acp.ToolCall{ToolCallID: acp.ToolCallID(fmt.Sprint(i))})
		}
		b.Close()
		got := []int{<-lens, <-lens, <-lens}
		if slices.Sort(got); !slices.Equal(got, []int{0, 50, 50}) {
			t.Errorf("they saw %v entries", got)
		}
	})
}

// observed collects the last state that a session's observer sees, until its loop ends.
func observed(s *acp.Session) <-chan *acp.SessionState {
	end := make(chan *acp.SessionState, 1)
	go func() {
		var last *acp.SessionState
		for _, last = range s.Changes(context.Background()) {
		}
		end <- last
	}()
	return end
}

func TestASessionsStateFollowsItsAnswersUpdatesAndCalls(t *testing.T) {
	late := make(chan struct{})
	co := &acp.ClientOptions{Updates: func(_ context.Context, n acp.SessionNotification) {
		if textOf(n.Update) == "late" {
			close(late)
		}
	}}
	agent := &configurable{scripted: scripted{
		newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			acp.AfterResponse(ctx, func(ctx context.Context) {
				_ = acp.ClientFrom(ctx).Update(ctx, "s", acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "c"}}})
			})
			return acp.NewSessionResponse{
				SessionID: "s", Modes: &acp.SessionModeState{CurrentModeID: "ask", AvailableModes: []acp.SessionMode{{ID: "ask"}, {ID: "code"}}},
				ConfigOptions: []acp.SessionConfigOption{option("model", "small")},
			}, nil
		},
		prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			acp.AfterResponse(ctx, func(ctx context.Context) { _ = say(ctx, req.SessionID, "late") })
			return acp.PromptResponse{StopReason: acp.StopRefusal}, say(ctx, req.SessionID, "hello, ")
		},
	}}
	s := opened(t, agent, co)
	if st := s.State(); st.Modes().CurrentModeID != "ask" || len(st.ConfigOptions()) != 1 || st.Turn().Number != 0 {
		t.Errorf("a new session has modes %+v, options %+v", st.Modes(), st.ConfigOptions())
	}
	if err := s.SetMode(t.Context(), "code"); err != nil || s.State().Modes().CurrentModeID != "code" || len(s.State().Modes().AvailableModes) != 2 {
		t.Errorf("mode %+v, %v", s.State().Modes(), err)
	}
	if err := s.SetMode(t.Context(), "no such"); err == nil || s.State().Modes().CurrentModeID != "code" {
		t.Errorf("a mode that was refused: %+v, %v", s.State().Modes(), err)
	}
	options, err := s.SetConfigOption(t.Context(), "model", acp.SessionConfigValueID("big"))
	if err != nil || len(options) != 2 || len(s.State().ConfigOptions()) != 2 {
		t.Errorf("options %+v, %v", s.State().ConfigOptions(), err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("hi")).Result(); err != nil {
		t.Fatal(err)
	}
	if turn := s.State().Turn(); turn.Running || turn.Result.StopReason != acp.StopRefusal {
		t.Errorf("turn %+v", turn)
	}
	<-late
	if got, want := transcriptOf(s.State()), "0 user \"hi\" sent\n1 agent \"hello, late\" late\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	// What a hook sends after its answer comes when it comes.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, st := range s.Changes(ctx) {
		if len(st.Commands()) > 0 {
			break
		}
	}
	if c := s.State().Commands(); len(c) != 1 || c[0].Name != "c" {
		t.Errorf("commands %+v", c)
	}
}

// configurable has modes and options.
type configurable struct{ scripted }

func option(id acp.SessionConfigID, value acp.SessionConfigValueID) acp.SessionConfigOption {
	return acp.SessionConfigOption{ID: id, Name: "n", Kind: acp.SessionConfigSelect{CurrentValue: value, Options: acp.SessionConfigSelectFlat{}}}
}

func (*configurable) SetSessionMode(_ context.Context, req acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	if req.ModeID == "no such" {
		return acp.SetSessionModeResponse{}, acp.InvalidParams("modeId")
	}
	return acp.SetSessionModeResponse{}, nil
}

func (*configurable) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{ConfigOptions: []acp.SessionConfigOption{option("model", "big"), option("effort", "high")}}, nil
}

func TestALoadBuildsTheStateAnewAndAFailedOneLeavesItAsItWas(t *testing.T) {
	fail := false
	agent := &full{load: func(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
		_ = acp.ClientFrom(ctx).Update(ctx, req.SessionID, userSaid("old"))
		_ = say(ctx, req.SessionID, "answer")
		if fail {
			return acp.LoadSessionResponse{}, acp.InternalError("broken")
		}
		return acp.LoadSessionResponse{Modes: &acp.SessionModeState{CurrentModeID: "ask"}}, nil
	}}
	remote, _ := both(t, agent, nil, nil)
	load := func() (*acp.Session, error) {
		return remote.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "s", Cwd: "/w"}).Result()
	}
	const replayed = "0 user \"old\"\n1 agent \"answer\"\n"
	s, err := load()
	if err != nil || transcriptOf(s.State()) != replayed || s.State().Modes().CurrentModeID != "ask" || s.State().Turn().Loading {
		t.Fatalf("%v, got\n%s", err, transcriptOf(s.State()))
	}
	if _, err := s.Prompt(t.Context(), acp.Text("new")).Result(); err != nil {
		t.Fatal(err)
	}
	const grown = replayed + "2 user \"new\" sent\n"
	if got := transcriptOf(s.State()); got != grown {
		t.Errorf("got\n%s", got)
	}
	fail = true
	revision := s.State().Revision()
	if _, err := load(); err == nil || transcriptOf(s.State()) != grown || s.State().Turn().Loading || s.State().Revision() <= revision {
		t.Errorf("after a failed load: %v, got\n%s", err, transcriptOf(s.State()))
	}
	fail = false
	if _, err := load(); err != nil || transcriptOf(s.State()) != replayed || s.State().Turn().Number != 0 {
		t.Errorf("after another load: %v, got\n%s", err, transcriptOf(s.State()))
	}
}

func TestAnObserverOfASessionSeesItsEnd(t *testing.T) {
	agent := func() *full {
		return &full{scripted: scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, "x")
		}}}
	}
	t.Run("when the session is closed", func(t *testing.T) {
		s := opened(t, agent(), nil)
		end := observed(s)
		if _, err := s.Prompt(t.Context(), acp.Text("hi")).Result(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if last := <-end; transcriptOf(last) != transcriptOf(s.State()) || last.Len() != 2 {
			t.Errorf("it last saw\n%s", transcriptOf(last))
		}
	})
	t.Run("when the agent is gone in the middle of a turn", func(t *testing.T) {
		mine, theirs := transport.Pipe()
		var client *acp.Client
		agent := agent()
		agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			for range 100 {
				_ = say(ctx, req.SessionID, "x")
			}
			_ = acp.ClientFrom(ctx).Close()
			return acp.PromptResponse{}, ctx.Err()
		}
		client, err := acp.Accept(context.Background(), theirs, agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer stopped(t, client)
		remote, err := acp.Connect(context.Background(), mine, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer remote.Close()
		s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		end := observed(s)
		turn := s.Prompt(t.Context(), acp.Text("hi"))
		n := 0
		for range turn.Updates() {
			n++
		}
		if _, err := turn.Result(); !errors.Is(err, acp.ErrConnectionClosed) {
			t.Errorf("turn ended with %v", err)
		}
		last := <-end
		if state := last.Turn(); state.Running || !errors.Is(state.Err, acp.ErrConnectionClosed) {
			t.Errorf("it last saw the turn as %+v", state)
		}
		if n == 0 || len(last.Entry(1).(acp.MessageEntry).Text()) != n {
			t.Errorf("it last saw\n%s, the turn had %d updates", transcriptOf(last), n)
		}
	})
}

func TestACancelledTurnMarksItsToolCalls(t *testing.T) {
	started := make(chan struct{})
	s := opened(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		_ = acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.ToolCall{ToolCallID: "t", Title: "T", Status: acp.ToolCallInProgress})
		close(started)
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}}, nil)
	turn := s.Prompt(t.Context(), acp.Text("hi"))
	<-started
	for range turn.Updates() {
		turn.Cancel()
		if c, _, ok := s.State().ToolCall("t"); !ok || !c.Cancelled || !c.Ended() || c.Call.Status != acp.ToolCallInProgress {
			t.Errorf("at once %+v", c)
		}
	}
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled || s.State().Turn().Result.StopReason != acp.StopCancelled {
		t.Errorf("%v, %v; state %+v", r.StopReason, err, s.State().Turn())
	}
}
