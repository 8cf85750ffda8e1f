package approval

import (
	"slices"
	"testing"
)

// The whole table, written out by hand: for each class and mode the verdict for
// {fresh, fresh + session edits, stale, stale + session edits}; S is ask with the session scope, Q ask once, A allow, R refuse.
var table = map[Class]map[Mode]string{
	ClassRead:      {ModeOff: "AAAA", ModePlan: "AAAA", ModeAsk: "AAAA", ModeEdits: "AAAA", ModeAuto: "AAAA"},
	ClassNote:      {ModeOff: "AAAA", ModePlan: "AAAA", ModeAsk: "AAAA", ModeEdits: "AAAA", ModeAuto: "AAAA"},
	ClassEdit:      {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "SAQQ", ModeEdits: "AAQQ", ModeAuto: "AAQQ"},
	ClassExecute:   {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "AAAA"},
	ClassNetwork:   {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "AAAA"},
	ClassServer:    {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "QQQQ"},
	ClassSecret:    {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "QQQQ"},
	ClassProtected: {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "QQQQ"},
	ClassWiden:     {ModeOff: "RRRR", ModePlan: "QQQQ", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "QQQQ"},
	ClassPlan:      {ModeOff: "RRRR", ModePlan: "QQQQ", ModeAsk: "QQQQ", ModeEdits: "QQQQ", ModeAuto: "QQQQ"},
	"teleport":     {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "RRRR", ModeEdits: "RRRR", ModeAuto: "RRRR"},
	"":             {ModeOff: "RRRR", ModePlan: "RRRR", ModeAsk: "RRRR", ModeEdits: "RRRR", ModeAuto: "RRRR"},
}

func code(d Decision) string {
	switch {
	case d.Verdict == Allow && d.Scopes == nil:
		return "A"
	case d.Verdict == Refuse && d.Scopes == nil:
		return "R"
	case d.Verdict == Ask && slices.Equal(d.Scopes, []Scope{ScopeOnce}):
		return "Q"
	case d.Verdict == Ask && slices.Equal(d.Scopes, []Scope{ScopeOnce, ScopeSession}):
		return "S"
	}
	return "?"
}

func TestEveryCombinationOfModeClassStaleAndSessionIsDecidedAsTheTableSays(t *testing.T) {
	for class, modes := range table {
		for _, mode := range Modes() {
			got := ""
			for _, v := range []struct{ stale, session bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
				d := Policy{Mode: mode, SessionEdits: v.session}.Decide(Subject{Tool: "any", Class: class, Stale: v.stale})
				if d.Reason == "" {
					t.Errorf("class %q, mode %s: no reason is given", class, mode)
				}
				got += code(d)
			}
			if want := modes[mode]; got != want {
				t.Errorf("class %q, mode %s: got %s, want %s", class, mode, got, want)
			}
		}
	}
}

func TestEveryEditCanBeAllowedWithAPlanOnlyIfEditsAreAskedAfterIt(t *testing.T) {
	for _, after := range append(Modes(), "") {
		want := "Q"
		if after == ModeAsk {
			want = "S"
		}
		if got := code(Policy{Mode: ModePlan, After: after}.Decide(Subject{Class: ClassPlan})); got != want {
			t.Errorf("after the plan the mode is %q: got %s, want %s", after, got, want)
		}
		if got := code(Policy{Mode: ModePlan, After: after}.Decide(Subject{Class: ClassEdit})); got != "R" {
			t.Errorf("an edit before the plan is approved: %s", got)
		}
	}
}

func TestAnAllowedCommandIsExactlyThatCommandInThatFolderAndNothingElse(t *testing.T) {
	allowed := Command{Line: "go test ./...", Dir: "/project"}
	p := Policy{Commands: []Command{allowed}}
	for _, test := range []struct {
		mode    Mode
		class   Class
		command Command
		want    Verdict
		offered bool
	}{
		{ModeAsk, ClassExecute, allowed, Allow, false},
		{ModeEdits, ClassExecute, allowed, Allow, false},
		{ModeOff, ClassExecute, allowed, Refuse, false},
		{ModePlan, ClassExecute, allowed, Refuse, false},
		{ModeAsk, ClassExecute, Command{Line: "go test ./... ", Dir: "/project"}, Ask, true},
		{ModeAsk, ClassExecute, Command{Line: "go test ./...; rm -r .", Dir: "/project"}, Ask, true},
		{ModeAsk, ClassExecute, Command{Line: "go test ./...", Dir: "/project/sub"}, Ask, true},
		{ModeAsk, ClassExecute, Command{}, Ask, false},
		{ModeAsk, ClassSecret, allowed, Ask, false},
		{ModeAuto, ClassSecret, allowed, Ask, false},
		{ModeAsk, ClassNetwork, allowed, Ask, false},
		{ModeAsk, ClassServer, allowed, Ask, false},
	} {
		p.Mode = test.mode
		d := p.Decide(Subject{Class: test.class, Command: test.command})
		if d.Verdict != test.want || slices.Contains(d.Scopes, ScopeCommand) != test.offered {
			t.Errorf("%+v: %+v", test, d)
		}
	}
}

