package openai

import (
	"bufio"
	"bytes"
	"io"
)

// doneMark stands for the end mark, [DONE].
const doneMark = `{"done":true}`

// dataLines makes an event stream into one that the library passes on whole. It leaves out comments and the fields event,
// id and retry, which the library takes for pieces of an error. It writes errors so that the library does not see them as
// such, for it loses those that it does not understand; and the end mark as JSON, so that an end with it can be told from
// one without. Everything else passes, also what is no event stream at all.
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
			d.pending = rewrite(line)
		}
		if err != nil && !d.partial && d.skip {
			return 0, err
		}
	}
	n := copy(p, d.pending)
	d.pending = d.pending[n:]
	return n, nil
}

// rewrite gives a line that begins an error, or is the end mark, another form.
func rewrite(line []byte) []byte {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return line
	}
	data = bytes.TrimLeft(data, " \t")
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return []byte("data: " + doneMark + "\n")
	}
	if rest, ok := bytes.CutPrefix(data, []byte(`{"error":`)); ok {
		return append([]byte(`data: { "error":`), rest...)
	}
	return line
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
