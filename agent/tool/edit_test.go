package tool

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

type pairs []map[string]any

func edit(path string, list ...map[string]any) map[string]any {
	return map[string]any{"path": path, "edits": pairs(list)}
}

func pair(old, new string) map[string]any { return map[string]any{"old": old, "new": new} }

func pairAll(old, new string) map[string]any {
	return map[string]any{"old": old, "new": new, "all": true}
}

const program = "package main\n\nfunc main() {\n\tprintln(\"one\")\n\tprintln(\"two\")\n}\n"

func TestAnEditShowsTheWholeDiffAndWritesNothingUntilItRuns(t *testing.T) {
	b := newBench(t, map[string]string{"main.go": program})
	b.call("view", `{"path":"main.go"}`)
	call, err := b.prepare("edit", edit("main.go", pair(`println("two")`, `println("three")`), pair("package main", "package app")))
	if err != nil {
		t.Fatal(err)
	}
	after := strings.Replace(strings.Replace(program, "two", "three", 1), "package main", "package app", 1)
	shown := call.Presentation()
	if shown.Class != approval.ClassEdit || shown.Kind != KindEdit || shown.Title != "Edit main.go" || shown.Stale || len(shown.Diffs) != 1 {
		t.Fatalf("%+v", shown)
	}
	if d := shown.Diffs[0]; d.Path != b.abs("main.go") || *d.Old != program || d.New != after || d.Base != b.seen[b.abs("main.go")] {
		t.Errorf("%+v", d)
	}
	if shown.Locations[0] != (Location{Path: b.abs("main.go"), Line: 1}) {
		t.Errorf("%+v", shown.Locations)
	}
	wantText(t, b.read("main.go"), program)
	result := b.run(call)
	wantText(t, b.read("main.go"), after)
	wantText(t, result.Text, "edited main.go (2 replacements)\n     1\tpackage app\n     2\t\n     3\tfunc main() {\n     4\t\tprintln(\"one\")\n     5\t\tprintln(\"three\")\n     6\t}")
	if result.Failed || !slices.Equal(result.Changed, []string{b.abs("main.go")}) ||
		result.Views[b.abs("main.go")].Version.Digest != host.Digest(after) {
		t.Errorf("%+v", result)
	}
}

func TestTheLinesRoundEachChangeAreShown(t *testing.T) {
	var content strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&content, "line %d.\n", i)
	}
	b := newBench(t, map[string]string{"f": content.String()})
	b.call("view", `{"path":"f"}`)
	wantText(t, b.call("edit", edit("f", pair("line 5.\n", "five\nfive and a half\n"), pair("line 25.\n", ""))).Text,
		"edited f (2 replacements)\n     2\tline 2.\n     3\tline 3.\n     4\tline 4.\n     5\tfive\n     6\tfive and a half\n     7\tline 6.\n     8\tline 7.\n     9\tline 8.\n"+
			"     …\n    23\tline 22.\n    24\tline 23.\n    25\tline 24.\n    26\tline 26.\n    27\tline 27.\n    28\tline 28.\n    29\tline 29.")
	wantText(t, b.call("edit", edit("f", pair(b.read("f"), ""))).Text, "edited f (1 replacements)\nthe file is empty now")
}

