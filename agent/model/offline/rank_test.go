package offline

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

func openTree(t *testing.T, name string) *folder {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/trees/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	return newFolder(t, files)
}

func TestTheBestPlaceComesFirst(t *testing.T) {
	for _, c := range []struct {
		tree, question string
		says           string   // in the first sentence
		first          string   // the first quotation's path
		quotes         string   // in the first quotation
		not            []string // nowhere in the quotations' paths
	}{
		{tree: "go", question: "where is the message size limit set?", says: "`MaxMessageBytes` at `internal/limits/limits.go:5`", first: "internal/limits/limits.go", quotes: "const MaxMessageBytes = 32 << 20", not: []string{"vendor/", "_gen.go"}},
		{tree: "go", question: "Where is MaxMessageBytes defined?", says: "`MaxMessageBytes` is defined at `internal/limits/limits.go:5`", first: "internal/limits/limits.go"},
		{tree: "go", question: "how many headers may there be?", first: "internal/limits/limits.go", quotes: "maxHeaders = 64"},
		{tree: "go", question: "What calls Backoff?", says: "`Backoff` is used on 1 line in 1 file; it is defined at `internal/retry/queue.go:17`", first: "internal/retry/queue.go", quotes: "time.Sleep(Backoff(try))"},
		{tree: "go", question: "what uses NewQueue", says: "is used on 1 line", first: "internal/server/server.go", quotes: "retry.NewQueue()"},
		{tree: "go", question: "What is the default read timeout?", first: "internal/server/server.go", quotes: "ReadTimeout"},
		{tree: "go", question: "how long is the pause before the next try?", first: "internal/retry/queue.go", quotes: "func Backoff"},
		{tree: "go", question: "what does this project do?", says: "In its own words", first: "README.md", quotes: "# courier"},
		{tree: "go", question: "How do I run the tests?", says: "`Makefile:4` says how to run the tests", first: "Makefile", quotes: "go test -race"},
		{tree: "go", question: "how do I run it?", first: "README.md", quotes: "go run ./cmd/courier"},
		{tree: "go", question: "what is maxmessagebytes", first: "internal/limits/limits.go", quotes: "MaxMessageBytes"},
		{tree: "go", question: "what does server.go do?", says: "`internal/server/server.go` has 40 lines", first: "internal/server/server.go", quotes: "package server"},
		{tree: "python", question: "where is the cache directory configured?", says: "`CACHE_DIR` at `gazetteer/settings.py:5`", first: "gazetteer/settings.py", quotes: "CACHE_DIR = ", not: []string{"poetry.lock"}},
		{tree: "python", question: "what calls look_up?", says: "no use of `look_up`", first: "gazetteer/lookup.py", quotes: "def look_up"},
		{tree: "python", question: "when does an entry expire?", first: "gazetteer/cache.py", quotes: "_expired"},
		{tree: "python", question: "which timeout do requests have?", first: "gazetteer/settings.py", quotes: "REQUEST_TIMEOUT = 10.0"},
		{tree: "python", question: "what is this?", says: "In its own words", first: "README.rst", quotes: "Looks up place names"},
		{tree: "python", question: "how do I run the tests?", first: "README.rst", quotes: "pytest"},
		{tree: "python", question: "how do I install it?", first: "README.rst", quotes: "pip install gazetteer"},
		{tree: "typescript", question: "how many retries are there?", first: "src/api/client.ts", quotes: "maxRetries", not: []string{"dist/"}},
		{tree: "typescript", question: "Where is parseBerths defined?", says: "`parseBerths` is defined at `src/model/berth.ts:3`", first: "src/model/berth.ts", quotes: "Array.isArray"},
		{tree: "typescript", question: "who uses parseBerths", first: "src/api/client.ts", quotes: "return parseBerths"},
		{tree: "typescript", question: "what does this project do?", says: "manifest", first: "package.json", quotes: "Shows which berths are free."},
		{tree: "typescript", question: "how do I run the tests?", first: "package.json", quotes: `"test": "vitest run"`},
		{tree: "typescript", question: "where is the list of berths in the ui?", first: "src/ui/BerthList.tsx", quotes: "BerthList", not: []string{"dist/"}},
		{tree: "docs", question: "when does a booking lapse?", first: "boats.md", quotes: "fifteen minutes late"},
		{tree: "docs", question: "how do I book a boat?", first: "boats.md", quotes: "## Booking a boat"},
		{tree: "docs", question: "who has a spare key?", first: "keys.md", quotes: "spare one"},
	} {
		t.Run(c.tree+"/"+c.question, func(t *testing.T) {
			chat := newChat(t, openTree(t, c.tree))
			l := chat.say(c.question)
			quotes := quotations(t, chat.folder, l.answer)
			if len(quotes) == 0 {
				t.Fatalf("nothing is quoted:\n%s", l.log)
			}
			first, _, _ := strings.Cut(l.answer, "\n")
			if !strings.Contains(first, c.says) {
				t.Errorf("the first sentence is %q", first)
			}
			if quotes[0].path != c.first || !strings.Contains(strings.Join(quotes[0].lines, "\n"), c.quotes) {
				t.Errorf("the first quotation is not of %s with %q:\n%s", c.first, c.quotes, l.answer)
			}
			for _, q := range quotes {
				for _, no := range c.not {
					if strings.Contains(q.path, no) {
						t.Errorf("%s is quoted", q.path)
					}
				}
			}
			searches := strings.Count(" "+l.callNames(), " search")
			if searches > maxSearches || l.rounds > 4 || len(quotes) > 5 {
				t.Errorf("%d searches, %d rounds, %d quotations", searches, l.rounds, len(quotes))
			}
		})
	}
}

var quoteHeading = regexp.MustCompile("^`([^`]+):(\\d+)(?:-(\\d+))?`$")

// quotations takes the quotations out of an answer, and fails the test if one is not what the file has there.
func quotations(t *testing.T, f *folder, answer string) []quotation {
	t.Helper()
	var out []quotation
	lines := strings.Split(answer, "\n")
	for i, l := range lines {
		m := quoteHeading.FindStringSubmatch(l)
		if m == nil || i+2 >= len(lines) || !strings.HasPrefix(lines[i+2], "```") {
			continue
		}
		fence := lines[i+2][:len(lines[i+2])-len(strings.TrimLeft(lines[i+2], "`"))]
		q := quotation{path: m[1]}
		q.first, _ = strconv.Atoi(m[2])
		for _, l := range lines[i+3:] {
			if l == fence {
				break
			}
			q.lines = append(q.lines, l)
		}
		text, ok := f.read(q.path)
		if !ok {
			t.Fatalf("%s is quoted and does not exist", q.path)
		}
		file := strings.Split(text, "\n")
		for j, l := range q.lines {
			if n := q.first + j; n > len(file) || file[n-1] != l {
				t.Errorf("%s:%d is quoted as %q", q.path, n, l)
			}
		}
		if last := m[3]; last != "" && last != strconv.Itoa(q.last()) {
			t.Errorf("the heading %s has %d lines", l, len(q.lines))
		}
		out = append(out, q)
	}
	return out
}
