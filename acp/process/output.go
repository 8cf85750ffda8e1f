package process

import (
	"errors"
	"io"
	"os"
	"time"
)

// drain is how long the output of a process that has ended may be silent before it counts
// as read to its end.
const drain = 100 * time.Millisecond

// output is the read end of a process's standard output. A descendant may hold the write
// end open when the process has ended; then the output ends when nothing more is in it.
type output struct {
	f      *os.File
	exited <-chan struct{}
}

// Read implements io.Reader.
func (o *output) Read(p []byte) (int, error) {
	for silent := 0; ; {
		select {
		case <-o.exited:
			silent++
			_ = o.f.SetReadDeadline(time.Now().Add(drain)) // a fresh one for each read: a slow reader loses nothing
		default:
		}
		n, err := o.f.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if silent == 2 { // wake may have cut the first wait short
			return 0, io.EOF
		}
	}
}

// wake ends a Read that began before the process had ended, so that it looks again.
func (o *output) wake() { _ = o.f.SetReadDeadline(time.Unix(1, 0)) }

// Close ends a Read in progress.
func (o *output) Close() error { return o.f.Close() }
