package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// errEventTooLarge ends an event stream: what follows a part of an event cannot be told apart.
var errEventTooLarge = errors.New("the event is larger than the limit")

// appendEvent frames a message as a server-sent event. A line break, which only stands between JSON's tokens, becomes
// a space.
func appendEvent(dst, msg []byte) []byte {
	dst = append(dst, "data: "...)
	from := len(dst)
	dst = append(dst, msg...)
	if bytes.ContainsAny(msg, "\r\n") {
		for i, b := range dst[from:] {
			if b == '\n' || b == '\r' {
				dst[from+i] = ' '
			}
		}
	}
	return append(dst, "\n\n"...)
}

// eventReader reads server-sent events. Lines end with LF, CRLF or CR; fields other than data are skipped.
type eventReader struct {
	r        *bufio.Reader
	limit    int
	line     []byte
	data     []byte
	afterCR  bool
	activity func() // called when bytes have come
}

func newEventReader(r io.Reader, limit int, activity func()) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10), limit: limit, activity: activity}
}

// next returns the data of the next event that has some; it is valid until the next call. An event that the stream's end cuts off is
// given if its lines are whole enough to be one, as the reference implementation does.
func (e *eventReader) next() ([]byte, error) {
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read event stream: %w", err)
		}
		ended := err != nil
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		if len(line) == 0 && has {
			return e.data, nil
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			value = bytes.TrimPrefix(value, []byte{' '})
			if has {
				e.data = append(e.data, '\n')
			}
			has = true
			if len(e.data)+len(value) > e.limit {
				return nil, fmt.Errorf("%w of %d bytes", errEventTooLarge, e.limit)
			}
			e.data = append(e.data, value...)
		}
		if ended {
			if has {
				return e.data, nil
			}
			return nil, io.EOF
		}
	}
}

// readLine returns the next line without its end; with io.EOF it is the last, unended one.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if e.r.Buffered() == 0 {
			if _, err := e.r.Peek(1); err != nil {
				return e.line, err
			}
			if e.activity != nil {
				e.activity()
			}
		}
		chunk, _ := e.r.Peek(e.r.Buffered())
		if e.afterCR {
			e.afterCR = false
			if chunk[0] == '\n' {
				_, _ = e.r.Discard(1)
				continue
			}
		}
		i := bytes.IndexAny(chunk, "\r\n")
		part := chunk
		if i >= 0 {
			part = chunk[:i]
		}
		if len(e.line)+len(part) > e.limit+len("\xef\xbb\xbfdata: ") {
			return nil, fmt.Errorf("%w of %d bytes", errEventTooLarge, e.limit)
		}
		e.line = append(e.line, part...)
		if i < 0 {
			_, _ = e.r.Discard(len(chunk))
			continue
		}
		e.afterCR = chunk[i] == '\r'
		_, _ = e.r.Discard(i + 1)
		return e.line, nil
	}
}
