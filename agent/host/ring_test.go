package host

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestOutputThatFitsIsKeptWhole(t *testing.T) {
	r := NewRing(10)
	for _, s := range []string{"abc", "", "defgh", "ij"} {
		_, _ = r.Write([]byte(s))
	}
	if r.String() != "abcdefghij" || r.Total() != 10 {
		t.Errorf("%q, %d", r.String(), r.Total())
	}
}

func TestCutsAreAtTheEndsOfLinesWhereOneIsNear(t *testing.T) {
	r := NewRing(40)
	_, _ = r.Write([]byte("first line\nsecond\nthird"))
	_, _ = r.Write([]byte(strings.Repeat("x", 100)))
	_, _ = r.Write([]byte("yy\nlast line of all"))
	want := "first line\nsecond\n… 108 bytes left out …\nlast line of all"
	if r.String() != want || r.Total() != 142 {
		t.Errorf("%q, %d", r.String(), r.Total())
	}
}

func TestCutsNeverMakeABrokenCharacter(t *testing.T) {
	for _, char := range []string{"é", "€", "𝄞"} {
		for pad := range 5 {
			for _, keep := range []int{1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 14, 15, 40} {
				r := NewRing(keep)
				_, _ = r.Write([]byte(strings.Repeat("a", pad) + strings.Repeat(char, 50)))
				if s := r.String(); strings.Contains(s, "\uFFFD") || !utf8.ValidString(s) {
					t.Errorf("%s, %d before, keep %d: %q", char, pad, keep, s)
				}
			}
		}
	}
}

// Whatever the writes, the kept parts are the beginning and the end of it, bounded, and the count of the rest is right.
func TestARingKeepsTheHeadAndTheTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(2, 60).Draw(t, "keep")
		r := NewRing(keep)
		var all strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "writes") {
			s := rapid.StringOfN(rapid.SampledFrom([]rune("ab€\n")), 0, 30, -1).Draw(t, "text")
			all.WriteString(s)
			if n, err := r.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatal(n, err)
			}
		}
		whole, got := all.String(), r.String()
		if r.Total() != int64(len(whole)) {
			t.Fatalf("total %d of %d", r.Total(), len(whole))
		}
		if len(whole) <= keep-keep%2 {
			if got != whole {
				t.Fatalf("%q became %q", whole, got)
			}
			return
		}
		head, rest, ok := strings.Cut(got, "… ")
		var left int64
		if n, _ := fmt.Sscanf(rest, "%d bytes left out …\n", &left); !ok || n != 1 {
			t.Fatalf("%q does not say what was left out", got)
		}
		_, tail, _ := strings.Cut(rest, "\n")
		kept := r.Total() - left - int64(len(tail))
		if kept < 0 || kept > int64(keep/2) || len(tail) > keep/2 || !strings.HasPrefix(whole, head[:kept]) || !strings.HasSuffix(whole, tail) {
			t.Fatalf("of %q kept %q", whole, got)
		}
	})
}
