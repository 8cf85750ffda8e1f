package wirelog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wherry-acp/wherry/acp"
)

// maxLine limits a line of a log, in bytes. Base64 and redaction make frames longer.
const maxLine = 512 << 20

// ErrNotWireLog matches the error for an input that does not begin with the header of a
// log of a known version.
var ErrNotWireLog = errors.New("not a wire log")

// A LineError is what is wrong with one line of a log. The lines after it can be read.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error names the line and what is wrong with it.
func (e *LineError) Error() string { return fmt.Sprintf("wire log, line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// A Reader reads a log. It must not be used concurrently.
type Reader struct {
	r      *bufio.Reader
	line   int
	cut    bool
	header *Header
	err    error // of the header
}

// NewReader returns a reader of the log r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Header reads the header, or returns it again. An error that matches ErrNotWireLog says
// that this is no log, or one of a newer version.
func (r *Reader) Header() (Header, error) {
	if r.header == nil && r.err == nil {
		r.header, r.err = r.readHeader()
	}
	if r.err != nil {
		return Header{}, r.err
	}
	return *r.header, nil
}

func (r *Reader) readHeader() (*Header, error) {
	text, _, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read wire log: %w", err)
	}
	var l line
	if err := unmarshal(text, &l); err != nil || l.Format != Format {
		return nil, fmt.Errorf("%w: the first line is not its header", ErrNotWireLog)
	}
	if l.Version < 1 || l.Version > Version {
		return nil, fmt.Errorf("%w of a known version: this program reads version %d, the log has version %d", ErrNotWireLog, Version, l.Version)
	}
	h := &Header{Version: l.Version, Side: l.Side, Program: l.Program, Redact: l.Redact}
	if h.Start, err = time.Parse(time.RFC3339Nano, l.Start); err != nil {
		return nil, fmt.Errorf("%w: its start time %q is not RFC 3339", ErrNotWireLog, l.Start)
	}
	return h, nil
}

// All iterates over the records that have not been read yet, in the order written. A
// *LineError concerns one line only, and the iteration goes on behind it; any other error
// ends it. A last line that was cut, as by a crash, ends it without an error, see Cut.
// The records are the caller's.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if _, err := r.Header(); err != nil {
			yield(Record{}, err)
			return
		}
		for {
			text, whole, err := r.next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Record{}, fmt.Errorf("read wire log: %w", err))
				return
			case len(bytes.TrimSpace(text)) == 0:
				continue
			}
			rec, err := parse(text)
			if err != nil && !whole {
				r.cut = true
				return
			}
			if err != nil {
				err = &LineError{Line: r.line, Err: err}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Cut reports whether the log ended within a line.
func (r *Reader) Cut() bool { return r.cut }

// next returns the next line without its end, and whether it had one.
func (r *Reader) next() (text []byte, whole bool, err error) {
	for {
		part, err := r.r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			r.line++
			return text[:len(text)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(text) > maxLine {
				return nil, false, fmt.Errorf("line %d is longer than %d bytes", r.line+1, maxLine)
			}
		case errors.Is(err, io.EOF) && len(text) > 0:
			r.line++
			return text, false, nil
		default:
			return nil, false, err
		}
	}
}

func unmarshal(text []byte, l *line) error {
	return json.Unmarshal(text, l, tolerant()...)
}

func parse(text []byte) (Record, error) {
	var l line
	if err := unmarshal(text, &l); err != nil {
		return Record{}, err
	}
	if l.T == nil {
		return Record{}, errors.New(`a record has a "t"`)
	}
	rec := Record{At: time.Duration(*l.T), Problem: l.Problem, Dropped: l.Dropped}
	switch {
	case l.Dir == "in":
		rec.Dir = acp.Incoming
	case l.Dir == "out":
		rec.Dir = acp.Outgoing
	case l.Dropped <= 0:
		return Record{}, fmt.Errorf(`"dir" is "in" or "out", not %q`, l.Dir)
	}
	switch {
	case l.Msg != nil:
		rec.Msg = l.Msg
	case l.Raw != nil:
		rec.Raw = []byte(*l.Raw)
	case l.Raw64 != nil:
		rec.Raw = l.Raw64
	case l.Problem == "" && l.Dropped <= 0:
		return Record{}, errors.New("a record has a frame, a problem or a count of dropped ones")
	}
	return rec, nil
}