func TestEditsThatCannotBeMadeAreRefusedWithHelpAndChangeNothing(t *testing.T) {
	content := "func a() {\n\tfirst()\n\tsecond()\n}\n\nfunc b() {\n\tfirst()\n}\naaa\n"
	b := newBench(t, map[string]string{"f.go": content})
	b.call("view", `{"path":"f.go"}`)
	for name, c := range map[string]struct {
		args any
		want []string
	}{
		"twice there":      {edit("f.go", pair("first()", "x()")), []string{"is there 2 times (lines 2, 7)", "add the lines around it, or set all to true"}},
		"overlaps itself":  {edit("f.go", pair("aa", "b")), []string{"is there 2 times (lines 9, 9)"}},
		"not there":        {edit("f.go", pair("nothing like this anywhere at all", "x")), []string{"f.go: the old text is not in the file: view the file and copy the text exactly"}},
		"close":            {edit("f.go", pair("\tsecnd()", "x")), []string{"the closest place is line 3", "     3\t\tsecond()"}},
		"indentation":      {edit("f.go", pair("    first()\n    second()", "x")), []string{"lines 2-3 differ from it only in white space", "     2\t\tfirst()"}},
		"inner spaces":     {edit("f.go", pair("func a()  {", "x")), []string{"line 1 differs from it only in spaces"}},
		"numbers of view":  {edit("f.go", pair("     2\t\tfirst()\n     3\t\tsecond()", "x")), []string{"leave out the line numbers and tabs"}},
		"made already":     {edit("f.go", pair("func c() {", "func b() {")), []string{"the new text is, at line 6", "may have been made already"}},
		"empty old":        {edit("f.go", pair("", "x")), []string{"the old text is empty"}},
		"same":             {edit("f.go", pair("aaa", "aaa")), []string{"are the same"}},
		"no edits":         {`{"path":"f.go","edits":[]}`, []string{`"edits" is empty`}},
		"second is bad":    {edit("f.go", pair("aaa", "b"), pair("missing text", "x")), []string{"edit 2 of 2: the old text is not in the file", "none of the edits was made"}},
		"overlap":          {edit("f.go", pair("second()\n}", "x"), pair("}\n\nfunc b", "y")), []string{"edits 1 and 2 overlap at line 4", "none of the edits was made"}},
		"same place twice": {edit("f.go", pair("aaa", "x"), pair("aaa", "y")), []string{"edits 1 and 2 overlap at line 9"}},
		"missing file":     {edit("g.go", pair("a", "b")), []string{"g.go: does not exist"}},
		"a folder":         {edit(".", pair("a", "b")), []string{"is a folder, not a file"}},
	} {
		got := b.refused("edit", c.args)
		t.Logf("%s: %s", name, got)
		wantPart(t, got, append(c.want, "edit: ")...)
	}
	wantText(t, b.read("f.go"), content)
}

func TestAllReplacesEveryPlace(t *testing.T) {
	b := newBench(t, map[string]string{"f": "aaaa b aa\n"})
	b.call("view", `{"path":"f"}`)
	wantPart(t, b.call("edit", edit("f", pairAll("aa", "x"))).Text, "edited f (3 replacements)")
	wantText(t, b.read("f"), "xx b x\n")
}

func TestAFileThatWasNotViewedIsNotEdited(t *testing.T) {
	b := newBench(t, map[string]string{"f": "a\n"})
	wantText(t, b.refused("edit", edit("f", pair("a", "b"))),
		"edit: f: has not been viewed in this session: view it first, so that the change is made to what is there")
	b.env.Views = nil
	b.refused("edit", edit("f", pair("a", "b")))
}

func TestAFileThatChangedSinceItWasViewedIsMarkedStale(t *testing.T) {
	b := newBench(t, map[string]string{"f": "a\nb\n"})
	b.call("view", `{"path":"f"}`)
	b.write("f", "a\nb\nc by hnd\n")
	call, err := b.prepare("edit", edit("f", pair("a", "x")))
	if err != nil {
		t.Fatal(err)
	}
	if shown := call.Presentation(); !shown.Stale || *shown.Diffs[0].Old != "a\nb\nc by hnd\n" {
		t.Errorf("%+v", shown)
	}
	b.run(call)
	wantText(t, b.read("f"), "x\nb\nc by hnd\n")
	call, err = b.prepare("edit", edit("f", pair("b\n", "y\n")))
	if err != nil || call.Presentation().Stale {
		t.Errorf("stale after its own write: %v", err)
	}
}

