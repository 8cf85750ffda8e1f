package offline

import (
	"slices"
	"strconv"
	"strings"
)

// The arguments of the tools.
type (
	viewArgs struct {
		Path  string `json:"path"`
		From  int    `json:"from,omitempty"`
		Lines int    `json:"lines,omitempty"`
	}
	listArgs struct {
		Path string `json:"path,omitempty"`
	}
	findArgs struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty"`
	}
	searchArgs struct {
		Pattern    string `json:"pattern"`
		Path       string `json:"path,omitempty"`
		Regex      bool   `json:"regex,omitempty"`
		IgnoreCase bool   `json:"ignore_case,omitempty"`
		Include    string `json:"include,omitempty"`
	}
	createArgs struct {
		Path      string `json:"path"`
		Content   string `json:"content"`
		Overwrite bool   `json:"overwrite,omitempty"`
	}
	editArgs struct {
		Path  string `json:"path"`
		Edits []edit `json:"edits"`
	}
	edit struct {
		Old string `json:"old"`
		New string `json:"new"`
		All bool   `json:"all,omitempty"`
	}
	runArgs struct {
		Command string `json:"command"`
		Dir     string `json:"dir,omitempty"`
	}
	planArgs struct {
		Entries []task `json:"entries"`
	}
	task struct {
		Content string `json:"content"`
		Status  string `json:"status,omitempty"`
	}
)

// The states of a task of the plan.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
)

// view is a part of a file as the view tool shows it.
type view struct {
	path  string
	first int      // the number of lines[0]
	lines []string // verbatim
	total int      // lines in the file, 0 when it does not say
	next  int      // where to go on, 0 at the end
	known bool     // it said which lines it shows, of how many
	cut   []int    // the numbers of lines that are shown in part
}

var (
	viewHead = lazy(`^(.*) \(lines? (\d+)(?:-(\d+))? of (\d+)\)`)
	viewLine = lazy(`^ *(\d+)\t(.*)$`)
	viewCut  = lazy(`… \(\d+ characters in this line\)$`)
	viewNext = lazy(`^…?.*\bfrom=(\d+)`)
)

func readView(path, text string) view {
	v := view{path: path}
	lines := strings.Split(text, "\n")
	if m := viewHead().FindStringSubmatch(lines[0]); m != nil {
		v.path = m[1] // as it is shown: below the folder
		v.total, _ = strconv.Atoi(m[4])
		v.known = true
	}
	for _, line := range lines {
		if m := viewLine().FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				continue
			}
			if len(v.lines) == 0 {
				v.first = n
			}
			if n == v.first+len(v.lines) {
				v.lines = append(v.lines, m[2])
				if viewCut().MatchString(m[2]) {
					v.cut = append(v.cut, n)
				}
			}
		} else if m := viewNext().FindStringSubmatch(line); m != nil {
			v.next, _ = strconv.Atoi(m[1])
		}
	}
	return v
}

// toEnd tells whether the file's last line is shown, whole.
func (v view) toEnd() bool {
	return v.known && v.next == 0 && max(v.last(), 0) == v.total && !slices.Contains(v.cut, v.total)
}

// last is the number of the last line shown.
func (v view) last() int { return v.first + len(v.lines) - 1 }

// hit is a line the search tool found.
type hit struct {
	path string
	line int
	text string
}

// found is a search result.
type found struct {
	head   string // its first line
	hits   []hit
	total  int  // matches, as it says
	capped bool // there are more
}

var (
	searchLine = lazy(`^(.+?):(\d+): ?(.*)$`)
	leadNumber = lazy(`^(\d+)\b`)
)

func readSearch(text string) found {
	var f found
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	f.head = lines[0]
	if m := leadNumber().FindStringSubmatch(lines[0]); m != nil {
		f.total, _ = strconv.Atoi(m[1])
	}
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "…") {
			continue
		}
		if m := searchLine().FindStringSubmatch(line); m != nil {
			n, err := strconv.Atoi(m[2])
			if err == nil && n > 0 {
				f.hits = append(f.hits, hit{m[1], n, m[3]})
			}
		}
	}
	f.capped = f.total > len(f.hits)
	f.total = max(f.total, len(f.hits))
	return f
}

// readPaths reads the result of find.
func readPaths(text string) []string {
	var paths []string
	for _, line := range strings.Split(text, "\n")[1:] {
		if line == "" || strings.HasPrefix(line, "…") {
			continue
		}
		paths = append(paths, line)
	}
	return paths
}

// readEntries reads the names in the result of list; folders end in a slash.
func readEntries(text string) []string {
	var names []string
	for _, line := range strings.Split(text, "\n")[1:] {
		name, _, _ := strings.Cut(line, "\t")
		if name == "" || strings.HasPrefix(name, "…") {
			continue
		}
		names = append(names, name)
	}
	return names
}

// firstLine is the first line of a result, and what follows it.
func firstLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(line), rest
}
