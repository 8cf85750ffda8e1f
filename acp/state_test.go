package acp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// transcriptOf renders a transcript, one entry a line.
func transcriptOf(s *acp.SessionState) string {
	var out strings.Builder
	for i, e := range s.Entries(0) {
		fmt.Fprintf(&out, "%d ", i)
		switch e := e.(type) {
		case acp.MessageEntry:
			fmt.Fprintf(&out, "%v %q", e.Role, e.Text())
			if e.MessageID != "" {
				fmt.Fprintf(&out, " id=%s", e.MessageID)
			}
			if e.Sent {
				out.WriteString(" sent")
			}
		case acp.ToolCallEntry:
			c := e.Call
			fmt.Fprintf(&out, "call %s %q %s %s", c.ToolCallID, c.Title, c.Kind, c.Status)
			for _, b := range c.Content {
				if b, ok := b.(acp.ToolCallBlock); ok {
					fmt.Fprintf(&out, " %q", acp.PlainText(b.Content))
				}
			}
			for _, l := range c.Locations {
				fmt.Fprintf(&out, " @%s", l.Path)
			}
			if len(c.RawInput) > 0 {
				fmt.Fprintf(&out, " in=%s", c.RawInput)
			}
			if !e.Announced {
				out.WriteString(" unannounced")
			}
			if e.Cancelled {
				out.WriteString(" cancelled")
			}
		case acp.CompactionEntry:
			fmt.Fprintf(&out, "compaction %s %s %q %s", e.CompactionID, e.Status, e.Text(), e.Error)
		case acp.NoticeEntry:
			fmt.Fprintf(&out, "notice %s", e.Notice.Title)
		case acp.UnstableSessionMessageEntry:
			fmt.Fprintf(&out, "between %s>%s %q", e.SenderSessionID, e.RecipientSessionID, e.Text())
		}
		if info := e.Info(); info.Late {
			out.WriteString(" late")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func said(text string) acp.AgentMessageChunk { return acp.AgentMessageChunk{Content: acp.Text(text)} }

func saidAs(id acp.MessageID, text string) acp.AgentMessageChunk {
	return acp.AgentMessageChunk{Content: acp.Text(text), MessageID: id}
}

func thought(text string) acp.AgentThoughtChunk {
	return acp.AgentThoughtChunk{Content: acp.Text(text)}
}

func userSaid(text string) acp.UserMessageChunk {
	return acp.UserMessageChunk{Content: acp.Text(text)}
}

func TestUpdatesAddUpToOneOrderedTranscript(t *testing.T) {
	for _, c := range []struct {
		name    string
		updates []acp.SessionUpdate
		want    string
	}{
		{"chunks without ids join while nothing else comes between them", []acp.SessionUpdate{
			userSaid("a"), userSaid("b"), thought("c"), thought("d"), said("e"), said("f"), thought("g"), said("h"),
		}, `0 user "ab"
1 thought "cd"
2 agent "ef"
3 thought "g"
4 agent "h"
`},
		{"chunks with ids join by them, wherever they come, and each kind has its own", []acp.SessionUpdate{
			saidAs("m", "a"), saidAs("n", "b"), saidAs("m", "c"), acp.AgentThoughtChunk{Content: acp.Text("d"), MessageID: "m"},
			saidAs("n", "e"), said("f"), said("g"),
		}, `0 agent "ac" id=m
1 agent "be" id=n
2 thought "d" id=m
3 agent "fg"
`},
		{"a tool call parts messages; its updates, notices and what is not in the transcript do not", []acp.SessionUpdate{
			said("a"), acp.ToolCall{ToolCallID: "t", Title: "T"}, said("b"), acp.ToolCallUpdate{ToolCallID: "t", Status: acp.ToolCallCompleted},
			said("c"), acp.Notice{Severity: acp.NoticeInfo, Title: "N"}, said("d"), acp.UsageUpdate{Used: 1, Size: 2}, said("e"),
			acp.CompactionUpdate{CompactionID: "k", Status: acp.CompactionInProgress}, said("f"),
		}, `0 agent "a"
1 call t "T" other completed
2 agent "bcde"
3 notice N
4 compaction k in_progress "" 
5 agent "f"
`},
		{"a tool call is merged from what each update says", []acp.SessionUpdate{
			acp.ToolCall{ToolCallID: "t", Title: "Read", Kind: acp.ToolKindRead, Content: []acp.ToolCallContent{acp.ToolText("x"), acp.ToolText("y")}},
			acp.ToolCallUpdate{ToolCallID: "t", Status: acp.ToolCallInProgress, RawInput: []byte(`{"a":1}`)},
			acp.ToolCallUpdate{ToolCallID: "t", Locations: []acp.ToolCallLocation{{Path: "/p"}}, RawInput: []byte(`null`)},
			acp.ToolCallUpdate{ToolCallID: "t", Content: []acp.ToolCallContent{acp.ToolText("z")}},
		}, `0 call t "Read" read in_progress "z" @/p in={"a":1}
`},
		{"an empty list removes, an absent one does not", []acp.SessionUpdate{
			acp.ToolCall{ToolCallID: "t", Title: "T", Content: []acp.ToolCallContent{acp.ToolText("x")}, Locations: []acp.ToolCallLocation{{Path: "/p"}}},
			acp.ToolCallUpdate{ToolCallID: "t", Content: []acp.ToolCallContent{}},
		}, `0 call t "T" other pending @/p
`},
		{"a second tool_call with the same id is an update", []acp.SessionUpdate{
			acp.ToolCall{ToolCallID: "t", Title: "Terminal", Kind: acp.ToolKindExecute, Status: acp.ToolCallInProgress}, said("a"),
			acp.ToolCall{ToolCallID: "t", Title: "`ls`", RawInput: []byte(`{"command":"ls"}`)},
		}, `0 call t "` + "`ls`" + `" execute in_progress in={"command":"ls"}
1 agent "a"
`},
		{"an update before any tool_call begins one", []acp.SessionUpdate{
			acp.ToolCallUpdate{ToolCallID: "t", Status: acp.ToolCallFailed}, acp.ToolCallUpdate{ToolCallID: "u"}, acp.ToolCall{ToolCallID: "u", Title: "U"},
		}, `0 call t "" other failed unannounced
1 call u "U" other pending
`},
		{"a compaction keeps its place and takes its summary in pieces or at once", []acp.SessionUpdate{
			acp.CompactionUpdate{CompactionID: "k", Status: acp.CompactionInProgress}, said("a"),
			acp.CompactionSummaryChunk{CompactionID: "k", Content: acp.Text("x")}, acp.CompactionSummaryChunk{CompactionID: "k", Content: acp.Text("y")},
			acp.CompactionUpdate{CompactionID: "k", Status: acp.CompactionCompleted},
			acp.CompactionUpdate{CompactionID: "l", Status: acp.CompactionCompleted, Summary: acp.PatchSet([]acp.ContentBlock{acp.Text("z")})},
			acp.CompactionUpdate{CompactionID: "m", Status: acp.CompactionFailed, Error: acp.PatchSet("no")},
			acp.CompactionUpdate{CompactionID: "l", Summary: acp.PatchClear[[]acp.ContentBlock]()},
			acp.CompactionSummaryChunk{CompactionID: "n", Content: acp.Text("w")},
		}, `0 compaction k completed "xy" 
1 agent "a"
2 compaction l completed "" 
3 compaction m failed "" no
4 compaction n  "w" 
`},
		{"messages between sessions are patched by id", []acp.SessionUpdate{
			acp.UnstableSessionMessage{MessageID: "m", SenderSessionID: acp.PatchSet[acp.SessionID]("a"), RecipientSessionID: acp.PatchSet[acp.SessionID]("b")},
			acp.UnstableSessionMessageChunk{MessageID: "m", Content: acp.Text("x")}, acp.UnstableSessionMessageChunk{MessageID: "m", Content: acp.Text("y")},
			acp.UnstableSessionMessage{MessageID: "m", RecipientSessionID: acp.PatchClear[acp.SessionID]()},
		}, `0 between a> "xy"
`},
		{"an unknown update changes nothing in the transcript", []acp.SessionUpdate{
			said("a"), acp.UnknownSessionUpdate{Tag: "x", Raw: []byte(`{"sessionUpdate":"x"}`)}, nil, said("b"),
		}, `0 agent "ab"
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b acp.StateBuilder
			for _, u := range c.updates {
				b.Apply(u)
			}
			if got := transcriptOf(b.State()); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestWhatIsNotInTheTranscriptIsTheNewestOfItsKind(t *testing.T) {
	var b acp.StateBuilder
	s := b.State()
	if s.Plan() != nil || s.Modes() != nil || s.Usage() != nil || s.Len() != 0 || s.Turn().Number != 0 || s.Turn().Running {
		t.Error("an empty session is not empty")
	}
	b.Setup(&acp.SessionModeState{CurrentModeID: "ask", AvailableModes: []acp.SessionMode{{ID: "ask"}, {ID: "code"}}},
		[]acp.SessionConfigOption{{ID: "model"}})
	b.Setup(nil, nil) // says nothing
	for _, u := range []acp.SessionUpdate{
		acp.CurrentModeUpdate{CurrentModeID: "code"},
		acp.ConfigOptionUpdate{ConfigOptions: []acp.SessionConfigOption{{ID: "model"}, {ID: "effort"}}},
		acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "a"}, {Name: "b"}}},
		acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "c"}}},
		acp.Plan{Entries: []acp.PlanEntry{{Content: "one"}, {Content: "two"}}},
		acp.Plan{Entries: []acp.PlanEntry{{Content: "three"}}},
		acp.UsageUpdate{Used: 1, Size: 10},
		acp.UsageUpdate{Used: 2, Size: 10, Cost: &acp.Cost{Amount: 0.5, Currency: "USD"}},
		acp.SessionInfoUpdate{Title: acp.PatchSet("T"), UpdatedAt: acp.PatchSet("2026-01-02T03:04:05Z"), Meta: acp.Meta(`{"a":1}`)},
		acp.SessionInfoUpdate{UpdatedAt: acp.PatchClear[string]()},
		acp.UnstablePlanUpdate{Plan: acp.UnstablePlanItems{PlanID: "p"}},
		acp.UnstablePlanUpdate{Plan: acp.UnstablePlanMarkdown{PlanID: "q", Content: "old"}},
		acp.UnstablePlanUpdate{Plan: acp.UnstablePlanFile{PlanID: "r"}},
		acp.UnstablePlanUpdate{Plan: acp.UnstableUnknownPlanUpdateContent{Tag: "x", Raw: []byte(`{"type":"x","planId":"s"}`)}},
		acp.UnstablePlanUpdate{Plan: acp.UnstablePlanMarkdown{PlanID: "q", Content: "new"}},
		acp.UnstablePlanUpdate{Plan: acp.UnstableUnknownPlanUpdateContent{Tag: "x", Raw: []byte(`{"type":"x","planId":"s","n":2}`)}},
		acp.UnstablePlanRemoved{PlanID: "p"},
		acp.UnstableSubagentUpdate{SessionID: "x", Title: acp.PatchSet("X"), Cwd: acp.PatchSet("/x")},
		acp.UnstableSubagentUpdate{SessionID: "y"},
		acp.UnstableSubagentUpdate{SessionID: "x", Cwd: acp.PatchClear[string](), State: acp.PatchSet[acp.UnstableStateUpdate](acp.UnstableRunningStateUpdate{})},
	} {
		b.Apply(u)
	}
	s = b.State()
	if m := s.Modes(); m.CurrentModeID != "code" || len(m.AvailableModes) != 2 {
		t.Errorf("modes %+v", m)
	}
	if o := s.ConfigOptions(); len(o) != 2 || o[1].ID != "effort" {
		t.Errorf("options %+v", o)
	}
	if c := s.Commands(); len(c) != 1 || c[0].Name != "c" {
		t.Errorf("commands %+v", c)
	}
	if p := s.Plan(); len(p.Entries) != 1 || p.Entries[0].Content != "three" {
		t.Errorf("plan %+v", p)
	}
	if u := s.Usage(); u.Used != 2 || u.Cost.Amount != 0.5 {
		t.Errorf("usage %+v", u)
	}
	if s.Title() != "T" || s.UpdatedAt() != "" || string(s.InfoMeta()) != `{"a":1}` {
		t.Errorf("title %q, updated %q, meta %s", s.Title(), s.UpdatedAt(), s.InfoMeta())
	}
	plans := s.UnstablePlans()
	if len(plans) != 3 || plans[0].(acp.UnstablePlanMarkdown).Content != "new" || plans[1].(acp.UnstablePlanFile).PlanID != "r" ||
		!strings.Contains(string(plans[2].(acp.UnstableUnknownPlanUpdateContent).Raw), `"n":2`) {
		t.Errorf("plans %+v", plans)
	}
	agents := s.UnstableSubagents()
	if len(agents) != 2 || agents[0].Title != "X" || agents[0].Cwd != "" || agents[0].State == nil || agents[1].SessionID != "y" {
		t.Errorf("subagents %+v", agents)
	}
	if s.Len() != 0 {
		t.Errorf("transcript\n%s", transcriptOf(s))
	}
}

func TestOfUnknownUpdatesTheLastAreKeptAndAllAreCounted(t *testing.T) {
	var b acp.StateBuilder
	n := 3*acp.MaxUnknown + 7
	for i := range n {
		b.Apply(acp.UnknownSessionUpdate{Tag: fmt.Sprint(i)})
		if i == 1 {
			b.Apply(said("a"))
		}
	}
	s := b.State()
	kept := s.Unknown()
	if s.UnknownCount() != n || len(kept) != acp.MaxUnknown || kept[len(kept)-1].Update.Tag != fmt.Sprint(n-1) || kept[0].Update.Tag != fmt.Sprint(n-acp.MaxUnknown) {
		t.Errorf("%d counted, %d kept, last %+v", s.UnknownCount(), len(kept), kept[len(kept)-1])
	}
	if kept[0].Before != 1 {
		t.Errorf("it came before entry %d, want 1", kept[0].Before)
	}
}

func TestBlocksThatAreNotPlainTextStayApart(t *testing.T) {
	var b acp.StateBuilder
	marked := acp.TextContent{Text: "c", Meta: acp.Meta(`{"k":1}`)}
	for _, block := range []acp.ContentBlock{acp.Text("a"), acp.Text("b"), marked, acp.Text("d"), acp.Image("image/png", nil), acp.Text("e"), acp.Text("f")} {
		b.Apply(acp.AgentMessageChunk{Content: block})
	}
	m := b.State().Entry(0).(acp.MessageEntry)
	content := m.Content()
	if m.Text() != "abcdef" || len(content) != 5 || acp.PlainText(content[0]) != "ab" || acp.PlainText(content[4]) != "ef" {
		t.Errorf("text %q, content %+v", m.Text(), content)
	}
	if got := content[1].(acp.TextContent); string(got.Meta) != `{"k":1}` {
		t.Errorf("block %+v", got)
	}
}

func TestAToolCallIsFoundByItsIDInSnapshotsThatHaveIt(t *testing.T) {
	var b acp.StateBuilder
	b.Apply(said("a"))
	before := b.State()
	b.Apply(acp.ToolCall{ToolCallID: "t", Title: "T"})
	if _, _, ok := before.ToolCall("t"); ok {
		t.Error("a snapshot has a call that came after it")
	}
	if c, i, ok := b.State().ToolCall("t"); !ok || i != 1 || c.Call.Title != "T" {
		t.Errorf("%+v at %d, %v", c, i, ok)
	}
}

func TestATurnHasANumberAStateAndAResult(t *testing.T) {
	var b acp.StateBuilder
	b.Apply(said("welcome"))
	n := b.BeginTurn(acp.Text("hi"))
	if turn := b.State().Turn(); n != 1 || turn.Number != 1 || !turn.Running || turn.Result.StopReason != "" {
		t.Errorf("running: %+v", turn)
	}
	b.Apply(said("in time"))
	b.EndTurn(n, acp.PromptResponse{StopReason: acp.StopMaxTokens}, nil)
	b.EndTurn(n, acp.PromptResponse{StopReason: acp.StopEndTurn}, nil) // has ended already
	if turn := b.State().Turn(); turn.Running || turn.Result.StopReason != acp.StopMaxTokens || turn.Err != nil {
		t.Errorf("ended: %+v", turn)
	}
	b.Apply(said(", and late"))
	b.Apply(acp.ToolCall{ToolCallID: "t", Title: "T"})
	n = b.BeginTurn(acp.Text("more"))
	b.Apply(said("again"))
	b.Apply(acp.ToolCallUpdate{ToolCallID: "t", Status: acp.ToolCallCompleted})
	broken := errors.New("broken")
	b.EndTurn(n, acp.PromptResponse{}, broken)
	if turn := b.State().Turn(); turn.Running || turn.Err != broken || turn.Number != 2 {
		t.Errorf("failed: %+v", turn)
	}
	want := `0 agent "welcome"
1 user "hi" sent
2 agent "in time, and late" late
3 call t "T" other completed late
4 user "more" sent
5 agent "again"
`
	if got := transcriptOf(b.State()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if turn := b.State().Entry(3).Info().Turn; turn != 1 {
		t.Errorf("the late call belongs to turn %d", turn)
	}
}

func TestAMessageWithoutIDDoesNotGoOnInTheNextTurn(t *testing.T) {
	var b acp.StateBuilder
	for range 2 {
		n := b.BeginTurn()
		b.Apply(said("a"))
		b.EndTurn(n, acp.PromptResponse{StopReason: acp.StopEndTurn}, nil)
	}
	if got, want := transcriptOf(b.State()), "0 agent \"a\"\n1 agent \"a\"\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestAPromptThatTheAgentRepeatsIsShownOnce(t *testing.T) {
	prompt := []acp.ContentBlock{acp.Text("fix "), acp.Image("image/png", nil), acp.Text("this")}
	for _, c := range []struct {
		name   string
		echoes []acp.SessionUpdate
		want   string
	}{
		{"in pieces, with an id", []acp.SessionUpdate{
			acp.UserMessageChunk{Content: acp.Text("fi"), MessageID: "u"}, acp.UserMessageChunk{Content: acp.Text("x "), MessageID: "u"},
			acp.UserMessageChunk{Content: acp.Image("image/png", nil), MessageID: "u"}, acp.UserMessageChunk{Content: acp.Text("this"), MessageID: "u"}, said("ok"),
		}, "0 user \"fix this\" id=u sent\n1 agent \"ok\"\n"},
		{"at once", []acp.SessionUpdate{userSaid("fix this"), said("ok")}, "0 user \"fix this\" sent\n1 agent \"ok\"\n"},
		{"not at all: another message stands for itself", []acp.SessionUpdate{
			userSaid("and "), userSaid("that"), said("ok"),
		}, "0 user \"fix this\" sent\n1 user \"and that\"\n2 agent \"ok\"\n"},
		{"later: what comes after an answer is another message", []acp.SessionUpdate{said("ok"), userSaid("fix this")},
			"0 user \"fix this\" sent\n1 agent \"ok\"\n2 user \"fix this\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b acp.StateBuilder
			b.BeginTurn(prompt...)
			for _, u := range c.echoes {
				b.Apply(u)
			}
			if got := transcriptOf(b.State()); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if n := len(b.State().Entry(0).(acp.MessageEntry).Content()); n != 3 {
				t.Errorf("the prompt has %d blocks", n)
			}
		})
	}
}

func TestACancelMarksTheOpenToolCallsOfItsTurn(t *testing.T) {
	var b acp.StateBuilder
	n := b.BeginTurn(acp.Text("one"))
	b.Apply(acp.ToolCall{ToolCallID: "forgotten", Title: "F"})
	b.EndTurn(n, acp.PromptResponse{StopReason: acp.StopEndTurn}, nil)
	n = b.BeginTurn(acp.Text("two"))
	for _, id := range []acp.ToolCallID{"open", "running", "completed", "failed", "after"} {
		b.Apply(acp.ToolCall{ToolCallID: id})
	}
	b.Apply(acp.ToolCallUpdate{ToolCallID: "running", Status: acp.ToolCallInProgress})
	b.Apply(acp.ToolCallUpdate{ToolCallID: "completed", Status: acp.ToolCallCompleted})
	b.Apply(acp.ToolCallUpdate{ToolCallID: "failed", Status: acp.ToolCallFailed})
	b.Cancel()
	if turn := b.State().Turn(); !turn.Running || !turn.Cancelling {
		t.Errorf("turn %+v", turn)
	}
	b.Apply(acp.ToolCallUpdate{ToolCallID: "open", Status: acp.ToolCallFailed})
	b.Apply(acp.ToolCallUpdate{ToolCallID: "after", Status: acp.ToolCallCompleted})
	b.Apply(acp.ToolCall{ToolCallID: "new"})
	marked := func() string {
		var ids []string
		for _, e := range b.State().Entries(0) {
			if c, ok := e.(acp.ToolCallEntry); ok && c.Cancelled {
				ids = append(ids, fmt.Sprintf("%s(%s)", c.Call.ToolCallID, c.Call.Status))
			}
		}
		return strings.Join(ids, " ")
	}
	if got, want := marked(), "open(failed) running(in_progress)"; got != want {
		t.Errorf("marked %s, want %s", got, want)
	}
	b.EndTurn(n, acp.PromptResponse{StopReason: acp.StopCancelled}, nil)
	if got, want := marked(), "open(failed) running(in_progress) new(pending)"; got != want {
		t.Errorf("after the end marked %s, want %s", got, want)
	}
	if turn := b.State().Turn(); turn.Running || turn.Cancelling {
		t.Errorf("turn %+v", turn)
	}
}

func TestASnapshotNeverChanges(t *testing.T) {
	var b acp.StateBuilder
	ctx, cancel := context.WithCancel(t.Context())
	type taken struct {
		s    *acp.SessionState
		want string
	}
	snapshots := make(chan taken, 64)
	var readers sync.WaitGroup
	for range 3 { // they look again at what they were given, while it is built on
		readers.Go(func() {
			for k := range snapshots {
				if got := transcriptOf(k.s); got != k.want {
					t.Errorf("a snapshot has changed to\n%sfrom\n%s", got, k.want)
					return
				}
			}
		})
	}
	readers.Go(func() {
		for _, s := range b.Changes(ctx) {
			_ = transcriptOf(s)
		}
	})
	for i := range 600 {
		switch i % 7 {
		case 0:
			b.Apply(acp.ToolCall{ToolCallID: acp.ToolCallID(fmt.Sprint(i)), Title: "T"})
		case 1:
			b.Apply(acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(fmt.Sprint(i / 14 * 7)), Status: acp.ToolCallCompleted, Content: []acp.ToolCallContent{acp.ToolText("x")}})
		case 2:
			b.Apply(saidAs("m", "more "))
		default:
			b.Apply(said("chunk "))
		}
		if i%3 == 0 {
			s := b.State()
			snapshots <- taken{s, transcriptOf(s)}
		}
	}
	close(snapshots)
	cancel()
	readers.Wait()
}

func TestWhatASnapshotGivesOutIsTheCallersOwn(t *testing.T) {
	var b acp.StateBuilder
	entries := []acp.PlanEntry{{Content: "one"}}
	content := []acp.ToolCallContent{acp.ToolText("x")}
	b.Apply(acp.Plan{Entries: entries})
	b.Apply(acp.ToolCall{ToolCallID: "t", Content: content})
	b.Setup(&acp.SessionModeState{CurrentModeID: "a", AvailableModes: []acp.SessionMode{{ID: "a"}}}, nil)
	b.BeginTurn(acp.Text("hi"))
	s := b.State()
	was := transcriptOf(s)
	entries[0].Content, content[0] = "changed", acp.ToolText("changed")
	s.Plan().Entries[0].Content = "changed"
	s.Modes().AvailableModes[0].ID = "changed"
	s.Entry(1).(acp.MessageEntry).Content()[0] = acp.Text("changed")
	if s.Plan().Entries[0].Content != "one" || s.Modes().AvailableModes[0].ID != "a" || transcriptOf(s) != was {
		t.Errorf("plan %+v, modes %+v\n%s", s.Plan(), s.Modes(), transcriptOf(s))
	}
}

func TestAHundredThousandChunksAreOneMessage(t *testing.T) {
	var b acp.StateBuilder
	const n = 100_000
	for i := range n {
		b.Apply(said("0123456789"))
		if i%10 == 0 {
			if got := len(b.State().Entry(0).(acp.MessageEntry).Text()); got != 10*(i+1) {
				t.Fatalf("%d bytes after %d chunks", got, i+1)
			}
		}
	}
	if s := b.State(); s.Len() != 1 || s.Entry(0).(acp.MessageEntry).Text() != strings.Repeat("0123456789", n) {
		t.Errorf("%d entries", s.Len())
	}
}

func TestAResetIsAnEmptySessionWithALaterRevision(t *testing.T) {
	var b acp.StateBuilder
	b.Apply(said("a"))
	b.Apply(acp.ToolCall{ToolCallID: "t"})
	was := b.State()
	b.Reset()
	s := b.State()
	if s.Len() != 0 || s.Revision() <= was.Revision() {
		t.Errorf("%d entries, revision %d after %d", s.Len(), s.Revision(), was.Revision())
	}
	b.Apply(acp.ToolCallUpdate{ToolCallID: "t", Title: "new"})
	if !slices.Equal([]string{transcriptOf(was), transcriptOf(b.State())}, []string{"0 agent \"a\"\n1 call t \"\" other pending\n", "0 call t \"new\" other pending unannounced\n"}) {
		t.Errorf("was\n%sis\n%s", transcriptOf(was), transcriptOf(b.State()))
	}
}
