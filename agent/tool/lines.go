package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxShownLine bounds a line of a file in a result, in characters.
const maxShownLine = 2000

// splitLines gives the lines of a text without their endings. A final line ending does not begin another line.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// countLines counts the lines of a text as [splitLines] splits it.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// writeNumbered adds one line with its 1-based number.
func writeNumbered(out *strings.Builder, number int, line string) {
	if utf8.RuneCountInString(line) > maxShownLine {
		whole := utf8.RuneCountInString(line)
		line = clip(line, maxShownLine) + fmt.Sprintf(" (%d characters in this line)", whole)
	}
	fmt.Fprintf(out, "%6d\t%s\n", number, line)
}
