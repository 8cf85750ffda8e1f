package detect

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule is a rule of gitleaks. Its expression is run around its keywords only.
type rule struct {
	id       string
	expr     string
	keywords []string // lower-case
	group    int      // which group is the secret; 0 for the first that matched, or the whole without groups
	entropy  float64  // bits a character that the secret must exceed; 0 for none
	allowed  []allowlist
	global   *allowlist
	accept   func(match, secret string) bool // one more condition; nil for none

	once     sync.Once
	re       *regexp.Regexp
	anchored bool   // a match begins where a keyword begins
	boundary bool   // and there must be a word boundary
	literal  string // anchored: what a match begins with, exactly
	assigns  bool   // anchored: an operator and a value must follow soon after the keyword
	bare     bool   // and the value is letters, digits and few signs, with an end that shows
	width    int    // of the longest match, bytes; longest if there is none
}

// longest is how far an expression without a limit is run from its keyword at first, in bytes.
const longest = 1024

// operator is the middle that gitleaks gives the rules that look for a name with a value.
const operator = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`

// cutName takes off the beginning that gitleaks gives those rules: the part of a name before the keyword, which says nothing.
func cutName(expr string) (string, bool) {
	if rest, ok := strings.CutPrefix(expr, `(?i)[\w.-]{0,50}?(?:`); ok {
		return `(?i)(?:` + rest, true
	}
	if rest, ok := strings.CutPrefix(expr, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?(?:`); ok {
		return `(?i:(?:` + rest, true
	}
	return expr, false
}

// compile works out how the rule is run. The rule is used by many scans at once, and compiled by the first.
func (r *rule) compile() {
	expr := r.expr
	if shorter, ok := cutName(expr); ok && r.beginsWithKeyword(parse(shorter)) {
		expr, r.anchored = shorter, true
		r.assigns = strings.Contains(expr, operator)
		r.bare = r.accept != nil
	}
	tree := parse(expr)
	if !r.anchored {
		rest, boundary := cutBoundary(tree)
		// What goes on with anything at all would be run over the same text from each keyword in it.
		if r.beginsWithKeyword(rest) && (maxWidth(rest) < longest || !hasAnyChar(rest)) {
			tree, r.anchored, r.boundary = rest, true, boundary
			r.literal = plainPrefix(rest)
		}
	}
	r.width = min(maxWidth(tree), longest)
	expr = tree.String()
	if r.anchored {
		expr = `\A(?:` + expr + `)`
	}
	r.re = regexp.MustCompile(expr)
}

func parse(expr string) *syntax.Regexp {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err) // a test compiles all rules
	}
	return tree
}

// beginsWithKeyword tells whether every match begins where one of the keywords begins.
func (r *rule) beginsWithKeyword(tree *syntax.Regexp) bool {
	all := prefixes(tree)
	for _, p := range all {
		p = strings.ToLower(p)
		ok := false
		for _, k := range r.keywords {
			ok = ok || strings.HasPrefix(p, k) || strings.HasPrefix(k, p)
		}
		if !ok {
			return false
		}
	}
	return len(all) > 0
}

// find looks at a keyword at text[start:end], and gives up to where it has looked; before seen it has looked already.
func (r *rule) find(text string, start, end, seen int, found []Span) ([]Span, int) {
	r.once.Do(r.compile)
	if r.anchored {
		if start < seen || !r.mayBegin(text, start, end) {
			return found, seen
		}
		m := r.match(text, start)
		if m == nil {
			return found, seen
		}
		return r.take(text, start, m, found), start + m[1]
	}
	if seen == len(text) || end+r.width <= seen {
		return found, seen
	}
	from := max(start-r.width, 0)
	to := min(end+4*r.width, len(text)) // the next keywords are near, as a rule
	for _, m := range r.re.FindAllStringSubmatchIndex(text[from:to], -1) {
		found = r.take(text, from, m, found)
	}
	return found, to
}

// mayBegin is a quick look at whether a match can begin at start.
func (r *rule) mayBegin(text string, start, end int) bool {
	if r.boundary && start > 0 && isWord(text[start-1]) == isWord(text[start]) {
		return false
	}
	if r.boundary && start > 1 && text[start-1] == '+' && isWord(text[start-2]) { // in the middle of base64
		return false
	}
	if !strings.HasPrefix(text[start:], r.literal) {
		return false
	}
	return !r.assigns || valueFollows(text[end:], r.bare)
}

// match runs an anchored expression, on no more of the text than it can match.
func (r *rule) match(text string, start int) []int {
	to := min(start+r.width+utf8.UTFMax, len(text))
	m := r.re.FindStringSubmatchIndex(text[start:to])
	if r.width == longest && to < len(text) && m != nil && start+m[1] >= start+r.width {
		m = r.re.FindStringSubmatchIndex(text[start:])
	}
	return m
}

// shortestValue is how long a value is that any of the rules for assignments takes, in bytes.
const shortestValue = 8

