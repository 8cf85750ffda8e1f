package config

import (
	"fmt"
	"slices"
)

// suggestion names the word that was probably meant: `; did you mean "mode"?`, or nothing.
func suggestion(wrong string, words []string) string {
	best, least := "", len(wrong)/3+2 // what is further away is another word
	for _, w := range words {
		if d := distance(wrong, w); d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of letters to put in, take out, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row
		row = make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before = last
	}
	return row[len(b)]
}

// meantAsKey tells that somebody wanted to write a secret into the file.
func meantAsKey(name string) bool {
	return slices.Contains([]string{"api_key", "apikey", "api-key", "key", "token", "secret", "password"}, name)
}
