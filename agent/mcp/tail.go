package mcp

import (
	"strings"
	"sync"
)

const (
	tailKept  = 8 << 10 // bytes of standard error kept
	tailShown = 2 << 10 // bytes of it shown
	tailLines = 12      // lines of it shown
)

// tail keeps the end of what a program writes to its standard error.
type tail struct {
	secrets *redactor
	mu      sync.Mutex
	buf     []byte
	cut     bool // something came before buf
}

// Write implements [io.Writer]. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - t.keep(); n > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[n:]...), true
	}
	return len(p), nil
}

func (t *tail) keep() int { return tailKept + min(t.secrets.longest, maxSecretKept) }

// String gives the last lines, without secrets. It redacts before it shortens: a cut through a secret would hide it from
// the search and show the rest of it.
func (t *tail) String() string {
	t.mu.Lock()
	text, cut := string(t.buf), t.cut
	t.mu.Unlock()
	text = t.secrets.say(text)
	if cut { // the first bytes may be the end of a secret
		text = strings.ToValidUTF8(text[min(len(text), t.secrets.longest):], "")
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	shown, first := 0, len(lines)
	for first > 0 && len(lines)-first < tailLines && shown+len(lines[first-1]) <= tailShown {
		first--
		shown += len(lines[first]) + 1
	}
	if first == len(lines) { // one very long line
		line := lines[len(lines)-1]
		return "…" + strings.ToValidUTF8(line[len(line)-tailShown:], "")
	}
	return strings.TrimSpace(strings.Join(lines[first:], "\n"))
}
