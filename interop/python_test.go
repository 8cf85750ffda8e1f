//go:build unix

package interop

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestThePythonSDKDrivesWherry(t *testing.T) {
	withAndWithoutEditor(t, func(t *testing.T, editor bool) {
		dir, home := folder(t, map[string]string{"a.txt": "old words\n"}), t.TempDir()
		sleep := uniqueSleep()
		prompt := func(text string, answers ...string) step {
			return step{Do: "prompt", Session: "s", Text: text, Answers: answers}
		}
		s := scenario{Files: editor, Terminals: editor, Steps: []step{
			{Do: "initialize"},
			{Do: "new", Session: "s", Cwd: dir},
			prompt("read a.txt"),
			prompt(`replace "old" with "new" in a.txt`, "allow_once"),
			prompt("create no.txt: never", "reject_once"),
			prompt("run echo out > ran.txt; exit 3", "allow_once"),
			{Do: "prompt", Session: "s", Text: "run " + sleep, Answers: []string{"allow_once"}, CancelAt: "in_progress"},
			{Do: "request", Method: "session/set_mode", Session: "s", Params: map[string]any{"modeId": "edits"}},
			prompt("create unasked.txt: hello"),
			{Do: "request", Method: "session/list", Params: map[string]any{"cwd": dir}},
			{Do: "request", Method: "_interop/nobody_has_this", Fails: -32601},
		}}
		p := playBy(t, python(), home, s, installed.wherry, "acp")
		for i, want := range map[int][]string{2: {"completed"}, 3: {"completed", "completed"}, 4: {"failed"}, 6: {"failed"}, 8: {"completed"}} {
			assertCalls(t, p.Steps[i].Updates, want...) // a replacement is a read and an edit
		}
		for i, want := range map[int]int{2: 0, 3: 1, 4: 1, 5: 1, 6: 1, 8: 0} {
			if got := len(p.Steps[i].Permissions); got != want {
				t.Errorf("step %d asked %d times, expected %d", i, got, want)
			}
		}
		if text := spoken(p.Steps[2].Updates, "agent_message_chunk"); !strings.Contains(text, "old words") {
			t.Errorf("the answer is %q", text)
		}
		for name, want := range map[string]string{"a.txt": "new words\n", "no.txt": "", "ran.txt": "out\n", "unasked.txt": "hello"} {
			if got, _ := onDisk(t, filepath.Join(dir, name)); strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("%s holds %q", name, got)
			}
		}
		if got := p.Steps[6].stopReason(); got != "cancelled" {
			t.Errorf("the cancelled turn ended with %q", got)
		}
		if left := processes(t, sleep); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
		if !strings.Contains(string(p.Steps[9].Response), p.Sessions["s"]) {
			t.Errorf("the list is %s", p.Steps[9].Response)
		}
		if editor && (len(p.Files) == 0 || len(p.Terminals) == 0) {
			t.Errorf("the client's files were called %d times, its terminals %d times", len(p.Files), len(p.Terminals))
		}

		replay := playBy(t, python(), home, scenario{Files: editor, Terminals: editor, Sessions: p.Sessions, Steps: []step{
			{Do: "initialize"}, {Do: "load", Session: "s", Cwd: dir}, prompt("read a.txt"),
		}}, installed.wherry, "acp")
		if got := spoken(replay.Steps[1].Updates, "user_message_chunk"); !strings.HasPrefix(got, "read a.txt") || !strings.HasSuffix(got, "create unasked.txt: hello") {
			t.Errorf("the replayed prompts are %q", got)
		}
		if got := len(toolCalls(replay.Steps[1].Updates)); got != 7 {
			t.Errorf("%d tool calls are replayed, expected 7", got)
		}
		if text := spoken(replay.Steps[2].Updates, "agent_message_chunk"); !strings.Contains(text, "new words") {
			t.Errorf("the loaded session does not go on: %q", text)
		}
	})
}
