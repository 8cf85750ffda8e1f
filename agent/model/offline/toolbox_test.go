package offline

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/wherry-acp/wherry/agent/model"
)

// folder is a tree of text files with the tools of the agent over it: small, in memory, with the same result texts.
type folder struct {
	files  map[string]string
	refuse map[string]string // tool -> the person's note
	seen   map[string]bool
}

func newFolder(files map[string]string) *folder {
	f := &folder{files: map[string]string{}, seen: map[string]bool{}}
	maps.Copy(f.files, files)
	return f
}

// readFolder takes the text files of a real tree, at most 1 MB each.
func readFolder(tb testing.TB, root string) *folder {
	tb.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); p != root && (n == ".git" || n == "node_modules" || n == ".cache") {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !d.Type().IsRegular() || info.Size() > 1<<20 {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil || slices.Contains(data, 0) {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return &folder{files: files, seen: map[string]bool{}}
}

func (f *folder) paths() []string { return slices.Sorted(maps.Keys(f.files)) }

func specs(names ...string) []model.ToolSpec {
	if len(names) == 0 {
		names = []string{"view", "list", "find", "search", "create", "edit", "run", "plan"}
	}
	var out []model.ToolSpec
	for _, n := range names {
		out = append(out, model.ToolSpec{Name: n, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

// call runs a tool.
func (f *folder) call(c model.ToolCall) model.ToolResult {
	text, failed := f.run(c)
	return model.ToolResult{CallID: c.ID, Name: c.Name, Parts: []model.Part{model.Text{Text: text}}, Failed: failed}
}

func (f *folder) run(c model.ToolCall) (text string, failed bool) {
	if note, ok := f.refuse[c.Name]; ok {
		return "The person refused this call: " + note, true
	}
	decode := func(v any) {
		if err := json.Unmarshal(c.Args, v); err != nil {
			panic(err)
		}
	}
	switch c.Name {
	case "view":
		var a viewArgs
		decode(&a)
		return f.view(a)
	case "list":
		var a listArgs
		decode(&a)
		return f.list(a)
	case "find":
		var a findArgs
		decode(&a)
		return f.find(a)
	case "search":
		var a searchArgs
		decode(&a)
		return f.search(a)
	case "create":
		var a createArgs
		decode(&a)
		if _, ok := f.files[a.Path]; ok && !a.Overwrite {
			return a.Path + " exists; set overwrite to replace it", true
		} else if ok && !f.seen[a.Path] {
			return a.Path + " was not viewed yet; view it first", true
		}
		f.files[a.Path] = a.Content
		f.seen[a.Path] = true
		return fmt.Sprintf("created %s (%d lines)", a.Path, strings.Count(a.Content, "\n")), false
	case "edit":
		var a editArgs
		decode(&a)
		return f.edit(a)
	case "run":
		var a runArgs
		decode(&a)
		if code, ok := strings.CutPrefix(a.Command, "exit "); ok {
			return "exit code " + code + " (0.0s)\n\n", false
		}
		return "exit code 0 (0.1s)\n\nran " + a.Command + "\n", false
	case "plan":
		var a planArgs
		decode(&a)
		n := 0
		for _, t := range a.Entries {
			if t.Status == completed {
				n++
			}
		}
		return fmt.Sprintf("plan set (%d tasks, %d done)", len(a.Entries), n), false
	}
	panic("no such tool: " + c.Name)
}

func (f *folder) view(a viewArgs) (string, bool) {
	text, ok := f.files[a.Path]
	if !ok {
		return a.Path + ": there is no such file", true
	}
	f.seen[a.Path] = true
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	from, n := max(a.From, 1), a.Lines
	if n == 0 {
		n = 500
	}
	if text == "" {
		return a.Path + " is empty", false
	}
	if from > len(lines) {
		return fmt.Sprintf("%s has only %d lines", a.Path, len(lines)), true
	}
	to := min(from+n-1, len(lines))
	var b strings.Builder
	fmt.Fprintf(&b, "%s (lines %d-%d of %d)\n", a.Path, from, to, len(lines))
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%6d\t%s\n", i, lines[i-1])
	}
	if to < len(lines) {
		fmt.Fprintf(&b, "… %d more lines; view again with from=%d\n", len(lines)-to, to+1)
	}
	return strings.TrimSuffix(b.String(), "\n"), false
}

func (f *folder) list(a listArgs) (string, bool) {
	prefix := ""
	if a.Path != "" && a.Path != "." {
		prefix = strings.TrimSuffix(a.Path, "/") + "/"
	}
	dirs, names := map[string]bool{}, []string{}
	for _, p := range f.paths() {
		rest, ok := strings.CutPrefix(p, prefix)
		if !ok {
			continue
		}
		if dir, _, ok := strings.Cut(rest, "/"); ok {
			dirs[dir+"/"] = true
		} else {
			names = append(names, fmt.Sprintf("%s\t%d", rest, len(f.files[p])))
		}
	}
	if len(dirs)+len(names) == 0 {
		return a.Path + ": there is no such folder", true
	}
	all := append(slices.Sorted(maps.Keys(dirs)), names...)
	return fmt.Sprintf("%s/ (%d entries)\n%s", strings.TrimSuffix(cmpOr(a.Path, "."), "/"), len(all), strings.Join(all, "\n")), false
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (f *folder) find(a findArgs) (string, bool) {
	var out []string
	for _, p := range f.paths() {
		ok := false
		if strings.ContainsAny(a.Pattern, "*?[{") {
			ok = doublestar.MatchUnvalidated(a.Pattern, p)
		} else {
			ok = strings.Contains(strings.ToLower(p), strings.ToLower(a.Pattern))
		}
		if ok && (a.Path == "" || strings.HasPrefix(p, strings.TrimSuffix(a.Path, "/")+"/")) {
			out = append(out, p)
		}
	}
	capped := ""
	n := len(out)
	if n > 200 {
		out, capped = out[:200], fmt.Sprintf("\n… %d more files; narrow the pattern", n-200)
	}
	return fmt.Sprintf("%d files match %q\n%s%s", n, a.Pattern, strings.Join(out, "\n"), capped), false
}

func (f *folder) search(a searchArgs) (string, bool) {
	expr := a.Pattern
	if !a.Regex {
		expr = regexp.QuoteMeta(expr)
	}
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return "the pattern is no regular expression: " + err.Error(), true
	}
	const limit = 200
	var out []string
	files, more := 0, 0
	for _, p := range f.paths() {
		if a.Path != "" && a.Path != "." && p != a.Path && !strings.HasPrefix(p, strings.TrimSuffix(a.Path, "/")+"/") {
			continue
		}
		if a.Include != "" && !doublestar.MatchUnvalidated(a.Include, p) && !doublestar.MatchUnvalidated(a.Include, path.Base(p)) {
			continue
		}
		any := false
		for i, line := range strings.Split(f.files[p], "\n") {
			if re.MatchString(line) {
				any = true
				if len(out) < limit {
					if r := []rune(line); len(r) > 300 {
						line = string(r[:300]) + "…"
					}
					out = append(out, fmt.Sprintf("%s:%d: %s", p, i+1, line))
				} else {
					more++
				}
			}
		}
		if any {
			files++
		}
	}
	if len(out) == 0 {
		return "no matches", false
	}
	capped := ""
	if more > 0 {
		capped = fmt.Sprintf("\n… %d more matches; narrow the search with path or include", more)
	}
	return fmt.Sprintf("%d matches in %d files\n%s%s", len(out)+more, files, strings.Join(out, "\n"), capped), false
}

func (f *folder) edit(a editArgs) (string, bool) {
	text, ok := f.files[a.Path]
	if !ok {
		return a.Path + ": there is no such file", true
	}
	if !f.seen[a.Path] {
		return a.Path + " was not viewed yet; view it first", true
	}
	n := 0
	for _, e := range a.Edits {
		c := strings.Count(text, e.Old)
		if c == 0 || c > 1 && !e.All {
			return fmt.Sprintf("%q is in %s %d times", e.Old, a.Path, c), true
		}
		n += c
		text = strings.ReplaceAll(text, e.Old, e.New)
	}
	f.files[a.Path] = text
	return fmt.Sprintf("edited %s (%d replacements)", a.Path, n), false
}
