package tool

import (
	"fmt"
	"regexp"
	"strings"
)

// explainNoMatch says why an old text may not be in the content, and shows the place that comes closest.
func explainNoMatch(content, old, replacement string) string {
	const lead = "the old text is not in the file"
	if stripped := withoutNumbers(old); stripped != old && strings.Contains(content, stripped) {
		return lead + ": leave out the line numbers and tabs that view puts before the lines"
	}
	if replacement != "" && strings.Contains(content, replacement) && len(strings.TrimSpace(replacement)) > 8 {
		return fmt.Sprintf("%s, but the new text is, at line %d: this edit may have been made already", lead,
			lineAt(content, strings.Index(content, replacement)))
	}
	if strings.Contains(old, "\n") && strings.Contains(content, "\r\n") &&
		strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")) {
		return lead + " as one piece, because its lines end in different ways (\\r\\n and \\n): edit these lines one by one"
	}
	lines, wanted := splitLines(content), splitLines(old)
	if at := findLines(lines, wanted, strings.TrimSpace); at >= 0 {
		return fmt.Sprintf("%s, but %s from it only in white space: copy the indentation and spaces exactly:\n%s",
			lead, differ(at, len(wanted)), numbered(lines, at, at+min(len(wanted), 10)))
	}
	if at := findLines(lines, wanted, squeeze); at >= 0 {
		return fmt.Sprintf("%s, but %s from it only in spaces within or around the lines:\n%s",
			lead, differ(at, len(wanted)), numbered(lines, at, at+min(len(wanted), 10)))
	}
	if at, score := closest(lines, wanted); score >= 0.5 {
		return fmt.Sprintf("%s; the closest place is line %d:\n%s\nview the file and copy the text exactly", lead, at+1,
			numbered(lines, max(at-1, 0), at+min(len(wanted), 6)+1))
	}
	return lead + ": view the file and copy the text exactly"
}

func differ(at, lines int) string {
	if lines == 1 {
		return fmt.Sprintf("line %d differs", at+1)
	}
	return fmt.Sprintf("lines %d-%d differ", at+1, at+lines)
}

var numberPrefix = regexp.MustCompile(`(?m)^ *\d+\t`)

func withoutNumbers(s string) string { return numberPrefix.ReplaceAllString(s, "") }

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// findLines gives the first index where the wanted lines are in a row, all compared by way of form; -1 for nowhere.
func findLines(lines, wanted []string, form func(string) string) int {
	if len(wanted) == 0 || strings.TrimSpace(strings.Join(wanted, "")) == "" {
		return -1
	}
	target := make([]string, len(wanted))
	for i, line := range wanted {
		target[i] = form(line)
	}
	formed := make([]string, len(lines))
	for i, line := range lines {
		formed[i] = form(line)
	}
next:
	for at := 0; at+len(target) <= len(formed); at++ {
		for i := range target {
			if formed[at+i] != target[i] {
				continue next
			}
		}
		return at
	}
	return -1
}

// closest gives the line that is most like the first line of wanted that has text, moved up to where the text would begin.
func closest(lines, wanted []string) (at int, score float64) {
	const considered = 20000 // lines; beyond, the help is not worth the time
	first := 0
	for first < len(wanted) && strings.TrimSpace(wanted[first]) == "" {
		first++
	}
	if first == len(wanted) {
		return 0, 0
	}
	want := strings.TrimSpace(wanted[first])
	for i, line := range lines[:min(len(lines), considered)] {
		if s := similarity(strings.TrimSpace(line), want); s > score {
			at, score = i, s
		}
	}
	return max(at-first, 0), score
}

// similarity tells how alike two strings are, from 0 to 1: 1 less the share of characters that must change. Only the first
// 200 characters count.
func similarity(a, b string) float64 {
	const considered = 200
	x, y := []rune(clip(a, considered)), []rune(clip(b, considered))
	longest := max(len(x), len(y))
	if longest == 0 {
		return 1
	}
	if min(len(x), len(y))*2 < longest { // cannot reach one half
		return 0
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return 1 - float64(row[len(y)])/float64(longest)
}

func numbered(lines []string, from, to int) string {
	var out strings.Builder
	for n := from; n < min(to, len(lines)); n++ {
		writeNumbered(&out, n+1, clip(lines[n], 300))
	}
	return strings.TrimSuffix(out.String(), "\n")
}
