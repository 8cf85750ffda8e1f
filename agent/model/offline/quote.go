package offline

import (
	"strings"
)

// maxQuote bounds the lines of one quotation.
const maxQuote = 24

// quotation is a run of lines of a file, verbatim.
type quotation struct {
	path  string
	first int
	lines []string
	cut   bool // the block it is from goes on
}

// quote chooses the lines of v that belong with a place: a declaration with its comment and body, a paragraph, or what
// is around a use.
func quote(v view, p place) quotation {
	at := p.focus - v.first
	if at < 0 || at >= len(v.lines) {
		return quotation{path: v.path, first: v.first}
	}
	var from, to int
	_, def := defines(v.path, v.lines[at])
	switch {
	case docFile(v.path):
		from, to = paragraph(v.lines, at)
	case def == defStrong:
		from, to = commentAbove(v.lines, at), blockEnd(v.lines, at)
	case comment().MatchString(v.lines[at]):
		from, to = aboutComment(v.lines, at)
	default:
		from, to = max(at-3, 0), min(at+4, len(v.lines))
		from, to = tighten(v.lines, from, at, to)
		from = commentAbove(v.lines, from)
		if def == defWeak && opens(v.lines[at]) {
			to = max(to, blockEnd(v.lines, at))
		}
	}
	for _, h := range p.lines { // what else fits, if it is close
		i := h.line - v.first
		if i >= to && i < to+4 && i < len(v.lines) && i-from < maxQuote {
			to = i + 1
		}
		if i < from && i >= from-4 && i >= 0 && to-i <= maxQuote {
			from = i
		}
	}
	q := quotation{path: v.path}
	if to-from > maxQuote {
		from = max(from, at-maxQuote/2)
		to, q.cut = min(to, from+maxQuote), true
	}
	for from < at && blank(v.lines[from]) {
		from++
	}
	for to > at+1 && blank(v.lines[to-1]) {
		to--
	}
	q.first, q.lines = v.first+from, v.lines[from:to]
	return q
}

func (q quotation) last() int { return q.first + len(q.lines) - 1 }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// indent is the width of a line's leading space; a tab counts eight.
func indent(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 8
		default:
			return n
		}
	}
	return n
}

var (
	attribute = lazy(`^\s*(?:@\w|#\[|\[[A-Z]\w*)`)
	closing   = lazy(`^\s*(?:[})\]]|end\b)`)
)

// commentAbove is where the comment and attributes right above a line begin.
func commentAbove(lines []string, at int) int {
	from := at
	for from > 0 && at-from < 14 && (comment().MatchString(lines[from-1]) || attribute().MatchString(lines[from-1])) {
		from--
	}
	return from
}

// opens tells whether a block begins at the end of a line.
func opens(s string) bool {
	s = strings.TrimRight(s, " \t")
	if i := strings.LastIndex(s, " //"); i > 0 {
		s = strings.TrimRight(s[:i], " \t")
	}
	return s != "" && strings.ContainsRune("{([:", rune(s[len(s)-1])) || strings.HasSuffix(s, "=>") || strings.HasSuffix(s, "(`")
}

// blockEnd is the line after the block that a line begins, by indentation.
func blockEnd(lines []string, at int) int {
	depth := indent(lines[at])
	if !opens(lines[at]) {
		// A signature over several lines, or a one-liner.
		if at+1 >= len(lines) || blank(lines[at+1]) || indent(lines[at+1]) <= depth && !strings.HasPrefix(strings.TrimSpace(lines[at+1]), "{") {
			return at + 1
		}
	}
	for i := at + 1; i < len(lines); i++ {
		if blank(lines[i]) || indent(lines[i]) > depth {
			continue
		}
		t := strings.TrimSpace(lines[i])
		if closing().MatchString(lines[i]) || t == "{" {
			if opens(lines[i]) && i-at < maxQuote { // ") {"
				continue
			}
			return i + 1
		}
		return i
	}
	return len(lines)
}

// aboutComment is a comment and what it is about; of a long comment, the paragraph.
func aboutComment(lines []string, at int) (from, to int) {
	from, to = at, at+1
	for from > 0 && comment().MatchString(lines[from-1]) {
		from--
	}
	for to < len(lines) && comment().MatchString(lines[to]) {
		to++
	}
	if to-from > 14 {
		top, bottom := at, at+1
		for top > from && !emptyComment().MatchString(lines[top-1]) {
			top--
		}
		for bottom < to && !emptyComment().MatchString(lines[bottom]) {
			bottom++
		}
		from = top
		if bottom < to {
			return from, bottom
		}
	}
	if to < len(lines) && !blank(lines[to]) {
		to = min(blockEnd(lines, to), to+6)
	}
	return from, to
}

var emptyComment = lazy(`^\s*(?://+|#+|\*|--|;+)\s*$`)

// paragraph is the text around a line of a document: a heading with what follows it, a fenced block, or a paragraph.
func paragraph(lines []string, at int) (from, to int) {
	from, to = at, at+1
	if mdHeading().MatchString(lines[at]) {
		fenced := false
		for to < len(lines) && to-at < 14 {
			if strings.HasPrefix(strings.TrimSpace(lines[to]), "```") {
				fenced = !fenced
			}
			if !fenced && mdHeading().MatchString(lines[to]) {
				break
			}
			to++
		}
		return from, to
	}
	for from > 0 && at-from < 8 && !blank(lines[from-1]) {
		from--
		if mdHeading().MatchString(lines[from]) {
			break
		}
	}
	for to < len(lines) && to-at < 10 && !blank(lines[to]) && !mdHeading().MatchString(lines[to]) {
		to++
	}
	// A short line before a block of code belongs to it.
	if to+1 < len(lines) && blank(lines[to]) && strings.HasPrefix(strings.TrimSpace(lines[to+1]), "```") {
		for end := to + 2; end < len(lines) && end-to < 10; end++ {
			if strings.HasPrefix(strings.TrimSpace(lines[end]), "```") {
				to = end + 1
				break
			}
		}
	}
	return from, to
}

// tighten moves the ends of a window to blank lines within it.
func tighten(lines []string, from, at, to int) (int, int) {
	for i := at - 1; i >= from; i-- {
		if blank(lines[i]) {
			from = i + 1
			break
		}
	}
	for i := at + 1; i < to; i++ {
		if blank(lines[i]) {
			to = i
			break
		}
	}
	return from, to
}
