package bridge

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestAFolderThatThePersonAddsIsUsedListedAndLoaded(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "there.txt", "found it\n")
	s := r.open(t)
	if err := s.SetMode(t.Context(), "auto"); err != nil {
		t.Fatal(err)
	}
	view := fmt.Sprintf(`[[call: view {"path":%q}]]`, filepath.Join(other, "there.txt"))
	_, live := prompt(t, s, view+fmt.Sprintf(`[[next]] [[call: add_root {"path":%q,"reason":"the library is there"}]]`, other)+view+`[[text: done]]`)
	calls := fold(live).Calls
	if calls[0].Status != acp.ToolCallFailed || calls[2].Status != acp.ToolCallCompleted || !strings.Contains(text(calls[2]), "found it") {
		t.Fatalf("before: %q, after: %q %q", calls[0].Status, calls[2].Status, text(calls[2]))
	}
	asked := r.client.questions()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked)) // in mode auto too
	}
	if shown := text(acp.ToolCall{Content: asked[0].ToolCall.Content}); !strings.Contains(shown, other) || !strings.Contains(shown, "the library is there") {
		t.Errorf("asked with %q", shown)
	}
	for _, o := range asked[0].Options {
		if o.Kind == acp.PermissionAllowAlways {
			t.Errorf("%q is offered", o.Name)
		}
	}
	if !strings.Contains(fold(live).text("agent"), "The session works in "+other+" too") {
		t.Errorf("it was not told: %q", fold(live).text("agent"))
	}

	list, err := r.ListSessions(t.Context(), acp.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 1 || len(list.Sessions[0].AdditionalDirectories) != 1 || list.Sessions[0].AdditionalDirectories[0] != other {
		t.Fatalf("listed %+v, %v", list.Sessions, err)
	}
	again := connectTo(t, r.store, r.folder, acp.ClientOptions{})
	load := again.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder, AdditionalDirectories: list.Sessions[0].AdditionalDirectories})
	loaded, err := load.Result()
	if err != nil {
		t.Fatal(err)
	}
	if _, updates := prompt(t, loaded, "read "+filepath.Join(other, "there.txt")); !strings.Contains(text(fold(updates).Calls[0]), "found it") {
		t.Errorf("after load: %+v", fold(updates).Calls)
	}
}

func TestAFolderThatThePersonRefusesIsNotAdded(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return pick(req, acp.PermissionRejectOnce)
	}
	s := r.open(t)
	prompt(t, s, fmt.Sprintf(`[[call: add_root {"path":%q,"reason":"all of it"}]] [[text: done]]`, "/"))
	if shown := text(acp.ToolCall{Content: r.client.questions()[0].ToolCall.Content}); !strings.Contains(shown, "This is the whole file system") {
		t.Errorf("asked with %q", shown)
	}
	list, err := r.ListSessions(t.Context(), acp.ListSessionsRequest{})
	if err != nil || len(list.Sessions[0].AdditionalDirectories) != 0 {
		t.Errorf("listed %+v, %v", list.Sessions, err)
	}
}
