package tool

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/host"
)

func TestSearchShowsEachLineThatMatches(t *testing.T) {
	b := newBench(t, map[string]string{
		"b.go": "func Alpha() {}\n// alpha and Alpha\n", "a/x.go": "\tAlpha()\r\n", "a.txt": "alpha", "c.log": "Alpha\n", ".gitignore": "*.log\n",
		"bin": "Alpha\x00\n", ".env": "Alpha=1\n",
	})
	note := "\n… files that usually hold secrets were not searched: 1"
	for _, c := range []struct{ args, want string }{
		{`{"pattern":"Alpha"}`, "3 matches in 2 files\na/x.go:1: \tAlpha()\nb.go:1: func Alpha() {}\nb.go:2: // alpha and Alpha" + note},
		{`{"pattern":"ALPHA","ignore_case":true,"include":"*.txt"}`, "1 matches in 1 files\na.txt:1: alpha"},
		{`{"pattern":"^func \\w+\\(","regex":true}`, "1 matches in 1 files\nb.go:1: func Alpha() {}" + note},
		{`{"pattern":"Alpha\\(\\)$","regex":true}`, "1 matches in 1 files\na/x.go:1: \tAlpha()" + note},
		{`{"pattern":"func Alpha() {}$"}`, "no matches" + note},
		{`{"pattern":"alpha","path":"b.go"}`, "1 matches in 1 files\nb.go:2: // alpha and Alpha"},
		{`{"pattern":"Alpha","path":"a"}`, "1 matches in 1 files\na/x.go:1: \tAlpha()"},
		{`{"pattern":"Alpha","include":"a/**"}`, "1 matches in 1 files\na/x.go:1: \tAlpha()"},
		{`{"pattern":"Alpha","include":"x.go"}`, "1 matches in 1 files\na/x.go:1: \tAlpha()"},
		{`{"pattern":"Alpha","include":"a"}`, "1 matches in 1 files\na/x.go:1: \tAlpha()"},
	} {
		got := b.call("search", c.args).Text
		if strings.Contains(c.args, "include") { // what is not included is no news
			got = strings.TrimSuffix(got, note)
		}
		wantText(t, got, c.want)
	}
}

func TestSearchRefusesWhatItCannotLookFor(t *testing.T) {
	b := newBench(t, map[string]string{".env": "x"})
	wantPart(t, b.refused("search", `{"pattern":""}`), `"pattern" is empty`)
	wantPart(t, b.refused("search", `{"pattern":"a\nb"}`), "has a line break")
	wantPart(t, b.refused("search", `{"pattern":"a(","regex":true}`), "not valid RE2", "missing closing )")
	wantPart(t, b.refused("search", `{"pattern":"(?=a)","regex":true}`), "not valid RE2")
	wantPart(t, b.refused("search", `{"pattern":"x","path":".env"}`), "usually holds secrets")
	wantPart(t, b.refused("search", `{"pattern":"x","path":"missing"}`), "does not exist")
}

func TestSearchReadsOtherEncodings(t *testing.T) {
	wide := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune("erste\nGrüße\n")) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	b := newBench(t, map[string]string{"wide.txt": string(wide), "old.txt": "x\nGr\xfc\xdfe an alle, die das hier lesen\n", "new.txt": "Grüße\n"})
	want := "3 matches in 3 files\nnew.txt:1: Grüße\nold.txt:2: Grüße an alle, die das hier lesen\nwide.txt:2: Grüße"
	wantText(t, b.call("search", `{"pattern":"Grüße"}`).Text, want)
	wantText(t, b.call("search", `{"pattern":"grÜße","ignore_case":true}`).Text, want)
	wantText(t, b.call("search", `{"pattern":"Gr..e","regex":true}`).Text, want)
	wantText(t, b.call("search", `{"pattern":"Gr"}`).Text, want)
	wantText(t, b.call("search", `{"pattern":"gR","ignore_case":true}`).Text, want)
}

func TestSearchCountsAllAndSaysWhatItDoesNotShow(t *testing.T) {
	files := map[string]string{"big.txt": strings.Repeat("hit\n", 500)}
	for i := range 300 {
		files[fmt.Sprintf("f%03d.txt", i)] = "x\nhit\n"
	}
	b := newBench(t, files)
	text := b.call("search", `{"pattern":"hit"}`).Text
	lines := strings.Split(text, "\n")
	wantText(t, lines[0], "800 matches in 301 files")
	wantText(t, lines[1], "big.txt:1: hit")
	wantText(t, lines[51], "f000.txt:2: hit")
	wantText(t, lines[len(lines)-1], "… 600 more matches in 151 files are not shown (at most 200 in all, 50 in a file): narrow the pattern, path or include")
	if len(lines) != 202 {
		t.Errorf("%d lines", len(lines))
	}
	for range 5 {
		if again := b.call("search", `{"pattern":"hit"}`).Text; again != text {
			t.Fatal("the same search gives another result")
		}
	}
}

