package agent

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherry-acp/wherry/agent/session"
)

// timedFace notes when output was shown.
type timedFace struct {
	fakeFace
	begun time.Time
	at    []time.Duration
	text  []string
	block chan struct{} // when set, showing waits for it
}

func (f *timedFace) Show(_ context.Context, e session.Event, _ bool) error {
	if f.block != nil {
		<-f.block
	}
	f.at = append(f.at, time.Since(f.begun))
	f.text = append(f.text, e.Data.(session.CallOutput).Text)
	return nil
}

func shownOutput(t *testing.T, f *timedFace) *output {
	t.Helper()
	f.begun = time.Now()
	s := &Session{agent: &Agent{log: slog.New(slog.NewTextHandler(io.Discard, nil))}, face: f}
	return (&turn{s: s}).showOutput(t.Context(), "call_1")
}

func TestOutputIsShownAtOnceThenInPiecesAndTheLastOneWithoutMoreToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &timedFace{}
		o := shownOutput(t, f)
		o.Text("a")
		synctest.Wait()
		o.Text("b")
		time.Sleep(10 * time.Millisecond)
		o.Text("c")
		time.Sleep(time.Hour) // nothing more is printed, and the command runs on
		o.Text("d")
		o.close()
		if got := strings.Join(f.text, "|"); got != "a|bc|d" {
			t.Errorf("shown %q", got)
		}
		if f.at[0] != 0 || f.at[1] != pieceEvery {
			t.Errorf("shown after %v", f.at)
		}
		o.Text("e")
		o.close()
		if len(f.text) != 3 {
			t.Errorf("shown after the end: %q", f.text)
		}
	})
}

func TestAFloodIsShownInPartWithWhatWasLeftOutAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &timedFace{}
		o := shownOutput(t, f)
		const line = "größe €\n"
		printed := 0
		for range 60_000 { // a minute, with 6000 lines each millisecond
			o.Text(strings.Repeat(line, 6000))
			printed += 6000 * len(line)
			time.Sleep(time.Millisecond)
			if printed > 2<<30 {
				break
			}
		}
		time.Sleep(5 * time.Second)
		o.Text("the end")
		o.close()
		all := strings.Join(f.text, "")
		if len(all) > shownMuch+80*(fewBytes+64)+pieceBytes || strings.ContainsRune(all, '\uFFFD') || !strings.HasSuffix(all, "the end") ||
			!strings.Contains(all, " bytes left out …\n") {
			t.Errorf("%d bytes of %d were shown, ending with %q", len(all), printed, all[len(all)-50:])
		}
		for i := 1; i < len(f.at); i++ {
			if gap := f.at[i] - f.at[i-1]; gap > time.Second && f.text[i] != "the end" {
				t.Errorf("nothing was shown for %v", gap)
			}
		}
	})
}

func TestAFaceThatHangsHoldsUpNoCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &timedFace{block: make(chan struct{})}
		o := shownOutput(t, f)
		for range 1000 {
			o.Text(strings.Repeat("x", 32<<10))
			synctest.Wait()
		}
		if len(o.pending) > pieceBytes {
			t.Errorf("%d bytes wait", len(o.pending))
		}
		close(f.block)
		o.close()
	})
}
