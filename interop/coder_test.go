//go:build unix

package interop

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheExampleClientOfAnotherGoSDKCompletesATurn(t *testing.T) {
	for name, tt := range map[string]struct {
		agent []string
		says  string
	}{
		"with wherry":              {[]string{installed.wherry, "acp"}, "Hello"},
		"with an agent of our SDK": {[]string{installed.self, agentCommand}, "Hello, \n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"README.md": "# Ferry\n\nHello, agents of the world.\n"})
			log := filepath.Join(t.TempDir(), "wire.jsonl")
			// It reads the choice at each permission from its input; the first option is taken every time.
			out := string(runProgram(t, dir, agentEnv(t.TempDir()), strings.Repeat("1\n", 100),
				installed.coderClient, append([]string{installed.self, teeCommand, log}, tt.agent...)...))
			for _, want := range []string{"Connected to agent (protocol v1)", "Created session: ", tt.says, "Agent completed"} {
				if !strings.Contains(out, want) {
					t.Errorf("the client did not print %q:\n%s", want, out)
				}
			}
			for _, problem := range officialSchema(t).check(readWire(t, log)) {
				t.Errorf("against the official schema: %s", problem)
			}
		})
	}
}

// byCoder plays prompts with the client side of another Go SDK. It gives the stop reasons, how often permission was asked
// for, and what the agent sent.
func byCoder(t *testing.T, answer, dir string, prompts ...string) (stops []string, asked int, sent []update) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "wire.jsonl")
	in, err := json.Marshal(prompts)
	if err != nil {
		t.Fatal(err)
	}
	out := runProgram(t, "", agentEnv(t.TempDir()), string(in), installed.coderPlayer, answer, dir, installed.self, teeCommand, log, installed.wherry, "acp")
	var turns []struct {
		StopReason string            `json:"stopReason"`
		Asked      []json.RawMessage `json:"asked"`
	}
	if err := json.Unmarshal(out, &turns); err != nil {
		t.Fatalf("read what coderclient printed: %v\n%s", err, out)
	}
	for _, turn := range turns {
		stops, asked = append(stops, turn.StopReason), asked+len(turn.Asked)
	}
	wire := readWire(t, log)
	for _, problem := range officialSchema(t).check(wire) {
		t.Errorf("against the official schema: %s", problem)
	}
	return stops, asked, sentUpdates(wire)
}

func TestAnotherGoSDKGetsTurnsEditsCommandsAndCancels(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "plain to see\n"})
	sleep := uniqueSleep()
	stops, asked, sent := byCoder(t, "allow_once", dir, "read a.txt", "create made.txt: by coder", "run echo out > ran.txt", "cancel: run "+sleep, "read a.txt")
	if want := []string{"end_turn", "end_turn", "end_turn", "cancelled", "end_turn"}; !slices.Equal(stops, want) || asked != 3 {
		t.Errorf("the turns ended with %v, asked was %d times", stops, asked)
	}
	if text := spoken(sent, "agent_message_chunk"); strings.Count(text, "plain to see") < 2 {
		t.Errorf("the agent said %q", text)
	}
	for name, want := range map[string]string{"made.txt": "by coder", "ran.txt": "out"} {
		if got, _ := onDisk(t, filepath.Join(dir, name)); strings.TrimSpace(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	assertCalls(t, sent, "completed", "completed", "completed", "failed", "completed")
	if left := processes(t, sleep); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestAnotherGoSDKThatRejectsGetsNothingDone(t *testing.T) {
	dir := folder(t, nil)
	stops, asked, sent := byCoder(t, "reject_once", dir, "create made.txt: by coder", "run echo out > ran.txt")
	if !slices.Equal(stops, []string{"end_turn", "end_turn"}) || asked != 2 {
		t.Errorf("the turns ended with %v, asked was %d times", stops, asked)
	}
	assertCalls(t, sent, "failed", "failed")
	for _, name := range []string{"made.txt", "ran.txt"} {
		if _, there := onDisk(t, filepath.Join(dir, name)); there {
			t.Errorf("%s is there", name)
		}
	}
}
