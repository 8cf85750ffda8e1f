package offline

import (
	"regexp"
	"strings"
	"sync"
)

// lazy compiles an expression when it is first used: a program that has this model built in, and uses another, does not
// wait for its expressions.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// lazySet makes a set of words when it is first used.
func lazySet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for _, w := range strings.Fields(words) {
			m[w] = true
		}
		return m
	})
}
