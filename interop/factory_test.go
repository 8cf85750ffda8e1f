//go:build unix

package interop

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// factoryResult is what ts/factory.mjs prints.
type factoryResult struct {
	Turns []stepResult `json:"turns"`
	Same  bool         `json:"same"` // the session was loaded
	Modes []string     `json:"modes"`

	sent []update // what the agent sent, the replay included: the client itself loses an update at the end of a turn now and then
}

// byFactory plays prompts with acp-factory, a client of an SDK that is two major versions older.
func byFactory(t *testing.T, permissions, dir string, prompts ...string) factoryResult {
	t.Helper()
	log := filepath.Join(t.TempDir(), "wire.jsonl")
	in, err := json.Marshal(prompts)
	if err != nil {
		t.Fatal(err)
	}
	out := runProgram(t, "", agentEnv(t.TempDir()), string(in), "node", filepath.Join(installed.ts, "factory.mjs"), permissions, dir,
		installed.self, teeCommand, log, installed.wherry, "acp")
	var r factoryResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("read what factory.mjs printed: %v\n%s", err, out)
	}
	if len(r.Turns) != len(prompts) || !r.Same || len(r.Modes) < 2 {
		t.Errorf("%d of %d turns were played, loaded: %v, modes: %v", len(r.Turns), len(prompts), r.Same, r.Modes)
	}
	wire := readWire(t, log)
	for _, problem := range officialSchema(t).check(wire) {
		t.Errorf("against the official schema: %s", problem)
	}
	r.sent = sentUpdates(wire)
	return r
}

// sentUpdates are the updates that the agent sent, in order.
func sentUpdates(wire []wireLine) (sent []update) {
	for _, line := range wire {
		var m message
		var params struct {
			Update update `json:"update"`
		}
		if line.From == "agent" && json.Unmarshal([]byte(line.Line), &m) == nil && m.Method == "session/update" && json.Unmarshal(m.Params, &params) == nil {
			sent = append(sent, params.Update)
		}
	}
	return sent
}

func TestAClientOfAnOlderSDKGetsTurnsEditsCommandsAndCancels(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "plain to see\n"})
	sleep := uniqueSleep()
	r := byFactory(t, "auto-approve", dir, "read a.txt", "create made.txt: by the factory", "run echo out > ran.txt", "cancel: run "+sleep, "read a.txt")
	for _, i := range []int{0, 4} {
		if text := spoken(r.Turns[i].Updates, "agent_message_chunk"); !strings.Contains(text, "`a.txt`, lines 1-1") {
			t.Errorf("prompt %d was answered %q", i, text)
		}
	}
	if text := spoken(r.sent, "agent_message_chunk"); strings.Count(text, "plain to see") < 2 {
		t.Errorf("the agent said %q", text)
	}
	for name, want := range map[string]string{"made.txt": "by the factory", "ran.txt": "out"} {
		if got, _ := onDisk(t, filepath.Join(dir, name)); strings.TrimSpace(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	assertCalls(t, r.sent, "completed", "completed", "completed", "failed", "completed")
	if left := processes(t, sleep); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

func TestAClientOfAnOlderSDKThatDeniesGetsNothingDone(t *testing.T) {
	dir := folder(t, nil)
	r := byFactory(t, "auto-deny", dir, "create made.txt: by the factory", "run echo out > ran.txt")
	assertCalls(t, r.sent, "failed", "failed")
	for _, name := range []string{"made.txt", "ran.txt"} {
		if _, there := onDisk(t, filepath.Join(dir, name)); there {
			t.Errorf("%s is there", name)
		}
	}
}
