//go:build unix

package clienthost_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

func TestTheByteOrderMarkAndTheLineEndsOfAFileAreKept(t *testing.T) {
	f, dir := files(t)
	path := filepath.Join(dir, "f.txt")
	for _, text := range []string{"\ufeffone\r\ntwo\r\n", "\ufeff", "a\r\nb\nc\rd", "no end", "\n\n\n", "", "\u2028\u0085\f"} {
		if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: path, Content: text}); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("on disk %q, %v; want %q", b, err, text)
		}
		if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path}); err != nil || r.Content != text {
			t.Errorf("read %q, %v; want %q", r.Content, err, text)
		}
	}
}

func TestPartsOfAFileJoinToTheWholeWhereverItIsCut(t *testing.T) {
	f, dir := files(t)
	path := filepath.Join(dir, "f.txt")
	for _, text := range []string{"", "\n", "one", "one\n", "one\r\ntwo\n\nfour", "\n\n", "é\n漢\n😀"} {
		put(t, path, text)
		lines := uint32(strings.Count(text, "\n") + 1)
		for size := uint32(1); size <= lines+1; size++ {
			var joined string
			for line := uint32(1); line <= lines+2; line += size {
				r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path, Line: acp.Some(line), Limit: acp.Some(size)})
				if err != nil {
					t.Fatal(err)
				}
				joined += r.Content
			}
			if joined != text {
				t.Errorf("%q in parts of %d lines: %q", text, size, joined)
			}
		}
		most := ^uint32(0)
		if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path, Line: acp.Some(most), Limit: acp.Some(most)}); err != nil || r.Content != "" {
			t.Errorf("the last possible line of %q: %q, %v", text, r.Content, err)
		}
		if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path, Limit: acp.Some(most)}); err != nil || r.Content != text {
			t.Errorf("%q with the highest limit: %q, %v", text, r.Content, err)
		}
	}
}

// editor has files open.
func editor(f *clienthost.Files, open map[string]string) {
	f.Overlay = func(_ context.Context, path string) (string, bool) { text, ok := open[path]; return text, ok }
	f.Save = func(_ context.Context, path, text string) (bool, error) {
		if _, ok := open[path]; !ok {
			return false, nil
		}
		if strings.Contains(text, "refuse") {
			return false, errors.New("the buffer is locked")
		}
		open[path] = text
		return true, nil
	}
}

func TestAFileThatIsOpenInAnEditorIsReadAndWrittenThere(t *testing.T) {
	f, dir := files(t)
	disk, both, fresh := filepath.Join(dir, "disk"), filepath.Join(dir, "both"), filepath.Join(dir, "new", "fresh")
	put(t, disk, "on disk")
	put(t, both, "saved\n")
	open := map[string]string{both: "unsaved\nsecond\n", fresh: "never saved"}
	editor(f, open)
	read := func(path string, line, limit acp.Opt[uint32]) string {
		t.Helper()
		r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path, Line: line, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content
	}
	var all acp.Opt[uint32]
	if got := read(disk, all, all); got != "on disk" {
		t.Errorf("%q", got)
	}
	if got := read(filepath.Join(dir, "x", "..", "both"), all, all); got != "unsaved\nsecond\n" { // the editor gets the clean path
		t.Errorf("%q", got)
	}
	if got := read(both, acp.Some[uint32](2), acp.Some[uint32](1)); got != "second\n" {
		t.Errorf("%q", got)
	}
	if got := read(fresh, all, all); got != "never saved" {
		t.Errorf("%q", got)
	}
	f.MaxReadBytes = 4
	if _, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: both}); err == nil {
		t.Error("an editor's text over the limit was returned")
	}
	for _, path := range []string{disk, both, fresh} {
		if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: path, Content: "written"}); err != nil {
			t.Error(err)
		}
	}
	if b, _ := os.ReadFile(both); string(b) != "saved\n" || open[both] != "written" || open[fresh] != "written" {
		t.Errorf("on disk %q, in the editor %q", b, open)
	}
	if _, err := os.Stat(filepath.Dir(fresh)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made for a file that the editor has taken: %v", err)
	}
	if b, _ := os.ReadFile(disk); string(b) != "written" {
		t.Errorf("on disk %q", b)
	}
	// A write that the editor refuses does not fall back to the disk.
	if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: both, Content: "refuse"}); err == nil {
		t.Error("the editor's refusal was lost")
	}
	if b, _ := os.ReadFile(both); string(b) != "saved\n" {
		t.Errorf("on disk %q", b)
	}
}

func TestAnEditorIsNotAskedForWhatMayNotBeTouched(t *testing.T) {
	f, dir := files(t)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "secret"), "s")
	put(t, filepath.Join(dir, "f"), "")
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "none yet"), filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	asked := 0
	f.Overlay = func(context.Context, string) (string, bool) { asked++; return "from the editor", true }
	f.Save = func(context.Context, string, string) (bool, error) { asked++; return true, nil }
	for _, path := range []string{
		filepath.Join(outside, "secret"), filepath.Join(dir, "link", "secret"), filepath.Join(dir, "link", "new"), filepath.Join(dir, "dangling"),
		dir, "relative", dir + "/../" + filepath.Base(outside) + "/secret", filepath.Join(dir, "f", "below a file"),
	} {
		if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path}); err == nil {
			t.Errorf("read %s: %q", path, r.Content)
		}
		if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: path}); err == nil {
			t.Errorf("wrote %s", path)
		}
	}
	if asked != 0 {
		t.Errorf("the editor was asked %d times", asked)
	}
	if _, err := os.Stat(filepath.Join(outside, "none yet")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made through a link: %v", err)
	}
}

func TestALinkWithinTheRootsIsFollowedAndTheInnermostRootCounts(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "f"), "outer")
	put(t, filepath.Join(inner, "f"), "inner")
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "f"), filepath.Join(inner, "up")); err != nil {
		t.Fatal(err)
	}
	f, err := clienthost.NewFiles(dir, inner)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for path, want := range map[string]string{"f": "outer", "link": "outer", "inner/f": "inner"} {
		if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: filepath.Join(dir, path)}); err != nil || r.Content != want {
			t.Errorf("%s: %q, %v", path, r.Content, err)
		}
	}
	if r, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: filepath.Join(inner, "up")}); err == nil {
		t.Errorf("a link led out of the inner root: %q", r.Content)
	}
}

func TestRootsMustBeAbsoluteAndThere(t *testing.T) {
	for _, root := range []string{"relative", "", filepath.Join(t.TempDir(), "missing")} {
		if f, err := clienthost.NewFiles(t.TempDir(), root); err == nil {
			_ = f.Close()
			t.Errorf("root %q was taken", root)
		}
	}
}

func TestADeviceAndAPipeAreRefusedWithoutWaiting(t *testing.T) {
	f, err := clienthost.NewFiles("/dev")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for _, path := range []string{"/dev/zero", "/dev/null", "/dev/tty"} {
		if _, err := f.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: path}); err == nil {
			t.Errorf("%s was read", path)
		}
		if _, err := f.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: path, Content: "x"}); err == nil {
			t.Errorf("%s was written", path)
		}
	}
}

func TestAReadAndAWriteEndWithTheirContext(t *testing.T) {
	f, dir := files(t)
	path := filepath.Join(dir, "f")
	put(t, path, "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.ReadTextFile(ctx, acp.ReadTextFileRequest{Path: path}); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.WriteTextFile(ctx, acp.WriteTextFileRequest{Path: path, Content: "new"}); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("%q", b)
	}
}
