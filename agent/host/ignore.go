package host

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v6/plumbing/format/gitignore"
)

// maxIgnoreFile bounds how much of an ignore file is read, in bytes.
const maxIgnoreFile = 1 << 20

// builtIn tells whether a name is left out when no ignore file says otherwise: what other programs keep and nobody reads.
func builtIn(name string) bool {
	switch name {
	case "node_modules", "__pycache__", ".hg", ".svn", ".jj", ".DS_Store":
		return true
	}
	return false
}

// layer is one kind of ignore file. A later layer overrides an earlier one wherever it has an opinion.
type layer int

const (
	layerGit   layer = iota // .git/info/exclude and .gitignore
	layerPlain              // .ignore
	layerAI                 // .aiignore: what the person keeps from the agent
	layers
)

func (y layer) file() string { return [...]string{".gitignore", ".ignore", ".aiignore"}[y] }

// rule is one line of an ignore file.
type rule struct {
	pattern  gitignore.Pattern
	depth    int  // how many components the folder of the ignore file has
	anchored bool // it has a slash and matches the path below its folder; otherwise it matches names
	include  bool // begins with "!"
	tail     bool // ends in "**"
}

// match tells what the rule says of path itself. That a parent of path matches is no concern of it: excluded folders are
// not entered, and one that is included includes only itself.
func (r *rule) match(path []string, dir bool) gitignore.MatchResult {
	if !r.anchored {
		return r.pattern.Match(path[len(path)-1:], dir)
	}
	below := path[r.depth:]
	result := r.pattern.Match(below, dir)
	if result == gitignore.Include && !r.tail && len(below) > 1 &&
		r.pattern.Match(below[:len(below)-1], true) == gitignore.Include {
		return gitignore.NoMatch // the library matches what is below an included folder, too
	}
	return result
}

// rules are the ignore rules in force in one folder, of each layer the weakest first.
type rules [layers][]rule

// verdict tells whether a layer excludes or includes path.
func (rs *rules) verdict(y layer, path []string, dir bool) gitignore.MatchResult {
	for _, r := range slices.Backward(rs[y]) {
		if result := r.match(path, dir); result != gitignore.NoMatch {
			return result
		}
	}
	return gitignore.NoMatch
}

// excluded tells whether path is left out.
func (rs *rules) excluded(path []string, dir bool) bool {
	name := path[len(path)-1]
	if name == ".git" {
		return true
	}
	for y := layerAI; y >= layerGit; y-- {
		if result := rs.verdict(y, path, dir); result != gitignore.NoMatch {
			return result == gitignore.Exclude
		}
	}
	return builtIn(name)
}

// with gives the rules with those of an ignore file in the folder dir added.
func (rs rules) with(y layer, data []byte, dir []string) rules {
	rs[y] = append(slices.Clip(rs[y]), parseRules(data, len(dir))...)
	return rs
}

// parseRules reads an ignore file the way git does: a byte-order mark, empty lines and comments are skipped, and lines may
// end in "\r\n".
func parseRules(data []byte, depth int) []rule {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	var out []rule
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		text := string(line)
		trimmed := strings.TrimRight(text, " ")
		if trimmed == "" || trimmed == "!" || text[0] == '#' {
			continue
		}
		body := strings.TrimPrefix(trimmed, "!")
		out = append(out, rule{
			pattern:  gitignore.ParsePattern(text, nil),
			depth:    depth,
			anchored: strings.Contains(strings.TrimSuffix(body, "/"), "/"),
			include:  text[0] == '!',
			tail:     strings.HasSuffix(strings.TrimSuffix(body, "/"), "**"),
		})
	}
	return out
}

// readIgnoreFiles adds the rules of the ignore files in the folder dir, below an open root.
func (rs rules) readIgnoreFiles(root *os.Root, p Path, dir []string, has func(string) bool) rules {
	for y := layerGit; y < layers; y++ {
		if !has(y.file()) {
			continue
		}
		file, info, err := openRegular(root, child(p, y.file()), y.file())
		if err != nil {
			continue // a symlink, or unreadable: git does not use it either
		}
		data, err := readLimited(file, info.Size(), maxIgnoreFile, y.file())
		_ = file.Close()
		if err == nil {
			rs = rs.with(y, data, dir)
		}
	}
	return rs
}

// outerRules gives the rules that hold above a root: those of the git repository that the root is in. It also gives the
// root's place in that repository. Only ignore files are read there.
func outerRules(root string) (rules, []string) {
	var rs rules
	top := repositoryTop(root)
	if top == "" {
		return rs, nil
	}
	if data, ok := readOuter(filepath.Join(top, ".git", "info", "exclude")); ok {
		rs = rs.with(layerGit, data, nil)
	}
	if top == root {
		return rs, nil
	}
	rel, err := filepath.Rel(top, root)
	if err != nil {
		return rs, nil
	}
	names := strings.Split(rel, string(filepath.Separator))
	for i := range names { // each folder above root; root's own files are read below it
		dir := filepath.Join(append([]string{top}, names[:i]...)...)
		for y := layerGit; y < layers; y++ {
			if data, ok := readOuter(filepath.Join(dir, y.file())); ok {
				rs = rs.with(y, data, names[:i])
			}
		}
	}
	return rs, names
}

// repositoryTop gives the nearest folder at or above dir that has a .git, or "".
func repositoryTop(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func readOuter(name string) ([]byte, bool) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return nil, false
	}
	data, err := os.ReadFile(name)
	return data, err == nil
}
