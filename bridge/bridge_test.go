package bridge

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wherry-acp/wherry/acp"
)

func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAnEditIsAnnouncedAskedForWithItsDiffAndThenDone(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	path := write(t, r.folder, "a.txt", "one\ntwo\n")
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		if got := read(t, path); got != "one\ntwo\n" {
			t.Errorf("the file was changed before the answer: %q", got)
		}
		return pick(req, acp.PermissionAllowOnce)
	}
	s := r.open(t)
	resp, updates := prompt(t, s, `replace "two" with "three" in a.txt`)
	if resp.StopReason != acp.StopEndTurn {
		t.Errorf("stopped by %q", resp.StopReason)
	}
	if got := read(t, path); got != "one\nthree\n" {
		t.Errorf("the file is %q", got)
	}
	asked := r.client.questions()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	want := acp.ToolCallDiff{Path: path, OldText: acp.Some("one\ntwo\n"), NewText: "one\nthree\n"}
	if diff, ok := asked[0].ToolCall.Content[0].(acp.ToolCallDiff); !ok || diff.Path != want.Path || diff.NewText != want.NewText ||
		diff.OldText != want.OldText {
		t.Errorf("asked with %+v", asked[0].ToolCall.Content)
	}
	var states []string
	for _, u := range updates {
		switch u := u.(type) {
		case acp.ToolCall:
			if u.ToolCallID == asked[0].ToolCall.ToolCallID {
				states = append(states, "announced "+string(u.Status)+" "+string(u.Kind))
				if len(u.RawInput) == 0 || len(u.Locations) == 0 || u.Locations[0].Path != path {
					t.Errorf("announced without input or location: %+v", u)
				}
			}
		case acp.ToolCallUpdate:
			if u.ToolCallID == asked[0].ToolCall.ToolCallID {
				states = append(states, string(u.Status))
			}
		}
	}
	if got := strings.Join(states, ", "); got != "announced pending edit, in_progress, completed" {
		t.Errorf("the call went through: %s", got)
	}
	calls := fold(updates).Calls
	last := calls[len(calls)-1]
	if _, ok := last.Content[0].(acp.ToolCallDiff); !ok {
		t.Errorf("completed, the diff is gone: %+v", last.Content)
	}
}

func TestAllowedForTheSessionAsksOnceAndRejectedLeavesNothing(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return pick(req, acp.PermissionAllowAlways)
	}
	s := r.open(t)
	prompt(t, s, "create a.txt: one")
	prompt(t, s, "create b.txt: two")
	if n := len(r.client.questions()); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if name := r.client.questions()[0].Options[1].Name; name != "Allow every write this session" {
		t.Errorf("the second option is %q", name)
	}
	r.client.mu.Lock()
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return pick(req, acp.PermissionRejectOnce)
	}
	r.client.mu.Unlock()
	_, updates := prompt(t, r.open(t), "create c.txt: three")
	if _, err := os.Stat(filepath.Join(r.folder, "c.txt")); err == nil {
		t.Error("a rejected file was created")
	}
	calls := fold(updates).Calls
	if last := calls[len(calls)-1]; last.Status != acp.ToolCallFailed {
		t.Errorf("the rejected call ended as %q", last.Status)
	}
}