func TestAFileThatChangesBetweenTheQuestionAndTheAnswerIsNotWritten(t *testing.T) {
	b := newBench(t, map[string]string{"f": "a\n", "g": "a\n"})
	b.call("view", `{"path":"f"}`)
	b.call("view", `{"path":"g"}`)
	for name, args := range map[string]any{"edit": edit("f", pair("a", "b")), "create": `{"path":"g","content":"new","overwrite":true}`} {
		call, err := b.prepare(name, args)
		if err != nil {
			t.Fatal(err)
		}
		file := map[string]string{"edit": "f", "create": "g"}[name]
		b.write(file, "by hand\n")
		result := b.run(call)
		if !result.ChangedBase || !result.Failed || len(result.Changed)+len(result.Views) > 0 {
			t.Errorf("%s: %+v", name, result)
		}
		wantText(t, b.read(file), "by hand\n")
	}
	call, err := b.prepare("create", `{"path":"new","content":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	b.write("new", "by hand\n")
	if result := b.run(call); !result.ChangedBase {
		t.Errorf("%+v", result)
	}
	wantText(t, b.read("new"), "by hand\n")
}

func TestCreateMakesFilesAndFoldersAndKeepsWhatIsThere(t *testing.T) {
	b := newBench(t, map[string]string{"old": "old\n"})
	call, err := b.prepare("create", `{"path":"a/b/new.txt","content":"one\ntwo\n"}`)
	if err != nil {
		t.Fatal(err)
	}
	shown := call.Presentation()
	if shown.Kind != KindEdit || len(shown.Locations) > 0 || shown.Diffs[0].Old != nil || shown.Diffs[0].New != "one\ntwo\n" || shown.Diffs[0].Base != host.Absent {
		t.Errorf("%+v", shown)
	}
	if _, err := os.Stat(b.abs("a")); !errors.Is(err, os.ErrNotExist) {
		t.Error("preparing made a folder")
	}
	result := b.run(call)
	wantText(t, result.Text, "created a/b/new.txt (2 lines)")
	wantText(t, b.read("a/b/new.txt"), "one\ntwo\n")
	wantText(t, b.call("create", `{"path":"empty","content":""}`).Text, "created empty (0 lines)")
	wantText(t, b.refused("create", `{"path":"old","content":"new"}`),
		"create: old: exists already: change it with edit, or view it and create with overwrite set to true")
	wantText(t, b.refused("create", `{"path":"old","content":"new","overwrite":true}`),
		"create: old: has not been viewed in this session: view it first, so that the change is made to what is there")
	wantPart(t, b.refused("create", `{"path":"a/b","content":""}`), "is a folder")
	wantPart(t, b.refused("create", `{"path":".","content":""}`), "is a folder")
	b.call("view", `{"path":"old"}`)
	wantPart(t, b.refused("create", `{"path":"old","content":"old\n","overwrite":true}`), "exactly this content already")
	b.call("create", `{"path":"old","content":"new","overwrite":true}`)
	wantText(t, b.read("old"), "new")
	b.call("edit", edit("a/b/new.txt", pair("one", "1"))) // what it created counts as viewed
	wantText(t, b.read("a/b/new.txt"), "1\ntwo\n")
}

func TestOverwritingKeepsEncodingMarkAndLineEndings(t *testing.T) {
	b := newBench(t, map[string]string{"f": "\xEF\xBB\xBFone\r\ntwo\r\n", "w": "caf\xe9\n"})
	b.call("view", `{"path":"f"}`)
	b.call("create", map[string]any{"path": "f", "content": "1\n2\r\n3\n", "overwrite": true})
	wantText(t, b.read("f"), "\xEF\xBB\xBF1\r\n2\r\n3\r\n")
	b.call("view", `{"path":"w"}`)
	result := b.call("edit", edit("w", pair("é", "日")))
	if !result.Failed {
		t.Error("a character that the encoding lacks was written")
	}
	wantPart(t, result.Text, "windows-1252", "日")
	wantText(t, b.read("w"), "caf\xe9\n")
}

func TestAFileWithMixedLineEndingsIsEditedWithThoseOfThePlace(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\r\ntwo\r\nthree\nfour\n"})
	b.call("view", `{"path":"f"}`)
	b.call("edit", edit("f", pair("one\ntwo\n", "1\n2\n"), pair("three\n", "3\n")))
	wantText(t, b.read("f"), "1\r\n2\r\n3\nfour\n")
	wantPart(t, b.refused("edit", edit("f", pair("2\n3\nfour", "x"))), "its lines end in different ways")
}

// The result of an edit is what applying the pairs from the last place to the first gives, by another way of reckoning; what
// surrounds the places, the mark, the endings and the encoding are as they were.
func TestEditsGiveTheSameAsAnIndependentApplication(t *testing.T) {
	b := newBench(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abé ")), 0, 6, -1), 1, 8).Draw(rt, "lines")
		crlf := rapid.Bool().Draw(rt, "crlf")
		encoding := rapid.SampledFrom([]string{"", "utf-16le", "utf-16be", "windows-1252"}).Draw(rt, "encoding")
		bom := encoding == "utf-16le" || encoding == "utf-16be" || encoding == "" && rapid.Bool().Draw(rt, "bom")
		if encoding == "windows-1252" {
			lines = append([]string{"plain ascii, so that it is surely text é"}, lines...)
		}
		content := strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(rt, "end")
		text := host.Text{Content: content, Format: host.Format{Encoding: encoding, BOM: bom, CRLF: crlf && strings.Contains(content, "\n")}}
		raw, err := text.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		b.write("f", string(raw))
		b.call("view", `{"path":"f"}`)

		var list []map[string]any
		for range rapid.IntRange(1, 4).Draw(rt, "edits") {
			from := rapid.IntRange(0, len(content)).Draw(rt, "from")
			to := rapid.IntRange(from, min(len(content), from+8)).Draw(rt, "to")
			for from > 0 && from < len(content) && content[from]&0xC0 == 0x80 {
				from--
			}
			for to < len(content) && content[to]&0xC0 == 0x80 {
				to++
			}
			list = append(list, pair(content[from:to], rapid.StringOfN(rapid.SampledFrom([]rune("xyé\n")), 0, 5, -1).Draw(rt, "new")))
		}
		want, ok := applyNaively(content, list)
		call, err := b.prepare("edit", edit("f", list...))
		if (err == nil) != ok {
			rt.Fatalf("%q %v: error %v, expected to be possible: %v", content, list, err, ok)
		}
		if err != nil {
			return
		}
		result := b.run(call)
		text.Content = want
		wantRaw, err := text.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		if got := b.read("f"); result.Failed || got != string(wantRaw) {
			rt.Fatalf("%q %v: %s\ngot  %q\nwant %q", content, list, result.Text, got, wantRaw)
		}
	})
}

// applyNaively marks every byte that a pair claims, refuses what is claimed twice or found other than once, and builds the
// result byte by byte.
func applyNaively(content string, list []map[string]any) (string, bool) {
	owner := make([]int, len(content))
	starts := map[int]string{}
	for i, p := range list {
		old := p["old"].(string)
		if old == "" || old == p["new"].(string) {
			return "", false
		}
		at := -1
		for j := 0; j+len(old) <= len(content); j++ {
			if content[j:j+len(old)] == old {
				if at >= 0 {
					return "", false
				}
				at = j
			}
		}
		for j := at; j < at+len(old); j++ {
			if owner[j] != 0 {
				return "", false
			}
			owner[j] = i + 1
		}
		starts[at] = p["new"].(string)
	}
	var out strings.Builder
	for j := range len(content) {
		if text, ok := starts[j]; ok {
			out.WriteString(text)
		}
		if owner[j] == 0 {
			out.WriteByte(content[j])
		}
	}
	return out.String(), true
}
