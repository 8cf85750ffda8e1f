package gemini

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func collect(r io.Reader) string {
	var out strings.Builder
	for data, err := range events(r) {
		fmt.Fprintf(&out, "%q %v\n", data, err)
	}
	return out.String()
}

func TestEventsAreReadAsTheirFormatSays(t *testing.T) {
	for in, want := range map[string]string{
		"data: a\n\ndata:b\r\n\r\n":                 "\"a\" <nil>\n\"b\" <nil>\n",
		"data: a\ndata: b\n\n":                      "\"a\\nb\" <nil>\n",
		": c\nevent: x\nid: 1\nretry: 1\ndata: a\n": "\"a\" <nil>\n",
		"data: cut in t":                            "",
		"data: a\n\ndata: cut":                      "\"a\" <nil>\n",
		"<html>\n":                                  "\"\" read an event: unexpected format\n",
		"\n\n\n":                                    "",
	} {
		if got := collect(strings.NewReader(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: {\"a\":1}\n\n", "data: a\r\ndata: b\r\n\r\n", ": x\n\n", "[{\n\"error\":{}}]", "data\n\n", "{\"error\":{\"code\":429}}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := collect(bytes.NewReader(in))
		if bytewise := collect(iotest.OneByteReader(bytes.NewReader(in))); bytewise != whole {
			t.Errorf("in single bytes %q, at once %q", bytewise, whole)
		}
	})
}