// TestWhatIsLoadedIsWhatWasSeenLive compares the client's view after a live session with its view after session/load.
func TestWhatIsLoadedIsWhatWasSeenLive(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	write(t, r.folder, "main.go", "package main\n\n// MaxSize is the limit of one message.\nconst MaxSize = 10\n")
	s := r.open(t)
	var live []acp.SessionUpdate
	for _, text := range []string{
		"Where is the message limit set?", "plan: look; change; check", `replace "10" with "20" in main.go`,
		"create new.txt: hello", "run echo out; echo err >&2; exit 3", "read missing.txt", "search nothinglikethis",
	} {
		live = append(live, acp.UserMessageChunk{Content: acp.Text(text)})
		_, updates := prompt(t, s, text)
		live = append(live, updates...)
	}
	second := connectTo(t, r.store, r.folder, acp.ClientOptions{})
	load := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	want, got := fold(live), fold(replayed)
	// The client knows its own prompts without ids.
	users := func(f *folded) (texts string) {
		texts = f.text("user")
		f.Messages = slices.DeleteFunc(f.Messages, func(m string) bool { return strings.HasPrefix(m, "user ") })
		return texts
	}
	if w, g := users(&want), users(&got); w != g {
		t.Errorf("the prompts replayed are %q, they were %q", g, w)
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(
		acp.ToolCall{}, acp.ToolCallDiff{}, acp.ToolCallBlock{}, acp.TextContent{}, acp.ToolCallLocation{}, acp.PlanEntry{}),
		cmp.Comparer(func(a, b acp.Opt[string]) bool { return a == b }),
		cmp.Comparer(func(a, b acp.Opt[uint32]) bool { return a == b }),
	); d != "" {
		t.Errorf("live (-) and loaded (+) differ:\n%s", d)
	}
	if len(got.Calls) < 8 || len(got.Plan) != 3 || got.Title == "" {
		t.Errorf("the session is too poor to compare: %d calls, %d tasks, title %q", len(got.Calls), len(got.Plan), got.Title)
	}
}

func TestSessionsAreListedByFolderClosedAndDeleted(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	s := r.open(t)
	prompt(t, s, "help")
	page, err := r.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: r.folder})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].SessionID != s.ID() || page.Sessions[0].Title != "help" {
		t.Fatalf("listed %+v, %v", page.Sessions, err)
	}
	if page, err = r.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: "/elsewhere"}); err != nil || len(page.Sessions) != 0 {
		t.Errorf("elsewhere are %+v, %v", page.Sessions, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.Prompt(t.Context(), acp.Text("help")).Result()
	wantCode(t, "a prompt to a closed session", err, acp.CodeResourceNotFound)
	for range 2 {
		if err := r.DeleteSession(t.Context(), s.ID()); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	_, err = r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder}).Result()
	wantCode(t, "loading a deleted session", err, acp.CodeResourceNotFound)
}

func wantCode(t *testing.T, what string, err error, code acp.ErrorCode) {
	t.Helper()
	var answer *acp.RequestError
	if !errors.As(err, &answer) || answer.Code != code {
		t.Errorf("%s: %v, want code %d", what, err, code)
	}
}

func TestBadFoldersAndModesAreRefusedByName(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	file := write(t, r.folder, "file", "")
	for name, req := range map[string]acp.NewSessionRequest{
		"cwd: ":                      {Cwd: "relative"},
		"/does/not/exist":            {Cwd: "/does/not/exist"},
		"is not a folder":            {Cwd: file},
		"additionalDirectories[0]: ": {Cwd: r.folder, AdditionalDirectories: []string{"relative"}},
	} {
		_, err := r.NewSession(t.Context(), req)
		wantCode(t, name, err, acp.CodeInvalidParams)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not say %q", err, name)
		}
	}
	s := r.open(t)
	wantCode(t, "an unknown mode", s.SetMode(t.Context(), "yolo"), acp.CodeInvalidParams)
	if err := s.SetMode(t.Context(), "ask"); err != nil {
		t.Errorf("the current mode again: %v", err)
	}
	if err := s.SetMode(t.Context(), "off"); err != nil {
		t.Fatal(err)
	}
	_, updates := prompt(t, s, "create a.txt: no")
	if len(r.client.questions()) != 0 {
		t.Error("mode off asks")
	}
	calls := fold(updates).Calls
	if last := calls[len(calls)-1]; last.Status != acp.ToolCallFailed {
		t.Errorf("in mode off the call ended as %q", last.Status)
	}
}

