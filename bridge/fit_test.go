package bridge

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// longestLine remembers the longest message that came in.
type longestLine struct {
	mu    sync.Mutex
	bytes int
}

func (l *longestLine) tap(dir acp.Direction, _ time.Time, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if dir == acp.Incoming {
		l.bytes = max(l.bytes, len(message))
	}
}

func TestNoLineOfALoadedSessionIsLongerThanClientsTake(t *testing.T) {
	const mega = 1 << 20
	r := connect(t, acp.ClientOptions{})
	s := r.open(t)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := "begin " + strings.Repeat("äx\n", 9*mega/4) + " end"
	old := strings.Repeat("o", 9*mega)
	request := func(call string) session.Data {
		return session.CallRequested{Call: call, Tool: "run", Args: []byte(`{"command":"x"}`)}
	}
	present := func(call string, p tool.Presentation) session.Data {
		p.Title, p.Kind = "call "+call, tool.KindOther
		return session.CallPresented{Call: call, Presentation: p}
	}
	done := func(call string, r tool.Result) session.Data {
		return session.CallDone{Call: call, Status: session.CallCompleted, Result: r}
	}
	data := []session.Data{
		session.TurnStarted{Turn: "t", Message: "u", Prompt: []session.Block{
			{Type: session.BlockText, Text: text}, {Type: session.BlockImage, MIMEType: "image/png", Data: make([]byte, 7*mega)},
			{Type: session.BlockFile, URI: "file:///big.txt", Text: text}, {Type: session.BlockFile, URI: "file:///big.bin", Data: make([]byte, 7*mega)},
		}},
		request("call_1"), present("call_1", tool.Presentation{}), done("call_1", tool.Result{Text: text}),
		request("call_2"), present("call_2", tool.Presentation{}), done("call_2", tool.Result{Text: strings.Repeat("\x01", 2*mega), Images: []tool.Image{{MIMEType: "image/gif", Data: make([]byte, 7*mega)}}}),
		session.CallRequested{Call: "call_3", Tool: "edit", Args: []byte(`"` + old + `"`)},
		present("call_3", tool.Presentation{Diffs: []tool.Diff{{Path: "/a", Old: &old, New: "new"}, {Path: "/b", New: "small"}}}), done("call_3", tool.Result{Text: "done"}),
		session.CommandAnswered{Message: "c", Text: text},
		session.TurnEnded{Turn: "t", Reason: session.StopEndTurn},
	}
	lease, err := r.store.Acquire(t.Context(), string(s.ID()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Append(t.Context(), data...); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}

	var seen longestLine
	second := connectTo(t, r.store, r.folder, acp.ClientOptions{Options: acp.Options{Tap: seen.tap}})
	load := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var updates []acp.SessionUpdate
	for u := range load.Updates() {
		updates = append(updates, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	if seen.bytes > 8*mega || seen.bytes < mega {
		t.Errorf("the longest line has %d bytes", seen.bytes)
	}
	got := fold(updates)
	for _, kind := range []string{"user", "agent"} {
		if said := got.text(kind); !strings.Contains(said, "begin äx\n") || !strings.Contains(said, "bytes are left out here") || !strings.HasSuffix(strings.TrimRight(said, "`\n"), "end") && kind == "agent" {
			t.Errorf("of the %s's text is shown: %.80q … %.80q", kind, said, said[max(0, len(said)-80):])
		}
	}
	for _, want := range []string{"image/png, 7340", "big.bin, 7340", "file:///big.txt"} {
		if !strings.Contains(got.text("user"), want) {
			t.Errorf("the prompt does not say %q", want)
		}
	}
	if len(got.Calls) != 3 {
		t.Fatalf("%d calls", len(got.Calls))
	}
	shown := func(i, j int) string {
		if block, ok := got.Calls[i].Content[j].(acp.ToolCallBlock); ok {
			return acp.PlainText(block.Content)
		}
		return ""
	}
	if first := shown(0, 0); !strings.Contains(first, "begin") || !strings.Contains(first, "bytes are left out here") {
		t.Errorf("the first result is shown as %.80q", first)
	}
	if text, image := shown(1, 0), shown(1, 1); !strings.Contains(text, "left out") || !strings.Contains(image, "image/gif, 7340") {
		t.Errorf("the second result is shown as %.80q and %.80q", text, image)
	}
	if change := shown(2, 0); change != "The change of /a is too large to be shown here: 9437184 bytes before, 3 bytes after." {
		t.Errorf("the change is shown as %.120q", change)
	}
	if diff, ok := got.Calls[2].Content[1].(acp.ToolCallDiff); !ok || diff.NewText != "small" {
		t.Errorf("the small change is shown as %+v", got.Calls[2].Content[1])
	}
	for e, err := range r.store.Events(t.Context(), string(s.ID()), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(session.CallDone); ok && d.Call == "call_1" && d.Result.Text != text {
			t.Error("the stored result is not complete")
		}
		if d, ok := e.Data.(session.TurnStarted); ok && !bytes.Equal(d.Prompt[1].Data, make([]byte, 7*mega)) {
			t.Error("the stored picture is not complete")
		}
	}
}

func TestWhatFitsIsNotTouched(t *testing.T) {
	text := strings.Repeat("x", longestUpdate-200)
	u := acp.SessionUpdate(acp.AgentMessageChunk{Content: acp.Text(text)})
	if got := fitAll([]acp.SessionUpdate{u})[0].(acp.AgentMessageChunk); acp.PlainText(got.Content) != text {
		t.Error("a text that fits was cut")
	}
}

func TestATextThatGrowsOnTheWireIsCutToo(t *testing.T) {
	text := strings.Repeat("\x01", longestUpdate/longestEscape+1) // each is written in six
	for _, u := range []acp.SessionUpdate{
		acp.AgentMessageChunk{Content: acp.Text(text)},
		acp.ToolCallUpdate{ToolCallID: "call_1", Content: []acp.ToolCallContent{acp.ToolText(text)}},
		acp.ToolCall{ToolCallID: "call_1", Content: []acp.ToolCallContent{acp.ToolCallDiff{Path: "/a", OldText: acp.Some(text[:len(text)/2]), NewText: text[:len(text)/2+1]}}},
	} {
		if before := sizeOf(u); before <= longestUpdate {
			t.Fatalf("%T has only %d bytes", u, before)
		}
		if after := sizeOf(fitAll([]acp.SessionUpdate{u})[0]); after > longestUpdate {
			t.Errorf("%T still has %d bytes", u, after)
		}
	}
}
