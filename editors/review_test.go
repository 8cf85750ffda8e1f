//go:build unix

package editors

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// diffs are those that a call shows.
func diffs(content []acp.ToolCallContent) []acp.ToolCallDiff {
	var all []acp.ToolCallDiff
	for _, c := range content {
		if d, ok := c.(acp.ToolCallDiff); ok {
			all = append(all, d)
		}
	}
	return all
}

func TestAnEditShowsItsDiffBeforeItIsMadeAndKeepsIt(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, map[string]string{"a.txt": "old words\n"})
		s := d.open()
		check := func(when string, content []acp.ToolCallContent, made bool) {
			t.Helper()
			shown := diffs(content)
			if len(shown) != 1 {
				t.Errorf("%s: %d diffs are shown", when, len(shown))
				return
			}
			old, has := shown[0].OldText.Get()
			want := acp.ToolCallDiff{Path: d.path("a.txt"), NewText: "new words\n"}
			if made {
				want = acp.ToolCallDiff{Path: d.path("made.txt"), NewText: "made\n"}
			}
			if shown[0].Path != want.Path || shown[0].NewText != want.NewText || has == made || (!made && old != "old words\n") {
				t.Errorf("%s: the diff is of %s, from %q (%v) to %q", when, shown[0].Path, old, has, shown[0].NewText)
			}
		}
		d.answer = func(q acp.RequestPermissionRequest) acp.PermissionOptionKind {
			made := strings.Contains(q.ToolCall.Title, "made.txt")
			check("when asked", q.ToolCall.Content, made)
			if !made && d.saved("a.txt") != "old words\n" || made && d.saved("made.txt") != "" {
				t.Error("it was written before the answer")
			}
			return acp.PermissionAllowOnce
		}
		d.say(s, `[[call: view {"path":"a.txt"}]] [[call: edit {"path":"a.txt","edits":[{"old":"old","new":"new"}]}]] [[text: done]]`)
		check("when done", lastCall(t, s).Content, false)
		d.say(s, `[[anew]] [[call: create {"path":"made.txt","content":"made\n"}]] [[text: done]]`)
		check("when done", lastCall(t, s).Content, true)
		if len(d.questions()) != 2 || d.saved("a.txt") != "new words\n" || d.saved("made.txt") != "made\n" {
			t.Errorf("a.txt holds %q, made.txt holds %q", d.saved("a.txt"), d.saved("made.txt"))
		}

		d.restart()
		s, _ = d.load(s.ID())
		all := calls(s)
		if len(all) != 3 {
			t.Fatalf("%d calls are replayed", len(all))
		}
		check("when replayed", all[1].Content, false)
		check("when replayed", all[2].Content, true)
		for _, c := range all {
			if c.Status != acp.ToolCallCompleted {
				t.Errorf("%s is replayed as %s", c.Title, c.Status)
			}
		}
	})
}

func TestEveryWriteGoesThroughTheEditorThatOffersIt(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, map[string]string{"a.txt": "one\n"})
		s := d.open()
		if err := s.SetMode(t.Context(), "edits"); err != nil { // nothing is asked then, and it is written the same way
			t.Fatal(err)
		}
		d.say(s, `[[call: view {"path":"a.txt"}]] [[call: edit {"path":"a.txt","edits":[{"old":"one","new":"two"}]}]] [[call: create {"path":"b.txt","content":"b"}]] [[text: done]]`)
		if n := len(d.questions()); n != 0 {
			t.Errorf("%d questions were asked", n)
		}
		if d.saved("a.txt") != "two\n" || d.saved("b.txt") != "b" {
			t.Errorf("a.txt holds %q, b.txt holds %q", d.saved("a.txt"), d.saved("b.txt"))
		}
		var want []string
		if p.files {
			want = []string{d.path("a.txt"), d.path("b.txt")}
		}
		if !slices.Equal(d.written, want) {
			t.Errorf("the editor was given %q to write, expected %q", d.written, want)
		}
	})
}

func TestTheModelReadsAndEditsTheUnsavedText(t *testing.T) {
	for _, p := range []profile{zed(), jetbrains()} {
		d := sit(t, p, map[string]string{"a.txt": "saved\n"})
		d.buffers[d.path("a.txt")] = "unsaved\n"
		s := d.open()
		_, updates := d.say(s, `[[call: view {"path":"a.txt"}]] [[result]]`)
		if text := spoken(updates); !strings.Contains(text, "unsaved") {
			t.Errorf("%s: the model got %q", p.info.Name, text)
		}
		d.say(s, `[[anew]] [[call: edit {"path":"a.txt","edits":[{"old":"unsaved","new":"edited"}]}]] [[text: done]]`)
		if got := d.saved("a.txt"); got != "edited\n" {
			t.Errorf("%s: the file holds %q", p.info.Name, got)
		}
	}
}

func TestEveryCallHasItsKindATitleAndExistingPlaces(t *testing.T) {
	d := sit(t, zed(), map[string]string{"src/a.go": "package a\n\nfunc A() {}\n"})
	s := d.open()
	d.say(s, `[[call: view {"path":"src/a.go","from":3}]] [[call: list {"path":"src"}]] [[call: search {"pattern":"func A"}]]
		[[call: find {"pattern":"a.go"}]] [[call: run {"command":"true"}]] [[call: edit {"path":"src/a.go","edits":[{"old":"A()","new":"B()"}]}]]
		[[call: create {"path":"b.go","content":"package b\n"}]] [[call: plan {"entries":[{"content":"think"}]}]] [[text: done]]`)
	want := []struct {
		kind  acp.ToolKind
		title string
	}{
		{"read", "View src/a.go from line 3"}, {"read", "List src"}, {"search", "Search func A"}, {"search", "Find a.go"}, {"execute", "true"},
		{"edit", "Edit src/a.go"}, {"edit", "Create b.go"}, {"think", "Plan"},
	}
	all := calls(s)
	for _, w := range want { // those that only read run side by side, in any order
		if !slices.ContainsFunc(all, func(c acp.ToolCall) bool { return c.Kind == w.kind && strings.Contains(c.Title, w.title) }) {
			t.Errorf("no call of kind %s is titled %q", w.kind, w.title)
		}
	}
	places := 0
	for _, c := range all {
		if len(c.Title) > 80 || strings.Contains(c.Title, "\n") {
			t.Errorf("the title %q is long", c.Title)
		}
		if c.Title == "View src/a.go from line 3" && (len(c.Locations) != 1 || c.Locations[0].Line != acp.Some(uint32(3))) {
			t.Errorf("the view leads to %+v", c.Locations)
		}
		for _, l := range c.Locations {
			places++
			if !filepath.IsAbs(l.Path) || d.savedAt(l.Path) == "" {
				t.Errorf("%q leads to %s", c.Title, l.Path)
			}
			if line, ok := l.Line.Get(); ok && line == 0 {
				t.Errorf("%q leads to line 0", c.Title)
			}
		}
	}
	if len(all) != len(want) || places < 2 {
		t.Errorf("%d calls and %d places are shown", len(all), places)
	}
}
