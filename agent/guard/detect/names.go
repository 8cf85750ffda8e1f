package detect

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameFinder finds names from a list, as whole words in any case.
type nameFinder struct {
	keywords *automaton // nil without names
	length   []int
}

func newNameFinder(names []string) *nameFinder {
	var forms []string
	for _, name := range names {
		name = strings.Join(strings.Fields(name), " ")
		// The automaton takes ASCII letters in either case; others are spelled out.
		for _, form := range []string{strings.ToLower(name), strings.ToUpper(name), name} {
			if form = lowerASCII(form); form != "" && !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	f := &nameFinder{}
	if len(forms) == 0 {
		return f
	}
	f.keywords = newAutomaton(forms)
	for _, form := range forms {
		f.length = append(f.length, len(form))
	}
	return f
}

// find adds the names in a text.
func (f *nameFinder) find(text string, found []Span) []Span {
	if f.keywords == nil {
		return found
	}
	f.keywords.each(text, func(keyword, end int) {
		start := end - f.length[keyword]
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(after) {
			found = append(found, Span{Start: start, End: end, Kind: Name, Rule: "name"})
		}
	})
	return found
}

func inWord(c rune) bool {
	return c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_')
}

func lowerASCII(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, text)
}
