package offline

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// manifests are the files that say what a project is, and the line in each that does.
var manifests = []struct {
	name  string
	line  func() *regexp.Regexp
	topic map[string]string // the usual command when nothing says how
}{
	{"go.mod", lazy(`^module\s`), map[string]string{"test": "go test ./...", "build": "go build ./...", "lint": "go vet ./..."}},
	{"package.json", lazy(`^\s*"(?:name|description)"\s*:`), map[string]string{"test": "npm test", "install": "npm install"}},
	{"Cargo.toml", lazy(`^(?:name|description)\s*=`), map[string]string{"test": "cargo test", "build": "cargo build", "run": "cargo run", "lint": "cargo clippy"}},
	{"pyproject.toml", lazy(`^(?:name|description)\s*=`), map[string]string{"test": "python -m pytest", "install": "pip install ."}},
	{"setup.py", lazy(`^\s*(?:name|description)\s*=`), map[string]string{"test": "python -m pytest", "install": "pip install ."}},
	{"pom.xml", lazy(`^\s*<(?:name|description)>`), map[string]string{"test": "mvn test", "build": "mvn package"}},
}

// overview says what the project is, in its own words: the README's beginning and the manifest's description.
func (a *asker) overview() error {
	a.think("Looking for the README and what else says what this is.")
	r, err := a.one("list", listArgs{})
	if err != nil {
		return err
	}
	if r.failed {
		a.sayf("Could not list this folder: %s\n", ended(r.text))
		return nil
	}
	entries := readEntries(r.text)
	readme := bestReadme(entries)
	var asks []ask
	if readme != "" {
		asks = append(asks, ask{"view", viewArgs{Path: readme, From: 1, Lines: 80}})
	}
	for _, m := range manifests {
		if slices.Contains(entries, m.name) {
			asks = append(asks, ask{"view", viewArgs{Path: m.name, From: 1, Lines: 60}})
		}
	}
	if readme == "" && slices.ContainsFunc(entries, func(e string) bool { return strings.HasSuffix(e, ".go") }) {
		asks = append(asks, ask{"search", searchArgs{Pattern: `^// (?:Package|Command) \w+`, Regex: true}})
	}
	replies, err := a.do(asks...)
	if err != nil {
		return err
	}
	said := false
	for i, r := range replies {
		if r.failed {
			continue
		}
		if args, ok := asks[i].args.(viewArgs); ok {
			said = a.sayAbout(readView(args.Path, r.text), args.Path == readme, said) || said
			continue
		}
		hits := readSearch(r.text).hits
		slices.SortStableFunc(hits, func(x, y hit) int { return strings.Count(x.path, "/") - strings.Count(y.path, "/") })
		if len(hits) > 0 {
			a.sayf("There is no README; the package comment says:\n\n")
			a.sayQuote(quotation{path: hits[0].path, first: hits[0].line, lines: []string{hits[0].text}})
			said = true
		}
	}
	if !said {
		a.say("Nothing here says what this is: I found no README and no manifest with a description.\n\n")
	}
	if len(entries) > 0 {
		shown := entries[:min(len(entries), 24)]
		a.sayf("At the top of the folder: `%s`", strings.Join(shown, "`, `"))
		if over := len(entries) - len(shown); over > 0 {
			a.sayf(" and %d more", over)
		}
		a.say(".\n")
	}
	return nil
}

// bestReadme picks the README of a folder's entries.
func bestReadme(entries []string) string {
	best, rank := "", 0
	for _, e := range entries {
		name := strings.ToLower(e)
		r := 0
		switch {
		case name == "readme.md":
			r = 4
		case name == "readme" || name == "readme.rst" || name == "readme.txt" || name == "readme.adoc" || name == "readme.markdown":
			r = 3
		case strings.HasPrefix(name, "readme.") && !strings.HasSuffix(name, "/"):
			r = 2
		}
		if r > rank {
			best, rank = e, r
		}
	}
	return best
}

// sayAbout quotes what a README or manifest says of the project.
func (a *asker) sayAbout(v view, readme, said bool) bool {
	if readme {
		quotes := readmeOpening(v)
		if len(quotes) == 0 {
			return false
		}
		a.sayf("In its own words, from the README:\n\n")
		for _, q := range quotes {
			a.sayQuote(q)
		}
		return true
	}
	for _, m := range manifests {
		if m.name != v.path || said && m.name == "go.mod" {
			continue
		}
		var q quotation
		for i, l := range v.lines {
			if m.line().MatchString(l) {
				if len(q.lines) > 0 && q.last()+1 != v.first+i {
					break
				}
				if len(q.lines) == 0 {
					q = quotation{path: v.path, first: v.first + i}
				}
				q.lines = append(q.lines, l)
			}
		}
		if len(q.lines) > 0 {
			if !said {
				a.say("The manifest says:\n\n")
			}
			a.sayQuote(q)
			return true
		}
	}
	return false
}

