//go:build unix

package interop

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCancelEndsTheCommandWithinASecondAndTheNextPromptWorks(t *testing.T) {
	for _, tt := range []struct {
		name     string
		handlers func(*editor) map[string]handler
	}{
		{"run by wherry", (*editor).nothing},
		{"run in the editor's terminal", (*editor).commands},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"a.txt": "still here\n"})
			e := &editor{t: t}
			c := startWherry(t, t.TempDir(), tt.handlers(e))
			s := c.newSession(dir)
			sleep := uniqueSleep()
			wait := c.beginPrompt(s, fmt.Sprintf("run (%s; echo a) & %s; echo b", sleep, sleep))
			eventually(t, answerTimeout, "the command runs", func() bool { return len(processes(t, sleep)) > 1 })

			c.notify("session/cancel", map[string]string{"sessionId": s})
			eventually(t, time.Second, "every process of the command is gone", func() bool { return len(processes(t, sleep)) == 0 })
			stop, updates := wait()
			if stop != "cancelled" {
				t.Errorf("the turn ended with %q, expected cancelled", stop)
			}
			assertCalls(t, updates, "failed")
			if _, updates := c.prompt(s, "read a.txt"); !strings.Contains(spoken(updates, "agent_message_chunk"), "still here") {
				t.Errorf("the next prompt was answered %q", spoken(updates, "agent_message_chunk"))
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if len(e.released) != len(e.terminals) {
				t.Errorf("%d of %d terminals were released", len(e.released), len(e.terminals))
			}
		})
	}
}

func TestACommandInTheEditorsTerminalIsEmbeddedAndRunsOnce(t *testing.T) {
	dir := folder(t, nil)
	e := &editor{t: t}
	c := startWherry(t, t.TempDir(), e.commands())
	s := c.newSession(dir)
	_, updates := c.prompt(s, "run echo once >> out.txt; echo seen; exit 3")
	if got, _ := onDisk(t, filepath.Join(dir, "out.txt")); got != "once\n" {
		t.Errorf("out.txt holds %q, expected one line", got)
	}
	embedded := false
	for _, u := range updates {
		embedded = embedded || strings.Contains(string(u.Content), `"terminal-1"`)
	}
	if !embedded {
		t.Error("no update of the call embeds the terminal")
	}
	if text := spoken(updates, "agent_message_chunk"); !strings.Contains(text, "3") {
		t.Errorf("the exit code did not reach the model: %q", text)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.terminals) != 1 || len(e.released) != 1 {
		t.Errorf("%d terminals, %d released, expected one of each", len(e.terminals), len(e.released))
	}
}

func TestAfterAKillTheConversationLoadsAndNothingRunsTwice(t *testing.T) {
	dir, home := folder(t, nil), t.TempDir()
	sleep := uniqueSleep()
	e := &editor{t: t}
	c := startWherry(t, home, e.nothing())
	s := c.newSession(dir)
	c.prompt(s, "create first.txt: made before")
	c.beginPrompt(s, "run echo ran >> marker.txt; "+sleep)
	eventually(t, answerTimeout, "the command runs", func() bool { return len(processes(t, sleep)) > 0 })
	c.kill()
	// Nobody may be left to end the command when its parent was killed: that is the test's to do.
	for _, line := range processes(t, sleep) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}

	again := &editor{t: t}
	c = startWherry(t, home, again.nothing())
	c.call("session/load", map[string]any{"sessionId": s, "cwd": dir, "mcpServers": []any{}})
	replayed := c.updatesOf(s)
	prompts := spoken(replayed, "user_message_chunk")
	for _, want := range []string{"create first.txt", "run echo ran"} {
		if !strings.Contains(prompts, want) {
			t.Errorf("the replay lacks the prompt %q: %q", want, prompts)
		}
	}
	calls := toolCalls(replayed)
	if len(calls) != 2 || calls[0].status() != "completed" || calls[1].status() != "failed" || len(calls[0].diffs()) != 1 {
		t.Errorf("the replayed calls are %+v, expected one completed edit with its diff and one failed command", calls)
	}
	stop, updates := c.prompt(s, "read first.txt")
	if stop != "end_turn" || !strings.Contains(spoken(updates, "agent_message_chunk"), "made before") {
		t.Errorf("the conversation does not go on: %q %q", stop, spoken(updates, "agent_message_chunk"))
	}
	if got, _ := onDisk(t, filepath.Join(dir, "marker.txt")); got != "ran\n" {
		t.Errorf("marker.txt holds %q: the command ran again", got)
	}
	again.mu.Lock()
	defer again.mu.Unlock()
	if len(again.asked) != 0 {
		t.Errorf("the load asked: %+v", again.asked)
	}
}
