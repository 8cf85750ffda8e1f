package wirelog

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
)

// DefaultBuffer is how many bytes of frames wait for the log by default.
const DefaultBuffer = 8 << 20

// WriterOptions are the options of a Writer. The zero value is ready to use.
type WriterOptions struct {
	Side    Side      // whose connection it is; empty means Client
	Program string    // what writes the log, for the header
	Start   time.Time // when record time 0 is; zero means now

	// Redact says what is left out; the zero value is RedactSecrets.
	Redact Redaction

	// Hide are values to leave out wherever a string contains them, besides what looks
	// like a secret: the keys that the program knows of. RedactNothing keeps them.
	Hide []string

	// Buffer limits the bytes of frames that wait to be written; 0 means 8 MiB. A frame
	// that finds nothing waiting is taken whatever its size.
	Buffer int

	// Block has the connection wait when the buffer is full. By default the frames that
	// do not fit are dropped, and the log says how many.
	Block bool
}

// A Writer writes the frames of a connection to a log. Its methods may be called
// concurrently. What it is given is copied; a goroutine redacts and writes it, and ends
// with Close.
type Writer struct {
	w     io.Writer
	start time.Time
	limit int
	block bool
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	changed *sync.Cond
	filling batch
	dropped int           // since the last frame that was taken
	dropAt  time.Duration // when the first of them came
	last    tapped
	closed  bool
	err     error // the first of w

	redact *redactor // the goroutine's
	out    []byte    // the goroutine's
}

// batch is what waits for the goroutine.
type batch struct {
	data  []byte
	items []item
}

type item struct {
	at      time.Duration
	dir     acp.Direction
	frame   bool
	end     int    // of the frame in data
	problem string // of Garbage
	dropped int
}

// tapped tells the last incoming frame again.
type tapped struct {
	size int
	head [64]byte
}

func (t *tapped) set(message []byte) {
	t.size = len(message)
	copy(t.head[:], message)
}

func (t *tapped) is(message []byte) bool {
	n := min(len(message), len(t.head))
	return t.size == len(message) && bytes.Equal(t.head[:n], message[:n])
}

// NewWriter returns a writer to w, which gets the header at once. opts may be nil. Close
// must be called; it does not close w.
func NewWriter(w io.Writer, opts *WriterOptions) *Writer {
	if opts == nil {
		opts = &WriterOptions{}
	}
	l := &Writer{
		w: w, start: opts.Start, limit: opts.Buffer, block: opts.Block,
		done: make(chan struct{}), redact: newRedactor(opts.Redact, opts.Hide),
	}
	if l.start.IsZero() {
		l.start = time.Now()
	}
	if l.limit <= 0 {
		l.limit = DefaultBuffer
	}
	l.changed = sync.NewCond(&l.mu)
	side := opts.Side
	if side == "" {
		side = Client
	}
	head := appendText([]byte(`{"format":"`+Format+`","version":`+strconv.Itoa(Version)+`,"side":`), string(side))
	head = appendText(append(head, `,"program":`...), opts.Program)
	head = appendText(append(head, `,"start":`...), l.start.UTC().Format(time.RFC3339Nano))
	head = appendText(append(head, `,"redact":`...), opts.Redact.String())
	l.out = append(head, "}\n"...)
	go l.run()
	return l
}

// appendText appends s as a JSON string; what is not UTF-8 is replaced.
func appendText[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // an error means that something was replaced
	return dst
}

// Tap records a frame. It is for acp.Options.Tap.
func (l *Writer) Tap(dir acp.Direction, at time.Time, message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if dir == acp.Incoming {
		l.last.set(message)
	}
	l.add(item{at: at.Sub(l.start), dir: dir, frame: true}, message)
}

// Garbage records why an incoming frame could not be used, and the frame itself, or its
// head, if Tap has not seen it. It is for acp.Options.Garbage.
func (l *Writer) Garbage(message []byte, problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	it := item{at: time.Since(l.start), dir: acp.Incoming, problem: problem}
	if l.last.is(message) {
		message = nil
	} else {
		it.frame = true
	}
	l.add(it, message)
}

// add is called with l.mu held.
func (l *Writer) add(it item, message []byte) {
	for {
		if l.closed || l.err != nil {
			return
		}
		b := &l.filling
		if len(b.items) == 0 || len(b.data)+len(message) <= l.limit && len(b.items) < l.limit/itemCost {
			break
		}
		if !l.block {
			if l.dropped == 0 {
				l.dropAt = it.at
			}
			l.dropped++
			return
		}
		l.changed.Wait()
	}
	b := &l.filling
	if l.dropped > 0 {
		b.items = append(b.items, item{at: l.dropAt, dropped: l.dropped, end: len(b.data)})
		l.dropped = 0
	}
	b.data = append(b.data, message...)
	it.end = len(b.data)
	b.items = append(b.items, it)
	l.changed.Broadcast()
}

