// Package docs holds the tests that keep the documents true: code blocks compile or parse, commands run, links lead
// somewhere. It has no code.
package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var root = filepath.Join("..", "..")

// block is a fenced block of a document.
type block struct {
	file     string // relative to the root
	line     int    // of its fence, from 1
	language string
	text     string
}

func (b block) String() string { return fmt.Sprintf("%s:%d (%s)", b.file, b.line, b.language) }

// documents lists the Markdown files: those of the root and all below docs.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS(root), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(root), "docs", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == "docs" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, "README.md") {
		t.Fatalf("no README.md among the documents %v", files)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func blocks(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, file := range documents(t) {
		var open *block
		n := 0
		for line := range strings.Lines(read(t, file)) {
			n++
			fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case isFence && open == nil:
				open = &block{file: file, line: n, language: fence}
			case isFence:
				all = append(all, *open)
				open = nil
			case open != nil:
				open.text += line
			}
		}
		if open != nil {
			t.Errorf("%v: the block is not closed", *open)
		}
	}
	return all
}

func TestEveryCodeBlockCompilesParsesOrRuns(t *testing.T) {
	wherry := filepath.Join(t.TempDir(), "wherry")
	goTool(t, "build", "-o", wherry, "./cmd/wherry")
	for _, b := range blocks(t) {
		t.Run(b.String(), func(t *testing.T) {
			switch b.language {
			case "go": // TestEveryGoBlockCompiles
			case "json":
				if !json.Valid([]byte(b.text)) {
					t.Error("not JSON")
				}
			case "toml":
				var v map[string]any
				if err := toml.Unmarshal([]byte(b.text), &v); err != nil {
					t.Errorf("not TOML: %v", err)
				}
			case "lua", "elisp": // no parser here: what goes wrong when such a block is edited is a bracket
				if err := balanced(b.text); err != nil {
					t.Error(err)
				}
				if !strings.Contains(b.text, `"wherry"`) || !strings.Contains(b.text, `"acp"`) {
					t.Error("these settings do not start `wherry acp`")
				}
			case "sh":
				for _, line := range commands(b.text) {
					checkCommand(t, wherry, line)
				}
			case "text", "markdown": // a picture, an output, or words
			default:
				t.Errorf("a block in %q, which this test cannot check; teach it, or call the block text", b.language)
			}
		})
	}
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestEveryGoBlockCompiles builds each block, a whole program or a fragment of one, as a package of this module.
func TestEveryGoBlockCompiles(t *testing.T) {
	if err := os.MkdirAll(filepath.Join(root, ".cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := os.MkdirTemp(filepath.Join(root, ".cache"), "docs-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(all) })
	for _, b := range blocks(t) {
		if b.language != "go" {
			continue
		}
		text, file := b.text, "main.go"
		if !strings.HasPrefix(text, "package ") {
			text = program(text)
		}
		if strings.Contains(text, "*testing.T)") {
			file = "main_test.go"
		}
		// The folder is the block's name in what the compiler says.
		dir := filepath.Join(all, strings.NewReplacer("/", "-", ".md", "").Replace(filepath.ToSlash(b.file))+fmt.Sprintf("-line-%d", b.line))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goTool(t, "vet", "./"+filepath.ToSlash(filepath.Join(".cache", filepath.Base(all)))+"/...")
}

// packages are those that a fragment may name without importing them.
var packages = []string{
	"context", "encoding/json", "errors", "fmt", "io", "io/fs", "log", "log/slog", "net/http", "os", "os/exec", "path/filepath", "slices", "strings",
	"testing", "time",
	"github.com/wherry-acp/wherry/acp", "github.com/wherry-acp/wherry/acp/acptest", "github.com/wherry-acp/wherry/acp/clienthost",
	"github.com/wherry-acp/wherry/acp/process", "github.com/wherry-acp/wherry/acp/transport", "github.com/wherry-acp/wherry/acp/wirelog",
}

// program makes a program of a fragment: declarations stay what they are, statements become a function with the names
// that the documents use for what a reader has at hand.
func program(text string) string {
	var b strings.Builder
	b.WriteString("package main\n\n")
	code := regexp.MustCompile(`(?m)//.*$`).ReplaceAllString(text, "")
	for _, p := range packages {
		if regexp.MustCompile(`\b` + path.Base(p) + `\.[A-Z]`).MatchString(code) {
			fmt.Fprintf(&b, "import %q\n", p)
		}
	}
	if regexp.MustCompile(`(?m)^(func|type|var) `).MatchString(text) {
		return b.String() + text + "\nfunc main() {}\n"
	}
	for _, p := range []string{"context", "github.com/wherry-acp/wherry/acp"} {
		if line := fmt.Sprintf("import %q\n", p); !strings.Contains(b.String(), line) {
			b.WriteString(line)
		}
	}
	b.WriteString(`
func _(ctx context.Context, agent acp.Agent, remote *acp.RemoteAgent, session *acp.Session, client acp.SessionClient, dir string, err error) error {
`)
	b.WriteString(text)
	if !regexp.MustCompile(`(?m)^return `).MatchString(text) {
		b.WriteString("return nil\n")
	}
	b.WriteString("}\n\nfunc main() {}\n")
	return b.String()
}

func balanced(text string) error {
	text = regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(text, "")
	var open []rune
	closes := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for _, r := range text {
		switch r {
		case '(', '[', '{':
			open = append(open, r)
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != closes[r] {
				return fmt.Errorf("a %c that closes nothing", r)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d brackets are not closed", len(open))
	}
	return nil
}

// commands gives the lines of a shell block without comments.
func commands(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(regexp.MustCompile(`(^|\s)#.*`).ReplaceAllString(line, ""))
		if line != "" {
			all = append(all, line)
		}
	}
	return all
}

// checkCommand runs a command of wherry, in a folder of its own with the offline model, and looks up what others name.
func checkCommand(t *testing.T, wherry, line string) {
	t.Helper()
	words := strings.Fields(line)
	args, isRun := strings.CutPrefix(line, "go run ./cmd/wherry ")
	if !isRun {
		args, isRun = strings.CutPrefix(line, "wherry ")
	}
	switch {
	case isRun:
		runWherry(t, wherry, args)
	case words[0] == "make":
		for _, target := range words[1:] {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(read(t, "Makefile")) {
				t.Errorf("%s: the Makefile has no target %s", line, target)
			}
		}
	case words[0] == "scripts/check":
		for _, step := range words[1:] {
			if !strings.Contains(read(t, "scripts/check"), "\nstep_"+step+"()") {
				t.Errorf("%s: there is no step %s", line, step)
			}
		}
	case strings.HasPrefix(line, "go run ./examples/"), strings.HasPrefix(line, "go test ./"):
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(words[2]))); err != nil || !info.IsDir() {
			t.Errorf("%s: there is no package %s", line, words[2])
		}
	case strings.HasPrefix(line, "go install ") || strings.HasPrefix(line, "go doc ") || strings.HasPrefix(line, "go get "):
		pkg, _, _ := strings.Cut(words[2], "@")
		dir, ours := strings.CutPrefix(pkg, "github.com/wherry-acp/wherry")
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir))); !ours || err != nil || !info.IsDir() {
			t.Errorf("%s: there is no package %s", line, pkg)
		}
	case words[0] == "acpx" || words[0] == "toad": // not there in general; what they start is
		if !strings.Contains(line, `"wherry acp"`) {
			t.Errorf("%s: it does not start wherry acp", line)
		}
	default:
		t.Errorf("%s: this test does not know how to check the command; teach it", line)
	}
}

func runWherry(t *testing.T, wherry, args string) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"config.txt": "port = 8080\n",
		"line.go":    "package line\n\n// MaxMessageSize is the limit of a message, in bytes.\nconst MaxMessageSize = 32 << 20\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", wherry+" "+args)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "WHERRY_STATE=" + filepath.Join(home, "state")}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Errorf("wherry %s: %v\n%s%s", args, err, out, exit.Stderr)
	} else if err != nil {
		t.Errorf("wherry %s: %v", args, err)
	} else if len(strings.TrimSpace(string(out))) == 0 {
		t.Errorf("wherry %s printed nothing", args)
	}
}

func TestEveryLinkToAFileLeadsToOne(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code := regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")
	for _, file := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, file), ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(file), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	}
}

func TestTheBracketCheckSeesWhatIsMissing(t *testing.T) {
	for text, want := range map[string]bool{`(a {b} "}" [c])`: true, `(a`: false, `a)`: false, `(a]`: false} {
		if got := balanced(text) == nil; got != want {
			t.Errorf("balanced(%s) is %v, expected %v", text, got, want)
		}
	}
}
