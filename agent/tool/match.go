package tool

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// lineMatcher finds the lines of a file that match.
type lineMatcher struct {
	literal []byte // what to look for when there is no expression
	fold    bool   // literal is ASCII in lower case, and case does not matter
	re      *regexp.Regexp
	// must is a text that every match of re has: files without it are passed over quickly. It may be empty.
	must []byte
}

func newLineMatcher(pattern string, isRegex, ignoreCase bool) (*lineMatcher, error) {
	switch {
	case pattern == "":
		return nil, errors.New(`"pattern" is empty: give the text to look for`)
	case !isRegex && strings.ContainsAny(pattern, "\r\n"):
		return nil, errors.New(`"pattern" has a line break: lines are searched one by one, so give a part of one line`)
	case !isRegex && !ignoreCase:
		return &lineMatcher{literal: []byte(pattern)}, nil
	case !isRegex && isASCII(pattern):
		return &lineMatcher{literal: []byte(strings.ToLower(pattern)), fold: true}, nil
	case !isRegex:
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := "(?m)"
	if ignoreCase {
		flags = "(?mi)"
	}
	parsed, err := syntax.Parse(flags+"(?:"+pattern+")", syntax.Perl)
	if err != nil {
		var bad *syntax.Error
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("the regular expression is not valid RE2: %s: `%s`; for plain text leave regex out", bad.Code, bad.Expr)
		}
		return nil, fmt.Errorf("the regular expression cannot be used: %w", err)
	}
	stayInLine(parsed)
	re, err := regexp.Compile(parsed.String())
	if err != nil {
		return nil, fmt.Errorf("the regular expression cannot be used: %w", err)
	}
	return &lineMatcher{re: re, must: []byte(requiredText(parsed.Simplify()))}, nil
}

// stayInLine changes an expression so that no match goes on into the next line, as far as that can be told from it, and the
// beginning and end of the text mean those of a line. Otherwise a class such as [^"] could look through the whole file from
// every line anew.
func stayInLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
	case syntax.OpCharClass:
		var ranges []rune
		for i := 0; i < len(re.Rune); i += 2 {
			low, high := re.Rune[i], re.Rune[i+1]
			if low > '\n' || high < '\n' {
				ranges = append(ranges, low, high)
				continue
			}
			if low < '\n' {
				ranges = append(ranges, low, '\n'-1)
			}
			if high > '\n' {
				ranges = append(ranges, '\n'+1, high)
			}
		}
		if re.Rune = ranges; len(ranges) == 0 {
			re.Op = syntax.OpNoMatch
		}
	}
	for _, sub := range re.Sub {
		stayInLine(sub)
	}
}

// requiredText gives the longest text that every match of an expression is sure to have.
func requiredText(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredText(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredText(re.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if text := requiredText(sub); len(text) > len(best) {
				best = text
			}
		}
		return best
	}
	return ""
}

// asciiOnly tells whether the pattern can be looked for in bytes of any encoding that extends ASCII.
func (m *lineMatcher) asciiOnly() bool { return m.re == nil && isASCII(string(m.literal)) }

// each calls found with every line that matches: its 1-based number, the line without its ending, and where in it the first
// match is. It stops when found returns false.
func (m *lineMatcher) each(data []byte, found func(number int, line []byte, start, end int) bool) {
	if m.re != nil && len(m.must) > 0 && !bytes.Contains(data, m.must) {
		return
	}
	if m.re != nil && bytes.IndexByte(data, '\r') >= 0 { // so that $ is at the line's end
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	haystack := data
	if m.fold {
		haystack = lowerASCII(data)
	}
	number, counted := 1, 0 // counted is the offset up to which line breaks are in number
	for at := 0; at < len(data); {
		i := m.next(haystack[at:])
		if i < 0 {
			return
		}
		if i += at; i == len(data) && data[i-1] == '\n' { // after the last line break no line begins
			return
		}
		lineStart := bytes.LastIndexByte(data[:i], '\n') + 1
		lineEnd := len(data)
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			lineEnd = i + n
		}
		number += bytes.Count(data[counted:lineStart], []byte{'\n'})
		counted = lineStart
		line := data[lineStart:lineEnd]
		start, end := i-lineStart, i-lineStart+len(m.literal)
		if m.re == nil && lineEnd < len(data) {
			line = bytes.TrimSuffix(line, []byte{'\r'})
		}
		if m.re != nil { // a match may have gone on into the next line: does this line match by itself?
			span := m.re.FindIndex(line)
			if span == nil {
				at = lineEnd + 1
				continue
			}
			start, end = span[0], span[1]
		}
		if !found(number, line, start, end) {
			return
		}
		at = lineEnd + 1
	}
}

func (m *lineMatcher) next(haystack []byte) int {
	if m.re == nil {
		return bytes.Index(haystack, m.literal)
	}
	if span := m.re.FindIndex(haystack); span != nil {
		return span[0]
	}
	return -1
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerASCII(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}
