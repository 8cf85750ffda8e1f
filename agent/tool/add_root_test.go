package tool

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
)

// added remembers the folders that were added.
type added []string

func (a *added) Add(_ context.Context, abs string) error {
	*a = append(*a, abs)
	return nil
}

func TestAFurtherFolderIsAskedForByWhereItReallyIs(t *testing.T) {
	b := newBench(t, map[string]string{"in/a": ""})
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(b.dir, "link")
	if err := os.Symlink(other, link); err != nil {
		t.Skip("this system makes no symlinks")
	}
	var folders added
	b.env.Folders = &folders
	call, err := b.prepare("add_root", map[string]string{"path": "link", "reason": "the\nlibrary"})
	if err != nil {
		t.Fatal(err)
	}
	p := call.Presentation()
	if p.Class != approval.ClassWiden || p.Folder.Path != other || p.Folder.Whole != "" || p.Folder.Reason != "the library" {
		t.Errorf("shown as %+v, %+v", p, p.Folder)
	}
	if len(folders) != 0 {
		t.Error("it was added before it was allowed")
	}
	if result := b.run(call); result.Failed || len(folders) != 1 || folders[0] != other {
		t.Errorf("%+v, added %v", result, folders)
	}
}

func TestAFolderThatIsMoreThanAProjectIsSaidToBe(t *testing.T) {
	b := newBench(t, nil)
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.Mkdir(filepath.Join(home, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"~": "your whole home folder", home: "your whole home folder", filepath.Dir(home): "a folder with your whole home folder in it",
		"~/project": "", filepath.VolumeName(home) + string(filepath.Separator): "the whole file system",
	} {
		call, err := b.prepare("add_root", map[string]string{"path": path, "reason": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if got := call.Presentation().Folder.Whole; got != want {
			t.Errorf("%s is said to be %q, want %q", path, got, want)
		}
	}
}

func TestOnlyAFolderThatIsThereAndNotYetTheSessionsIsAskedFor(t *testing.T) {
	b := newBench(t, map[string]string{"in/a": ""})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"in": "already", "/does/not/exist": "no such folder", file: "is a file", " ": "is empty"} {
		wantPart(t, b.refused("add_root", map[string]string{"path": path, "reason": "x"}), want)
	}
}
