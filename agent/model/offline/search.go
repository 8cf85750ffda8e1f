package offline

import (
	"cmp"
	"slices"
	"strings"
)

// query is a search and the term it is for, -1 for several.
type query struct {
	searchArgs
	term int
}

// general searches the folder for the question's words and quotes the best places.
func (a *asker) general() error {
	if a.q.kind == askingWork {
		a.say("That is a task for a language model; I can only show the places that your words point to. (`help` lists the instructions that I can carry out.)\n\n")
	}
	a.think("Looking for " + listTerms(a.q.terms, true) + ".")
	if err := a.searchFor(a.firstQueries()); err != nil {
		return err
	}
	if more := a.secondQueries(); len(more) > 0 {
		a.think("That is not enough yet; looking again, otherwise.")
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
	if a.q.kind == askingCalls && len(a.q.terms) > 0 && a.q.terms[0].exact && a.rank.total[0] > 0 {
		return a.uses(places)
	}
	return a.show(places)
}

// searchFor makes one round of searches and takes their hits.
func (a *asker) searchFor(queries []query) error {
	if left := maxSearches - a.searches; len(queries) > left {
		queries = queries[:left]
	}
	var asks []ask
	for _, q := range queries {
		asks = append(asks, ask{"search", q.searchArgs})
	}
	a.searches += len(asks)
	replies, err := a.do(asks...)
	if err != nil {
		return err
	}
	for i, r := range replies {
		if r.failed {
			if len(a.rank.hits) == 0 && !a.saidFailure() {
				a.sayf("Could not search: %s\n\n", ended(r.text))
			}
			continue
		}
		f := readSearch(r.text)
		a.rank.add(f.hits)
		a.capped = a.capped || f.capped
		if t := queries[i].term; t >= 0 {
			a.rank.searched(t, f)
		}
	}
	return nil
}

func (a *asker) saidFailure() bool {
	return len(a.said) > 0 && strings.HasPrefix(a.said[len(a.said)-1].text, "Could not search")
}

// literal is the search for a term alone. Texts are found much faster than expressions, and the person can read them.
func (a *asker) literal(i int) query {
	t := a.q.terms[i]
	q := query{term: i}
	root := stem(t.text)
	switch {
	case t.exact && len(t.text) >= 8:
		q.Pattern = t.text
	case t.exact:
		q.Pattern, q.Regex = t.expr, true
	case len(root) <= 2: // a text so short is in half of all words
		q.Pattern, q.Regex = `\b`+root+`|_`+root+`|`+upperFirst(root)+`|`+strings.ToUpper(root), true
	default:
		q.Pattern, q.IgnoreCase = readable(t.text, root), true
	}
	return q
}

// readable is what is searched for a word: its stem, but not so short that it looks like a slip where that gains little.
func readable(word, root string) string {
	switch {
	case strings.HasSuffix(root, "y") && len(root) > 4: // retry, retries
		return root[:len(root)-1]
	case strings.HasPrefix(word, root+"e") && !strings.HasSuffix(root, "at"): // message, but validat-e and validat-ion
		return root + "e"
	}
	return root
}

// byWeight gives the indexes of the terms, the weightiest and longest first, short ones last.
func (a *asker) byWeight() []int {
	order := make([]int, len(a.q.terms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		s, t := a.q.terms[x], a.q.terms[y]
		short := func(t term) int {
			if !t.exact && len(stem(t.text)) <= 3 {
				return 1
			}
			return 0
		}
		return cmp.Or(short(s)-short(t), cmp.Compare(t.weight, s.weight), len(stem(t.text))-len(stem(s.text)))
	})
	return order
}

// firstQueries are those that every question begins with: its weightiest words, and for what documents answer, headings.
func (a *asker) firstQueries() []query {
	var out []query
	for _, i := range a.byWeight() {
		short := !a.q.terms[i].exact && len(stem(a.q.terms[i].text)) <= 3
		if len(out) < 3 && (!short || len(out) < 2) {
			out = append(out, a.literal(i))
		}
	}
	if a.q.kind == askingHow || a.q.kind == askingWhat {
		out = append(out, query{searchArgs{Pattern: `^#+ .*(` + strings.Join(a.exprs(), "|") + `)`, Regex: true, IgnoreCase: true, Include: "**/*.md"}, -1})
	}
	return out
}

// exprs are the expressions of the terms that weigh most, few enough to be searched for at once. Names that are known to
// be nowhere are left out.
func (a *asker) exprs() []string {
	var out []string
	for _, i := range a.byWeight() {
		if t := a.q.terms[i]; len(out) < 4 && !(t.exact && a.rank.nowhere(i)) {
			out = append(out, t.expr)
		}
	}
	return out
}

const declares = `\b(func|function|fn|def|class|type|interface|struct|enum|trait|const|let|var)\b`

// secondQueries fill what the first round left open: names in another case, other words for those that are nowhere,
// words that are so common that the search gave only a part, and words not looked for yet.
func (a *asker) secondQueries() []query {
	var out []query
	for i, t := range slices.Clone(a.q.terms) {
		if !a.rank.nowhere(i) {
			continue
		}
		if t.exact {
			out = append(out, query{searchArgs{Pattern: t.text, IgnoreCase: true}, -1})
			for _, j := range a.split(t) {
				if len(out) < 3 {
					out = append(out, a.literal(j))
				}
			}
			continue
		}
		for _, alt := range t.alts {
			if len(alt) > 3 {
				out = append(out, query{searchArgs{Pattern: stem(alt), IgnoreCase: true}, -1})
				break
			}
		}
	}
	exprs := a.exprs()
	places := a.rank.places()
	best := len(places) > 0 && places[0].hasAll()
	switch {
	case len(exprs) > 1 && a.capped:
		out = append(out, query{searchArgs{Pattern: pairs(exprs), Regex: true, IgnoreCase: true}, -1})
	case len(exprs) == 1 && a.capped && !a.q.terms[0].exact:
		out = append(out, query{searchArgs{Pattern: declares + `.*` + group(exprs[0]), Regex: true, IgnoreCase: true}, -1})
	}
	for _, i := range a.byWeight() {
		if !best && !a.rank.known(i) {
			out = append(out, a.literal(i))
		}
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

// split adds the words of a name that is not in the folder as it is written, and gives their indexes.
func (a *asker) split(name term) []int {
	var added []int
	for _, part := range humps(name.text) {
		known := slices.ContainsFunc(a.q.terms, func(t term) bool { return !t.exact && stem(t.text) == stem(part) })
		if !known && len(part) > 2 && len(a.q.terms) < 2*maxTerms {
			added = append(added, len(a.q.terms))
			a.q.terms = append(a.q.terms, newWord(part))
		}
	}
	a.rank.q = a.q
	return added
}

// byName looks for files whose path has the words, when no line does.
func (a *asker) byName() (bool, error) {
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
	a.sayf("I found nothing in this folder: no line has %s, in any spelling that I tried.\n\n", listOr(a.q.terms))
	a.say("Hint: a name from the code, as it is written there, finds most; `search \"TEXT\"` looks for an exact text and `list` shows what is here.\n")
}

func listOr(terms []term) string {
	return strings.Replace(listTerms(terms, true), " and ", " or ", 1)
}