func TestAnOptionThatWasNotOfferedAllowsNothing(t *testing.T) {
	for _, id := range []acp.PermissionOptionID{optionSession, "yes", ""} { // the first is offered for edits only
		r := connect(t, acp.ClientOptions{})
		r.client.answer = func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
			return acp.SelectedPermissionOutcome{OptionID: id}
		}
		s := r.open(t)
		for _, text := range []string{"run touch ran", "create .git/hooks/x: hi"} {
			prompt(t, s, text)
		}
		for _, name := range []string{"ran", ".git/hooks/x"} {
			if _, err := os.Stat(filepath.Join(r.folder, name)); err == nil {
				t.Errorf("%q: %s was made", id, name)
			}
		}
	}
}

func TestAFailedLoadChangesNothingAndAGoodOneLetsTheTurnGoOn(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	s := r.open(t)
	if err := s.SetMode(t.Context(), "auto"); err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("run echo begun > begun; until test -e go; do sleep 0.02; done; echo done > done"))
	go func() {
		for range turn.Updates() {
		}
	}()
	for {
		if _, err := os.Stat(filepath.Join(r.folder, "begun")); err == nil {
			break
		}
		runtime.Gosched()
	}
	for name, req := range map[string]acp.LoadSessionRequest{
		"cwd":                      {SessionID: s.ID(), Cwd: "/does/not/exist"},
		"additionalDirectories[0]": {SessionID: s.ID(), Cwd: r.folder, AdditionalDirectories: []string{"/does/not/exist"}},
	} {
		err := r.CallExtension(t.Context(), "_unknown", nil, nil) // the connection is fine
		wantCode(t, "an unknown extension", err, acp.CodeMethodNotFound)
		_, err = r.ResumeSession(t.Context(), acp.ResumeSessionRequest{
			SessionID: req.SessionID, Cwd: req.Cwd, AdditionalDirectories: req.AdditionalDirectories,
		})
		wantCode(t, name, err, acp.CodeInvalidParams)
		if err != nil && !strings.Contains(err.Error(), name+":") {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	if _, err := r.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionID: s.ID(), Cwd: r.folder}); err != nil {
		t.Errorf("resume in the middle of a turn: %v", err)
	}
	write(t, r.folder, "go", "")
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopEndTurn {
		t.Errorf("the turn ended with %q, %v", resp.StopReason, err)
	}
	if got := read(t, filepath.Join(r.folder, "done")); got != "done\n" {
		t.Errorf("the command wrote %q", got)
	}
}

func TestTwoSessionsInTwoFoldersDoNotMix(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	other := connectTo(t, r.store, t.TempDir(), acp.ClientOptions{})
	first := r.open(t)
	second, err := r.NewSession(t.Context(), acp.NewSessionRequest{Cwd: other.folder})
	if err != nil {
		t.Fatal(err)
	}
	write(t, r.folder, "here.txt", "secret of the first\n")
	write(t, other.folder, "there.txt", "secret of the second\n")
	turns := []*acp.Turn{
		first.Prompt(t.Context(), acp.Text("search secret")), second.Prompt(t.Context(), acp.Text("search secret")),
	}
	for i, turn := range turns {
		var seen strings.Builder
		for u := range turn.Updates() {
			data, err := acp.MarshalSessionUpdate(u)
			if err != nil {
				t.Fatal(err)
			}
			seen.Write(data)
		}
		if _, err := turn.Result(); err != nil {
			t.Fatal(err)
		}
		own, foreign := "of the first", "of the second"
		if i == 1 {
			own, foreign = foreign, own
		}
		if !strings.Contains(seen.String(), own) || strings.Contains(seen.String(), foreign) {
			t.Errorf("session %d saw %s", i, seen.String())
		}
	}
}

func TestThePersonsReasonReachesTheModel(t *testing.T) {
	meta, err := acp.NewMeta(map[string]any{"wherry": map[string]string{"reason": "wrong file"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, nobody := note(meta); got != "wrong file" || nobody {
		t.Errorf("the note is %q", got)
	}
	if got, _ := note(acp.Meta(json.RawMessage(`{"other":1}`))); got != "" {
		t.Errorf("a note from nowhere: %q", got)
	}
}
