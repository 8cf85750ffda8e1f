package detect

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The alphabets of made-up values. Values are made when a test runs, so that no scanner takes this package for a leak.
const (
	digits    = "0123456789"
	hexDigits = "0123456789abcdef"
	lowers    = "abcdefghijklmnopqrstuvwxyz"
	uppers    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum     = lowers + uppers + digits
	upperNum  = uppers + "234567"
	base64    = alnum + "+/"
)

// made gives n characters of an alphabet, the same ones each time.
func made(alphabet string, n int) string {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func scanner(t testing.TB, o Options) *Scanner {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// texts gives what the spans hold.
func texts(text string, spans []Span) []string {
	var out []string
	for _, s := range spans {
		out = append(out, text[s.Start:s.End])
	}
	return out
}

// finds checks that exactly the values are found in a text, all of one kind.
func finds(t *testing.T, s *Scanner, kind Kind, text string, values ...string) {
	t.Helper()
	spans := s.Scan(text)
	if got := texts(text, spans); !slices.Equal(got, values) {
		t.Errorf("in %q: found %q, want %q (%v)", text, got, values, spans)
		return
	}
	for _, span := range spans {
		if span.Kind != kind {
			t.Errorf("in %q: %q is a %s, want %s", text, text[span.Start:span.End], span.Kind, kind)
		}
	}
}

// pem is a private key of so many lines, without a line break at its end.
func pem(label string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + label + "-----\n")
	for i := range lines {
		b.WriteString(made(base64, 64-i%2) + "=\n")
	}
	b.WriteString("-----END " + label + "-----")
	return b.String()
}
