package acp

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzText reads any valid JSON string, as a value, a member's name and an enum, and compares with package jsontext.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		`""`, `"plain"`, `"a\"b\\c\/d\b\f\n\r\t"`, `"\u0041\u00e9\u20ac\ud83d\ude00\uD83D\uDE00\uFFFD"`, `"é 😀 \\"`, `"\n"`, `"\\"`, `"0123456\n"`, `"01234567\n01234567"`,
		`"a line that is longer than what a loop looks at: 0123456789 0123456789 0123456789 0123456789\n and another one \" of the kind, 0123456789 0123456789 0123456789"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || raw[0] != '"' || !jsontext.Value(raw).IsValid() {
			return
		}
		raw = raw[:stringEnd(raw, 0)] // white space may follow
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		want := string(text)
		d := Codec{}.decoder(raw)
		if got, err := d.str(); err != nil || got != want || d.i != len(raw) {
			t.Fatalf("%s is read as %q until %d, %v", raw, got, d.i, err)
		}
		d = Codec{}.decoder(raw)
		if got := d.text(); string(got) != want || d.i != len(raw) {
			t.Fatalf("%s is read as %q until %d", raw, got, d.i)
		}
		object := append(append([]byte(`{`), raw...), `:1}`...)
		d = Codec{}.decoder(object)
		d.i++
		if name, ok := d.next(); !ok || string(name) != want || object[d.i] != '1' {
			t.Fatalf("the name in %s is read as %q", object, name)
		}
	})
}
