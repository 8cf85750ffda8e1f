package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
)

func TestAConversationIsExportedIntoANewFileOfTheFolder(t *testing.T) {
	r := newRig(t, nil, says("the answer"))
	tell(t, r.session, "the question")
	id := r.session.ID()
	if err := os.WriteFile(filepath.Join(r.folder, "there.md"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, says, file, begins string }{
		{"/export", id + ".md`", id + ".md", "# the question\n"},
		{"/export", "is there already and is left as it is", "", ""},
		{"/export jsonl", id + ".jsonl", id + ".jsonl", `{"format":"wherry.session","version":1,"session":"` + id + `"}` + "\n"},
		{"/export talk.jsonl", "talk.jsonl", "talk.jsonl", `{"format"`},
		{"/export md deep/er/my talk", "my talk", "deep/er/my talk", "# the question\n"},
		{"/export talk", "talk", "talk", "# the question\n"},
		{"/export talk.docx", "say the format, md or jsonl", "", ""},
		{"/export there.md", "is there already", "", ""},
		{"/export ../out.md", "outside", "", ""},
		{"/export .git/hooks/x.md", "is not written there", "", ""},
		{"/export md AGENTS.md", "is not written there", "", ""},
		{"/export md .env", "is not written there", "", ""},
	} {
		tell(t, r.session, test.text)
		all := answered(r.face)
		if got := all[len(all)-1]; !strings.Contains(strings.ToLower(got), strings.ToLower(test.says)) {
			t.Errorf("%s: %q, want %q in it", test.text, got, test.says)
		}
		if test.file == "" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.folder, test.file))
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got := string(content); !strings.HasPrefix(got, test.begins) || !strings.Contains(got, "the answer") {
			t.Errorf("%s: wrote %s", test.text, got)
		}
	}
	if got, err := os.ReadFile(filepath.Join(r.folder, "there.md")); err != nil || string(got) != "mine" {
		t.Errorf("a file that was there holds %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(r.folder, id+".md")); err != nil || strings.Contains(string(got), "/export") {
		t.Errorf("the command is in what it wrote: %s, %v", got, err)
	}
	for _, name := range []string{".git", ".env", "AGENTS.md", "../out.md", "talk.docx"} {
		if _, err := os.Stat(filepath.Join(r.folder, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if n := len(r.face.questions()); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestInAModeThatWritesNothingNothingIsExported(t *testing.T) {
	for _, mode := range []approval.Mode{approval.ModeOff, approval.ModePlan} {
		r := newRig(t, nil, says("the answer"))
		if err := r.session.SetMode(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		tell(t, r.session, "/export talk.md")
		if got := answered(r.face); len(got) != 1 || !strings.Contains(got[0], "wherry sessions export "+r.session.ID()) {
			t.Errorf("%s: answered %q", mode, got)
		}
		if files, err := os.ReadDir(r.folder); err != nil || len(files) != 0 {
			t.Errorf("%s: the folder holds %v, %v", mode, files, err)
		}
	}
}
