package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRootsMustBeAbsoluteExistingFolders(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/file", "")
	for _, c := range []struct{ root, want string }{
		{"relative/path", `"relative/path": a session folder must be an absolute path`},
		{"", `"": a session folder must be an absolute path`},
		{dir + "/missing", dir + "/missing: this folder does not exist: file does not exist"},
		{dir + "/file", dir + "/file: is not a folder"},
	} {
		_, err := NewLocal([]string{dir, c.root}, LocalOptions{})
		wantSentence(t, err, c.want)
	}
	_, err := NewLocal(nil, LocalOptions{})
	wantSentence(t, err, "no folder to work in was given: at least one is needed")
}

func TestARootIsResolvedAndCountsOnce(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/real/a.txt", "x")
	symlink(t, "real", dir+"/link")
	l := newLocal(t, dir+"/link", dir+"/real/.")
	if roots := l.Roots(); len(roots) != 1 || roots[0] != dir+"/real" {
		t.Errorf("roots: %v", roots)
	}
	if got := mustRead(t, l, dir+"/link/a.txt").Content; got != "x" {
		t.Errorf("content: %q", got)
	}
}

func TestAPathBelowARootIsResolvedAndShownFromTheFirstRoot(t *testing.T) {
	one, two := tempRoot(t), tempRoot(t)
	put(t, one+"/d/a.txt", "")
	symlink(t, "d", one+"/link")
	symlink(t, one+"/d/a.txt", one+"/abs")
	symlink(t, "missing/target", one+"/dangling")
	symlink(t, one+"/d", two+"/across")
	l := newLocal(t, one, two)
	for path, want := range map[string]Path{
		".":               {one, one, ".", "."},
		"":                {one, one, ".", "."},
		"d/a.txt":         {one + "/d/a.txt", one, "d/a.txt", "d/a.txt"},
		"./d/../d/a.txt":  {one + "/d/a.txt", one, "d/a.txt", "d/a.txt"},
		"link/a.txt":      {one + "/d/a.txt", one, "d/a.txt", "d/a.txt"},
		"link/new/b.txt":  {one + "/d/new/b.txt", one, "d/new/b.txt", "d/new/b.txt"},
		"abs":             {one + "/d/a.txt", one, "d/a.txt", "d/a.txt"},
		"dangling":        {one + "/missing/target", one, "missing/target", "missing/target"},
		two:               {two, two, ".", two},
		two + "/x":        {two + "/x", two, "x", two + "/x"},
		two + "/across/x": {one + "/d/x", one, "d/x", "d/x"},
		one + "/":         {one, one, ".", "."},
	} {
		got, err := l.Resolve(path)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", path, got, err, want)
		}
	}
}

func TestPathsThatLeaveTheRootsAreRefused(t *testing.T) {
	base := tempRoot(t)
	root := base + "/proj"
	put(t, root+"/in/a.txt", "")
	put(t, base+"/project/secret", "s") // its name begins like the root's
	put(t, base+"/outside/f", "s")
	symlink(t, "../outside", root+"/link")
	symlink(t, base+"/outside/f", root+"/file")
	symlink(t, "../outside/new", root+"/dangling")
	symlink(t, "link", root+"/chain")
	symlink(t, "in/../../outside", root+"/dots")
	l := newLocal(t, root)
	for _, path := range []string{
		"..", "../project/secret", base + "/project/secret", base + "/projec", base, "/", "/etc/passwd", "in/../../outside/f",
		"link", "link/f", "link/new", "file", "dangling", "chain/f", "dots/f", strings.Repeat("../", 40) + "etc/passwd",
	} {
		_, err := l.Resolve(path)
		wantOutside(t, err)
		_, err = l.Read(t.Context(), path)
		wantOutside(t, err)
		_, err = l.Write(t.Context(), path, Text{Content: "x"}, Absent)
		wantOutside(t, err)
		_, err = l.Run(t.Context(), Command{Line: "touch ran", Dir: path})
		wantOutside(t, err)
	}
	if entries, _ := os.ReadDir(base + "/outside"); len(entries) != 1 {
		t.Errorf("something was written outside: %v", entries)
	}
}

func TestSymlinksInACircleAreRefused(t *testing.T) {
	dir := tempRoot(t)
	symlink(t, "b", dir+"/a")
	symlink(t, "a", dir+"/b")
	_, err := newLocal(t, dir).Resolve("a/x")
	wantSentence(t, err, "a/x: resolve: its symlinks lead in a circle")
}

func TestAPathWithNulIsRefused(t *testing.T) {
	if _, err := newLocal(t, tempRoot(t)).Resolve("a\x00b"); err == nil {
		t.Error("accepted")
	}
}

func TestAPathThroughAFileIsAClearError(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/file", "")
	_, err := newLocal(t, dir).Read(t.Context(), "file/below")
	wantSentence(t, err, "file/below: a part of this path is a file, not a folder")
}

// A symlink that is swapped in while files are read and written must never lead outside.
func TestASymlinkSwappedInMeanwhileNeverLeadsOutside(t *testing.T) {
	base := tempRoot(t)
	root, out := base+"/root", base+"/out"
	put(t, root+"/d/f", "inside")
	put(t, out+"/f", "outside")
	l := newLocal(t, root)
	stop, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(root+"/d", root+"/real")
			_ = os.Symlink(out, root+"/d")
			_ = os.Remove(root + "/d")
			_ = os.Rename(root+"/real", root+"/d")
		}
	}()
	reads := 0
	for range 3000 {
		text, err := l.Read(t.Context(), "d/f")
		if err != nil {
			continue
		}
		reads++
		if text.Content == "outside" {
			t.Error("read outside the root")
			break
		}
		_, _ = l.Write(t.Context(), "d/f", text, text.Version)
		_, _ = l.Write(t.Context(), "d/new", text, Absent)
	}
	close(stop)
	<-swapped
	if reads == 0 {
		t.Error("no read met the real folder: the test showed nothing")
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 1 || get(t, filepath.Join(out, "f")) != "outside" {
		t.Errorf("written outside the root: %v %v", entries, err)
	}
}
