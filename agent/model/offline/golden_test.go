package offline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// A transcript is a folder, prompts, and what came of them: thoughts in parentheses, calls behind ">", text. Its comment
// may say "tools: a b" (only these are offered) and "refuse: TOOL WHY". A prompt's parts are separated by lines "%% part".
func TestConversationsGoLikeTheirTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(data)
			got := string(txtar.Format(replay(t, archive)))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(data); got != want {
				t.Errorf("the transcript is now:\n%s\nand was:\n%s", firstDifference(got, want), firstDifference(want, got))
			}
		})
	}
}

// replay has the archive's conversation and gives the archive with what came of it.
func replay(t *testing.T, archive *txtar.Archive) *txtar.Archive {
	t.Helper()
	tree := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "in/"); ok {
			tree[name] = string(f.Data)
		}
	}
	folder := newFolder(t, tree)
	var tools []string
	for line := range strings.Lines(string(archive.Comment)) {
		if list, ok := strings.CutPrefix(line, "tools: "); ok {
			tools = strings.Fields(list)
		}
		if rule, ok := strings.CutPrefix(line, "refuse: "); ok {
			name, why, _ := strings.Cut(strings.TrimSpace(rule), " ")
			folder.refuse[name] = why
		}
	}
	c := newChat(t, folder, tools...)
	out := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		switch {
		case strings.HasPrefix(f.Name, "in/"):
			out.Files = append(out.Files, f)
		case f.Name == "prompt":
			parts := strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n%% part\n")
			for i := range parts {
				parts[i] = strings.ReplaceAll(parts[i], "$ROOT", folder.root)
			}
			l := c.say(parts[0], parts[1:]...)
			out.Files = append(out.Files, f, txtar.File{Name: "answer", Data: []byte(plainLog(l.log, folder.root))})
		case strings.HasPrefix(f.Name, "out/"):
			name := strings.TrimPrefix(f.Name, "out/")
			text, ok := folder.read(name)
			if !ok {
				text = "(no such file)\n"
			}
			out.Files = append(out.Files, txtar.File{Name: f.Name, Data: []byte(text)})
		}
	}
	return out
}

var duration = regexp.MustCompile(`\(\d+\.\d+s\)`)

// plainLog takes out what differs from run to run.
func plainLog(log, root string) string {
	log = duration.ReplaceAllString(strings.ReplaceAll(log, root, "$ROOT"), "(0.0s)")
	return strings.TrimRight(log, "\n") + "\n"
}

// firstDifference is the part of a around the first line where it differs from b.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	at := 0
	for at < len(x) && at < len(y) && x[at] == y[at] {
		at++
	}
	return fmt.Sprintf("(from line %d)\n%s", at+1, strings.Join(x[min(max(at-3, 0), len(x)):min(at+12, len(x))], "\n"))
}