var badge = lazy(`^\s*(?:\[?!\[|</?[a-z]|\.\. |<!--|-->|\[[^\]]*\]:|[-*=~]{3,}\s*$|[-*+] \[[^\]]*\]\(#|:[a-z-]+:|.*(?:/badge|badge/|\.svg\)))`)

// readmeOpening is the beginning of a document: its title, and its first paragraphs without the badges, pictures and
// tables of contents before them.
func readmeOpening(v view) []quotation {
	title, from := -1, 0
	for ; from < len(v.lines); from++ {
		l := v.lines[from]
		if headingAt(v.lines, from) {
			if title < 0 {
				title = from
			}
		} else if !blank(l) && !badge().MatchString(l) {
			break
		}
	}
	if from == len(v.lines) {
		return nil
	}
	to, prose, fenced := from, 0, false
	for to < len(v.lines) && to-from < 20 {
		l := v.lines[to]
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			if !fenced && prose >= 2 {
				break
			}
			fenced = !fenced
		}
		if !fenced && (headingAt(v.lines, to) || blank(l) && prose >= 4 || badge().MatchString(l)) {
			break
		}
		if !blank(l) {
			prose++
		}
		to++
	}
	for to > from && blank(v.lines[to-1]) {
		to--
	}
	if title >= 0 && from-title <= 3 && !slices.ContainsFunc(v.lines[title:from], func(l string) bool {
		return badge().MatchString(l) && !underline().MatchString(l)
	}) {
		from = title
	}
	text := quotation{path: v.path, first: v.first + from, lines: v.lines[from:to]}
	if title < 0 || title >= from {
		return []quotation{text}
	}
	return []quotation{{path: v.path, first: v.first + title, lines: v.lines[title : title+1]}, text}
}

// headingAt tells whether a line is a heading, by its mark or by the line below it.
func headingAt(lines []string, i int) bool {
	return mdHeading().MatchString(lines[i]) || !blank(lines[i]) && i+1 < len(lines) && underline().MatchString(lines[i+1])
}

var underline = lazy(`^(?:={3,}|-{3,})\s*$`)

// topic is a job that projects say how to do.
type topic struct {
	name  string
	to    string                // what one wants to do
	words func() *regexp.Regexp // in the question
	goal  string                // names of targets and scripts
	cmd   string                // commands in documents
}

var topics = []topic{
	{"test", "run the tests", lazy(`(?i)\b(?:run|execute|start|launch|do)\b.*\btests?\b|\btest(?:ed|ing)? (?:this|it|suite|the)|\bunit tests?\b`), `(?:test|check|unit)`, `(?:go test|npm (?:run )?test|yarn test|pnpm test|pytest|tox\b|cargo test|make (?:test|check)|mvn test|gradle\w* test|rspec|unittest|ctest|vitest|jest\b)`},
	{"lint", "check the style", lazy(`(?i)\b(?:lint|linter|vet|format the code|formatter)\b`), `(?:lint|fmt|format|vet)`, `(?:golangci-lint|go vet|gofmt|eslint|ruff|flake8|black\b|clippy|prettier|make (?:lint|fmt))`},
	{"install", "install it", lazy(`(?i)\b(?:install|set ?up|get started|getting started)\b`), `(?:install|setup|bootstrap)`, `(?:go install|go get|npm (?:i|install|ci)\b|pip3? install|cargo install|brew install|apt(?:-get)? install|make install|yarn add|pnpm add|curl .*\|)`},
	{"build", "build it", lazy(`(?i)\b(?:build|compile)\b`), `(?:build|compile|all)`, `(?:go build|npm run build|yarn build|cargo build|make(?: build)?\b|mvn package|cmake|tsc\b)`},
	{"run", "run it", lazy(`(?i)\b(?:run|start|launch|serve)\b`), `(?:run|start|serve|dev)`, `(?:go run|npm (?:start|run dev|run start)|yarn (?:start|dev)|cargo run|make (?:run|start|serve)|docker(?:-compose)? (?:run|up)|python3? -m|flask run|uvicorn)`},
}

