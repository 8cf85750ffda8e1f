package process

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// An ExitError says how a process ended.
type ExitError struct {
	Command string // the program that was started
	Code    int    // exit status; -1 if a signal ended it
	Signal  string // the signal that ended it, or ""
	Stderr  string // the end of what it wrote to standard error
	Err     error  // what was noticed first, for example the end of the connection
}

// Error says which program ended, how, and the last of what it wrote.
func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ended", e.Command)
	if e.Signal != "" {
		fmt.Fprintf(&b, " by signal %s", e.Signal)
	} else {
		fmt.Fprintf(&b, " with status %d", e.Code)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&b, "; its last words were: %s", lastLines(e.Stderr))
	}
	return b.String()
}

// Unwrap returns what was noticed first.
func (e *ExitError) Unwrap() error { return e.Err }

// Bounds of what of standard error an error's text has.
const (
	tellLines = 8
	tellBytes = 2 << 10
)

// lastLines returns the last lines of s, at most about tellBytes of them.
func lastLines(s string) string {
	s = strings.TrimSpace(s)
	if over := len(s) - tellBytes; over > 0 {
		s = "…" + strings.ToValidUTF8(s[over:], "")
	}
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-tellLines):], "\n")
}

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	also  io.Writer

	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
	t.mu.Unlock()
	if t.also != nil {
		_, _ = t.also.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.ToValidUTF8(string(t.buf), "\uFFFD")
	if t.cut {
		return "…" + s
	}
	return s
}
