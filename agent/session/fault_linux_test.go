package session

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountSmall puts a file system of one megabyte on the folder, and gives a function that changes it.
func mountSmall(t *testing.T, folder string) (remount func(flags uintptr, data string)) {
	t.Helper()
	if err := syscall.Mount("wherry", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a file system of its own cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return func(flags uintptr, data string) {
		t.Helper()
		if err := syscall.Mount("wherry", folder, "tmpfs", flags|syscall.MS_REMOUNT, data); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFileSystemThatIsFullOrReadOnly uses a small one of its own, where the system lets the test make it.
func TestAFileSystemThatIsFullOrReadOnly(t *testing.T) {
	folder := t.TempDir()
	remount := mountSmall(t, folder)
	path := filepath.Join(folder, "state", "sessions.db")
	s := openFile(t, path)
	l := newSession(t, s, "sess_a")
	stored := int64(1)
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		var events []Event
		if events, err = l.Append(t.Context(), Notice{Text: strings.Repeat("x", 50_000)}); err == nil {
			stored = events[0].Seq
		}
	}
	wantFault(t, err, FaultFull, path, "free some space")
	count := func(s *sqliteStore) (n int64) {
		for _, err := range s.Events(t.Context(), "sess_a", 0) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if n := count(s); n != stored {
		t.Errorf("%d events are there, %d were stored", n, stored)
	}
	remount(0, "size=16m")
	events, err := l.Append(t.Context(), Notice{Text: "again"})
	if err != nil || events[0].Seq != stored+1 {
		t.Fatalf("with space again: %v, %v", events, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	remount(syscall.MS_RDONLY, "")
	err = openFile(t, path).Create(t.Context(), "sess_b", Created{Roots: []string{"/project"}})
	wantFault(t, err, FaultReadOnly, path, "write permission")
	other := filepath.Join(folder, "other", "sessions.db")
	_, err = openFile(t, other).List(t.Context(), Filter{})
	wantFault(t, err, FaultFolder, other, "WHERRY_STATE")
	remount(0, "")
	if n := count(openFile(t, path)); n != stored+1 {
		t.Errorf("%d events are there, %d were stored", n, stored+1)
	}
}
