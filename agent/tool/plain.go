package tool

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// escapes are the sequences that colour text, move the cursor or set a title (ECMA-48: CSI, OSC, and the short ones).
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])`)

// cleanText makes output valid UTF-8 without escape sequences and without control characters that are not line breaks or
// tabs.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = escapes.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' && r != '\r' || r == 0x7F {
			return -1
		}
		return r
	}, s)
}

// plainOutput is what a person would see of a command's output at its end: clean, and of a line that was written over
// with carriage returns, as progress bars are, only what came last.
func plainOutput(s string) string {
	s = strings.ReplaceAll(cleanText(s), "\r\n", "\n")
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
