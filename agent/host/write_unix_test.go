//go:build unix

package host

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

func stat(t *testing.T, path string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}

func rewrite(t *testing.T, l *Local, path, content string) {
	t.Helper()
	text := mustRead(t, l, path)
	text.Content = content
	if _, err := l.Write(t.Context(), path, text, text.Version); err != nil {
		t.Fatal(err)
	}
}

func TestModeAndOwnerAreKeptAndNewFilesFollowTheUmask(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(dir+"/run.sh", 0o750); err != nil {
		t.Fatal(err)
	}
	asRoot := os.Getuid() == 0
	if asRoot {
		if err := os.Chown(dir+"/run.sh", 1234, 5678); err != nil {
			t.Fatal(err)
		}
	}
	l := newLocal(t, dir)
	rewrite(t, l, "run.sh", "#!/bin/sh\ntrue\n")
	got := stat(t, dir+"/run.sh")
	if got.Mode&0o777 != 0o750 {
		t.Errorf("mode %o", got.Mode&0o777)
	}
	if asRoot && (got.Uid != 1234 || got.Gid != 5678) {
		t.Errorf("owner %d:%d", got.Uid, got.Gid)
	}
	old := syscall.Umask(0o027)
	_, err := l.Write(t.Context(), "new", Text{Content: "x"}, Absent)
	syscall.Umask(old)
	if mode := stat(t, dir+"/new").Mode & 0o777; err != nil || mode != 0o640 {
		t.Errorf("mode of a new file %o, %v", mode, err)
	}
}

func TestAllHardLinksOfAFileSeeAWrite(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a", "a longer text than before\n")
	if err := os.Link(dir+"/a", dir+"/b"); err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, dir)
	rewrite(t, l, "a", "short\n")
	if get(t, dir+"/a") != "short\n" || get(t, dir+"/b") != "short\n" {
		t.Errorf("a %q, b %q", get(t, dir+"/a"), get(t, dir+"/b"))
	}
	if stat(t, dir+"/a").Ino != stat(t, dir+"/b").Ino {
		t.Error("the link is broken")
	}
	noLeftovers(t, dir)
}

// The write is stopped by a limit on the size of files, as by a full disk: the old file must be whole.
func TestAWriteThatFindsNoRoomLeavesTheOldFile(t *testing.T) {
	for _, kind := range []string{"plain", "linked", "new"} {
		dir := tempRoot(t)
		if kind != "new" {
			put(t, dir+"/a", "old\n")
		}
		if kind == "linked" {
			if err := os.Link(dir+"/a", dir+"/b"); err != nil {
				t.Fatal(err)
			}
		}
		out := childTest(t, "write-limited", dir, kind)
		want := "a: no space left on the disk: the file is unchanged\n"
		if kind == "new" {
			want = "a: no space left on the disk: the file was not created\n"
			if _, err := os.Stat(dir + "/a"); err == nil {
				t.Error("a part of the new file is there")
			}
		} else if got := get(t, dir+"/a"); got != "old\n" {
			t.Errorf("%s: content %q", kind, got)
		}
		if out != want {
			t.Errorf("%s: %q, want %q", kind, out, want)
		}
		noLeftovers(t, dir)
	}
}

func limitedWrite(l *Local, kind string) int {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
		return 3
	}
	base := Version{Source: FromDisk, Digest: Digest("old\n")}
	if kind == "new" {
		base = Absent
	}
	_, err := l.Write(context.Background(), "a", Text{Content: strings.Repeat("x", 8192)}, base)
	fmt.Println(err)
	return 0
}

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	dir := tempRoot(t)
	if err := mountSmall(dir); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	old := strings.Repeat("old\n", 1000)
	put(t, dir+"/a", old)
	l := newLocal(t, dir)
	text := mustRead(t, l, "a")
	text.Content = strings.Repeat("x", 200<<10)
	_, err := l.Write(t.Context(), "a", text, text.Version)
	wantSentence(t, err, "a: no space left on the disk: the file is unchanged")
	if err := os.Link(dir+"/a", dir+"/b"); err != nil {
		t.Fatal(err)
	}
	_, err = l.Write(t.Context(), "a", text, text.Version)
	wantSentence(t, err, "a: no space left on the disk: the file is unchanged")
	if get(t, dir+"/a") != old {
		t.Error("the old file is damaged")
	}
	noLeftovers(t, dir)
}

func TestExtendedAttributesAreKept(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a", "one\n")
	if err := unix.Setxattr(dir+"/a", "user.origin", []byte("here"), 0); err != nil {
		t.Skipf("no extended attributes here: %v", err)
	}
	rewrite(t, newLocal(t, dir), "a", "two\n")
	value := make([]byte, 16)
	n, err := unix.Getxattr(dir+"/a", "user.origin", value)
	if err != nil || string(value[:n]) != "here" || get(t, dir+"/a") != "two\n" {
		t.Errorf("attribute %q, %v", value[:max(n, 0)], err)
	}
}
