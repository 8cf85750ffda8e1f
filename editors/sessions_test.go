//go:build unix

package editors

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

func TestASessionIsTitledByItsFirstPromptAndListed(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.openIn(d.home) // of another folder
		d.say(s, "Where is the ferry? [[text: here]]")
		if title := s.State().Title(); title != "Where is the ferry? [[text: here]]" {
			t.Errorf("the title is %q", title)
		}
		d.dir = d.folder // what is listed depends neither on who is running nor on where it was started
		d.restart()
		list, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: d.folder})
		if err != nil || len(list.Sessions) != 1 {
			t.Fatalf("%d sessions, %v", len(list.Sessions), err)
		}
		if got := list.Sessions[0]; got.SessionID != s.ID() || got.Cwd != d.folder || got.Title == "" || got.UpdatedAt == "" {
			t.Errorf("listed is %+v", got)
		}
		all, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{})
		if err != nil || len(all.Sessions) != 2 {
			t.Errorf("without a folder %d sessions are listed, %v", len(all.Sessions), err)
		}
		for _, info := range all.Sessions {
			if !filepath.IsAbs(info.Cwd) {
				t.Errorf("the folder of %s is %q", info.SessionID, info.Cwd)
			}
		}
	})
}

// view is what a person sees of a session.
func view(s *acp.Session) []string {
	var all []string
	for _, e := range s.State().Entries(0) {
		switch e := e.(type) {
		case acp.MessageEntry:
			id := e.MessageID
			if e.Role == acp.MessageUser {
				id = "" // the editor that sent it has given it none
			}
			all = append(all, string(rune('0'+e.Role))+" "+string(id)+" "+e.Text())
		case acp.ToolCallEntry:
			line := string(e.Call.Kind) + " " + e.Call.Title + " " + string(e.Call.Status)
			for _, d := range diffs(e.Call.Content) {
				line += " " + d.Path + ": " + d.NewText
			}
			for _, l := range e.Call.Locations {
				line += " at " + l.Path
			}
			all = append(all, line)
		}
	}
	return all
}

func TestALoadedSessionLooksAsItDidAndGoesOn(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, map[string]string{"a.txt": "old words\n"})
		s := d.open()
		d.say(s, `[[thought: hm]] [[text: I look.]] [[call: view {"path":"a.txt"}]] [[call: edit {"path":"a.txt","edits":[{"old":"old","new":"new"}]}]] [[text: done]]`)
		d.answers(acp.PermissionRejectOnce)
		d.say(s, `[[anew]] [[call: run {"command":"rm a.txt"}]] [[text: as you like]]`)
		before := view(s)

		d.restart()
		s, _ = d.load(s.ID())
		after := view(s)
		if !slices.Equal(after, before) {
			t.Errorf("before:\n%q\nafter:\n%q", before, after)
		}
		if len(before) < 8 {
			t.Errorf("only %q is shown", before)
		}
		if n := len(d.questions()); n != 2 {
			t.Errorf("%d questions; loading asks nothing", n)
		}
		if _, updates := d.say(s, "[[anew]] [[text: going on]]"); spoken(updates) != "going on" {
			t.Errorf("it goes on with %q", spoken(updates))
		}
	})
}

func TestAClosedSessionIsStoppedAndKeptADeletedOneIsGone(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		closed := make(chan error, 1)
		turn := s.Prompt(t.Context(), acp.Text(`[[call: run {"command":"sleep 60"}]] [[text: never]]`))
		for u := range turn.Updates() {
			if c, ok := u.(acp.ToolCallUpdate); ok && c.Status == acp.ToolCallInProgress {
				go func() { closed <- s.Close(t.Context()) }()
			}
		}
		if result, err := turn.Result(); err != nil || result.StopReason != acp.StopCancelled {
			t.Errorf("the turn of the closed session ended with %q, %v", result.StopReason, err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}

		again, _ := d.load(s.ID())
		if got := lastCall(t, again).Status; got != acp.ToolCallFailed {
			t.Errorf("the command that was running is %s", got)
		}
		if err := d.DeleteSession(t.Context(), s.ID()); err != nil {
			t.Error(err)
		}
		_, err := d.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: d.folder}).Result()
		var refused *acp.RequestError
		if !errors.As(err, &refused) || refused.Code != -32002 {
			t.Errorf("loading the deleted session: %v", err)
		}
	})
}

func TestAForkGoesOnFromWhatItsParentHeldAndLeavesItAsItWas(t *testing.T) {
	d := sit(t, zed(), nil)
	s := d.open()
	d.say(s, "Remember the ferry. [[text: I do]]")
	fork, err := d.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionID: s.ID(), Cwd: d.folder})
	if err != nil {
		t.Fatal(err)
	}
	if fork.ID() == s.ID() {
		t.Error("the fork has its parent's id")
	}
	d.say(fork, "[[anew]] [[text: in the fork]]")
	if body := string(d.model.Last().Body); !strings.Contains(body, "Remember the ferry.") {
		t.Error("the model is not told what was said before the fork")
	}
	d.say(s, "[[anew]] [[text: in the parent]]")
	if body := string(d.model.Last().Body); strings.Contains(body, "in the fork") {
		t.Error("the parent knows what was said in the fork")
	}
}

func TestFurtherFoldersAreOpenToTheModelAndListed(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		more := realFolder(t)
		s, err := d.NewSession(t.Context(), acp.NewSessionRequest{Cwd: d.folder, AdditionalDirectories: []string{more}, MCPServers: p.servers})
		if err != nil {
			t.Fatal(err)
		}
		d.say(s, `[[call: list {"path":`+quoted(more)+`}]] [[text: done]]`)
		if call := lastCall(t, s); call.Status != acp.ToolCallCompleted {
			t.Errorf("the call is %s: %q", call.Status, shown(call))
		}
		list, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: d.folder})
		if err != nil || len(list.Sessions) != 1 || !slices.Equal(list.Sessions[0].AdditionalDirectories, []string{more}) {
			t.Errorf("listed is %+v, %v", list.Sessions, err)
		}
	})
}

func TestAfterTheFirstAnswerTheModelNamesTheSession(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		d.titles = "model"
		d.restart()
		s := d.open()
		d.say(s, "Where is the ferry? [[text: here]]")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		const named = "ok" // what the double says to whatever offers no tools
		if d.wire.await(ctx, func(f frame) bool { return f.text("title") == named && isUpdate(f, s.ID()) }) < 0 {
			t.Errorf("the title is %q", s.State().Title())
		}
		list, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: d.folder})
		if err != nil || len(list.Sessions) != 1 || list.Sessions[0].Title != named {
			t.Errorf("listed is %+v, %v", list.Sessions, err)
		}
		d.say(s, "/rename The crossing")
		d.say(s, "[[anew]] [[text: still here]]")
		if title := s.State().Title(); title != "The crossing" {
			t.Errorf("the person's title became %q", title)
		}
	})
}
