package session

import (
	"strings"
	"testing"
)

func TestAnExcerptIsALineRoundTheFirstWordThatMatches(t *testing.T) {
	long := strings.Repeat("before ", 50) + "the\n\n\tLimít_is 7 " + strings.Repeat("after ", 50)
	for _, test := range []struct{ body, sought, want string }{
		{"short and\nclear", "CLE", "short and clear"},
		{long, "limit", "…" + strings.Repeat("before ", 5) + "the Limít_is 7" + strings.Repeat(" after", 16) + "…"},
		{"nothing here", "elsewhere", "nothing here"},
		{"", "x", ""},
		{"?!", "x", "?!"},
	} {
		if got := around(test.body, test.sought); got != test.want {
			t.Errorf("%q in %.40q is at %q, want %q", test.sought, test.body, got, test.want)
		}
	}
}
