package acptest

import (
	"io"
	"sync"
	"time"
)

// stream is one direction of a pipe: at most 64 KiB in flight.
type stream struct {
	faults Faults
	onCut  func()

	mu      sync.Mutex
	changed *sync.Cond
	buf     []byte
	due     []arrival // of what is in buf, with Delay or Merge
	window  time.Time // until when writes are merged
	written int
	read    int
	resumed bool
	broken  bool // by a cut
	eof     bool // the writer has closed
	gone    bool // the reader has closed
}

// An arrival is when the bytes up to an offset of the stream can be read.
type arrival struct {
	end int
	at  time.Time
}

const inFlight = 64 << 10

func newStream(f Faults) *stream {
	s := &stream{faults: f}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) reader() io.ReadCloser  { return readEnd{s} }
func (s *stream) writer() io.WriteCloser { return writeEnd{s} }

type (
	readEnd  struct{ s *stream }
	writeEnd struct{ s *stream }
)

func (r readEnd) Read(p []byte) (int, error) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		ready, next := s.ready()
		stalled := s.faults.Stall > 0 && s.read >= s.faults.Stall && !s.resumed
		switch {
		case s.gone:
			return 0, io.ErrClosedPipe
		case ready > 0 && !stalled:
			n := min(len(p), ready)
			if s.faults.Chunk > 0 {
				n = min(n, s.faults.Chunk)
			}
			n = copy(p[:n], s.buf)
			s.buf = s.buf[n:]
			s.read += n
			s.changed.Broadcast()
			return n, nil
		case len(s.buf) == 0 && (s.eof || s.broken):
			return 0, io.EOF
		}
		if next > 0 && !stalled {
			t := time.AfterFunc(next, s.wake)
			s.changed.Wait()
			t.Stop()
		} else {
			s.changed.Wait()
		}
	}
}

// ready returns how many bytes have arrived, and in how long the next will.
func (s *stream) ready() (n int, next time.Duration) {
	if s.faults.Delay <= 0 && s.faults.Merge <= 0 {
		return len(s.buf), 0
	}
	for len(s.due) > 0 && s.due[0].end <= s.read {
		s.due = s.due[1:]
	}
	now, arrived := time.Now(), s.read
	for _, d := range s.due {
		if d.at.After(now) {
			next = d.at.Sub(now)
			break
		}
		arrived = d.end
	}
	return arrived - s.read, next
}

func (r readEnd) Close() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.gone = true
	r.s.changed.Broadcast()
	return nil
}

func (w writeEnd) Write(p []byte) (int, error) { return w.s.write(p) }

func (w writeEnd) Close() error {
	w.s.end()
	return nil
}

func (s *stream) write(p []byte) (int, error) {
	n, cut, err := s.store(p)
	if cut {
		s.onCut()
	}
	return n, err
}

// store takes p in, up to the cut or the end.
func (s *stream) store(p []byte) (n int, cut bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(p) {
		if s.broken || s.gone || s.eof {
			return n, false, s.failure()
		}
		room := inFlight - len(s.buf)
		if limit := s.faults.CutAfter; limit > 0 || s.faults.CutAtStart {
			if s.written >= limit {
				return n, true, s.failure()
			}
			room = min(room, limit-s.written)
		}
		if limit := s.faults.EndAfter; limit > 0 {
			room = min(room, limit-s.written)
		}
		if room <= 0 {
			s.changed.Wait()
			continue
		}
		k := min(room, len(p)-n)
		s.buf = append(s.buf, p[n:n+k]...)
		s.written += k
		n += k
		s.late()
		s.eof = s.eof || s.written == s.faults.EndAfter
		s.changed.Broadcast()
	}
	return n, false, nil
}

// late notes when what has just been written arrives.
func (s *stream) late() {
	f := &s.faults
	if f.Delay <= 0 && f.Merge <= 0 {
		return
	}
	at := time.Now()
	if f.Merge > 0 {
		if !at.Before(s.window) {
			s.window = at.Add(f.Merge)
		}
		at = s.window
	}
	s.due = append(s.due, arrival{end: s.written, at: at.Add(f.Delay)})
}

func (s *stream) failure() error {
	if s.faults.Err != nil {
		return s.faults.Err
	}
	return io.ErrClosedPipe
}

// cut breaks the stream, end ends it orderly, resume ends its stall.
func (s *stream) cut()    { s.set(&s.broken) }
func (s *stream) end()    { s.set(&s.eof) }
func (s *stream) resume() { s.set(&s.resumed) }

func (s *stream) set(flag *bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = true
	s.changed.Broadcast()
}

// wake lets the reader look at the clock again.
func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}
