package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wherry-acp/wherry/acp"
)

// viewOf is a session as a client shows it, a line an entry and a part.
func viewOf(t *testing.T, s *acp.SessionState) []string {
	t.Helper()
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	var out []string
	for _, e := range s.Entries(0) {
		switch e := e.(type) {
		case acp.MessageEntry:
			id := string(e.MessageID)
			if e.Role == acp.MessageUser {
				id = "" // a client shows its own prompt before it has one
			}
			out = append(out, fmt.Sprintf("%s %s: %s", e.Role, id, e.Text()))
		case acp.ToolCallEntry:
			update, err := acp.MarshalSessionUpdate(e.Call)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(update))
		case acp.CompactionEntry:
			out = append(out, fmt.Sprintf("compaction %s %s %s %s", e.CompactionID, e.Status, e.Error, e.Text()))
		case acp.NoticeEntry: // of the moment
		default:
			t.Errorf("what is a %T?", e)
		}
	}
	var options []string
	for _, o := range s.ConfigOptions() {
		options = append(options, fmt.Sprintf("%s=%v", o.ID, o.Kind.(acp.SessionConfigSelect).CurrentValue))
	}
	mode := ""
	if m := s.Modes(); m != nil {
		mode = string(m.CurrentModeID)
	}
	plan := ""
	if p := s.Plan(); p != nil {
		plan = text(p.Entries)
	}
	usage := ""
	if u := s.Usage(); u != nil {
		usage = fmt.Sprintf("%d of %d", u.Used, u.Size)
	}
	return append(out, "title "+s.Title(), "mode "+mode, "options "+strings.Join(options, " "), "plan "+plan, "usage "+usage)
}

// everythingSaid is a conversation with whatever can happen in one.
var everythingSaid = []string{
	`Look around. [[restart-ids]] [[thought: where to begin]] [[text: I look. ]] [[call: view {"path":"main.go"}]] [[call: list {}]] [[thought: now I know]] [[text: It is Go.]] [[usage 900 40]]`,
	`Change it. [[restart-ids]] [[call: plan {"entries":[{"content":"change","status":"in_progress"},{"content":"check"}]}]] [[call: edit {"path":"main.go","edits":[{"old":"10","new":"20"}]}]] [[call: create {"path":"new.txt","content":"hello\n"}]] [[text: Done.]]`,
	`Run it. [[restart-ids]] [[call: run {"command":"echo out; echo err >&2; exit 3"}]] [[call: run {"command":"printf 'a\\nb\\n'"}]] [[text: It fails.]]`,
	`Try that. [[restart-ids]] [[call: create {"path":"rejected.txt","content":"no"}]] [[call: view {"path":"missing.txt"}]] [[call: nonsense {"x":1}]] [[call-raw: view not json]] [[call: search {"text":"MaxSize"}]] [[text: Some of it.]]`,
	`Break. [[text: I begin]] [[status 400]]`,
	`Fail. [[status 400 always]]`,
	`/status`,
	`/rename What we call it`,
	`/mode edits`,
	`Long. [[text: I run it.]] [[call: run {"command":"sleep 60"}]]`,
	`/plan`,
}

var afterClear = []string{
	`/clear`,
	`Anew. [[restart-ids]] [[text: A fresh start.]] [[call: plan {"entries":[{"content":"second plan","status":"completed"}]}]] [[call: view {"path":"main.go","from":1,"lines":2}]] [[text: The end.]]`,
}

// converse says each of the prompts; one that says "Long." is cancelled when its command runs.
func converse(t *testing.T, s *acp.Session, prompts []string) {
	t.Helper()
	for _, text := range prompts {
		turn := s.Prompt(t.Context(), acp.Text(text))
		for u := range turn.Updates() {
			if c, ok := u.(acp.ToolCallUpdate); ok && c.Status == acp.ToolCallInProgress && strings.HasPrefix(text, "Long.") {
				if err := s.Cancel(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := turn.Result(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestALoadedSessionLooksAsItDidWhenItWasLeft(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		if strings.Contains(req.ToolCall.Title, "rejected") {
			return pick(req, acp.PermissionRejectOnce)
		}
		return pick(req, acp.PermissionAllowOnce)
	}
	write(t, r.folder, "main.go", "package main\n\n// MaxSize is the limit of one message.\nconst MaxSize = 10\n")
	s := r.open(t)
	converse(t, s, everythingSaid)
	if _, err := s.SetConfigOption(t.Context(), "busy", acp.SessionConfigValueID("steer")); err != nil {
		t.Fatal(err)
	}
	look := func(what string) []string {
		t.Helper()
		second := connectTo(t, r.store, r.folder, acp.ClientOptions{})
		loaded, err := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder}).Result()
		if err != nil {
			t.Fatal(err)
		}
		was, is := viewOf(t, s.State()), viewOf(t, loaded.State())
		// The second client knows other models; what is chosen is the same.
		if d := cmp.Diff(was, is); d != "" {
			t.Errorf("%s: left (-) and loaded (+) differ:\n%s", what, d)
		}
		return is
	}
	got := look("all of it")
	for _, want := range []string{
		"thought msg_", "It is Go.", `"status":"failed"`, `"type":"diff"`, "What we call it", "mode edits", "busy=steer", `"content":"check"`, "/status", "exit", "usage 9",
	} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("the conversation is too poor to compare: there is no %q", want)
		}
	}
	ids := map[string]bool{}
	for _, e := range s.State().Entries(0) {
		if c, ok := e.(acp.ToolCallEntry); ok {
			if ids[string(c.Call.ToolCallID)] {
				t.Errorf("two calls are called %s", c.Call.ToolCallID)
			}
			ids[string(c.Call.ToolCallID)] = true
		}
	}
	if len(ids) < 13 {
		t.Errorf("%d calls", len(ids))
	}

	converse(t, s, afterClear)
	got = look("after /clear")
	if last := strings.Join(got[len(got)-12:], "\n"); !strings.Contains(last, "begins anew") || !strings.Contains(last, "The end.") || !strings.Contains(last, "second plan") || strings.Contains(last, `"content":"check"`) {
		t.Errorf("after /clear the end is\n%s", last)
	}
	items := r.double.Last().Items
	if !strings.HasPrefix(items[0].Text, "Anew.") {
		t.Errorf("after /clear the model gets %.80q first", items[0].Text)
	}
}
