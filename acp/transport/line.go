package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readChunk   = 64 << 10 // bytes asked for in one read
	keepBuffer  = 1 << 20  // larger buffers are given back after use
	headOfLarge = 4 << 10  // bytes kept of a message that is skipped
)

// LineOptions tune a line transport. The zero value is ready to use.
type LineOptions struct {
	// MaxMessageBytes limits one incoming line, in raw bytes without its line end;
	// 0 means DefaultMaxMessageBytes.
	MaxMessageBytes int
}

// A Line is the stdio transport of the protocol: one UTF-8 JSON text a line, ended by
// "\n". A carriage return before the line end is dropped, and so is a byte order mark
// at the very start. The last line may lack its end.
type Line struct {
	r     io.Reader
	w     io.Writer
	limit int

	buf        []byte // buf[start:end] is read but not yet returned
	start, end int
	scanned    int  // bytes of buf[start:end] known to hold no line end
	begun      bool // what the stream begins with has been looked at
	marked     bool // that was a byte order mark, and no line has been read since
	readErr    error

	out []byte

	closing atomic.Bool
	once    sync.Once
	closed  error
}

// NewLine returns a line transport that reads from r and writes to w. opts may be nil. Close closes
// both where they are io.Closers; a Read blocked in an r that has neither Close nor
// SetReadDeadline stays blocked until r returns.
func NewLine(r io.Reader, w io.Writer, opts *LineOptions) *Line {
	l := &Line{r: r, w: w, limit: DefaultMaxMessageBytes}
	if opts != nil && opts.MaxMessageBytes > 0 {
		l.limit = opts.MaxMessageBytes
	}
	return l
}

// Read returns the next line; see [Transport].
func (l *Line) Read(ctx context.Context) ([]byte, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !l.begun && !l.begin() {
			l.fill()
			continue
		}
		if i := bytes.IndexByte(l.buf[l.start+l.scanned:l.end], '\n'); i >= 0 {
			n := l.scanned + i
			line := l.buf[l.start : l.start+n]
			l.start += n + 1
			l.scanned = 0
			if line = l.clean(line); len(line) > l.limit {
				return nil, l.tooLarge(int64(len(line)), line)
			}
			return line, nil
		}
		l.scanned = l.end - l.start
		if l.scanned > l.limit+1 { // +1: a carriage return may still be dropped
			return nil, l.skip()
		}
		if l.readErr != nil {
			return l.last()
		}
		l.fill()
	}
}

// last returns an unterminated final line, then the error that ended the stream.
func (l *Line) last() ([]byte, error) {
	if l.end == l.start && !l.marked { // a mark alone is an empty last line
		if l.closing.Load() {
			return nil, ErrClosed
		}
		if errors.Is(l.readErr, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read line: %w", l.readErr)
	}
	line := l.clean(l.buf[l.start:l.end])
	l.start, l.end, l.scanned = 0, 0, 0
	if len(line) > l.limit {
		return nil, l.tooLarge(int64(len(line)), line)
	}
	return line, nil
}

// begin drops a byte order mark at the very start. It is false while too little has been read to know.
func (l *Line) begin() bool {
	mark := []byte("\xef\xbb\xbf")
	head := l.buf[l.start:l.end]
	if len(head) < len(mark) && bytes.HasPrefix(mark, head) && l.readErr == nil {
		return false
	}
	l.begun = true
	if bytes.HasPrefix(head, mark) {
		l.start += len(mark)
		l.marked = true
	}
	return true
}

func (l *Line) clean(line []byte) []byte {
	l.marked = false
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

func (l *Line) tooLarge(size int64, line []byte) error {
	head := line[:min(len(line), headOfLarge)]
	return &MessageTooLargeError{Size: size, Limit: int64(l.limit), Head: bytes.Clone(head)}
}

// skip drops the rest of a line that is over the limit and counts it.
func (l *Line) skip() error {
	head := bytes.Clone(l.buf[l.start : l.start+min(l.end-l.start, headOfLarge)])
	var size int64
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			size += int64(i)
			l.start += i + 1
			break
		}
		size += int64(l.end - l.start)
		l.start, l.end = 0, 0
		if l.readErr != nil {
			break
		}
		if len(l.buf) > keepBuffer {
			l.buf = nil
		}
		l.fill()
	}
	l.scanned, l.marked = 0, false
	return &MessageTooLargeError{Size: size, Limit: int64(l.limit), Head: head}
}

// fill reads once into the free end of the buffer, moving or growing it as needed.
func (l *Line) fill() {
	switch {
	case l.start == l.end:
		l.start, l.end = 0, 0
		if len(l.buf) > keepBuffer {
			l.buf = nil
		}
	case l.start > 0 && len(l.buf)-l.end < readChunk:
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if len(l.buf)-l.end < readChunk {
		grown := make([]byte, max(2*len(l.buf), l.end+readChunk))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.readErr = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.readErr = io.ErrNoProgress
}

// Write sends one line a message in a single write to the underlying writer. A line
// feed inside a message, which JSON allows only between tokens, becomes a space.
func (l *Line) Write(ctx context.Context, msgs ...[]byte) error {
	if l.closing.Load() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	out := l.out[:0]
	for _, msg := range msgs {
		at := len(out)
		out = append(out, msg...)
		for body := out[at:]; ; {
			i := bytes.IndexByte(body, '\n')
			if i < 0 {
				break
			}
			body[i] = ' '
			body = body[i+1:]
		}
		out = append(out, '\n')
	}
	_, err := l.w.Write(out)
	if cap(out) <= keepBuffer {
		l.out = out
	} else {
		l.out = nil
	}
	if err != nil {
		if l.closing.Load() {
			return ErrClosed
		}
		return fmt.Errorf("write line: %w", err)
	}
	return nil
}

// Close closes the reader and the writer where they can be closed.
func (l *Line) Close() error {
	l.once.Do(func() {
		l.closing.Store(true)
		var errs []error
		if w, ok := l.w.(interface{ SetWriteDeadline(time.Time) error }); ok {
			_ = w.SetWriteDeadline(time.Unix(1, 0)) // unblocks a Write; not every file can
		}
		if w, ok := l.w.(io.Closer); ok {
			errs = append(errs, w.Close())
		}
		if r, ok := l.r.(interface{ SetReadDeadline(time.Time) error }); ok {
			_ = r.SetReadDeadline(time.Unix(1, 0))
		}
		if r, ok := l.r.(io.Closer); ok && any(l.r) != any(l.w) {
			errs = append(errs, r.Close())
		}
		l.closed = errors.Join(errs...)
	})
	return l.closed
}
