package host

import (
	"context"
	"errors"
	"os"
	"testing"
)

// What follows puts into the moments between the steps of a read and a write what another program may do there.

func TestASymlinkSwappedInAfterThePathWasResolvedIsNotFollowed(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/secret", "s")
	put(t, dir+"/a", "x")
	l := newLocal(t, dir)
	place, err := l.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir + "/a"); err != nil {
		t.Fatal(err)
	}
	symlink(t, "secret", dir+"/a")
	data, err := l.ReadVisited(t.Context(), place, 100)
	wantSentence(t, err, "a: was replaced by a symlink while it was opened: try again")
	if len(data) > 0 {
		t.Errorf("read %q", data)
	}
}

func TestOnlyPathsOfThisHostAreReadAsVisited(t *testing.T) {
	l, other := newLocal(t, tempRoot(t)), tempRoot(t)
	put(t, other+"/f", "x")
	_, err := l.ReadVisited(t.Context(), Path{Abs: other + "/f", Root: other, Rel: "f", Show: "f"}, 100)
	wantOutside(t, err)
	if _, err := l.ReadVisited(t.Context(), Path{Root: l.roots[0], Rel: "../f", Show: "f"}, 100); err == nil {
		t.Error("read above the root")
	}
}

func TestAProgramThatWritesInTheLastMomentGetsItsFileBack(t *testing.T) {
	for name, meddle := range map[string]func(path string) error{
		"writes in place": func(path string) error { return os.WriteFile(path, []byte("theirs, longer\n"), 0o600) },
		"replaces the file": func(path string) error {
			return errors.Join(os.WriteFile(path+"~", []byte("theirs, longer\n"), 0o600), os.Rename(path+"~", path))
		},
		"removes the file":   os.Remove,
		"makes it a symlink": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("elsewhere", path)) },
	} {
		dir := tempRoot(t)
		put(t, dir+"/a", "old\n")
		l := newLocal(t, dir)
		place, err := l.Resolve("a")
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{root: root, place: place, path: "a", name: "a", data: []byte("ours\n"), limit: 1000,
			base: Version{Source: FromDisk, Digest: Digest("old\n")}}
		_, info, err := w.current()
		if err != nil {
			t.Fatal(err)
		}
		temp, err := w.writeTemp(0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := meddle(dir + "/a"); err != nil {
			t.Fatal(err)
		}
		if err := w.swap(temp, info); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
		switch target, _ := os.Readlink(dir + "/a"); {
		case name == "removes the file":
			if _, err := os.Lstat(dir + "/a"); err == nil {
				t.Errorf("%s: it is back", name)
			}
		case name == "makes it a symlink":
			if target != "elsewhere" {
				t.Errorf("%s: the link is gone", name)
			}
		case get(t, dir+"/a") != "theirs, longer\n":
			t.Errorf("%s: %q", name, get(t, dir+"/a"))
		}
		_ = root.Close()
	}
}

func TestAWriteWhoseContextHasEndedWritesNothing(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/a", "old\n")
	l := newLocal(t, dir)
	text := mustRead(t, l, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Write(ctx, "a", Text{Content: "x"}, text.Version); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := l.Write(ctx, "b", Text{Content: "x"}, Absent); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := names(t, l, "."); got != "a" || get(t, dir+"/a") != "old\n" {
		t.Errorf("%s, %q", got, get(t, dir+"/a"))
	}
}
