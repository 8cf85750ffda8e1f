package openai

import (
	"bufio"
	"bytes"
	"io"
)

// dataLines reads an event stream and leaves out comments and the fields event, id and retry. Everything else passes,
// also what is no event stream at all.
type dataLines struct {
	body    io.Closer
	r       *bufio.Reader
	pending []byte // of the current line, not yet given
	partial bool   // the current line is longer than the buffer and goes on
	skip    bool   // the rest of the current line is left out
}

func newDataLines(body io.ReadCloser) *dataLines {
	return &dataLines{body: body, r: bufio.NewReaderSize(body, 16<<10)}
}

func (d *dataLines) Read(p []byte) (int, error) {
	for len(d.pending) == 0 {
		line, err := d.r.ReadSlice('\n')
		if !d.partial {
			d.skip = isChatter(line)
		}
		d.partial = err == bufio.ErrBufferFull
		if err != nil && !d.partial && len(line) == 0 {
			return 0, err
		}
		if !d.skip {
			d.pending = line
		}
		if err != nil && !d.partial && d.skip {
			return 0, err
		}
	}
	n := copy(p, d.pending)
	d.pending = d.pending[n:]
	return n, nil
}

// isChatter tells lines of an event stream that carry no data.
func isChatter(line []byte) bool {
	for _, field := range [...]string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(field)) {
			return true
		}
	}
	return false
}

func (d *dataLines) Close() error { return d.body.Close() }
