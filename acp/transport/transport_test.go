package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all reads to the end; a message that is too large appears as its size.
func all(t *testing.T, tr transport.Transport) []string {
	t.Helper()
	var got []string
	for {
		msg, err := tr.Read(t.Context())
		if large, ok := errors.AsType[*transport.MessageTooLargeError](err); ok {
			got = append(got, fmt.Sprint("too large: ", large.Size))
			continue
		}
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(msg))
	}
}

func TestLinesAreSplitAtLineFeedsWhateverTheReadsReturn(t *testing.T) {
	const input = "\xef\xbb\xbfone\r\n\ntwo é 漢 😀\nth\rree\r\r\nlast"
	want := []string{"one", "", "two é 漢 😀", "th\rree\r", "last"}
	for name, r := range map[string]io.Reader{
		"at once":       strings.NewReader(input),
		"byte by byte":  iotest.OneByteReader(strings.NewReader(input)),
		"half reads":    iotest.HalfReader(strings.NewReader(input)),
		"data with end": iotest.DataErrReader(strings.NewReader(input)),
	} {
		if got := all(t, transport.NewLine(r, io.Discard, nil)); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLinesOfEverySizePassAndThoseOverTheLimitAreSkippedAndCounted(t *testing.T) {
	const limit = 32 << 20
	sizes := []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, limit, limit + 1, limit + 2, limit + 200_000, 5}
	pr, pw := io.Pipe()
	go func() {
		for _, n := range sizes {
			_, _ = pw.Write(append(bytes.Repeat([]byte{'x'}, n), '\n'))
		}
		_ = pw.Close()
	}()
	got := all(t, transport.NewLine(pr, io.Discard, nil))
	if len(got) != len(sizes) {
		t.Fatalf("%d messages, want %d", len(got), len(sizes))
	}
	for i, n := range sizes {
		if n > limit {
			if got[i] != fmt.Sprint("too large: ", n) {
				t.Errorf("size %d: got %.40s", n, got[i])
			}
		} else if len(got[i]) != n {
			t.Errorf("size %d: got %d bytes", n, len(got[i]))
		}
	}
}

func TestAnErrorOfTheReaderIsReportedAfterTheLinesBeforeIt(t *testing.T) {
	broken := errors.New("broken")
	tr := transport.NewLine(io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(broken)), io.Discard, nil)
	for _, want := range []string{"a", "b"} {
		if msg, err := tr.Read(t.Context()); err != nil || string(msg) != want {
			t.Fatalf("%s, %v", msg, err)
		}
	}
	if _, err := tr.Read(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}

func TestOneWriteCarriesAllMessagesOneLineEach(t *testing.T) {
	var w counter
	tr := transport.NewLine(strings.NewReader(""), &w, nil)
	if err := tr.Write(t.Context(), []byte("{\n\"a\":\n1}"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if w.writes != 1 || w.String() != "{ \"a\": 1}\n2\n" {
		t.Errorf("%d writes: %q", w.writes, w.String())
	}
}

type counter struct {
	bytes.Buffer
	writes int
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return c.Buffer.Write(p)
}

func TestCloseUnblocksAReadOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	tr := transport.NewLine(r, io.Discard, nil)
	done := make(chan error)
	go func() { _, err := tr.Read(context.Background()); done <- err }()
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, transport.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := tr.Write(context.Background(), nil); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("write: %v", err)
	}
}

func TestAPipeKeepsMessagesAndEndsAfterTheLastOne(t *testing.T) {
	a, b := transport.Pipe()
	const n = 5000
	go func() {
		for i := range n {
			if err := a.Write(context.Background(), fmt.Appendf(nil, "%d", i), bytes.Repeat([]byte{'x'}, i)); err != nil {
				t.Error(err)
			}
		}
		_ = a.Close()
	}()
	got := all(t, b)
	if len(got) != 2*n {
		t.Fatalf("%d messages", len(got))
	}
	for i := range n {
		if got[2*i] != fmt.Sprint(i) || len(got[2*i+1]) != i {
			t.Fatalf("message %d: %.20s", i, got[2*i])
		}
	}
	if err := b.Write(t.Context(), []byte("x")); err == nil {
		t.Error("write to a closed peer succeeded")
	}
}

func TestAFullPipeWaitsForTheReaderWithinTheContext(t *testing.T) {
	a, _ := transport.Pipe()
	big := make([]byte, 1<<20)
	if err := a.Write(t.Context(), big); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Write(ctx, big); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
}

// FuzzLine checks that any input gives the same lines however it is read, and that
// they are what bytes.Split gives.
func FuzzLine(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n"), uint8(3))
	f.Add([]byte("é漢😀\n\xff"), uint8(1))
	f.Add(bytes.Repeat([]byte("0123456789\n"), 20), uint8(7))
	f.Add([]byte("\xef\xbb\xbf01234567\n"), uint8(10))
	f.Add([]byte("0123456789abcdef\n\xef\xbb\xbfa\n"), uint8(2))
	f.Add([]byte("\xef\xbb"), uint8(0))
	f.Add([]byte("\xef\xbb\xbf"), uint8(1))
	f.Fuzz(func(t *testing.T, input []byte, chunk uint8) {
		const limit = 8
		var want []string
		rest := input
		for i := 0; len(rest) > 0; i++ {
			line, after, _ := bytes.Cut(rest, []byte{'\n'})
			rest = after
			if i == 0 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(line) > limit {
				want = append(want, "large")
			} else {
				want = append(want, string(line))
			}
		}
		tr := transport.NewLine(&chunks{input, int(chunk)%16 + 1}, io.Discard, &transport.LineOptions{MaxMessageBytes: limit})
		got := all(t, tr)
		for i, line := range got {
			if strings.HasPrefix(line, "too large") && len(line) > limit {
				got[i] = "large"
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// chunks is a reader that returns n bytes at a time.
type chunks struct {
	data []byte
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}
