package clienthost

import (
	"sync"
	"unicode/utf8"
)

// output keeps the end of what a command writes, at most limit bytes.
type output struct {
	limit int

	mu        sync.Mutex
	buf       []byte
	truncated bool
}

// Write takes bytes in; it never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p...)
	// Drop in large steps, so that a byte written costs a byte moved now and then.
	if len(o.buf) > 2*o.limit+utf8.UTFMax {
		o.trim()
	}
	return len(p), nil
}

// trim drops the oldest bytes beyond the limit, and then up to the start of a character.
func (o *output) trim() {
	over := len(o.buf) - o.limit
	if over <= 0 {
		return
	}
	for n := 0; n < utf8.UTFMax && over < len(o.buf) && !utf8.RuneStart(o.buf[over]); n++ {
		over++
	}
	o.buf = append(o.buf[:0], o.buf[over:]...)
	o.truncated = true
}

// text returns what is kept, as valid UTF-8, and whether something was dropped. While the
// command runs a character that is not complete yet is left for later.
func (o *output) text(ended bool) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trim()
	b := o.buf
	if !ended {
		b = b[:len(b)-unfinished(b)]
	}
	if utf8.Valid(b) {
		return string(b), o.truncated
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	// A replacement is longer than the byte that it stands for.
	valid := output{limit: o.limit, buf: out}
	valid.trim()
	return string(valid.buf), o.truncated || valid.truncated
}

// unfinished returns how many bytes at the end of b begin a character that is incomplete.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
