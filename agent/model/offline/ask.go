package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxSearches bounds the searches of one question, maxPlaces the places it quotes.
const (
	maxSearches = 6
	maxPlaces   = 4
)

// asker answers one question.
type asker struct {
	*turn
	q        question
	rank     *ranking
	searches int
	capped   bool   // the last round had a search with more matches than it gave
	within   string // the only file searched, if one was named
}

// answer answers the conversation's question about the folder.
func (c conversation) answer(t *turn) error {
	q := readQuestion(c.text)
	a := &asker{turn: t, q: q, rank: newRanking(q)}
	pointed := len(c.files) > 0 || len(c.links) > 0 || len(q.paths) > 0
	switch {
	case q.kind == askingHello, len(q.terms) == 0 && !pointed && q.kind != askingOverview:
		topic := topicOf(c.text)
		if q.kind != askingHello && topic != nil {
			return a.howTo(topic)
		}
		t.say(greeting)
		return nil
	case q.kind == askingOverview && !pointed:
		return a.overview()
	case pointed:
		answered, err := a.aboutFiles(c)
		if err != nil || answered {
			return err
		}
	}
	if q.kind == askingHow {
		if topic := topicOf(c.text); topic != nil {
			return a.howTo(topic)
		}
	}
	return a.general()
}

// general searches the folder for the question's words and quotes the best places.
func (a *asker) general() error {
	if a.q.kind == askingWork {
		a.say("That is a task for a language model; I can only show the places that your words point to. (`help` lists the instructions that I can carry out.)\n\n")
	}
	a.think("Looking for " + listTerms(a.q.terms, true) + ".")
	if err := a.searchFor(a.firstSearches()); err != nil {
		return err
	}
	if more := a.secondSearches(); len(more) > 0 {
		if err := a.searchFor(more); err != nil {
			return err
		}
	}
	places := a.rank.places()
	if len(places) == 0 {
		found, err := a.byName()
		if err != nil || found {
			return err
		}
		a.nothing()
		return nil
	}
	if a.q.kind == askingCalls && len(a.q.terms) > 0 && a.q.terms[0].exact {
		return a.uses(places)
	}
	return a.show(places)
}

// searchFor makes one round of searches and takes their hits.
func (a *asker) searchFor(searches []searchArgs) error {
	if left := maxSearches - a.searches; len(searches) > left {
		searches = searches[:left]
	}
	var asks []ask
	for _, s := range searches {
		if a.within != "" {
			s.Path = a.within
		}
		asks = append(asks, ask{"search", s})
	}
	a.searches += len(asks)
	replies, err := a.do(asks...)
	if err != nil {
		return err
	}
	a.capped = false
	for _, r := range replies {
		if r.failed {
			if len(a.rank.hits) == 0 && !a.saidFailure() {
				a.sayf("Could not search: %s\n\n", sentence(r.text))
			}
			continue
		}
		f := readSearch(r.text)
		a.rank.add(f.hits)
		a.capped = a.capped || f.capped
	}
	return nil
}

func (a *asker) saidFailure() bool {
	return len(a.said) > 0 && strings.HasPrefix(a.said[len(a.said)-1].text, "Could not search")
}

const declares = `\b(func|function|fn|def|class|type|interface|struct|enum|trait|const|let|var)\b`

// firstSearches are those that every question begins with: names as written, lines with two of the words, definitions.
func (a *asker) firstSearches() []searchArgs {
	var out []searchArgs
	exact := 0
	for _, t := range a.q.terms {
		if t.exact && exact < 3 {
			exact++
			out = append(out, searchArgs{Pattern: t.expr, Regex: true})
		}
	}
	exprs := a.exprs()
	switch {
	case len(exprs) > 1:
		out = append(out, searchArgs{Pattern: pairs(exprs), Regex: true, IgnoreCase: true})
	case exact == 0:
		out = append(out, searchArgs{Pattern: exprs[0], Regex: true, IgnoreCase: true})
	}
	any := strings.Join(exprs, "|")
	if exact == 0 {
		out = append(out, searchArgs{Pattern: declares + `.*(` + any + `)`, Regex: true, IgnoreCase: true})
	}
	if a.q.kind == askingHow || a.q.kind == askingWhat {
		out = append(out, searchArgs{Pattern: `^#+ .*(` + any + `)`, Regex: true, IgnoreCase: true, Include: "**/*.md"})
	}
	return out
}

