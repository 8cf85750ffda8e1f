package atomicfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/wherry-acp/wherry/agent/atomicfile"
)

func TestANewFileGetsItsPermissionsAndItsFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "file")
	if err := atomicfile.Write(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "one" {
		t.Errorf("content %q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("permissions %o", got)
	}
	if got := mode(t, filepath.Dir(path)); got != 0o700 {
		t.Errorf("permissions of the folder %o", got)
	}
}

func TestAFileKeepsItsPermissionsAndLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("a longer old content"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "new" {
		t.Errorf("content %q", got)
	}
	if got := mode(t, path); got != 0o640 && runtime.GOOS != "windows" {
		t.Errorf("permissions %o", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}

func TestALinkStaysALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "elsewhere", "file"), filepath.Join(dir, "link")
	if err := atomicfile.Write(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, target); got != "new" {
		t.Errorf("the file behind the link holds %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, []byte("x"), 0o600); err == nil {
		t.Error("a link to nothing was written")
	}
}

func TestWhatIsNoFileIsNotReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(dir, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
