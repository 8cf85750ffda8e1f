package jsoncheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const toolCall = `{"sessionId":"sess_01JD8Q0V9X5T3M7K2B","update":{"sessionUpdate":"tool_call","toolCallId":"call_12","title":"Edit transport/line.go","kind":"edit","status":"pending",` +
	`"content":[{"type":"diff","path":"/home/ada/ferry/transport/line.go","oldText":"const limit = 1 << 20\n","newText":"const limit = 32 << 20\n"}],` +
	`"locations":[{"path":"/home/ada/ferry/transport/line.go","line":14}],"rawInput":{"path":"transport/line.go","edits":[{"old":"1 << 20","new":"32 << 20"}]}}}`

// vouched are texts that Value must be certain of, or it would not be quick where it counts.
var vouched = []string{
	toolCall, `null`, `true`, `false`, `0`, `-0.5e+7`, `12`, `""`, `"é \u00e9 \ud83d\ude00 😀 \"\\\/\b\f\n\r\t"`, `[]`, `{}`, `[[],{},[{}]]`,
	` { "a" : [ 1 , 2 ] , "b" : { "a" : 1 } } `, `{"same":{"same":{"same":1}},"other":[{"same":1},{"same":2}]}`,
	`{"abcdefgh":1,"abcdefg":2,"abcdefghi":3,"abcdefghj":4,"abcdefgx_abcdefgh":5,"abcdefgy_abcdefgh":6,"":7}`,
	`{"größe":1,"grösse":2}`, strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
}

// unsure are texts that are invalid, or valid and left to package jsontext.
var unsure = []string{
	``, ` `, `{`, `[`, `"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1}`, `{"a":1]`, `{"a" 1}`, `{1:2}`, `{"a":1 "b":2}`,
	`nul`, `tru`, `fals`, `nullx`, `-`, `01`, `1.`, `.5`, `1e`, `1e+`, `+1`, `"\x"`, `"\u12"`, `"\u123g"`, `"\ud800"`, `"\ud800\u0041"`, `"\udc00"`, `"\`, `"\u`, `"\ud83d\ud`,
	"\"\x01\"", "\"\x7f\n\"", "\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf1", "\"abcdefgh\xc0\xafabcdefg\"", "\"abcdefg\x00abcdefgh\"",
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u0061":1}`, `{"abcdefgh":1,"abcdefgh":2}`, `{"abcdefghijkl":1,"abcdefghijkl":2}`, `[{"x":{"y":1,"z":2,"y":3}}]`, `{} {}`, `1 2`,
	strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), manyNames(maxNames + 1), strings.Repeat("[", 20_000),
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestMessagesAreVouchedFor(t *testing.T) {
	for _, text := range append(vouched, manyNames(maxNames)) {
		if end := Value([]byte(text), Space([]byte(text), 0)); end < 0 || Space([]byte(text), end) != len(text) {
			t.Errorf("ends at %d: %s", end, text)
		}
	}
}

func TestValidAgreesWithJsontext(t *testing.T) {
	for _, text := range append(vouched, unsure...) {
		if got, want := Valid([]byte(text)), jsontext.Value(text).IsValid(); got != want {
			t.Errorf("valid: %v, expected %v: %.100s", got, want, text)
		}
	}
}

func TestEveryByteIsCheckedWhereverItStandsInAString(t *testing.T) {
	for at := range 20 {
		for c := range 256 {
			text := []byte(`["` + strings.Repeat("x", 20) + `"]`)
			text[2+at] = byte(c)
			if got, want := Valid(text), jsontext.Value(text).IsValid(); got != want {
				t.Fatalf("valid: %v, expected %v: %q", got, want, text)
			}
		}
	}
}

// FuzzValue compares with package jsontext: what is vouched for is valid, and ends where the value does.
func FuzzValue(f *testing.F) {
	for _, text := range append(vouched, unsure...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		start := Space(text, 0)
		end := Value(text, start)
		if end < 0 {
			return
		}
		if end <= start || end > len(text) || !jsontext.Value(text[start:end]).IsValid() {
			t.Fatalf("vouched for %q", text[start:max(start, min(end, len(text)))])
		}
		if got, want := Valid(text), jsontext.Value(text).IsValid(); got != want {
			t.Fatalf("valid: %v, expected %v: %q", got, want, text)
		}
	})
}

func BenchmarkValid(b *testing.B) {
	long := `{"text":"` + strings.Repeat("a line of text that is not long, ", 300) + `"}`
	umlauts := `{"text":"` + strings.Repeat("Grüße aus dem Süden, 日本語 ", 300) + `"}`
	for _, c := range []struct{ name, text string }{{"tool call", toolCall}, {"long text", long}, {"long text not ASCII", umlauts}, {"left to jsontext", manyNames(60)}} {
		for _, way := range []struct {
			name  string
			valid func([]byte) bool
		}{{"here", Valid}, {"jsontext", func(b []byte) bool { return jsontext.Value(b).IsValid() }}} {
			b.Run(c.name+"/"+way.name, func(b *testing.B) {
				text := []byte(c.text)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if !way.valid(text) {
						b.Fatal("invalid")
					}
				}
			})
		}
	}
}
