package offline

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// span is how many lines below one another words may stand to count as near.
const span = 8

// place is a group of lines that answer a question more or less.
type place struct {
	path  string
	lines []hit // in order; the first and last are at most span apart
	focus int   // the line that fits best
	name  string
	def   float64 // how strongly the focus defines a name that was asked for
	score float64
	has   []bool // which terms are there
}

// ranking orders the hits of a question's searches.
type ranking struct {
	q     question
	hits  map[string]map[int]string // by path and line
	count int
	total map[int]int // matches of the searches for one term, by term
}

func newRanking(q question) *ranking {
	return &ranking{q: q, hits: map[string]map[int]string{}, total: map[int]int{}}
}

// searched notes what the search for a term alone found.
func (r *ranking) searched(term int, f found) {
	n := f.total
	if !f.capped { // the search is looser than the term
		n = 0
		for _, h := range f.hits {
			if r.q.terms[term].main.MatchString(h.text) {
				n++
			}
		}
	}
	r.total[term] = n
}

// known tells whether the term was looked for.
func (r *ranking) known(term int) bool { _, ok := r.total[term]; return ok }

// nowhere tells whether the term was looked for and not found.
func (r *ranking) nowhere(term int) bool { return r.known(term) && r.total[term] == 0 }

// add takes the hits of a search that have a term.
func (r *ranking) add(hits []hit) {
	for _, h := range hits {
		if !slices.ContainsFunc(r.q.terms, func(t term) bool { return t.any.MatchString(h.text) }) {
			continue
		}
		lines := r.hits[h.path]
		if lines == nil {
			lines = map[int]string{}
			r.hits[h.path] = lines
		}
		if _, ok := lines[h.line]; !ok {
			r.count++
		}
		lines[h.line] = h.text
	}
}

// fit is how well a text has a term: 1 the word, less an alternative, 0 neither.
func (t term) fit(text string) float64 {
	switch {
	case t.main.MatchString(text):
		return 1
	case len(t.alts) > 0 && t.any.MatchString(text):
		return weightAlt
	}
	return 0
}

// line is a hit with what is known of it.
type line struct {
	hit
	fits []float64
	name string
	def  float64
}

// places gives the places best first. Ties go by path and line, so that the order is the same every time.
func (r *ranking) places() []place {
	weights := r.weights()
	total := 0.0
	for _, w := range weights {
		total += w
	}
	if total == 0 {
		return nil
	}
	tests := false
	for _, t := range r.q.terms {
		if !t.exact && stem(t.text) == "test" {
			tests = true
		}
	}
	var all []place
	for file, byLine := range r.hits {
		factor := fileFactor(file, r.q.kind, tests)
		inPath := 0.0
		for i, t := range r.q.terms {
			inPath += weights[i] * t.fit(file)
		}
		lines := r.read(file, byLine)
		var ofFile []place
		for i := range lines {
			p := r.place(lines[i:], weights, total)
			p.score = (p.score + 0.3*inPath/total) * factor
			ofFile = append(ofFile, p)
		}
		all = append(all, spread(ofFile)...)
	}
	slices.SortFunc(all, byScore)
	return all
}

func byScore(a, b place) int {
	return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.path, b.path), cmp.Compare(a.focus, b.focus))
}

// read makes lines of one file's hits, in order.
func (r *ranking) read(file string, byLine map[int]string) []line {
	var lines []line
	for n, text := range byLine {
		l := line{hit: hit{file, n, text}, fits: make([]float64, len(r.q.terms))}
		for i, t := range r.q.terms {
			l.fits[i] = t.fit(text)
		}
		l.name, l.def = defines(file, text)
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int { return a.line - b.line })
	return lines
}

// place measures the window that begins with the first of lines.
func (r *ranking) place(lines []line, weights []float64, total float64) place {
	p := place{path: lines[0].path, has: make([]bool, len(weights))}
	near := make([]float64, len(weights))
	best := -1.0
	for _, l := range lines {
		if l.line > lines[0].line+span {
			break
		}
		p.lines = append(p.lines, l.hit)
		own, named := 0.0, 0.0
		for i, f := range l.fits {
			near[i] = max(near[i], f)
			own += weights[i] * f
			if l.def > 0 && f > 0 {
				named += weights[i] * r.q.terms[i].fit(l.name)
			}
		}
		def := l.def * named / total
		value := own/total + r.defBonus()*def
		if len(l.text) > 240 {
			value *= 0.5
		}
		if importLine().MatchString(l.text) {
			value *= 0.6
		}
		if value > best {
			best = value
			p.focus, p.name, p.def = l.line, l.name, def
		}
	}
	sum := 0.0
	for i, f := range near {
		sum += weights[i] * f
		p.has[i] = f > 0
	}
	cover := sum / total
	p.score = cover*math.Sqrt(cover) + 0.6*best
	return p
}

// defBonus is what a definition counts more than a use.
func (r *ranking) defBonus() float64 {
	switch r.q.kind {
	case askingCalls:
		return 0
	case askingWhere:
		return 1.5
	}
	return 1
}

// weights are the terms' weights with rarity: the more lines have a word, the less it tells.
func (r *ranking) weights() []float64 {
	df := make([]int, len(r.q.terms))
	for _, lines := range r.hits {
		for _, text := range lines {
			for i, t := range r.q.terms {
				if t.main.MatchString(text) {
					df[i]++
				}
			}
		}
	}
	most := 0
	for i := range df {
		df[i] = max(df[i], r.total[i])
		most = max(most, df[i])
	}
	out := make([]float64, len(df))
	for i, t := range r.q.terms {
		out[i] = t.weight
		if df[i] > 0 {
			out[i] *= math.Log(2 + float64(most)/float64(df[i]))
		}
	}
	return out
}

// spread keeps the best places of a file that do not overlap, at most three.
func spread(ps []place) []place {
	slices.SortFunc(ps, byScore)
	var out []place
	for _, p := range ps {
		clear := true
		for _, q := range out {
			if p.lines[0].line <= q.lines[len(q.lines)-1].line+2 && q.lines[0].line <= p.lines[len(p.lines)-1].line+2 {
				clear = false
			}
		}
		if clear {
			if out = append(out, p); len(out) == 3 {
				break
			}
		}
	}
	return out
}

// text is the line that the place is about, without its indentation.
func (p place) text() string {
	for _, h := range p.lines {
		if h.line == p.focus {
			return strings.TrimSpace(h.text)
		}
	}
	return ""
}

// hasAll tells whether the place has every term.
func (p place) hasAll() bool { return !slices.Contains(p.has, false) }

// listTerms writes terms for a person: “limit” (or max).
func listTerms(terms []term, alts bool) string {
	var out []string
	for _, t := range terms {
		s := "“" + t.text + "”"
		if alts && len(t.alts) > 0 {
			s += " (or " + strings.Join(t.alts, ", ") + ")"
		}
		out = append(out, s)
	}
	return joinAnd(out)
}

func joinAnd(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
