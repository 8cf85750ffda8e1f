package wirelog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/wirelog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// read returns the records of a log, and fails on any that cannot be read.
func read(t *testing.T, log []byte) (wirelog.Header, []wirelog.Record) {
	t.Helper()
	r := wirelog.NewReader(bytes.NewReader(log))
	h, err := r.Header()
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	var all []wirelog.Record
	for rec, err := range r.All() {
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		all = append(all, rec)
	}
	return h, all
}

// logged returns the log of one incoming frame.
func logged(t *testing.T, o wirelog.WriterOptions, frame string) (wirelog.Record, []byte) {
	t.Helper()
	var out bytes.Buffer
	w := wirelog.NewWriter(&out, &o)
	w.Tap(acp.Incoming, time.Now(), []byte(frame))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, all := read(t, out.Bytes())
	if len(all) != 1 {
		t.Fatalf("%d records\n%s", len(all), out.Bytes())
	}
	return all[0], out.Bytes()
}

func TestWhatIsWrittenIsReadBackInOrder(t *testing.T) {
	var out bytes.Buffer
	w := wirelog.NewWriter(&out, &wirelog.WriterOptions{Side: wirelog.Agent, Program: `say "x" 1.0`, Start: start})
	request := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"n":1.50e+2,"z":1,"a":2}}`)
	w.Tap(acp.Incoming, start.Add(1500), request)
	copy(request, "overwritten by the connection")
	w.Tap(acp.Outgoing, start.Add(2500), []byte("{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"))
	w.Tap(acp.Incoming, start.Add(3500), []byte("npm WARN deprecated"))
	w.Garbage([]byte("npm WARN deprecated"), "not JSON")
	w.Tap(acp.Incoming, start.Add(4500), []byte("\xff\xfe"))
	w.Garbage([]byte(`{"head":`), "too large")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h, got := read(t, out.Bytes())
	if want := (wirelog.Header{Version: 1, Side: wirelog.Agent, Program: `say "x" 1.0`, Start: start, Redact: "secrets"}); h != want {
		t.Errorf("header %+v", h)
	}
	var text []string
	for _, r := range got {
		at := r.At
		if r.Problem != "" {
			at = 0 // taken from the clock
		}
		text = append(text, fmt.Sprintf("%d %v %s|%q|%s", at, r.Dir, []byte(r.Msg), r.Raw, r.Problem))
	}
	want := []string{
		fmt.Sprintf(`1500 %v {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"n":1.50e+2,"z":1,"a":2}}|""|`, acp.Incoming),
		fmt.Sprintf(`2500 %v {"jsonrpc":"2.0", "id":1,"result":{}}|""|`, acp.Outgoing),
		fmt.Sprintf(`3500 %v |"npm WARN deprecated"|`, acp.Incoming),
		fmt.Sprintf(`0 %v |""|not JSON`, acp.Incoming),
		fmt.Sprintf(`4500 %v |"\xff\xfe"|`, acp.Incoming),
		fmt.Sprintf(`0 %v |"{\"head\"[redacted]"|too large`, acp.Incoming),
	}
	if !slices.Equal(text, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(text, "\n"), strings.Join(want, "\n"))
	}
}

func TestALogThatWasCutWithinALineIsReadUpToThere(t *testing.T) {
	var out bytes.Buffer
	w := wirelog.NewWriter(&out, nil)
	for range 3 {
		w.Tap(acp.Outgoing, time.Now(), []byte(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"é"}}`))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	headEnd := bytes.IndexByte(whole, '\n') + 1
	for n := headEnd; n <= len(whole); n++ {
		r := wirelog.NewReader(bytes.NewReader(whole[:n]))
		got := 0
		for _, err := range r.All() {
			if err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
			got++
		}
		lines := bytes.Count(whole[headEnd:n], []byte{'\n'})
		tail := whole[headEnd+bytes.LastIndexByte(whole[headEnd:n], '\n')+1 : n]
		complete := len(tail) > 0 && tail[len(tail)-1] == '}' && n < len(whole) && whole[n] == '\n'
		if complete {
			lines++
		}
		if cut := len(tail) > 0 && !complete; got != lines || r.Cut() != cut {
			t.Fatalf("cut at %d: %d records, want %d; Cut() %v, want %v", n, got, lines, r.Cut(), cut)
		}
	}
}

