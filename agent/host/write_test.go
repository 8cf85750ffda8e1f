package host

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func noLeftovers(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(dir + "/.wherry-*")
	if err != nil || len(found) > 0 {
		t.Errorf("left behind: %v %v", found, err)
	}
}

func TestAWriteReplacesWhatWasReadAndReturnsTheNewVersion(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a.txt", "one\r\n")
	l := newLocal(t, dir)
	text := mustRead(t, l, "a.txt")
	text.Content += "two\n"
	version, err := l.Write(t.Context(), "a.txt", text, text.Version)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, dir+"/a.txt"); got != "one\r\ntwo\r\n" {
		t.Errorf("content: %q", got)
	}
	if again := mustRead(t, l, "a.txt"); again.Version != version {
		t.Errorf("version %+v, but the write returned %+v", again.Version, version)
	}
	noLeftovers(t, dir)
}

func TestANewFileIsCreatedWithItsFoldersAndNeverOverAnother(t *testing.T) {
	dir := tempRoot(t)
	l := newLocal(t, dir)
	version, err := l.Write(t.Context(), "new/deep/a.txt", Text{Content: "x\n"}, Absent)
	if err != nil || version.Digest != Digest("x\n") {
		t.Fatal(version, err)
	}
	_, err = l.Write(t.Context(), "new/deep/a.txt", Text{Content: "y\n"}, Absent)
	if !errors.Is(err, ErrChanged) {
		t.Errorf("error: %v", err)
	}
	if got := get(t, dir+"/new/deep/a.txt"); got != "x\n" {
		t.Errorf("content: %q", got)
	}
	_, err = l.Write(t.Context(), "new/deep", Text{}, Absent)
	wantSentence(t, err, "new/deep: is a folder, not a file")
	noLeftovers(t, dir+"/new/deep")
}

func TestAWriteWhoseBaseIsNotThereAnyMoreWritesNothing(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a.txt", "one\n")
	l := newLocal(t, dir)
	text := mustRead(t, l, "a.txt")
	put(t, dir+"/a.txt", "other\n")
	for name, base := range map[string]Version{
		"changed on the disk": text.Version,
		"never read":          {},
		"read in an editor":   {Source: FromEditor, Digest: Digest("other\n")},
		"absent":              Absent,
	} {
		if _, err := l.Write(t.Context(), "a.txt", Text{Content: "mine\n"}, base); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := get(t, dir+"/a.txt"); got != "other\n" {
		t.Errorf("content: %q", got)
	}
	if err := os.Remove(dir + "/a.txt"); err != nil {
		t.Fatal(err)
	}
	_, err := l.Write(t.Context(), "a.txt", text, text.Version)
	wantSentence(t, err, "a.txt: the file has changed since it was read: it is gone")
	if _, err := os.Stat(dir + "/a.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file that was removed is back")
	}
	noLeftovers(t, dir)
}

// Many writers add a line each to what they read; whoever comes second is refused and reads again. No line may be lost.
func TestConcurrentWritersNeverLoseEachOthersChanges(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/log", "")
	const writers, lines = 4, 15
	var group sync.WaitGroup
	for range writers {
		l := newLocal(t, dir) // a host each, so that no lock is shared
		group.Go(func() {
			for done := 0; done < lines; {
				text, err := l.Read(t.Context(), "log")
				if err != nil {
					continue // replaced in between
				}
				text.Content += "line\n"
				if _, err = l.Write(t.Context(), "log", text, text.Version); err == nil {
					done++
				} else if !errors.Is(err, ErrChanged) && !strings.Contains(err.Error(), "try again") {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if got := strings.Count(get(t, dir+"/log"), "line\n"); got != writers*lines {
		t.Errorf("%d lines of %d are left", got, writers*lines)
	}
	noLeftovers(t, dir)
}

func TestOfManyWhoCreateAFileOneSucceeds(t *testing.T) {
	dir := tempRoot(t)
	for round := range 20 {
		name := strings.Repeat("x", round+1)
		var group sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 4 {
			l := newLocal(t, dir)
			group.Go(func() {
				if _, err := l.Write(t.Context(), name, Text{Content: "x"}, Absent); err == nil {
					mu.Lock()
					made++
					mu.Unlock()
				} else if !errors.Is(err, ErrChanged) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if made != 1 {
			t.Fatalf("%d created the file", made)
		}
	}
}

func TestAWriteThroughASymlinkKeepsTheLink(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/real/a.txt", "one\n")
	symlink(t, "real/a.txt", dir+"/link")
	l := newLocal(t, dir)
	text := mustRead(t, l, "link")
	text.Content = "two\n"
	if _, err := l.Write(t.Context(), "link", text, text.Version); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(dir + "/link"); err != nil || target != "real/a.txt" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if got := get(t, dir+"/real/a.txt"); got != "two\n" {
		t.Errorf("content: %q", got)
	}
}

func TestAReadOnlyFileIsNotReplaced(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a.txt", "one\n")
	if err := os.Chmod(dir+"/a.txt", 0o444); err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, dir)
	text := mustRead(t, l, "a.txt")
	_, err := l.Write(t.Context(), "a.txt", Text{Content: "two\n"}, text.Version)
	wantSentence(t, err, "a.txt: is read-only")
	if !errors.Is(err, fs.ErrPermission) || get(t, dir+"/a.txt") != "one\n" {
		t.Errorf("error %v", err)
	}
}

func TestTextThatTheEncodingCannotHoldLeavesTheFileAsItIs(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a.txt", "caf\xe9\r\n")
	l := newLocal(t, dir)
	text := mustRead(t, l, "a.txt")
	text.Content = "日\n"
	_, err := l.Write(t.Context(), "a.txt", text, text.Version)
	wantSentence(t, err, "a.txt: the file is stored as windows-1252, which does not have the character '日' (U+65E5)")
	if got := get(t, dir+"/a.txt"); got != "caf\xe9\r\n" {
		t.Errorf("content: %q", got)
	}
}

func TestRemoveDeletesOnlyTheVersionItWasGiven(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a.txt", "one\n")
	l := newLocal(t, dir)
	version := mustRead(t, l, "a.txt").Version
	put(t, dir+"/a.txt", "two\n")
	if err := l.Remove(t.Context(), "a.txt", version); !errors.Is(err, ErrChanged) {
		t.Errorf("error: %v", err)
	}
	if err := l.Remove(t.Context(), "a.txt", mustRead(t, l, "a.txt").Version); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/a.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("still there")
	}
}

func TestAHostWithoutACapabilityRefusesIt(t *testing.T) {
	dir := tempRoot(t)
	l, err := NewLocal([]string{dir}, LocalOptions{Without: []Capability{CanWrite, CanRun}})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Can(CanRead) || l.Can(CanWrite) || l.Can(CanRun) || l.Can("fly") {
		t.Error("capabilities are wrong")
	}
	if _, err := l.Write(t.Context(), "a", Text{}, Absent); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error: %v", err)
	}
	if _, err := l.Run(t.Context(), Command{Line: "touch a"}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("error: %v", err)
	}
	if got := names(t, l, "."); got != "" {
		t.Errorf("something was written: %s", got)
	}
}

// writeLimited runs in a child process whose files may not grow over a limit; see write_unix_test.go.
func writeLimited(args []string) int {
	l, err := NewLocal([]string{args[0]}, LocalOptions{})
	if err != nil {
		return 2
	}
	return limitedWrite(l, args[1])
}

func childTest(t *testing.T, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), exe, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
