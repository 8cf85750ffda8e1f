//go:build unix

package editors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestInModePlanNothingIsDoneBeforeThePlanIsApproved(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		if err := s.SetMode(t.Context(), "plan"); err != nil {
			t.Fatal(err)
		}
		d.say(s, `[[call: create {"path":"early.txt","content":"x"}]] [[text: done]]`)
		if asked := d.questions(); len(asked) != 0 || d.saved("early.txt") != "" {
			t.Errorf("before the plan: asked %d times, early.txt holds %q", len(asked), d.saved("early.txt"))
		}
		d.say(s, `[[anew]] [[call: submit_plan {"plan":"# The plan\n\nWrite the note.","entries":[{"content":"write"}]}]] [[text: done]]`)
		asked := d.questions()
		if len(asked) != 1 || !strings.Contains(shown(acp.ToolCall{Content: asked[0].ToolCall.Content}), "Write the note.") {
			t.Errorf("asked was %+v", asked)
		}
		d.barrier()
		if mode := string(s.State().Modes().CurrentModeID); mode != "ask" || chosen(s, "mode") != mode {
			t.Errorf("after the plan was approved the mode is %s, the option says %s", mode, chosen(s, "mode"))
		}
		d.say(s, `[[anew]] [[call: create {"path":"note.txt","content":"noted"}]] [[text: done]]`)
		if d.saved("note.txt") != "noted" {
			t.Errorf("note.txt holds %q", d.saved("note.txt"))
		}
	})
}

func TestAFurtherFolderIsAskedForAndStays(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		more := realFolder(t)
		s := d.open()
		call := `[[call: add_root {"path":` + quoted(more) + `,"reason":"to compare"}]] [[text: done]]`
		d.answers(acp.PermissionRejectOnce)
		d.say(s, call)
		if got := lastCall(t, s).Status; got != acp.ToolCallFailed {
			t.Errorf("the refused folder: %s", got)
		}
		d.answers(acp.PermissionAllowOnce)
		d.say(s, "[[anew]] "+call)
		asked := d.questions()
		if len(asked) != 2 || !strings.Contains(asked[1].ToolCall.Title+shown(acp.ToolCall{Content: asked[1].ToolCall.Content}), more) {
			t.Errorf("asked was %+v", asked)
		}
		d.say(s, `[[anew]] [[call: list {"path":`+quoted(more)+`}]] [[text: done]]`)
		if got := lastCall(t, s); got.Status != acp.ToolCallCompleted {
			t.Errorf("the folder is not open: %s", shown(got))
		}
		list, err := d.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: d.folder})
		if err != nil || len(list.Sessions) != 1 || len(list.Sessions[0].AdditionalDirectories) != 1 {
			t.Errorf("listed is %+v, %v", list.Sessions, err)
		}
	})
}

func TestAConversationIsWrittenIntoAFile(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, "Where is the ferry? [[text: on the river]]")
		_, updates := d.say(s, "/export md talk.md")
		if text := d.saved("talk.md"); !strings.Contains(text, "Where is the ferry?") || !strings.Contains(text, "on the river") {
			t.Errorf("talk.md holds %q; said was %q", text, spoken(updates))
		}
	})
}

func TestAFileThatAPromptPointsAtIsReadInsideTheFolders(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, map[string]string{"a.txt": "one\ntwo is the secret word\nthree\n"})
		outside := filepath.Join(realFolder(t), "outside.txt")
		if err := os.WriteFile(outside, []byte("none of your business"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := d.open()
		d.send(s, acp.Text("What is it? [[text: read]]"), acp.ResourceLink{Name: "a.txt", URI: "file://" + d.path("a.txt") + "#L2:2"},
			acp.ResourceLink{Name: "outside.txt", URI: "file://" + outside})
		body := string(d.model.Last().Body)
		if !strings.Contains(body, "two is the secret word") {
			t.Errorf("the model was not given the file: %s", body)
		}
		if strings.Contains(body, "none of your business") {
			t.Error("the model was given a file outside of the folders")
		}
	})
}

func TestOneCommandCanBeAllowedForTheSession(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.answers(acp.PermissionAllowAlways)
		d.say(s, `[[call: run {"command":"echo a >> out.txt"}]] [[text: done]]`)
		d.say(s, `[[anew]] [[call: run {"command":"echo a >> out.txt"}]] [[text: done]]`)
		if n := len(d.questions()); n != 1 {
			t.Errorf("the allowed command was asked %d times", n)
		}
		d.say(s, `[[anew]] [[call: run {"command":"echo b >> out.txt"}]] [[text: done]]`)
		if n := len(d.questions()); n != 1 {
			t.Errorf("another command was asked %d times", n)
		}
		if d.saved("out.txt") != "a\na\nb\n" {
			t.Errorf("out.txt holds %q", d.saved("out.txt"))
		}
		if _, updates := d.say(s, "/permissions"); !strings.Contains(spoken(updates), "echo a") {
			t.Errorf("/permissions says %q", spoken(updates))
		}
	})
}

func TestAPromptThatFailedCanBeTriedAgain(t *testing.T) {
	d := sit(t, zed(), nil)
	s := d.open()
	d.say(s, "Where is the ferry? [[status 400]] [[text: never]]")
	d.model.Queue("on the river")
	before := len(d.model.Requests())
	_, updates := d.say(s, "/retry")
	if len(d.model.Requests()) == before || !strings.Contains(string(d.model.Last().Body), "Where is the ferry?") {
		t.Errorf("the model was not asked again; said was %q", spoken(updates))
	}
}
