package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

var update = flag.Bool("update", false, "write the golden file")

// conversation has everything that a session can hold.
func conversation() []session.Data {
	old := "package main\n\nconst MaxSize = 10\n"
	return []session.Data{
		session.Created{Roots: []string{"/project", "/more"}, Mode: approval.ModeAsk, Model: "a/small"},
		session.TurnStarted{Turn: "t1", Message: "u1", Prompt: []session.Block{
			{Type: session.BlockText, Text: "Make the limit 20, see ```this```"},
			{Type: session.BlockFile, URI: "file:///project/notes.md", Text: "a note\n```\nwith a fence\n```\n"},
			{Type: session.BlockLink, URI: "file:///project/main.go", Name: "main.go"},
			{Type: session.BlockImage, MIMEType: "image/png", Data: []byte{1, 2, 3}},
		}},
		session.Titled{Title: "The limit", By: "prompt"},
		session.Notice{Message: "n1", Text: "The model\nis slow.", Severity: "warning"},
		session.MessageSaved{Message: "h1", Speaker: session.Thinking, Text: "I look </details> first.\n"},
		session.MessageDone{Message: "h1", Speaker: session.Thinking, Opaque: json.RawMessage(`{"signature":"s"}`)},
		session.MessageSaved{Message: "m1", Speaker: session.Assistant, Text: "I cha"},
		session.MessageSaved{Message: "m1", Speaker: session.Assistant, Text: "nge it.\n"},
		session.PlanChanged{Entries: []tool.PlanEntry{{Content: "change", Status: tool.PlanInProgress}, {Content: "check", Status: tool.PlanPending}}},
		session.CallRequested{Call: "call_1", Tool: "edit", Args: json.RawMessage(`{"path":"main.go"}`)},
		session.CallRequested{Call: "call_2", Tool: "run", Args: json.RawMessage(`{"command":"go build"}`)},
		session.CallRequested{Call: "call_3", Tool: "edit", Args: json.RawMessage(`{"path":"x","path":"y"}`)},
		session.CallPresented{Call: "call_1", Presentation: tool.Presentation{
			Class: approval.ClassEdit, Title: "Edit main.go", Kind: tool.KindEdit,
			Diffs: []tool.Diff{{Path: "/project/main.go", Old: &old, New: strings.Replace(old, "10", "20", 1)}, {Path: "/more/new.txt", New: "new\n"}},
		}},
		session.PermissionAsked{Call: "call_1", Digest: "d"},
		session.PermissionAnswered{Call: "call_1", Digest: "d", Answer: session.Allowed, Scope: approval.ScopeOnce, By: "zed"},
		session.CallStarted{Call: "call_1"},
		session.CallDone{Call: "call_1", Status: session.CallCompleted, Result: tool.Result{Text: "changed"}},
		session.CallPresented{Call: "call_2", Presentation: tool.Presentation{Title: "go build", Kind: tool.KindExecute, Command: &tool.CommandView{Line: "go build", Dir: "/project"}}},
		session.CallStarted{Call: "call_2"},
		session.CallDone{Call: "call_2", Status: session.CallFailed, Result: tool.Result{Text: "main.go:1: broken\n", Failed: true}},
		session.CallDone{Call: "call_3", Status: session.CallFailed, Result: tool.Failure("There is no such file.\nLook first.")},
		session.CallRequested{Call: "call_5", Tool: "issues_close", Args: json.RawMessage(`{"number":7}`)},
		session.CallPresented{Call: "call_5", Presentation: tool.Presentation{Title: "Close 7", Request: &tool.RequestView{Server: "issues", Tool: "close", Args: json.RawMessage(`{"number":7}`)}}},
		session.CallDone{Call: "call_5", Status: session.CallRefused, Result: tool.Failure("The person refused this.")},
		session.CallRequested{Call: "call_6", Tool: "submit_plan", Args: json.RawMessage(`{"plan":"First this."}`)},
		session.CallPresented{Call: "call_6", Presentation: tool.Presentation{Title: "Work on the plan", Plan: &tool.PlanView{Text: "First this."}}},
		session.CallDone{Call: "call_6", Status: session.CallCompleted, Result: tool.Result{Text: "The plan is approved."}},
		session.QuestionAnswered{Call: "call_7", Answers: tool.Answers{Outcome: tool.Put}, Message: "q", Text: "What is it called?"},
		session.PlanChanged{Entries: []tool.PlanEntry{{Content: "change", Status: tool.PlanCompleted}, {Content: "check", Status: tool.PlanInProgress}}},
		session.UsageRecorded{Model: "a/small", Usage: model.Usage{Input: 1200, Output: 34}},
		session.Steered{Turn: "t1", Message: "u2", Prompt: []session.Block{{Type: session.BlockText, Text: "and stop"}}},
		session.CallRequested{Call: "call_4", Tool: "run", Args: json.RawMessage(`{"command":"sleep 9"}`)},
		session.TurnEnded{Turn: "t1", Reason: session.StopCancelled, Usage: model.Usage{Input: 1200, Output: 34}},
		session.TurnStarted{Turn: "t2", Message: "u3", Command: "status", Prompt: []session.Block{{Type: session.BlockText, Text: "/status"}}},
		session.CommandAnswered{Message: "c1", Text: "- session: `x`"},
		session.TurnEnded{Turn: "t2", Reason: session.StopEndTurn},
		session.Configured{Model: "b/large", Mode: approval.ModeEdits},
		session.Rooted{Roots: []string{"/project"}},
		session.CompactionStarted{ID: "k1"},
		session.CompactionEnded{ID: "k1", Status: session.CompactionCompleted, Summary: "The limit was changed."},
		session.CompactionEnded{ID: "k2", Status: session.CompactionFailed, Error: "The conversation could not be shortened."},
		session.Cleared{},
		session.Forked{Parent: "sess_0", Seq: 35},
		session.TurnStarted{Turn: "t3", Message: "u4", Prompt: []session.Block{{Type: session.BlockText, Text: "go on"}}},
		session.Unknown{Name: "future.kind", Raw: []byte(`{"x":[1,2]}`)},
		session.TurnEnded{Turn: "t3", Reason: session.StopFailed, Error: "The provider is down."},
	}
}

