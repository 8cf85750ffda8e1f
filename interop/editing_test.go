//go:build unix

package interop

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnEditOfATextThatCameFromDiskNeverLandsInADirtyBuffer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		onRead func(e *editor, path string, n int) bool
	}{
		{"the editor fails the first read", func(_ *editor, _ string, n int) bool { return n == 1 }},
		{"the editor fails every read until the edit is allowed", func(e *editor, _ string, _ int) bool { return len(e.asked) == 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"a.txt": "saved words\n"})
			path := filepath.Join(dir, "a.txt")
			e := &editor{t: t, buffers: map[string]string{path: "words typed just now\n"}, onRead: tt.onRead}
			c := startWherry(t, t.TempDir(), e.files())
			s := c.newSession(dir)
			if stop, updates := c.prompt(s, "read a.txt"); stop != "end_turn" || len(toolCalls(updates)) == 0 {
				t.Fatalf("the read ended with %q: %+v", stop, updates)
			}
			stop, updates := c.prompt(s, `replace "saved" with "REPLACED" in a.txt`)
			if stop != "end_turn" {
				t.Errorf("the edit's turn ended with %q", stop)
			}
			for _, call := range toolCalls(updates) {
				if call.Kind == "edit" && call.status() != "failed" {
					t.Errorf("the edit ended as %s", call.status())
				}
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if got := e.buffers[path]; got != "words typed just now\n" {
				t.Errorf("the buffer holds %q", got)
			}
			if len(e.writes) > 0 {
				t.Errorf("written through the editor: %+v", e.writes)
			}
			if got, _ := onDisk(t, path); got != "saved words\n" {
				t.Errorf("the disk holds %q: it is the editor's to write", got)
			}
		})
	}
}

func TestABufferThatChangesWhileThePersonIsAskedIsAskedAgainWithTheNewDiff(t *testing.T) {
	for _, tt := range []struct {
		name, second, buffer string
	}{
		{"and allowed again", "allow_once", "top line, typed meanwhile\nNEW words\n"},
		{"and refused then", "reject_once", "top line, typed meanwhile\nold words\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"a.txt": "on disk\n"})
			path := filepath.Join(dir, "a.txt")
			e := &editor{t: t, buffers: map[string]string{path: "top line\nold words\n"}}
			e.onAsk = func(e *editor, _ permissionRequest) string {
				if len(e.asked) == 1 {
					e.buffers[path] = "top line, typed meanwhile\nold words\n"
					return "allow_once"
				}
				return tt.second
			}
			c := startWherry(t, t.TempDir(), e.files())
			s := c.newSession(dir)
			c.prompt(s, "read a.txt")
			if stop, _ := c.prompt(s, `replace "old" with "NEW" in a.txt`); stop != "end_turn" {
				t.Errorf("the turn ended with %q", stop)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if len(e.asked) != 2 {
				t.Fatalf("asked %d times, expected twice", len(e.asked))
			}
			first, second := e.asked[0].diffs(), e.asked[1].diffs()
			if len(first) != 1 || first[0].OldText == nil || *first[0].OldText != "top line\nold words\n" {
				t.Errorf("the first question shows %+v", first)
			}
			if len(second) != 1 || second[0].OldText == nil || *second[0].OldText != "top line, typed meanwhile\nold words\n" ||
				second[0].NewText != "top line, typed meanwhile\nNEW words\n" {
				t.Errorf("the second question shows %+v", second)
			}
			if got := e.buffers[path]; got != tt.buffer {
				t.Errorf("the buffer holds %q, expected %q", got, tt.buffer)
			}
			if got, _ := onDisk(t, path); got != "on disk\n" {
				t.Errorf("the disk holds %q: it is the editor's to write", got)
			}
		})
	}
}

func TestTheAgentReadsTheUnsavedBuffer(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "saved words\n"})
	e := &editor{t: t, buffers: map[string]string{filepath.Join(dir, "a.txt"): "unsaved words\n"}}
	c := startWherry(t, t.TempDir(), e.files())
	_, updates := c.prompt(c.newSession(dir), "read a.txt")
	if text := spoken(updates, "agent_message_chunk"); !strings.Contains(text, "unsaved words") || strings.Contains(text, "saved words\n\n") {
		t.Errorf("the answer is %q", text)
	}
}

func TestTwoSessionsInOneProcessShareNeitherFoldersNorApprovalsNorCancels(t *testing.T) {
	dirs := []string{folder(t, map[string]string{"who.txt": "first\n"}), folder(t, map[string]string{"who.txt": "second\n"})}
	e := &editor{t: t, buffers: map[string]string{}}
	e.onAsk = func(_ *editor, r permissionRequest) string {
		if r.offers("allow_always") {
			return "allow_always"
		}
		return "allow_once"
	}
	c := startWherry(t, t.TempDir(), e.nothing())
	a, b := c.newSession(dirs[0]), c.newSession(dirs[1])

	c.prompt(a, "create note.txt: of a")
	c.prompt(a, "create again.txt: of a") // allowed for the session by now
	c.prompt(b, "create note.txt: of b")
	e.mu.Lock()
	var asked []string
	for _, r := range e.asked {
		asked = append(asked, r.SessionID)
	}
	e.mu.Unlock()
	if !slices.Equal(asked, []string{a, b}) {
		t.Errorf("the sessions asked were %v, expected %v: an approval holds in its own session only", asked, []string{a, b})
	}
	for i, want := range []string{"of a", "of b"} {
		if got, _ := onDisk(t, filepath.Join(dirs[i], "note.txt")); strings.TrimSpace(got) != want {
			t.Errorf("note.txt of session %d holds %q", i+1, got)
		}
	}

	_, updates := c.prompt(b, "read "+filepath.Join(dirs[0], "who.txt"))
	if text := spoken(updates, "agent_message_chunk"); strings.Contains(text, "first") {
		t.Errorf("the second session read the first one's folder: %q", text)
	}

	longA, longB := uniqueSleep(), uniqueSleep()
	waitA, waitB := c.beginPrompt(a, "run "+longA), c.beginPrompt(b, "run "+longB)
	eventually(t, answerTimeout, "both commands run", func() bool {
		return len(processes(t, longA)) > 0 && len(processes(t, longB)) > 0
	})
	c.notify("session/cancel", map[string]string{"sessionId": a})
	if stop, _ := waitA(); stop != "cancelled" {
		t.Errorf("the cancelled turn ended with %q", stop)
	}
	if len(processes(t, longB)) == 0 {
		t.Error("cancelling one session ended the other's command")
	}
	c.notify("session/cancel", map[string]string{"sessionId": b})
	if stop, _ := waitB(); stop != "cancelled" {
		t.Errorf("the second cancelled turn ended with %q", stop)
	}
}