// exprs are the expressions of the terms that weigh most, few enough to be searched for at once.
func (a *asker) exprs() []string {
	terms := slices.Clone(a.q.terms)
	slices.SortStableFunc(terms, func(x, y term) int { return cmp.Compare(y.weight, x.weight) })
	var out []string
	for _, t := range terms[:min(len(terms), 4)] {
		out = append(out, t.expr)
	}
	return out
}

// pairs matches lines that have two of the expressions.
func pairs(exprs []string) string {
	var out []string
	for i, e := range exprs {
		others := slices.Concat(exprs[:i], exprs[i+1:])
		out = append(out, group(e)+`.*`+group(strings.Join(others, "|")))
	}
	return strings.Join(out, "|")
}

func group(expr string) string {
	if strings.Contains(expr, "|") {
		return "(" + expr + ")"
	}
	return expr
}

// secondSearches fill what the first round left open: names in another case, words that were not near one another,
// words so common that the search gave only a part.
func (a *asker) secondSearches() []searchArgs {
	var out []searchArgs
	for _, t := range a.rank.missing() {
		if t.exact {
			out = append(out, searchArgs{Pattern: t.text, IgnoreCase: true})
			a.split(t)
		}
	}
	exprs := a.exprs()
	places := a.rank.places()
	switch {
	case len(out) > 0 && len(exprs) > 1:
		out = append(out, searchArgs{Pattern: pairs(exprs), Regex: true, IgnoreCase: true})
	case a.capped && len(exprs) > 1:
		// Side by side is rarer than on one line.
		any := group(strings.Join(exprs, "|"))
		out = append(out, searchArgs{Pattern: any + `\w*\W?\w*` + any, Regex: true, IgnoreCase: true})
	case len(exprs) > 1 && (len(places) == 0 || !places[0].hasAll()):
		// Each word alone, those first that the best place lacks.
		terms := slices.Clone(a.q.terms)
		if len(places) > 0 {
			has := places[0].has
			terms = nil
			for _, want := range []bool{false, true} {
				for i, t := range a.q.terms {
					if has[i] == want {
						terms = append(terms, t)
					}
				}
			}
		}
		for _, t := range terms {
			if !t.exact && len(out) < 3 {
				out = append(out, searchArgs{Pattern: t.expr, Regex: true, IgnoreCase: true})
			}
		}
	}
	return out
}

// split adds the words of a name that is not in the folder as it is written.
func (a *asker) split(name term) {
	for _, part := range humps(name.text) {
		known := slices.ContainsFunc(a.q.terms, func(t term) bool { return stem(t.text) == stem(part) })
		if !known && len(a.q.terms) < 2*maxTerms {
			a.q.terms = append(a.q.terms, newWord(part))
		}
	}
	a.rank.q = a.q
}

