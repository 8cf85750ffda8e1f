//go:build unix

package interop

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheOfficialSDKsDriveTheExampleAgent(t *testing.T) {
	for name, client := range sdkClients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, home := folder(t, map[string]string{"a.txt": "old words"}), t.TempDir()
			file := filepath.Join(dir, "a.txt")
			sleep := uniqueSleep()
			prompt := func(text string, answers ...string) step {
				return step{Do: "prompt", Session: "s", Text: text, Answers: answers}
			}
			agent := []string{installed.echoAgent, "-state", filepath.Join(home, "echo")}
			p := playBy(t, client, home, scenario{Files: true, Terminals: true, Buffers: map[string]string{file: "in the buffer"}, Steps: []step{
				{Do: "initialize"},
				{Do: "new", Session: "s", Cwd: dir},
				prompt("hello you"),
				prompt("read a.txt"),
				prompt("write a.txt new words", "allow_once"),
				prompt("write b.txt new words", "reject_once"),
				prompt("run echo out > ran.txt", "allow_once"),
				{Do: "prompt", Session: "s", Text: "run " + sleep, Answers: []string{"allow_once"}, CancelAt: "in_progress"},
				prompt("plan"),
				{Do: "request", Method: "session/set_mode", Session: "s", Params: map[string]any{"modeId": "loud"}},
				prompt("hello again"),
				{Do: "request", Method: "session/list", Params: map[string]any{"cwd": dir}},
				{Do: "request", Method: "_interop/nobody_has_this", Fails: -32601},
			}}, agent...)
			for i, want := range map[int]string{2: "hello you", 3: "a.txt has 13 bytes.", 4: "Written.", 5: "I left it.", 8: "The plan is done.", 10: "HELLO AGAIN"} {
				if got := strings.TrimSpace(spoken(p.Steps[i].Updates, "agent_message_chunk")); got != want {
					t.Errorf("step %d: the agent said %q, expected %q", i, got, want)
				}
			}
			for i, want := range map[int]string{3: "completed", 4: "completed", 5: "failed", 6: "completed", 7: "failed"} {
				assertCalls(t, p.Steps[i].Updates, want)
			}
			for name, want := range map[string]string{"a.txt": "new words", "b.txt": "", "ran.txt": "out\n"} {
				if got, _ := onDisk(t, filepath.Join(dir, name)); got != want {
					t.Errorf("%s holds %q, expected %q", name, got, want)
				}
			}
			if got := p.Steps[7].stopReason(); got != "cancelled" || len(processes(t, sleep)) > 0 {
				t.Errorf("the cancelled turn ended with %q, still running: %v", got, processes(t, sleep))
			}
			if !strings.Contains(string(p.Steps[11].Response), p.Sessions["s"]) {
				t.Errorf("the list is %s", p.Steps[11].Response)
			}
			created := func(c terminalCall) bool { return c.Method == "create" }
			released := func(c terminalCall) bool { return c.Method == "release" }
			if slices.IndexFunc(p.Terminals, created) < 0 || slices.IndexFunc(p.Terminals, released) < 0 {
				t.Errorf("the terminals were used as %+v", p.Terminals)
			}

			replay := playBy(t, client, home, scenario{Files: true, Terminals: true, Sessions: p.Sessions, Steps: []step{
				{Do: "initialize"}, {Do: "load", Session: "s", Cwd: dir},
			}}, agent...)
			if got := spoken(replay.Steps[1].Updates, "user_message_chunk"); !strings.HasPrefix(got, "hello you") || !strings.HasSuffix(got, "hello again") {
				t.Errorf("the replayed prompts are %q", got)
			}
			assertCalls(t, replay.Steps[1].Updates, "completed", "completed", "failed", "completed", "failed")
		})
	}
}