// longestBare is how long a value of the rule for any telling name is, if it has an equals sign in its middle.
const longestBare = 160

// valueFollows tells whether text goes on like the rest of a name, then with something that assigns, then with a value
// that has a digit or a sign in it: letters alone are no secret to any of these rules. A bare value must also end where
// the rule has it end.
func valueFollows(text string, bare bool) bool {
	text = text[:min(len(text), 128+longest)]
	i := 0
	for i < len(text) && strings.IndexByte("=:>|?,", text[i]) < 0 {
		if c := text[i]; i == 64 || !isWord(c) && strings.IndexByte(" \t.-'\"\r\n", c) < 0 {
			return false
		}
		i++
	}
	for i < len(text) && strings.IndexByte("=:>|?,'\"` \t\r\n", text[i]) >= 0 {
		i++
	}
	telling := false
	from := i
	for ; i < len(text) && strings.IndexByte("'\"` \t\r\n;", text[i]) < 0; i++ {
		telling = telling || isDigit(text[i]) || !isWord(text[i]) && text[i] != '.' && text[i] != '-'
		if bare && !isWord(text[i]) && strings.IndexByte(".=-+/", text[i]) < 0 {
			return telling && i-from >= shortestValue && text[i] == '\\'
		}
		if !bare && telling && i-from+1 >= shortestValue {
			return true
		}
	}
	return telling && i-from >= shortestValue && (i-from <= longestBare || strings.IndexByte(text[from:i-2], '=') < 0)
}

// take adds the secret of a match at m, counted from base, unless something speaks against it.
func (r *rule) take(text string, base int, m []int, found []Span) []Span {
	at := r.secret(m)
	span := Span{Start: base + m[at], End: base + m[at+1], Kind: Secret, Rule: r.id}
	if span.Start >= span.End {
		return found
	}
	secret, match := text[span.Start:span.End], text[base+m[0]:base+m[1]]
	if r.entropy > 0 && entropy(secret) <= r.entropy {
		return found
	}
	if r.accept != nil && !r.accept(match, secret) {
		return found
	}
	line := func() string { return lineAt(text, base+m[0], base+m[1]) }
	if r.global.allows(secret, match, line) {
		return found
	}
	for i := range r.allowed {
		if r.allowed[i].allows(secret, match, line) {
			return found
		}
	}
	return append(found, span)
}

// secret gives the index in m of the group that is the secret.
func (r *rule) secret(m []int) int {
	if r.group > 0 {
		if i := 2 * r.group; i < len(m) && m[i] >= 0 {
			return i
		}
		return 0
	}
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 && m[i] < m[i+1] {
			return i
		}
	}
	return 0
}

// lineAt gives the lines that text[start:end] is on, or as much of them as is near.
func lineAt(text string, start, end int) string {
	from, to := max(0, start-longest), min(len(text), end+longest)
	from += strings.LastIndexByte(text[from:start], '\n') + 1
	if i := strings.IndexByte(text[end:to], '\n'); i >= 0 {
		to = end + i
	}
	return text[from:to]
}

// allowlist says what is no secret after all.
type allowlist struct {
	and     bool // all conditions must hold
	never   bool // one of them is about something that a text does not have: the path of its file
	target  string
	regexes []string
	words   []string

	once  sync.Once
	re    *regexp.Regexp
	stops *automaton
}

func newAllowlist(s allowSettings) allowlist {
	and := strings.EqualFold(s.Condition, "and") || s.Condition == "&&"
	words := make([]string, len(s.StopWords))
	for i, w := range s.StopWords {
		words[i] = strings.ToLower(w)
	}
	return allowlist{and: and, never: and && len(s.Paths) > 0, target: s.RegexTarget, regexes: s.Regexes, words: words}
}

func (a *allowlist) compile() {
	if len(a.regexes) > 0 {
		a.re = regexp.MustCompile("(?:" + strings.Join(a.regexes, "|") + ")")
	}
	if len(a.words) > 0 {
		a.stops = newAutomaton(a.words)
	}
}

// allows tells whether the list has an excuse for a secret that was found in a match.
func (a *allowlist) allows(secret, match string, line func() string) bool {
	if a.never {
		return false
	}
	a.once.Do(a.compile)
	target := secret
	switch a.target {
	case "match":
		target = match
	case "line":
		target = line()
	}
	byExpression := a.re != nil && a.re.MatchString(target)
	byWord := a.stops != nil && a.stops.has(secret)
	if a.and {
		return (a.re == nil || byExpression) && (a.stops == nil || byWord) && (a.re != nil || a.stops != nil)
	}
	return byExpression || byWord
}

// entropy is Shannon's, in bits a character.
func entropy(text string) float64 {
	counts := map[rune]int{}
	n := 0
	for _, c := range text {
		counts[c]++
		n++
	}
	sum := 0.0
	for _, count := range counts {
		p := float64(count) / float64(n)
		sum -= p * math.Log2(p)
	}
	return sum
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
