//go:build unix

package interop

import (
	"path/filepath"
	"strings"
	"testing"
)

// The tests of wherry are only as good as the client and the recorder they use; this one tries those on an agent made
// with the SDK that the client is made with.
func TestTheTypeScriptClientPlaysScenariosAndTheTeeRecordsThem(t *testing.T) {
	dir := folder(t, nil)
	path := filepath.Join(dir, "x.txt")
	p := play(t, t.TempDir(), scenario{Files: true, Terminals: true, Steps: []step{
		{Do: "initialize"},
		{Do: "new", Session: "s", Cwd: dir},
		{Do: "prompt", Session: "s", Text: "create " + path + ": hello", Answers: []string{"allow_once"}},
		{Do: "prompt", Session: "s", Text: "create " + path + ".no: hello", Answers: []string{"reject_once"}},
		{Do: "converse", Cwd: dir, Text: "hi"},
	}}, "node", filepath.Join(installed.ts, "agent.mjs"))

	if got, _ := onDisk(t, path); got != "hello" {
		t.Errorf("the file holds %q", got)
	}
	if _, there := onDisk(t, path+".no"); there {
		t.Error("the refused file is there")
	}
	allowed := p.Steps[2].Permissions
	if len(allowed) != 1 || allowed[0].Disk[path] != nil || len(allowed[0].Request.diffs()) != 1 {
		t.Errorf("the permission was not seen as it was: %+v", allowed)
	}
	assertCalls(t, p.Steps[2].Updates, "completed")
	assertCalls(t, p.Steps[3].Updates, "failed")
	if got := spoken(p.Steps[4].Updates, "agent_message_chunk"); strings.TrimSpace(got) != "You said: hi" {
		t.Errorf("the agent said %q", got)
	}
	var fromClient, fromAgent int
	for _, line := range p.wire {
		switch {
		case line.From == "client" && strings.Contains(line.Line, `"session/prompt"`):
			fromClient++
		case line.From == "agent" && strings.Contains(line.Line, `"stopReason"`):
			fromAgent++
		}
	}
	if fromClient != 3 || fromAgent != 3 {
		t.Errorf("the log has %d prompts and %d answers, expected 3 and 3", fromClient, fromAgent)
	}
}