// itemCost is about what a waiting frame costs besides its bytes.
const itemCost = 64

// Close writes what waits and ends the writer. It returns the first error of the
// underlying writer, also when it is called again.
func (l *Writer) Close() error {
	l.mu.Lock()
	if !l.closed {
		if l.dropped > 0 && l.err == nil {
			l.filling.items = append(l.filling.items, item{at: l.dropAt, dropped: l.dropped, end: len(l.filling.data)})
			l.dropped = 0
		}
		l.closed = true
		l.changed.Broadcast()
	}
	l.mu.Unlock()
	<-l.done
	return l.Err()
}

// Err returns the first error of the underlying writer. After it nothing is recorded any
// more.
func (l *Writer) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// run is the goroutine: it writes what is waiting, each time in one write.
func (l *Writer) run() {
	defer close(l.done)
	l.write() // the header
	var spare batch
	for {
		l.mu.Lock()
		for len(l.filling.items) == 0 && !l.closed {
			l.changed.Wait()
		}
		if len(l.filling.items) == 0 {
			l.mu.Unlock()
			return
		}
		full := l.filling
		l.filling = spare
		l.changed.Broadcast()
		l.mu.Unlock()

		from := 0
		for _, it := range full.items {
			l.record(it, full.data[from:it.end])
			from = it.end
			if len(l.out) >= writeSize {
				l.write()
			}
		}
		l.write()
		if cap(full.data) > keepSize {
			full.data = nil
		}
		clear(full.items)
		spare = batch{data: full.data[:0], items: full.items[:0]}
	}
}

const (
	writeSize = 256 << 10 // about the size of one write
	keepSize  = 1 << 20   // larger buffers are not kept for the next batch
)

// write hands out to the underlying writer, unless that has failed.
func (l *Writer) write() {
	if len(l.out) == 0 {
		return
	}
	if l.Err() == nil {
		n, err := l.w.Write(l.out)
		if err == nil && n < len(l.out) {
			err = io.ErrShortWrite
		}
		if err != nil {
			l.mu.Lock()
			l.err = fmt.Errorf("write wire log: %w", err)
			l.changed.Broadcast()
			l.mu.Unlock()
		}
	}
	if l.out = l.out[:0]; cap(l.out) > keepSize {
		l.out = nil
	}
}

// record appends one record to out.
func (l *Writer) record(it item, message []byte) {
	b := append(l.out, `{"t":`...)
	b = strconv.AppendInt(b, int64(it.at), 10)
	if it.dropped > 0 {
		b = append(b, `,"dropped":`...)
		b = strconv.AppendInt(b, int64(it.dropped), 10)
		l.out = append(b, "}\n"...)
		return
	}
	if it.dir == acp.Incoming {
		b = append(b, `,"dir":"in"`...)
	} else {
		b = append(b, `,"dir":"out"`...)
	}
	if it.frame {
		b = l.frame(b, message)
	}
	if it.problem != "" {
		problem, _ := l.redact.text([]byte(it.problem))
		b = appendText(append(b, `,"problem":`...), problem)
	}
	l.out = append(b, "}\n"...)
}

// frame appends the member that holds a frame.
func (l *Writer) frame(b, message []byte) []byte {
	const member = `,"msg":`
	at := len(b) + len(member)
	b, err := l.redact.json(append(b, member...), message)
	if err == nil && utf8.Valid(message) && utf8.Valid(b[at:]) { // a text that is not Unicode is no message, whatever is left of it
		for i := at; ; { // white space between tokens
			n := bytes.IndexByte(b[i:], '\n')
			if n < 0 {
				return b
			}
			b[i+n] = ' '
			i += n + 1
		}
	}
	raw := bytes.Clone(b[at:])
	if errors.Is(err, errNotJSON) {
		raw, _ = l.redact.text(message)
	}
	b = b[:at-len(member)]
	if utf8.Valid(raw) {
		return appendText(append(b, `,"raw":`...), raw)
	}
	b = append(b, `,"raw64":"`...)
	b = base64.StdEncoding.AppendEncode(b, raw)
	return append(b, '"')
}

// pseudonymKey is what makes the pseudonyms of one log differ from those of others.
func pseudonymKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // does not fail
	return key
}
