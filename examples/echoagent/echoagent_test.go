package main

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

// start serves an agent on the state folder to a client whose files and terminals are those of a fresh folder.
func start(t *testing.T, state string) (remote *acp.RemoteAgent, dir string) {
	t.Helper()
	a, err := newAgent(state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	dir = t.TempDir()
	files, err := clienthost.NewFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	terminals := &clienthost.Terminals{}
	t.Cleanup(func() { _ = terminals.Close() })
	allow := func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[0].OptionID}}, nil
	}
	remote, end, err := acptest.Connect(t.Context(), a, nil, &acp.ClientOptions{Files: files, Terminals: terminals, Permission: acp.PermissionFunc(allow)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return remote, dir
}

func prompt(t *testing.T, s *acp.Session, text string) []acp.SessionUpdate {
	t.Helper()
	var all []acp.SessionUpdate
	turn := s.Prompt(t.Context(), acp.Text(text))
	for u := range turn.Updates() {
		all = append(all, u)
	}
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopEndTurn {
		t.Fatalf("%s: %v, %v", text, r.StopReason, err)
	}
	return all
}

func TestASessionIsLoadedAsItWasShown(t *testing.T) {
	state := t.TempDir()
	remote, dir := start(t, state)
	session, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.SetMode(t.Context(), "loud"); err != nil {
		t.Fatal(err)
	}
	var live []acp.SessionUpdate
	for _, text := range []string{"hello you", "write f.txt text", "read f.txt", "run exit 3", "plan"} {
		live = append(live, prompt(t, session, text)...)
	}

	again, _ := start(t, state)
	list, err := again.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: dir})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Title != "hello you" {
		t.Fatalf("%+v, %v", list, err)
	}
	load := again.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: list.Sessions[0].SessionID, Cwd: dir})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		switch u.(type) {
		case acp.UserMessageChunk, acp.CurrentModeUpdate: // what the client did itself
		default:
			replayed = append(replayed, u)
		}
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(replayed, live) {
		t.Errorf("live    %d updates: %+v\nreplayed %d updates: %+v", len(live), live, len(replayed), replayed)
	}
}

func TestACancelledCountStops(t *testing.T) {
	remote, dir := start(t, t.TempDir())
	session, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	turn := session.Prompt(t.Context(), acp.Text("count 1000000"))
	for u := range turn.Updates() {
		if _, ok := u.(acp.AgentMessageChunk); ok {
			break
		}
	}
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
		t.Errorf("%v, %v", r.StopReason, err)
	}
	if got := prompt(t, session, "and on"); len(got) == 0 {
		t.Error("the session is dead after a cancel")
	}
}

func TestWhatDoesNotExistIsRefused(t *testing.T) {
	remote, dir := start(t, t.TempDir())
	for _, id := range []acp.SessionID{"none", "../x", ""} {
		_, err := remote.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: id, Cwd: dir}).Result()
		if !errors.Is(err, &acp.RequestError{Code: acp.CodeResourceNotFound}) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "relative"}); !errors.Is(err, &acp.RequestError{Code: acp.CodeInvalidParams}) {
		t.Errorf("%v", err)
	}
	session, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.SetMode(t.Context(), "quiet"); !errors.Is(err, &acp.RequestError{Code: acp.CodeInvalidParams}) {
		t.Errorf("%v", err)
	}
}

func TestTheAgentDoesWhatAnyAgentMust(t *testing.T) {
	acptest.TestAgent(t, func() acp.Agent {
		a, err := newAgent(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		return a
	}, &acptest.TestOptions{LongPrompt: []acp.ContentBlock{acp.Text("count 1000000")}})
}

func TestNothingIsWrongWithTheAgentsMethods(t *testing.T) {
	if err := acp.Check(&agent{}, nil); err != nil {
		t.Error(err)
	}
}
