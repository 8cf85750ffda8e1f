package tool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

func TestViewNumbersTheLinesAndSaysHowToGoOn(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive"})
	wantText(t, b.call("view", `{"path":"a.txt"}`).Text,
		"a.txt (lines 1-5 of 5)\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive")
	wantText(t, b.call("view", `{"path":"a.txt","from":2,"lines":2}`).Text,
		"a.txt (lines 2-3 of 5)\n     2\ttwo\n     3\tthree\n… 2 more lines; view again with from=4")
	wantText(t, b.call("view", `{"path":"a.txt","from":4,"lines":2}`).Text, "a.txt (lines 4-5 of 5)\n     4\tfour\n     5\tfive")
	result := b.call("view", `{"path":"a.txt","from":6}`)
	if !result.Failed {
		t.Error("a line after the end did not fail")
	}
	wantText(t, result.Text, "view: a.txt: has 5 lines, so there is no line 6")
}

func TestViewOfAnEmptyFileSaysThatItHasNoLines(t *testing.T) {
	b := newBench(t, map[string]string{"empty": ""})
	wantText(t, b.call("view", `{"path":"empty"}`).Text, "empty (lines 0-0 of 0)")
}

func TestViewOfALongFileStopsAtALineAndTheNextViewGoesOnThere(t *testing.T) {
	var content strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&content, "line %d %s\n", i, strings.Repeat("x", 30))
	}
	b := newBench(t, map[string]string{"long.txt": content.String()})
	var seen []string
	for from := 1; ; {
		result := b.call("view", map[string]any{"path": "long.txt", "from": from})
		if len(result.Text) > maxViewBytes+maxShownLine {
			t.Fatalf("a view has %d bytes", len(result.Text))
		}
		lines := strings.Split(result.Text, "\n")
		more := 0
		for _, line := range lines[1:] {
			if rest, ok := strings.CutPrefix(line, "… "); ok {
				if n, _ := fmt.Sscanf(rest, "%d more lines; view again with from=%d", &more, &from); n != 2 {
					t.Fatalf("last line: %q", line)
				}
				continue
			}
			_, text, _ := strings.Cut(line, "\t")
			seen = append(seen, text)
		}
		if more == 0 {
			break
		}
	}
	wantText(t, strings.Join(seen, "\n")+"\n", content.String())
}

func TestViewRemembersWhatWasSeenAndTellsWhereItIs(t *testing.T) {
	b := newBench(t, map[string]string{"d/a.txt": "x\n"})
	call, err := b.prepare("view", `{"path":"d/a.txt","from":1}`)
	if err != nil {
		t.Fatal(err)
	}
	shown := call.Presentation()
	if shown.Class != approval.ClassRead || shown.Kind != KindRead || len(shown.Locations) != 1 ||
		shown.Locations[0] != (Location{Path: b.abs("d/a.txt"), Line: 1}) {
		t.Errorf("presentation: %+v", shown)
	}
	result := b.run(call)
	if got := result.Views[b.abs("d/a.txt")].Version; got != (host.Version{Source: host.FromDisk, Digest: host.Digest("x\n")}) {
		t.Errorf("version: %+v", got)
	}
}

func TestListShowsFoldersFirstThenFilesWithTheirSize(t *testing.T) {
	b := newBench(t, map[string]string{"b.txt": "12345", "a.txt": "", "z/x": "1", ".hidden": "12"})
	wantText(t, b.call("list", `{}`).Text, "./ (4 entries)\nz/\n.hidden\t2\na.txt\t0\nb.txt\t5")
	wantText(t, b.call("list", `{"path":"z"}`).Text, "z/ (1 entries)\nx\t1")
	wantText(t, b.refused("list", `{"path":"b.txt"}`), "list: b.txt: is a file, not a folder")
}

func TestFindTakesGlobsAndPartsOfPaths(t *testing.T) {
	b := newBench(t, map[string]string{
		"main.go": "", "main_test.go": "", "sub/deep/util.go": "", "sub/README.md": "", "node_modules/x/index.go": "",
		"out.log": "", ".gitignore": "*.log\n",
	})
	for pattern, want := range map[string]string{
		"*.go":         "main.go main_test.go sub/deep/util.go",
		"**/*_test.go": "main_test.go",
		"sub/**/*.go":  "sub/deep/util.go",
		"sub/*.{md,x}": "sub/README.md",
		"readme":       "sub/README.md",
		"DEEP/util":    "sub/deep/util.go",
		"*.log":        "",
		"./*.md":       "sub/README.md",
	} {
		var files []string
		if want != "" {
			files = strings.Fields(want)
		}
		wantText(t, b.call("find", map[string]any{"pattern": pattern}).Text,
			strings.Join(append([]string{fmt.Sprintf("%d files match %q", len(files), pattern)}, files...), "\n"))
	}
	wantText(t, b.call("find", `{"pattern":"deep/*.go","path":"sub"}`).Text, "1 files match \"deep/*.go\"\nsub/deep/util.go")
	wantPart(t, b.refused("find", `{"pattern":"a[b"}`), `"a[b"`, "not a valid glob")
}

func TestAMissingFileIsAnsweredWithTheOneThatIsProbablyMeant(t *testing.T) {
	b := newBench(t, map[string]string{"src/handler.go": ""})
	wantText(t, b.refused("view", `{"path":"src/handlers.go"}`),
		"view: src/handlers.go: does not exist; did you mean src/handler.go?")
}

func TestPathsOutsideTheRootsAreRefusedByEveryTool(t *testing.T) {
	b := newBench(t, nil)
	for name, args := range map[string]string{
		"view": `{"path":"/etc/passwd"}`, "list": `{"path":".."}`, "find": `{"pattern":"x","path":"../.."}`,
		"search": `{"pattern":"x","path":"/etc"}`, "create": `{"path":"../x","content":""}`,
		"edit": `{"path":"../x","edits":[{"old":"a","new":"b"}]}`, "run": `{"command":"true","dir":"/"}`,
	} {
		wantPart(t, b.refused(name, args), name+": ", "outside the session's folders")
	}
}
