package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// startRun is a person at a terminal with wherry run, whose model is a double.
func startRun(t *testing.T, args ...string) (*dialogue, *modeltest.Server) {
	t.Helper()
	program, err := exec.LookPath("wherry") // what TestMain put there
	if err != nil {
		t.Fatal(err)
	}
	server := modeltest.NewServer()
	t.Cleanup(server.Close)
	d := &dialogue{t: t, home: t.TempDir()}
	d.more = sync.NewCond(&d.mu)
	d.cmd = exec.CommandContext(t.Context(), program, append([]string{"run"}, args...)...)
	d.cmd.Dir = t.TempDir()
	d.cmd.Env = []string{
		"HOME=" + d.home, "PATH=" + filepath.Dir(program), "WHERRY_KEYRING=off", "OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_API_KEY=k",
		"WHERRY_CONFIG=" + d.path("config.toml"), "WHERRY_STATE=" + d.path("state"),
	}
	d.start()
	return d, server
}

// results are what the model got of its newest calls.
func results(s *modeltest.Server) string {
	var b strings.Builder
	for _, item := range s.Last().Items {
		if item.Role == modeltest.Tool {
			b.WriteString(item.Text)
		}
	}
	return b.String()
}

func TestQuestionsOfTheModelAreAnsweredOnTheTerminal(t *testing.T) {
	d, server := startRun(t, `[[call: ask {"questions":[{"question":"Which database?","options":[{"label":"SQLite","description":"a file"},{"label":"PostgreSQL"}]},`+
		`{"question":"Which systems?","options":[{"label":"Linux"},{"label":"Windows"},{"label":"macOS"}],"several":true},`+
		`{"question":"What is it called?"},{"question":"By when?","options":[{"label":"Today"},{"label":"Later"}]}]}]] [[text: thanks]]`)
	d.expect("1  SQLite: a file")
	d.answer("> ", "7\n")
	d.answer("not one of the answers", "2\n")
	d.expect("3  macOS")
	d.answer("> ", "1, 3\n")
	d.expect("What is it called?")
	d.answer("> ", "\n")
	d.expect("2  Later")
	d.answer("> ", "when it is ready\n")
	d.expect("thanks")
	if code, screen := d.ended(); code != exitOK {
		t.Errorf("ended with %d:\n%s", code, screen)
	}
	told := results(server)
	for _, want := range []string{"chosen: PostgreSQL", "chosen: Linux", "chosen: macOS", "3. What is it called?\n   skipped", "in their own words: when it is ready"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was not told %q:\n%s", want, told)
		}
	}
}

func TestAQuestionThatTheTerminalLeavesOpenIsNoAnswer(t *testing.T) {
	d, server := startRun(t, `[[call: ask {"questions":[{"question":"What is it called?"}]}]] [[text: I stop here]]`)
	d.answer("What is it called?", "\x04") // Ctrl-D
	d.expect("I stop here")
	if code, screen := d.ended(); code != exitOK {
		t.Errorf("ended with %d:\n%s", code, screen)
	}
	if told := results(server); !strings.Contains(told, "closed the question without an answer") {
		t.Errorf("the model was told %q", told)
	}
}
