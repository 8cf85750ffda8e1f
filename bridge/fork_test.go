package bridge

import (
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestAForkGoesOnFromItsParentWhichStaysAsItIs(t *testing.T) {
	r := connect(t, acp.ClientOptions{Options: acp.Options{Unstable: true}})
	if !r.Can("agentCapabilities.sessionCapabilities.fork") {
		t.Fatal("session/fork is not advertised")
	}
	s := r.open(t)
	prompt(t, s, "create a.txt: one")
	if err := s.SetMode(t.Context(), "edits"); err != nil {
		t.Fatal(err)
	}
	before := loaded(t, r, s.ID())
	child, err := r.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	if err != nil {
		t.Fatal(err)
	}
	if mode := child.State().Modes(); child.ID() == s.ID() || mode == nil || mode.CurrentModeID != "edits" {
		t.Fatalf("forked %s, mode %+v", child.ID(), mode)
	}
	prompt(t, child, `replace "one" with "two" in a.txt`)
	if got := read(t, r.folder+"/a.txt"); got != "two\n" {
		t.Errorf("the child made it %q", got)
	}
	if after := loaded(t, r, s.ID()); after.text("user") != before.text("user") || len(after.Calls) != len(before.Calls) {
		t.Errorf("the parent is %+v, it was %+v", after, before)
	}
	inChild := loaded(t, r, child.ID())
	if got, want := inChild.text("user"), before.text("user")+`replace "one" with "two" in a.txt`; got != want {
		t.Errorf("the child holds the prompts %q, want %q", got, want)
	}
	if inChild.Title != before.Title || inChild.Title == "" {
		t.Errorf("the child is called %q, the parent %q", inChild.Title, before.Title)
	}
	prompt(t, s, "help") // the parent goes on, too

	_, err = r.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionID: "sess_no", Cwd: r.folder})
	wantCode(t, "a fork of nothing", err, acp.CodeResourceNotFound)
	_, err = r.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionID: s.ID(), Cwd: r.folder, AdditionalDirectories: []string{"x"}})
	wantCode(t, "a fork with a relative folder", err, acp.CodeInvalidParams)
}

func TestAForkIsNotInterrupted(t *testing.T) {
	r := connect(t, acp.ClientOptions{Options: acp.Options{Unstable: true}})
	s := r.open(t)
	prompt(t, s, "help")
	turn := s.Prompt(t.Context(), acp.Text("run sleep 60"))
	running := make(chan struct{})
	go func() {
		for u := range turn.Updates() {
			if c, ok := u.(acp.ToolCallUpdate); ok && c.Status == acp.ToolCallInProgress {
				close(running)
			}
		}
	}()
	<-running
	child, err := r.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	if err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, r, child.ID()); len(got.Calls) != 0 || got.text("user") != "help" || strings.Contains(got.text("agent"), "ended during") {
		t.Errorf("the child holds %+v", got)
	}
	if err := s.Cancel(); err != nil {
		t.Fatal(err)
	}
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopCancelled {
		t.Errorf("the parent's turn ended with %q, %v", resp.StopReason, err)
	}
}

// loaded gives the view of another client that loads the session.
func loaded(t *testing.T, r *rig, id acp.SessionID) folded {
	t.Helper()
	second := connectTo(t, r.store, r.folder, acp.ClientOptions{})
	load := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: id, Cwd: r.folder})
	var updates []acp.SessionUpdate
	for u := range load.Updates() {
		updates = append(updates, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	return fold(updates)
}
