package remote

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// eventWriter writes events to a client, which must take each chunk within the stall time-out.
type eventWriter struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
	buf   []byte

	mu      sync.Mutex
	writing bool
	aborted bool
}

// lastWord is how long the end of an aborted stream may take to be written.
const lastWord = 2 * time.Second

func newEventWriter(w http.ResponseWriter, stall time.Duration) *eventWriter {
	return &eventWriter{w: w, rc: http.NewResponseController(w), stall: stall}
}

// abort makes a write in progress and every later one fail. A stream that is at rest can still be ended in order.
func (e *eventWriter) abort() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.aborted = true
	at := time.Unix(1, 0)
	if !e.writing {
		at = time.Now().Add(lastWord)
	}
	_ = e.rc.SetWriteDeadline(at)
}

// deadline sets when the next write must be done; 0 means never.
func (e *eventWriter) deadline(in time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.aborted {
		return errGone
	}
	var at time.Time
	if e.writing = in > 0; e.writing {
		at = time.Now().Add(in)
	}
	if err := e.rc.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("bound a write: %w", err)
	}
	return nil
}

func (e *eventWriter) flush() error { return e.write(nil) }

func (e *eventWriter) comment() error { return e.write([]byte(":\n\n")) }

func (e *eventWriter) events(msgs [][]byte) error {
	e.buf = e.buf[:0]
	for _, msg := range msgs {
		e.buf = appendEvent(e.buf, msg)
	}
	err := e.write(e.buf)
	if cap(e.buf) > 1<<20 {
		e.buf = nil
	}
	return err
}

// write writes and flushes. The time counts for each chunk, so a slow client lives as long as it takes something.
func (e *eventWriter) write(p []byte) error {
	for {
		chunk := p[:min(len(p), writeChunk)]
		p = p[len(chunk):]
		if err := e.deadline(e.stall); err != nil {
			return err
		}
		_, err := e.w.Write(chunk)
		if err == nil {
			err = e.rc.Flush()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.aborted {
				return errGone
			}
			return errStalled
		}
		if err != nil {
			return fmt.Errorf("write event stream: %w", err)
		}
		if len(p) == 0 {
			return e.deadline(0)
		}
	}
}
