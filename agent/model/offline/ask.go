package offline

import (
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
	capped   bool // a search had more matches than it gave
}

// answer answers the conversation's question about the folder.
func (c conversation) answer(t *turn) error {
	if short := firstRunes(c.text, maxQuestion); len(short) < len(c.text) {
		t.think(fmt.Sprintf("That is long; only its first %d characters are weighed.\n\n", maxQuestion))
		c.text = short
	}
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
		if slices.ContainsFunc(out, func(o place) bool { return o.text() == p.text() }) {
			continue // a copy, such as a built file
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
	a.think("Reading what is around the best places.")
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
		if t.exact && !p.has[i] && a.rank.nowhere(i) {
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
		return fmt.Sprintf("%s; others come close.", what)
	}
	return what + "."
}

func (a *asker) sayQuote(q quotation) {
	a.sayf("%s\n\n%s\n", citation(q), block(q.path, q.lines))
	if q.cut {
		a.sayf("(cut; `read %s %d-%d` goes on)\n\n", quotePath(q.path), q.last()+1, q.last()+40)
	}
}

func citation(q quotation) string {
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
			case !name.main.MatchString(h.text), docFile(file), comment().MatchString(h.text):
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
	if importLine().MatchString(h.text) {
		f *= 0.3
	}
	return f
}
