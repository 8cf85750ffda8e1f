// Package acptest helps to test agents and clients, as httptest does for HTTP: two ends
// joined in memory, faults injected on the way, and scripted peers.
package acptest

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/wherry-acp/wherry/acp/transport"
)

// Faults say what a pipe does to the bytes that one end writes. The zero value carries
// them unharmed.
type Faults struct {
	// CutAfter breaks the connection, in both directions, after so many bytes; 0 never
	// does. With CutAtStart it breaks before the first.
	CutAfter   int
	CutAtStart bool

	// Chunk splits what is written into pieces of at most so many bytes, each its own
	// read at the other end, however the writes were; 0 leaves them.
	Chunk int

	// Stall stops reading after so many bytes until Resume is called; 0 never does.
	Stall int

	// Err is what the writer gets after a cut; nil means io.ErrClosedPipe.
	Err error
}

// A Pipe is a byte pipe with faults, one for each direction, with line transports at both
// ends. Its methods may be called concurrently.
type Pipe struct {
	// A and B are the two ends.
	A, B transport.Transport

	ab, ba *stream
}

// NewPipe returns a pipe that does fromA to what A writes and fromB to what B writes.
func NewPipe(fromA, fromB Faults) *Pipe {
	p := &Pipe{ab: newStream(fromA), ba: newStream(fromB)}
	cut := func() { p.ab.cut(); p.ba.cut() }
	p.ab.onCut, p.ba.onCut = cut, cut
	p.A = transport.NewLine(p.ba.reader(), p.ab.writer(), nil)
	p.B = transport.NewLine(p.ab.reader(), p.ba.writer(), nil)
	return p
}

// Cut breaks the connection in both directions now. What has been written can still be read.
func (p *Pipe) Cut() { p.ab.onCut() }

// Resume ends a stall.
func (p *Pipe) Resume() {
	p.ab.resume()
	p.ba.resume()
}

// Inject writes raw bytes to B as if they came from A: half a line, garbage, anything.
func (p *Pipe) Inject(data string) error {
	if _, err := p.ab.write([]byte(data)); err != nil {
		return fmt.Errorf("inject: %w", err)
	}
	return nil
}

// stream is one direction: at most 64 KiB in flight.
type stream struct {
	faults Faults
	onCut  func()

	mu      sync.Mutex
	changed *sync.Cond
	buf     []byte
	written int
	read    int
	resumed bool
	broken  bool // by a cut
	eof     bool // the writer has closed
	gone    bool // the reader has closed
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
		stalled := s.faults.Stall > 0 && s.read >= s.faults.Stall && !s.resumed
		switch {
		case s.gone:
			return 0, io.ErrClosedPipe
		case len(s.buf) > 0 && !stalled:
			n := len(p)
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
		s.changed.Wait()
	}
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
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.eof = true
	w.s.changed.Broadcast()
	return nil
}

func (s *stream) write(p []byte) (int, error) {
	n, cut, err := s.store(p)
	if cut {
		s.onCut()
	}
	return n, err
}

// store takes p in, up to the cut.
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
		if room <= 0 {
			s.changed.Wait()
			continue
		}
		k := min(room, len(p)-n)
		s.buf = append(s.buf, p[n:n+k]...)
		s.written += k
		n += k
		s.changed.Broadcast()
	}
	return n, false, nil
}

func (s *stream) failure() error {
	if s.faults.Err != nil {
		return s.faults.Err
	}
	return io.ErrClosedPipe
}

func (s *stream) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.changed.Broadcast()
}

func (s *stream) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed = true
	s.changed.Broadcast()
}

// A Peer is the raw other end of a connection: it writes and reads whole lines.
type Peer struct{ Transport transport.Transport }

// Send writes lines.
func (p Peer) Send(ctx context.Context, lines ...string) error {
	msgs := make([][]byte, len(lines))
	for i, line := range lines {
		msgs[i] = []byte(line)
	}
	return p.Transport.Write(ctx, msgs...)
}

// Receive reads the next line.
func (p Peer) Receive(ctx context.Context) (string, error) {
	line, err := p.Transport.Read(ctx)
	return string(line), err
}