func TestABadLineIsReportedWithItsNumberAndReadingGoesOn(t *testing.T) {
	log := `{"format":"acp-wirelog","version":1,"side":"client","program":"p","start":"2026-05-01T10:00:00Z","redact":"none","later":[1]}
{"t":1,"dir":"in","msg":{},"later":true}
{"t":2,"dir":"in",
{"t":3,"dir":"sideways","msg":{}}
{"t":4,"dir":"out"}
{"dir":"out","msg":{}}

{"t":5,"dir":"out","msg":{"a":1,"a":2}}
`
	var good, bad []string
	for rec, err := range wirelog.NewReader(strings.NewReader(log)).All() {
		if e, ok := errors.AsType[*wirelog.LineError](err); ok {
			bad = append(bad, fmt.Sprint(e.Line))
		} else if err != nil {
			t.Fatal(err)
		} else {
			good = append(good, string(rec.Msg))
		}
	}
	if got := strings.Join(good, " ") + "; " + strings.Join(bad, " "); got != `{} {"a":1,"a":2}; 3 4 5 6` {
		t.Error(got)
	}
}

func TestWhatIsNoLogIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "hello", `{"jsonrpc":"2.0","id":1}`, "{}\n",
		`{"format":"acp-wirelog","version":2,"start":"2026-05-01T10:00:00Z"}` + "\n",
		`{"format":"acp-wirelog","version":1,"start":"yesterday"}` + "\n",
	} {
		r := wirelog.NewReader(strings.NewReader(text))
		if _, err := r.Header(); !errors.Is(err, wirelog.ErrNotWireLog) {
			t.Errorf("%q: header: %v", text, err)
		}
		for _, err := range r.All() {
			if !errors.Is(err, wirelog.ErrNotWireLog) {
				t.Errorf("%q: records: %v", text, err)
			}
		}
	}
}

// gate is a writer whose writes wait until it is opened; what waits is told.
type gate struct {
	bytes.Buffer
	waiting chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{waiting: make(chan struct{}, 1000), open: make(chan struct{})} }

func (g *gate) Write(p []byte) (int, error) {
	g.waiting <- struct{}{}
	<-g.open
	return g.Buffer.Write(p)
}

func TestFramesThatComeFasterThanTheyCanBeWrittenAreCountedNotLostSilently(t *testing.T) {
	g := newGate()
	w := wirelog.NewWriter(g, &wirelog.WriterOptions{Buffer: 4096})
	<-g.waiting // the header's write hangs
	const n = 1000
	frame := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}`)
	for range n { // none of these waits
		w.Tap(acp.Outgoing, time.Now(), frame)
	}
	close(g.open)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, all := read(t, g.Bytes())
	frames, dropped := 0, 0
	for _, r := range all {
		if r.Dropped > 0 {
			dropped += r.Dropped
		} else {
			frames++
		}
	}
	if frames == 0 || dropped == 0 || frames+dropped != n {
		t.Errorf("%d frames and %d dropped, of %d", frames, dropped, n)
	}
}

func TestAFrameLargerThanTheBufferIsTakenWhenNothingWaits(t *testing.T) {
	rec, _ := logged(t, wirelog.WriterOptions{Buffer: 100}, `{"text":"`+strings.Repeat("y", 1000)+`"}`)
	if len(rec.Msg) != 1011 {
		t.Errorf("%d bytes", len(rec.Msg))
	}
}

func TestWithBlockEveryFrameIsWritten(t *testing.T) {
	g := newGate()
	w := wirelog.NewWriter(g, &wirelog.WriterOptions{Buffer: 4096, Block: true})
	const n = 1000
	var tappers sync.WaitGroup
	for _, dir := range []acp.Direction{acp.Incoming, acp.Outgoing} {
		tappers.Go(func() {
			for i := range n {
				w.Tap(dir, time.Now(), fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"m","params":[%d]}`, i))
			}
		})
	}
	<-g.waiting
	close(g.open)
	tappers.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, all := read(t, g.Bytes())
	next := map[acp.Direction]int{}
	for _, r := range all {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"m","params":[%d]}`, next[r.Dir]); string(r.Msg) != want {
			t.Fatalf("got %s, want %s", r.Msg, want)
		}
		next[r.Dir]++
	}
	if len(all) != 2*n {
		t.Errorf("%d records", len(all))
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, io.ErrNoProgress
	}
	return len(p), nil
}

func TestTheFirstWriteErrorIsWhatCloseReturnsAndNothingBlocksOnIt(t *testing.T) {
	for after := range 3 {
		w := wirelog.NewWriter(&failing{after}, &wirelog.WriterOptions{Buffer: 64, Block: true})
		for w.Err() == nil {
			w.Tap(acp.Outgoing, time.Now(), []byte(`{"jsonrpc":"2.0"}`))
		}
		w.Tap(acp.Outgoing, time.Now(), []byte(`{}`))
		for range 2 {
			if err := w.Close(); !errors.Is(err, io.ErrNoProgress) {
				t.Errorf("close: %v", err)
			}
		}
	}
}

func TestAfterCloseNothingIsRecorded(t *testing.T) {
	var out bytes.Buffer
	w := wirelog.NewWriter(&out, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Tap(acp.Incoming, time.Now(), []byte(`{}`))
	w.Garbage([]byte(`x`), "not JSON")
	if _, all := read(t, out.Bytes()); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
