package detect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// personal adds the personal data of a text, but for names.
func personal(text string, found []Span) []Span {
	digits := 0 // before it all digits have been looked at
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c > '9' && c != '@' && c != ':':
		case c == '@':
			found = email(text, i, found)
		case c >= '0' && c <= '9':
			if i < digits {
				continue
			}
			var to int
			if found, to = number(text, i, found); to > i {
				i = to - 1
			}
			for digits = i + 1; digits < len(text) && isDigit(text[digits]); digits++ {
			}
		case c == '+':
			found = internationalPhone(text, i, found)
		case c == '(':
			found = americanPhone(text, i, found)
		case c == ':':
			found = ipv6(text, i, found)
		}
	}
	return found
}

// number looks at the digits that begin at text[at]. It gives up to where it found something, or at.
func number(text string, at int, found []Span) ([]Span, int) {
	for _, try := range []func(string, int) (Span, bool){iban, card, ssn, ipv4, plainPhone} {
		if s, ok := try(text, at); ok {
			return append(found, s), s.End
		}
	}
	return found, at
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// startsWord tells whether nothing of a word, a number or a path is right before text[at].
func startsWord(text string, at int) bool {
	if at == 0 {
		return true
	}
	c, _ := utf8.DecodeLastRuneInString(text[:at])
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_.-/\\#&%$", c)
}

// endsWord tells whether nothing of a word or a number is right after text[:at].
func endsWord(text string, at int) bool {
	if at == len(text) {
		return true
	}
	c, size := utf8.DecodeRuneInString(text[at:])
	if strings.ContainsRune(".-,", c) { // the end of a sentence, or a number that goes on
		next, _ := utf8.DecodeRuneInString(text[at+size:])
		return !unicode.IsDigit(next) && (c != '-' || !unicode.IsLetter(next))
	}
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_/\\", c)
}

// saysBefore tells whether one of the words stands shortly before text[at], in any case.
func saysBefore(text string, at int, words ...string) bool {
	before := strings.ToLower(text[max(0, at-32):at])
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i:]
	}
	for _, w := range words {
		if strings.Contains(before, w) {
			return true
		}
	}
	return false
}

// digitGroups reads digits in groups with one of the separators between them, the same one all through. It gives the digits,
// the lengths of the groups and the end.
func digitGroups(text string, at int, separators string, most int) (digits []byte, groups []int, end int) {
	var separator byte
	n := 0
	for i := at; i < len(text) && len(digits) <= most; i++ {
		c := text[i]
		if isDigit(c) {
			digits, n, end = append(digits, c), n+1, i+1
			continue
		}
		if n == 0 || strings.IndexByte(separators, c) < 0 || separator != 0 && c != separator ||
			i+1 >= len(text) || !isDigit(text[i+1]) {
			break
		}
		separator = c
		groups, n = append(groups, n), 0
	}
	if n > 0 {
		groups = append(groups, n)
	}
	return digits, groups, end
}