// chores are the words that questions about a topic are made of. A question with others is about something else.
var chores = lazy(`^(?:run|runs|running|execute|start|launch|serve|tests?|testing|suites?|unit|build|compile|lint|linter|vet|format|formatter|install|installation|set|setup|getting?|started|server|program|application|binary|dependency|dependencies|locally|local|dev|development|everything|style)$`)

// topicOf finds the job that a question is about, if it is about one and nothing else.
func topicOf(text string) *topic {
	for _, t := range readQuestion(text).terms {
		if t.exact || !chores().MatchString(t.text) {
			return nil
		}
	}
	for i := range topics {
		if topics[i].words().MatchString(text) {
			return &topics[i]
		}
	}
	return nil
}

// howTo looks for the way to do a job: targets, scripts, and commands in documents.
func (a *asker) howTo(t *topic) error {
	a.think(fmt.Sprintf("Looking for the way to %s: targets, scripts, and commands in documents.", t.to))
	searches := []searchArgs{
		{Pattern: `^` + t.goal + `[\w-]*\s*:(?:[^=]|$)`, Regex: true, Include: "**/*akefile*"},
		{Pattern: `^\s*"` + t.goal + `[\w:-]*"\s*:\s*"`, Regex: true, Include: "**/package.json"},
		{Pattern: `\b` + t.cmd, Regex: true, Include: "**/*.{md,rst,adoc,txt}"},
		{Pattern: `\b` + t.cmd, Regex: true, Include: "**/*.{yml,yaml,toml,cfg,ini}"},
	}
	asks := []ask{{"list", listArgs{}}}
	for _, s := range searches {
		asks = append(asks, ask{"search", s})
	}
	replies, err := a.do(asks...)
	if err != nil {
		return err
	}
	var places []place
	for i, r := range replies[1:] {
		if r.failed {
			continue
		}
		hits := readSearch(r.text).hits
		a.rank.add(hits)
		for _, h := range hits {
			score := []float64{1, 0.9, 0.8, 0.45}[i]
			if i == 2 && strings.HasPrefix(strings.ToLower(base(h.path)), "readme") {
				score = 0.85
			}
			if changeLog().MatchString(h.path) {
				score = 0.2
			}
			if vendorFile().MatchString(h.path) || testFile().MatchString(path.Dir(h.path)+"/") {
				score *= 0.2
			}
			score -= 0.12 * float64(strings.Count(h.path, "/"))
			places = append(places, place{path: h.path, focus: h.line, lines: []hit{h}, score: score})
		}
	}
	slices.SortFunc(places, byScore)
	var best []place
	for _, p := range places { // one a file, so that the ways stand side by side
		if len(best) < 3 && p.score > 0.3 && !slices.ContainsFunc(best, func(b place) bool { return b.path == p.path }) {
			best = append(best, p)
		}
	}
	usual := usualCommand(t, readEntries(replies[0].text))
	if len(best) == 0 {
		if usual != "" {
			a.sayf("No document or build file here says how to %s. %s\n", t.to, usual)
			return nil
		}
		return a.general()
	}
	views, err := a.viewAll(best)
	if err != nil {
		return err
	}
	var at []string
	for _, p := range best {
		at = append(at, fmt.Sprintf("`%s:%d`", p.path, p.focus))
	}
	say := "say"
	if len(at) == 1 {
		say = "says"
	}
	a.sayf("%s %s how to %s.\n\n", joinAnd(at), say, t.to)
	for i, v := range views {
		if q := quote(v, best[i]); len(q.lines) > 0 {
			a.sayQuote(q)
		}
	}
	a.sayf("Chosen by target and script names and by commands that usually %s things: %s in %s matched; files near the top of the folder count most.", t.name, count(a.rank.count, "line"), count(len(a.rank.hits), "file"))
	if usual != "" {
		a.sayf(" %s", usual)
	}
	a.say("\n")
	return nil
}

// usualCommand is the command that the project's kind usually has for a job, said as no more than that.
func usualCommand(t *topic, entries []string) string {
	for _, m := range manifests {
		if cmd := m.topic[t.name]; cmd != "" && slices.Contains(entries, m.name) {
			return fmt.Sprintf("There is a `%s`; the usual command with it is `%s`, and `run %s` runs it here.", m.name, cmd, cmd)
		}
	}
	return ""
}