// byName looks for files whose path has the words, when no line does.
func (a *asker) byName() (bool, error) {
	if a.within != "" {
		return false, nil
	}
	var asks []ask
	for _, t := range a.q.terms {
		if len(asks) < 3 && len(t.text) > 2 {
			pattern := t.text
			if !t.exact {
				pattern = stem(t.text)
			}
			asks = append(asks, ask{"find", findArgs{Pattern: pattern}})
		}
	}
	if len(asks) == 0 {
		return false, nil
	}
	replies, err := a.do(asks...)
	if err != nil {
		return false, err
	}
	var paths []string
	for _, r := range replies {
		if !r.failed {
			paths = append(paths, readPaths(r.text)...)
		}
	}
	if len(paths) == 0 {
		return false, nil
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	over := max(len(paths)-10, 0)
	a.sayf("No line has %s, but the names of these files do:\n\n", listTerms(a.q.terms, false))
	for _, p := range paths[:len(paths)-over] {
		a.sayf("- `%s`\n", p)
	}
	if over > 0 {
		a.sayf("- … and %d more\n", over)
	}
	a.say("\n")
	return true, nil
}

// nothing says honestly that there is nothing, and what was looked for.
func (a *asker) nothing() {
	if a.saidFailure() {
		return
	}
	where := "in this folder"
	if a.within != "" {
		where = "in `" + a.within + "`"
	}
	a.sayf("I found nothing %s: no line has %s, in any spelling that I tried.\n\n", where, listOr(a.q.terms))
	a.say("Hint: a name from the code, as it is written there, finds most; `search \"TEXT\"` looks for an exact text and `list` shows what is here.\n")
}

func listOr(terms []term) string {
	return strings.Replace(listTerms(terms, true), " and ", " or ", 1)
}

// show views the best places and quotes them.
func (a *asker) show(places []place) error {
	best := a.choose(places)
	views, err := a.viewAll(best)
	if err != nil {
		return err
	}
	var quotes []quotation
	var kept []place
	for i, v := range views {
		if q := quote(v, best[i]); len(q.lines) > 0 && !within(quotes, q) {
			quotes, kept = append(quotes, q), append(kept, best[i])
		}
	}
	if len(quotes) == 0 {
		a.say("The places that matched cannot be read:\n\n")
		for _, p := range best {
			a.sayf("- `%s:%d`\n", p.path, p.focus)
		}
		return nil
	}
	a.sayf("%s\n\n", a.verdict(kept))
	for _, q := range quotes {
		a.sayQuote(q)
	}
	a.how(places, quotes)
	return nil
}

// choose takes the best places: those that are not much worse than the first. A definition that was asked for is enough.
func (a *asker) choose(places []place) []place {
	var out []place
	for _, p := range places {
		if a.q.kind == askingWhere && a.defined(places[0]) && !a.defined(p) {
			continue
		}
		if len(out) == maxPlaces || p.score < 0.62*places[0].score {
			break
		}
		out = append(out, p)
	}
	return out
}

// viewAll reads what is around the places, in one round.
func (a *asker) viewAll(places []place) ([]view, error) {
	var asks []ask
	for _, p := range places {
		from := max(p.focus-12, 1)
		asks = append(asks, ask{"view", viewArgs{Path: p.path, From: from, Lines: 12 + 2*maxQuote}})
	}
	replies, err := a.do(asks...)
	if err != nil {
		return nil, err
	}
	views := make([]view, len(places))
	for i, r := range replies {
		views[i] = view{path: places[i].path}
		if !r.failed {
			views[i] = readView(places[i].path, r.text)
		}
	}
	return views, nil
}

// defined tells whether a place is the definition of a name that was asked for.
func (a *asker) defined(p place) bool {
	return p.def > 0 && slices.ContainsFunc(a.q.terms, func(t term) bool { return t.exact && t.text == p.name })
}

func within(quotes []quotation, q quotation) bool {
	for _, o := range quotes {
		if o.path == q.path && q.first <= o.last() && o.first <= q.last() {
			return true
		}
	}
	return false
}

// verdict is the first sentence of an answer: what was found, and no more.
func (a *asker) verdict(places []place) string {
	p := places[0]
	at := fmt.Sprintf("`%s:%d`", p.path, p.focus)
	for i, t := range a.q.terms {
		if t.exact && p.name == t.text && p.def > 0 {
			return fmt.Sprintf("`%s` is defined at %s.", t.text, at)
		}
		if t.exact && !p.has[i] && len(a.rank.missing()) > 0 {
			return fmt.Sprintf("I found no `%s` here. The closest is %s, by its words.", t.text, at)
		}
	}
	var has, lacks []term
	for i, t := range a.q.terms {
		if i < len(p.has) && p.has[i] {
			has = append(has, t)
		} else {
			lacks = append(lacks, t)
		}
	}
	what := "The best match is " + at
	if p.def > 0.3 && p.name != "" && !docFile(p.path) {
		what = fmt.Sprintf("The best match is the definition of `%s` at %s", p.name, at)
	}
	if len(lacks) > 0 {
		return fmt.Sprintf("No place has all your words. %s: it has %s, but not %s.", what, listTerms(has, false), listTerms(lacks, false))
	}
	if len(places) > 1 {
		return fmt.Sprintf("%s; %s more are close.", what, count(len(places)-1, "place"))
	}
	return what + "."
}

func (a *asker) sayQuote(q quotation) {
	a.sayf("%s\n\n%s\n", heading2(q), block(q.path, q.lines))
	if q.cut {
		a.sayf("(cut; `read %s %d-%d` goes on)\n\n", quotePath(q.path), q.last()+1, q.last()+40)
	}
}

func heading2(q quotation) string {
	if len(q.lines) == 1 {
		return fmt.Sprintf("`%s:%d`", q.path, q.first)
	}
	return fmt.Sprintf("`%s:%d-%d`", q.path, q.first, q.last())
}

// how says how the places were chosen and what else matched.
func (a *asker) how(places []place, quotes []quotation) {
	more := ""
	if a.capped {
		more = "more than "
	}
	a.sayf("Chosen by %s: %s%s in %s matched; rare words, words near one another and definitions count most.",
		listTerms(a.q.terms, true), more, count(a.rank.count, "line"), count(len(a.rank.hits), "file"))
	var others []string
	for _, p := range places {
		q := quotation{path: p.path, first: p.focus, lines: []string{""}}
		if len(others) < 6 && p.score >= 0.35*places[0].score && !within(quotes, q) {
			others = append(others, fmt.Sprintf("`%s:%d`", p.path, p.focus))
		}
	}
	if len(others) > 0 {
		a.sayf(" Also: %s.", strings.Join(others, ", "))
	}
	a.say("\n")
}

// uses lists where a name is used, apart from its definition.
func (a *asker) uses(places []place) error {
	name := a.q.terms[0]
	var uses []hit
	var at hit
	for _, file := range sortedKeys(a.rank.hits) {
		for _, n := range sortedKeys(a.rank.hits[file]) {
			h := hit{file, n, a.rank.hits[file][n]}
			switch def, strength := defines(file, h.text); {
			case !name.main.MatchString(h.text), docFile(file), comment.MatchString(h.text):
			case def == name.text && strength > 0:
				if at.path == "" || fileFactor(file, askingWhere, false) > fileFactor(at.path, askingWhere, false) {
					at = h
				}
			default:
				uses = append(uses, h)
			}
		}
	}
	if len(uses) == 0 {
		if at.path == "" {
			return a.show(places)
		}
		a.sayf("I found no use of `%s` apart from its definition at `%s:%d`.\n\n", name.text, at.path, at.line)
		return a.show(places)
	}
	slices.SortStableFunc(uses, func(x, y hit) int {
		fx, fy := a.useFactor(x), a.useFactor(y)
		switch {
		case fx > fy:
			return -1
		case fx < fy:
			return 1
		}
		return 0
	})
	var best []place
	for _, h := range uses {
		if len(best) < 3 && !slices.ContainsFunc(best, func(p place) bool { return p.path == h.path && h.line-p.focus < 12 }) {
			best = append(best, place{path: h.path, focus: h.line, lines: []hit{h}})
		}
	}
	views, err := a.viewAll(best)
	if err != nil {
		return err
	}
	files := map[string]bool{}
	for _, h := range uses {
		files[h.path] = true
	}
	defined := ""
	if at.path != "" {
		defined = fmt.Sprintf("; it is defined at `%s:%d`", at.path, at.line)
	}
	more := ""
	if a.capped {
		more = "at least "
	}
	a.sayf("`%s` is used on %s%s in %s%s.\n\n", name.text, more, count(len(uses), "line"), count(len(files), "file"), defined)
	for i, v := range views {
		if q := quote(v, best[i]); len(q.lines) > 0 {
			a.sayQuote(q)
		}
	}
	const limit = 30
	var list []string
	for _, h := range uses {
		if len(list) < limit {
			list = append(list, fmt.Sprintf("%s:%d: %s", h.path, h.line, strings.TrimSpace(h.text)))
		}
	}
	a.sayf("All of them:\n\n%s\n", blockIn("", list))
	if over := len(uses) - limit; over > 0 {
		a.sayf("… and %d more.\n\n", over)
	}
	a.say("Chosen by the name as it is written; comments, documents and the definition itself are left out. I do not resolve types, so another thing of the same name counts too.\n")
	return nil
}

// useFactor orders uses: calls before mentions, code before tests.
func (a *asker) useFactor(h hit) float64 {
	f := fileFactor(h.path, askingCalls, false)
	if strings.Contains(h.text, a.q.terms[0].text+"(") {
		f *= 1.5
	}
	if importLine.MatchString(h.text) {
		f *= 0.3
	}
	return f
}
