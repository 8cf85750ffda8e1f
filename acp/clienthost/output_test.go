package clienthost

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheKeptEndOfTheOutputBeginsWithAWholeCharacterWhereverTheCutFalls(t *testing.T) {
	for _, r := range []string{"é", "漢", "😀"} {
		for offset := range 9 { // so many bytes before the character
			for _, after := range []int{0, 1, 2, 3, 4, 5} {
				text := strings.Repeat("a", offset) + r + strings.Repeat("z", after)
				for _, limit := range []int{0, 1, 2, 3, 4, 5, 8} {
					for _, piece := range []int{1, 2, 3, len(text)} { // written in pieces, so that characters arrive in parts
						o := &output{limit: limit}
						for rest := []byte(text); len(rest) > 0; {
							n := min(piece, len(rest))
							if k, err := o.Write(rest[:n]); k != n || err != nil {
								t.Fatal(k, err)
							}
							rest = rest[n:]
						}
						got, truncated := o.text(true)
						// What is kept is the longest end that fits and begins with a character.
						want := text
						for len(want) > limit {
							_, n := utf8.DecodeRuneInString(want)
							want = want[n:]
						}
						if got != want || truncated != (want != text) {
							t.Errorf("%q, limit %d, pieces of %d: kept %q, truncated %v; want %q", text, limit, piece, got, truncated, want)
						}
					}
				}
			}
		}
	}
}

func TestACharacterThatHasHalfArrivedIsShownWhenItIsWhole(t *testing.T) {
	o := &output{limit: 100}
	full := "x😀"
	for i := range len(full) {
		_, _ = o.Write([]byte{full[i]})
		want := "x"
		if i == len(full)-1 {
			want = full
		}
		if got, _ := o.text(false); got != want {
			t.Errorf("after %d bytes: %q", i+1, got)
		}
	}
	_, _ = o.Write([]byte("\xf0\x9f"))
	if got, _ := o.text(true); got != full+"\uFFFD\uFFFD" { // there will be no more of it
		t.Errorf("at the end: %q", got)
	}
}

func TestOutputIsKeptInBoundedMemoryHoweverMuchIsWritten(t *testing.T) {
	const limit = 1000
	o := &output{limit: limit}
	for i := range 20_000 {
		_, _ = fmt.Fprintf(o, "line %d of the output\n", i)
		if cap(o.buf) > 8*limit {
			t.Fatalf("after %d lines the buffer holds %d bytes", i, cap(o.buf))
		}
	}
	got, truncated := o.text(true)
	if !truncated || len(got) != limit || !strings.HasSuffix(got, "line 19999 of the output\n") {
		t.Errorf("%d bytes, truncated %v", len(got), truncated)
	}
}

// FuzzOutput checks that whatever is written, in whatever pieces, what is kept is valid
// UTF-8 within the limit, and the end of what was written if that was valid.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("é漢😀"), uint8(5), uint8(1))
	f.Add([]byte("\xff\xfe\x80\x80\x80\x80\x80"), uint8(3), uint8(2))
	f.Add([]byte("\xf0\x9f\x98"), uint8(0), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, limit, piece uint8) {
		o := &output{limit: int(limit)}
		for rest := data; len(rest) > 0; {
			n := min(int(piece)%7+1, len(rest))
			_, _ = o.Write(rest[:n])
			rest = rest[n:]
			if shown, _ := o.text(false); !utf8.ValidString(shown) || len(shown) > int(limit) {
				t.Fatalf("while it runs: %q", shown)
			}
		}
		got, truncated := o.text(true)
		if !utf8.ValidString(got) || len(got) > int(limit) {
			t.Fatalf("kept %q", got)
		}
		if utf8.Valid(data) {
			if !strings.HasSuffix(string(data), got) || truncated != (len(got) < len(data)) || len(data) > int(limit) && len(got)+utf8.UTFMax <= int(limit) {
				t.Fatalf("of %q kept %q, truncated %v", data, got, truncated)
			}
		}
	})
}
