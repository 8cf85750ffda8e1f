package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestDeletingAsksOnTheTerminalAndTakesNoForAnAnswer(t *testing.T) {
	server := modeltest.NewServer()
	defer server.Close()
	home, folder := t.TempDir(), t.TempDir()
	if _, stderr, code := wherry(t, home, server.URL, folder, "run", "--model", "openai/fake", "a question"); code != exitOK {
		t.Fatalf("wherry run: %d, %s", code, stderr)
	}
	program, err := exec.LookPath("wherry")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		answer, says string
		code         int
	}{{"\r", "Nothing was deleted.", exitInterrupted}, {"no\r", "Nothing was deleted.", exitInterrupted}, {"\x04", "Nothing was deleted.", exitInterrupted}, {"yes\r", "Deleted sess_", exitOK}} {
		d := &dialogue{t: t, home: home, cmd: exec.CommandContext(t.Context(), program, "sessions", "delete", "last")}
		d.more = sync.NewCond(&d.mu)
		d.cmd.Dir, d.cmd.Env = folder, append(environOf(home, server.URL), "PWD="+folder)
		d.start()
		d.expect(": a question (1 prompt, ")
		d.answer("for good?", test.answer)
		if code, screen := d.ended(); code != test.code || !strings.Contains(screen, test.says) {
			t.Errorf("answered %q: %d\n%s", test.answer, code, screen)
		}
	}
	if _, stderr, _ := wherry(t, home, server.URL, folder, "sessions"); !strings.Contains(stderr, "no sessions") {
		t.Errorf("afterwards there are %s", stderr)
	}
}