func TestALongLineIsClippedSoThatTheMatchIsSeen(t *testing.T) {
	b := newBench(t, map[string]string{
		"far":  strings.Repeat("é", 1000) + "NEEDLE" + strings.Repeat("é", 1000) + "\n",
		"near": "NEEDLE" + strings.Repeat("é", 1000) + "\n",
	})
	result := b.call("search", `{"pattern":"NEEDLE"}`).Text
	for _, line := range strings.Split(result, "\n")[1:] {
		_, text, _ := strings.Cut(line, ": ")
		if n := utf8.RuneCountInString(text); n > 300 || !strings.Contains(text, "NEEDLE") || !utf8.ValidString(text) {
			t.Errorf("%d characters: %s", n, text)
		}
	}
}

// What the matcher finds is what matching each line by itself finds, for texts and patterns drawn at random.
func TestTheMatcherFindsTheLinesThatMatchByThemselves(t *testing.T) {
	patterns := []string{"ab", "a", "b+", "^a", "b$", "^$", "a.*b", `\s`, "(a|b)c", "[^a]b", `a\b`, "é", "x*", "ab?c", "(ab){2}", `a[^b]*b`, `(?s)a.b`, `\Aa`, `b\z`, `a\nb`, `[\s]b`, `\W+a`}
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringOfN(rapid.SampledFrom([]rune("abcABé \r\n\n")), 0, 60, -1).Draw(t, "content")
		pattern := rapid.SampledFrom(patterns).Draw(t, "pattern")
		isRegex, ignore := rapid.Bool().Draw(t, "regex"), rapid.Bool().Draw(t, "ignore")
		m, err := newLineMatcher(pattern, isRegex, ignore)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		m.each([]byte(content), func(number int, line []byte, start, end int) bool {
			if start < 0 || end < start || start > len(line)+1 {
				t.Fatalf("the match is at %d-%d of %q", start, end, line)
			}
			got = append(got, fmt.Sprintf("%d:%s", number, line))
			return true
		})
		expression := pattern
		if !isRegex {
			expression = regexp.QuoteMeta(pattern)
		}
		if ignore {
			expression = "(?i)" + expression
		}
		re := regexp.MustCompile(expression)
		var want []string
		number := 0
		for line := range strings.Lines(content) {
			number++
			if whole, ok := strings.CutSuffix(line, "\n"); ok {
				line = strings.TrimSuffix(whole, "\r")
			}
			if re.MatchString(line) {
				want = append(want, fmt.Sprintf("%d:%s", number, line))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q in %q: got %q, want %q", expression, content, got, want)
		}
	})
}

func TestAPatternWithALineBreakMatchesNoLine(t *testing.T) {
	b := newBench(t, map[string]string{"f": "a\nb\na\n"})
	wantText(t, b.call("search", `{"pattern":"a\\nb","regex":true}`).Text, "no matches")
	wantText(t, b.call("search", `{"pattern":"a\\nb|b","regex":true}`).Text, "1 matches in 1 files\nf:2: b")
}

func TestAClassThatMatchesLineBreaksDoesNotMakeASearchSlow(t *testing.T) {
	b := newBench(t, map[string]string{"big.txt": strings.Repeat("\"\n", 1<<20)})
	wantText(t, b.call("search", `{"pattern":"\"[^x]*z","regex":true}`).Text, "no matches") // far beyond the time-out when it is quadratic
}

// The whole search is compared with grep on this repository's own Go files.
func TestSearchFindsWhatGrepFinds(t *testing.T) {
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("grep is not installed")
	}
	root, err := filepath.Abs("../host")
	if err != nil {
		t.Fatal(err)
	}
	local, err := host.NewLocal([]string{root}, host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: root, seen: views{}, env: Env{Host: local, Views: views{}}}
	for _, c := range []struct {
		args string
		grep []string
	}{
		{`{"pattern":"symlink","include":"*.go","ignore_case":true}`, []string{"-i", "-F", "symlink"}},
		{`{"pattern":"^func \\(.*\\) [A-Z]","include":"*.go","regex":true}`, []string{"-E", `^func \(.*\) [A-Z]`}},
	} {
		cmd := exec.Command(grep, append([]string{"-rn", "--include=*.go"}, append(c.grep, ".")...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%d matches in ", bytes.Count(out, []byte("\n")))
		if got := b.call("search", c.args).Text; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, grep has %s", c.args, strings.SplitN(got, "\n", 2)[0], want)
		}
	}
}

// BenchmarkSearchTheGoSources searches the sources of the Go distribution, with grep on the same folder for comparison.
func BenchmarkSearchTheGoSources(b *testing.B) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("go is not installed")
	}
	sources := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	local, err := host.NewLocal([]string{sources}, host.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, args string }{
		{"rare", `{"pattern":"errUnreachableSentinel"}`},
		{"literal", `{"pattern":"runtime.GC()"}`},
		{"ignore case", `{"pattern":"RUNTIME.GC()","ignore_case":true}`},
		{"regex", `{"pattern":"func \\(\\w+ \\*?\\w+\\) Close\\(","regex":true}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				call, err := searchTool().Prepare(b.Context(), Env{Host: local}, []byte(c.args))
				if err != nil {
					b.Fatal(err)
				}
				if result := call.Run(b.Context(), nil); result.Failed {
					b.Fatal(result.Text)
				}
			}
		})
	}
	b.Run("rare, by grep", func(b *testing.B) {
		for b.Loop() {
			_ = exec.Command("grep", "-rFn", "errUnreachableSentinel", sources).Run() // exit code 1: nothing found
		}
	})
}
