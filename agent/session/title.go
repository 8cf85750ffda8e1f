package session

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const titleRunes = 80

// Title makes a session's title from its first prompt: one line of at most 80 characters, without markup or control
// characters, cut at a word. It is empty when the prompt has nothing to name it by.
func Title(prompt []Block) string {
	for _, b := range prompt {
		if b.Type != BlockText {
			continue
		}
		for line := range strings.Lines(b.Text) {
			if title := plainLine(line); title != "" {
				return shorten(title)
			}
		}
	}
	for _, b := range prompt {
		if title := plainLine(b.base()); title != "" {
			return shorten(title)
		}
	}
	for _, b := range prompt {
		switch b.Type {
		case BlockImage:
			return "Image"
		case BlockAudio:
			return "Recording"
		}
	}
	return ""
}

// plainLine is the line without Markdown and HTML markup, invisible characters and surplus space.
func plainLine(line string) string {
	line = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.C, r), r == utf8.RuneError: // control, format (direction marks, zero width) and private use
			return -1
		}
		return r
	}, line)
	line = strings.Join(strings.Fields(line), " ")
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") { // a fence; the code is on the next lines
		return ""
	}
	for _, m := range []struct{ pattern, with string }{
		{`^(?:(?:#{1,6}|>|[-*+]|\d{1,3}[.)]) )+`, ""},                                            // heading, quotation, list
		{`!?\[([^\[\]]*)\]\([^()\s]*\)`, "$1"},                                                   // link, picture
		{`</?[a-zA-Z][a-zA-Z0-9-]*(?: [a-zA-Z-]+(?:=(?:"[^"]*"|'[^']*'|[^\s>"']+))?)* ?/?>`, ""}, // HTML
		{"`+", ""},
		{`(\*{1,3}|~~)(\S|\S.*?\S)(\*{1,3}|~~)`, "$2"}, // emphasis
	} {
		line = regexp.MustCompile(m.pattern).ReplaceAllString(line, m.with)
	}
	if strings.Trim(line, "-=*_ #>") == "" { // a rule or an empty heading
		return ""
	}
	return strings.Join(strings.Fields(line), " ")
}

// shorten cuts at the last word that fits, or anywhere when the first word is longer than the title may be.
func shorten(title string) string {
	runes := []rune(title)
	if len(runes) <= titleRunes {
		return title
	}
	cut := string(runes[:titleRunes-1])
	if i := strings.LastIndexByte(cut, ' '); runes[titleRunes-1] != ' ' && i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}