func TestAnAllowedToolOfAServerIsThatToolAloneAndOfAServerOnly(t *testing.T) {
	p := Policy{Tools: []string{"hub__search", "run"}}
	for _, test := range []struct {
		mode    Mode
		class   Class
		tool    string
		server  bool
		want    Verdict
		offered bool
	}{
		{ModeAsk, ClassServer, "hub__search", true, Allow, false},
		{ModeEdits, ClassServer, "hub__search", true, Allow, false},
		{ModeAuto, ClassServer, "hub__search", true, Allow, false},
		{ModeAsk, ClassExecute, "hub__search", true, Allow, false}, // of a trusted server
		{ModeOff, ClassServer, "hub__search", true, Refuse, false},
		{ModePlan, ClassServer, "hub__search", true, Refuse, false},
		{ModeAsk, ClassServer, "hub__delete", true, Ask, true},
		{ModeAuto, ClassServer, "hub__delete", true, Ask, true},
		{ModeAsk, ClassExecute, "run", false, Ask, false},
		{ModeAsk, ClassSecret, "hub__search", true, Ask, false},
	} {
		p.Mode = test.mode
		d := p.Decide(Subject{Tool: test.tool, Class: test.class, Server: test.server})
		if d.Verdict != test.want || slices.Contains(d.Scopes, ScopeTool) != test.offered {
			t.Errorf("%+v: %+v", test, d)
		}
	}
}

func TestWhatIsAskedOnceOnlyIsOfferedForNoLonger(t *testing.T) {
	for class := range table {
		for _, s := range []Subject{{Class: class}, {Class: class, Command: Command{Line: "x", Dir: "/"}}, {Class: class, Server: true, Tool: "a__b"}} {
			d := Policy{Mode: ModeAsk, OnceOnly: true}.Decide(s)
			if plain := (Policy{Mode: ModeAsk}).Decide(s); d.Verdict != plain.Verdict {
				t.Errorf("%+v: %s in place of %s", s, d.Verdict, plain.Verdict)
			}
			if d.Verdict == Ask && !slices.Equal(d.Scopes, []Scope{ScopeOnce}) {
				t.Errorf("%+v: %v", s, d.Scopes)
			}
		}
	}
}

func TestAnUnknownModeAllowsNothing(t *testing.T) {
	for _, mode := range []Mode{"", "yolo", "AUTO"} {
		for class := range table {
			if d := (Policy{Mode: mode, SessionEdits: true}).Decide(Subject{Class: class}); d.Verdict != Refuse {
				t.Errorf("mode %q, class %q: %s", mode, class, d.Verdict)
			}
		}
	}
}

func TestAStricterModeNeverAllowsMoreThanALooserOne(t *testing.T) {
	rank := map[Verdict]int{Refuse: 0, Ask: 1, Allow: 2}
	for class := range table {
		for _, stale := range []bool{false, true} {
			last := -1
			for _, mode := range Modes() {
				r := rank[Policy{Mode: mode}.Decide(Subject{Class: class, Stale: stale}).Verdict]
				if r < last {
					t.Errorf("class %q: mode %s allows less than a stricter one", class, mode)
				}
				last = r
			}
		}
	}
}

func TestTheToolsNameNeverChangesTheDecision(t *testing.T) {
	for class := range table {
		for _, mode := range Modes() {
			a := Policy{Mode: mode}.Decide(Subject{Tool: "view", Class: class})
			b := Policy{Mode: mode}.Decide(Subject{Tool: "plan", Class: class})
			if a.Verdict != b.Verdict || a.Reason != b.Reason {
				t.Errorf("class %q, mode %s: %v and %v", class, mode, a, b)
			}
		}
	}
}
