package host

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// DefaultKeep is how much of a command's output is kept when [Command] does not say, in bytes.
const DefaultKeep = 64 << 10

// Ring keeps the head and the tail of an output, each at most half of its size, and counts all of it. It is an io.Writer
// that never fails. It is not safe for concurrent use.
type Ring struct {
	half  int
	head  []byte
	tail  []byte // a circle once it is full
	start int    // where the oldest byte of a full tail is
	total int64
}

// NewRing gives a ring that keeps at most keep bytes; 0 or less means [DefaultKeep].
func NewRing(keep int) *Ring {
	if keep <= 0 {
		keep = DefaultKeep
	}
	return &Ring{half: max(keep/2, 1)}
}

// Write takes more output.
func (r *Ring) Write(p []byte) (int, error) {
	n := len(p)
	r.total += int64(n)
	if room := r.half - len(r.head); room > 0 {
		take := min(room, len(p))
		r.head = append(r.head, p[:take]...)
		p = p[take:]
	}
	if len(p) >= r.half {
		r.tail = append(r.tail[:0], p[len(p)-r.half:]...)
		r.start = 0
		return n, nil
	}
	if room := r.half - len(r.tail); room > 0 {
		take := min(room, len(p))
		r.tail = append(r.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		took := copy(r.tail[r.start:], p)
		p = p[took:]
		r.start = (r.start + took) % r.half
	}
	return n, nil
}

// Total is how many bytes were written in all.
func (r *Ring) Total() int64 { return r.total }

// String gives what was kept as valid UTF-8. Where something was left out a line of its own says how much. The cuts are at
// the ends of lines where one is near, and never inside a character.
func (r *Ring) String() string {
	tail := append(bytes.Clone(r.tail[r.start:]), r.tail[:r.start]...)
	if int64(len(r.head)+len(tail)) == r.total {
		return strings.ToValidUTF8(string(r.head)+string(tail), string(utf8.RuneError))
	}
	head := cutEnd(r.head)
	tail = cutStart(tail)
	left := r.total - int64(len(head)) - int64(len(tail))
	var out strings.Builder
	out.Write(bytes.ToValidUTF8(head, []byte(string(utf8.RuneError))))
	if len(head) > 0 && head[len(head)-1] != '\n' {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "… %d bytes left out …\n", left)
	out.Write(bytes.ToValidUTF8(tail, []byte(string(utf8.RuneError))))
	return out.String()
}

// cutEnd shortens b so that it ends with a line, or at least with a whole character.
func cutEnd(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 && i+1 >= len(b)-len(b)/4 {
		return b[:i+1]
	}
	return b[:len(b)-partialEnd(b)]
}

// cutStart shortens b so that it begins with a line, or at least with a whole character.
func cutStart(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)/4 {
		return b[i+1:]
	}
	for i := range min(utf8.UTFMax, len(b)) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	if len(b) < utf8.UTFMax { // the end of one character
		return nil
	}
	return b // not UTF-8
}

// partialEnd is how many bytes at the end of b begin a character that is not complete.
func partialEnd(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}
