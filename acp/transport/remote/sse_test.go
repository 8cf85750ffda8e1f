package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// eventsOf reads all events; the last entry is the error unless it is io.EOF.
func eventsOf(r io.Reader, limit int) []string {
	e := newEventReader(r, limit, nil)
	var got []string
	for {
		data, err := e.next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			return append(got, "error")
		}
		got = append(got, string(data))
	}
}

func TestEventsAreReadHoweverLinesEndAndReadsReturn(t *testing.T) {
	const want = `["{\"a\":1}" "b\nc" "" "d" "e"]`
	for _, end := range []string{"\n", "\r\n", "\r"} {
		input := strings.ReplaceAll("\xef\xbb\xbfdata: {\"a\":1}\n\n:\n\nid: 7\nevent: x\ndata:b\ndata: c\nretry: 1\n\ndata\n\ndata:\n\ndatabase: no\ndata:d\n\n\n\ndata:e", "\n", end)
		for name, r := range map[string]io.Reader{
			"at once":      strings.NewReader(input),
			"byte by byte": iotest.OneByteReader(strings.NewReader(input)),
			"halves":       iotest.HalfReader(strings.NewReader(input)),
		} {
			if got := fmt.Sprintf("%q", eventsOf(r, 100)); got != want {
				t.Errorf("%q %s: %s", end, name, got)
			}
		}
	}
}

func TestAnEventAboveTheLimitEndsTheStream(t *testing.T) {
	for _, input := range []string{
		"data: 0123456789\n\ndata: 01234567890\n\ndata: x\n\n",
		"data: 0123456789\n\ndata: 01234\ndata: 567890\n\n",
		"data: 0123456789\n\n: " + strings.Repeat("x", 100) + "\n\n",
	} {
		if got := fmt.Sprintf("%q", eventsOf(strings.NewReader(input), 10)); got != `["0123456789" "error"]` {
			t.Errorf("%q: %s", input, got)
		}
	}
}

func TestAWrittenEventIsReadAsItWas(t *testing.T) {
	var stream []byte
	for _, msg := range []string{`{"a":"x"}`, "{\n\"a\":\r\n1}", `{}`} {
		stream = appendEvent(stream, []byte(msg))
	}
	if got := fmt.Sprintf("%q", eventsOf(bytes.NewReader(stream), 100)); got != `["{\"a\":\"x\"}" "{ \"a\":  1}" "{}"]` {
		t.Error(got)
	}
}

// FuzzEvents checks that any input gives the same events however it is read, that none is above the limit, and that
// what the reader gives survives being written again.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\ndata: b\r\ndata: c\r\n\r\n"), uint8(20))
	f.Add([]byte("\xef\xbb\xbfdata:x\r\r:\n\ndata:y"), uint8(3))
	f.Add([]byte("data: 0123456789\n\n"), uint8(9))
	f.Fuzz(func(t *testing.T, input []byte, limit uint8) {
		n := int(limit)
		whole := eventsOf(bytes.NewReader(input), n)
		slow := eventsOf(iotest.OneByteReader(bytes.NewReader(input)), n)
		if fmt.Sprint(whole) != fmt.Sprint(slow) {
			t.Fatalf("at once %q, byte by byte %q", whole, slow)
		}
		for _, data := range whole {
			if data != "error" && len(data) > n {
				t.Fatalf("%d bytes are above the limit of %d", len(data), n)
			}
			if strings.ContainsAny(data, "\n\r") || strings.HasPrefix(data, " ") {
				continue
			}
			again := eventsOf(bytes.NewReader(appendEvent(nil, []byte(data))), len(data))
			if len(again) != 1 || again[0] != data {
				t.Fatalf("%q was written and read as %q", data, again)
			}
		}
	})
}

func TestEnvelopesAreRead(t *testing.T) {
	for input, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"sessionId":"s"}}`:                "request n1 m s",
		`{"id":"1","params":{"x":{"sessionId":"no"},"sessionId":"a\u0062"},"method":"m"}`: "request s1 m ab",
		`{"id":1.0,"method":"m","params":[{"sessionId":"no"}]}`:                           "request n1 m ",
		`{"id":10e0,"method":"m"}`:                       "request n10 m ",
		`{"method":"m","params":{"sessionId":7}}`:        "notification  m ",
		`{"id":2,"result":{"sessionId":"s"}}`:            "response n2 s",
		`{"id":2,"error":{}}`:                            "response n2 ",
		`{"id":2}`:                                       "other",
		`{"id":2,"result":1,"result":{"sessionId":"t"}}`: "response n2 t",
		"{\"id\":2,\"result\":\"\xff\"}":                 "response n2 ",
		`{}{}`:                                           "error", `{`: "error", `{"id":}`: "error", ``: "error", `[1]`: "batch", `[1`: "error", `"x"`: "value",
	} {
		e, err := peek([]byte(input))
		got := "other"
		switch {
		case errors.Is(err, errBatch):
			got = "batch"
		case errors.Is(err, errNotObject):
			got = "value"
		case err != nil:
			got = "error"
		case e.request():
			got = fmt.Sprint("request ", e.id, " ", e.method, " ", e.session)
		case e.notification():
			got = fmt.Sprint("notification ", e.id, " ", e.method, " ", e.session)
		case e.response():
			got = fmt.Sprint("response ", e.id, " ", e.resultSession)
		}
		if got != want {
			t.Errorf("%s is %q, expected %q", input, got, want)
		}
	}
}
