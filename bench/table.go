package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table is what is printed: a title, a line of heads, one of units if there are any, and the rows.
type table struct {
	title string
	head  []string
	unit  []string
	rows  [][]string
	note  string // below the rows
}

func (t table) print(w io.Writer) {
	all := slices.Concat([][]string{t.head, t.unit}, t.rows)
	if strings.Join(t.unit, "") == "" {
		all = slices.Delete(all, 1, 2)
	}
	width := make([]int, len(t.head))
	for _, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintf(w, "\n%s\n", t.title)
	for _, row := range all {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("  " + cell + pad)
			} else {
				b.WriteString("   " + pad + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	if t.note != "" {
		fmt.Fprintf(w, "  %s\n", t.note)
	}
}

// ratio says how many times as much the first is.
func ratio(of, to float64) string {
	if to == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", of/to)
}

// median gives the middle of the values, which must not be empty.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
