//go:build unix

package bridge

import (
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestACommandOverItsLimitFailsNamingItAndTheTurnGoesOn(t *testing.T) {
	for args, want := range map[string]string{
		`{"command":"echo begun; sleep 60","timeout":1}`: "timed out after 1s",
		`{"command":"echo begun; sleep 60","quiet":1}`:   "wrote nothing for 1s",
	} {
		r := connectScripted(t, acp.ClientOptions{})
		resp, updates := prompt(t, r.open(t), "[[call: run "+args+"]] [[text: on it goes]]")
		f := fold(updates)
		if resp.StopReason != acp.StopEndTurn || !strings.Contains(f.text("agent"), "on it goes") {
			t.Errorf("%s: %+v, %q", args, resp, f.text("agent"))
		}
		if call := f.Calls[0]; call.Status != acp.ToolCallFailed || !strings.Contains(text(call), want) || !strings.Contains(text(call), "begun") {
			t.Errorf("%s: the call is %s and shows %q", args, call.Status, text(call))
		}
		if told := r.told(t); !strings.Contains(told, want) || !strings.Contains(told, "begun") {
			t.Errorf("%s: the model was told %q", args, told)
		}
	}
}

func TestASessionThatIsDeletedInTheMiddleOfATurnIsStoppedAndGone(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	s, kept := r.open(t), r.open(t)
	turn := s.Prompt(t.Context(), acp.Text(`[[call: run {"command":"echo $$ > pid; sleep 60"}]] [[text: never]]`))
	deleted := make(chan error, 1)
	for u := range turn.Updates() {
		if c, ok := u.(acp.ToolCallUpdate); ok && c.Status == acp.ToolCallInProgress {
			go func() { deleted <- r.DeleteSession(t.Context(), s.ID()) }()
		}
	}
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopCancelled {
		t.Errorf("its turn ended with %q, %v", resp.StopReason, err)
	}
	if err := <-deleted; err != nil {
		t.Errorf("delete: %v", err)
	}
	if pid := pidIn(r.rig); pid != 0 {
		if left := group(t, pid); len(left) > 0 {
			t.Errorf("of its command there are still %v", left)
		}
	}
	page, err := r.ListSessions(t.Context(), acp.ListSessionsRequest{})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].SessionID != kept.ID() {
		t.Errorf("listed are %+v, %v", page.Sessions, err)
	}
	_, err = r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder}).Result()
	wantCode(t, "loading it", err, acp.CodeResourceNotFound)
	if resp, _ := prompt(t, kept, "[[text: fine]]"); resp.StopReason != acp.StopEndTurn {
		t.Errorf("the other session: %+v", resp)
	}
}

func TestTheIDThatMakesASessionIsTheOneEverythingElseTakes(t *testing.T) {
	r := connect(t, acp.ClientOptions{Options: acp.Options{Unstable: true}})
	made := r.open(t)
	prompt(t, made, "help")
	fork, err := r.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionID: made.ID(), Cwd: r.folder})
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: r.folder})
	if err != nil || len(page.Sessions) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	listed := map[acp.SessionID]bool{}
	for _, info := range page.Sessions {
		listed[info.SessionID] = true
	}
	for _, s := range []*acp.Session{made, fork} {
		if !listed[s.ID()] {
			t.Errorf("%s is not listed: %v", s.ID(), listed)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("close %s: %v", s.ID(), err)
		}
		again, err := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder}).Result()
		if err != nil {
			t.Errorf("load %s: %v", s.ID(), err)
			continue
		}
		prompt(t, again, "help")
		if _, err := r.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionID: s.ID(), Cwd: r.folder}); err != nil {
			t.Errorf("resume %s: %v", s.ID(), err)
		}
		if err := r.DeleteSession(t.Context(), s.ID()); err != nil {
			t.Errorf("delete %s: %v", s.ID(), err)
		}
	}
	if page, err = r.ListSessions(t.Context(), acp.ListSessionsRequest{}); err != nil || len(page.Sessions) != 0 {
		t.Errorf("left are %+v, %v", page.Sessions, err)
	}
}