func numbered(data []session.Data) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		begun := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		for i, d := range data {
			if !yield(session.Event{Session: "sess_a", Seq: int64(i + 1), Time: begun.Add(time.Duration(i) * time.Second), Data: d}, nil) {
				return
			}
		}
	}
}

func TestATranscriptReadsAsTheConversationWent(t *testing.T) {
	var got bytes.Buffer
	if err := Write(&got, Markdown, numbered(conversation())); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "transcript.md")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("the transcript is\n%s\nwant\n%s", got.String(), want)
	}
}

func TestJSONLinesHoldEveryEventCompletely(t *testing.T) {
	data := conversation()
	var out bytes.Buffer
	if err := Write(&out, JSONL, numbered(data)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	var header Header
	if err := json.Unmarshal(lines.Bytes(), &header); err != nil || header != (Header{"wherry.session", 1, "sess_a"}) {
		t.Errorf("the header is %s, %v", lines.Bytes(), err)
	}
	for i, d := range data {
		lines.Scan()
		var line struct {
			Seq  int64
			Time time.Time
			Kind session.Kind
			Data json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		want, err := session.MarshalData(d)
		if err != nil {
			t.Fatal(err)
		}
		if line.Seq != int64(i+1) || line.Kind != d.Kind() || line.Time.Second() != i%60 || !bytes.Equal(line.Data, want) {
			t.Errorf("line %d is %s", i+2, lines.Bytes())
		}
	}
	if lines.Scan() {
		t.Errorf("and there is %s", lines.Bytes())
	}
}

func TestABrokenLogIsAnErrorAndNotAShortTranscript(t *testing.T) {
	broken := errors.New("broken")
	for _, format := range []Format{Markdown, JSONL} {
		err := Write(&bytes.Buffer{}, format, func(yield func(session.Event, error) bool) {
			for e := range numbered(conversation()[:3]) {
				yield(e, nil)
			}
			yield(session.Event{}, broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", format, err)
		}
		if err := Write(&bytes.Buffer{}, format, numbered(nil)); err == nil {
			t.Errorf("%s: a session without events was written", format)
		}
	}
}

func TestFormatsAreKnownByName(t *testing.T) {
	for name, want := range map[string]Format{"md": Markdown, "Markdown": Markdown, "JSONL": JSONL, "html": "", "": ""} {
		if got, err := ParseFormat(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}
