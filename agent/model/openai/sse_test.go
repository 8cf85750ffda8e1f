package openai

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func read(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(newDataLines(io.NopCloser(r)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOnlyDataOfAnEventStreamPasses(t *testing.T) {
	long := "data: " + strings.Repeat("x", 100_000) + "\n"
	for in, want := range map[string]string{
		": comment\nevent: a\nid: 1\nretry: 2\ndata: {}\n\n": "data: {}\n\n",
		"data: [DONE]\n":               "data: {\"done\":true}\n",
		"data:{\"error\":{\"a\":1}}\n": "data: { \"error\":{\"a\":1}}\n",
		"{\"error\":\n 1}":             "{\"error\":\n 1}",
		": " + strings.Repeat("c", 50_000) + "\n" + long + "data: y": long + "data: y",
		"": "",
	} {
		if got := read(t, strings.NewReader(in)); got != want {
			t.Errorf("%.60q: %.60q, want %.60q", in, got, want)
		}
	}
}

func FuzzDataLines(f *testing.F) {
	for _, s := range []string{"data: {}\n\n", ": c\ndata: [DONE]", "data: {\"error\":\"x\"}\r\n", "event: x\n" + strings.Repeat("y", 20_000), "\n\n\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := read(t, bytes.NewReader(in))
		if bytewise := read(t, iotest.OneByteReader(bytes.NewReader(in))); bytewise != whole {
			t.Errorf("in single bytes %.80q, at once %.80q", bytewise, whole)
		}
		for line := range strings.Lines(whole) {
			if isChatter([]byte(line)) {
				t.Errorf("%.80q passed", line)
			}
		}
	})
}
