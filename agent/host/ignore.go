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

// rule is one line of an ignore file. The library matches single names; that a rule is about a path itself and not about
// what is below it is seen to here, since an excluded folder is not entered and one that is included includes only itself.
type rule struct {
	depth    int                   // how many components the folder of the ignore file has
	segments []gitignore.Pattern   // what is between the slashes; nil stands for "**"
	anchored bool                  // it is matched against the path below its folder, not against names
	dirOnly  bool                  // ends in "/"
	result   gitignore.MatchResult // what it says of what it matches
}

// maxSegments bounds a rule; longer ones match nothing.
const maxSegments = 62

// match tells what the rule says of path.
func (r *rule) match(path []string, dir bool) gitignore.MatchResult {
	if r.dirOnly && !dir {
		return gitignore.NoMatch
	}
	matched := false
	if r.anchored {
		matched = r.matchPath(path[r.depth:])
	} else {
		matched = matchName(r.segments[0], path[len(path)-1])
	}
	if !matched {
		return gitignore.NoMatch
	}
	return r.result
}

func matchName(segment gitignore.Pattern, name string) bool {
	return segment.Match([]string{name}, true) != gitignore.NoMatch
}

// matchPath matches the segments against the components of a path. It keeps the set of how many segments can have been
// used up, so its cost is their product whatever the rule is.
func (r *rule) matchPath(path []string) bool {
	last := len(r.segments) - 1
	active := r.skip(1)
	for _, name := range path {
		var next uint64
		for j, segment := range r.segments {
			switch bit := uint64(1) << j; {
			case active&bit == 0:
			case segment == nil && j == last: // "/**" at the end: everything below
				return true
			case segment == nil:
				next |= bit
			case matchName(segment, name):
				next |= bit << 1
			}
		}
		if active = r.skip(next); active == 0 {
			return false
		}
	}
	return active&(1<<(last+1)) != 0
}

// skip adds to a set what it can reach by "**" standing for no folder at all, which it cannot at the end.
func (r *rule) skip(active uint64) uint64 {
	for j, segment := range r.segments[:len(r.segments)-1] {
		if bit := uint64(1) << j; active&bit != 0 && segment == nil {
			active |= bit << 1
		}
	}
	return active
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
		if r, ok := parseRule(string(line)); ok {
			r.depth = depth
			out = append(out, r)
		}
	}
	return out
}

func parseRule(text string) (rule, bool) {
	if strings.HasPrefix(text, "#") {
		return rule{}, false
	}
	text = trimSpaces(text)
	r := rule{result: gitignore.Exclude}
	body, include := strings.CutPrefix(text, "!")
	if include {
		r.result = gitignore.Include
	}
	body, r.dirOnly = strings.CutSuffix(body, "/")
	r.anchored = strings.Contains(body, "/")
	body = strings.TrimPrefix(body, "/")
	if body == "" {
		return rule{}, false
	}
	parts := strings.Split(body, "/")
	if len(parts) > maxSegments {
		return rule{}, false
	}
	for i, part := range parts {
		switch {
		case part == "": // "a//b" matches nothing
			return rule{}, false
		case part == "**" && r.anchored && i > 0 && parts[i-1] == "**":
		case part == "**" && r.anchored:
			r.segments = append(r.segments, nil)
		default:
			r.segments = append(r.segments, gitignore.ParsePattern(asName(part), nil))
		}
	}
	return r, true
}

// trimSpaces takes away spaces at the end that no backslash keeps.
func trimSpaces(s string) string {
	trimmed := strings.TrimRight(s, " ")
	if trimmed == s || (len(trimmed)-len(strings.TrimRight(trimmed, `\`)))%2 == 0 {
		return trimmed
	}
	return trimmed + " "
}

// asName writes a segment so that the library takes it as the pattern of a name.
func asName(segment string) string {
	if strings.HasPrefix(segment, "!") {
		segment = `\` + segment
	}
	if trimmed, ok := strings.CutSuffix(segment, " "); ok && !strings.HasSuffix(trimmed, `\`) {
		segment = trimmed + `\ `
	}
	return segment
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
		if rs.excluded(names[:i+1], true) { // the person opened it nevertheless: then only what is below counts
			rs[layerGit], rs[layerPlain] = nil, nil
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
