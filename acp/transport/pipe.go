package transport

import (
	"context"
	"io"
	"sync"
)

// pipeBuffer is how many bytes one direction of a pipe holds before Write waits.
const pipeBuffer = 1 << 20

// Pipe returns the two ends of an in-memory connection. What one end writes the other
// reads, in order. Each direction holds about 1 MiB; then Write waits for the reader.
// Closing an end lets the other read what was written before, then io.EOF.
func Pipe() (Transport, Transport) {
	a, b := newLane(), newLane()
	return &pipeEnd{in: a, out: b}, &pipeEnd{in: b, out: a}
}

type pipeEnd struct{ in, out *lane }

func (p *pipeEnd) Read(ctx context.Context) ([]byte, error)        { return p.in.read(ctx) }
func (p *pipeEnd) Write(ctx context.Context, msgs ...[]byte) error { return p.out.write(ctx, msgs) }

func (p *pipeEnd) Close() error {
	p.out.closeWrite()
	p.in.closeRead()
	return nil
}

// batch is a run of messages in one buffer.
type batch struct {
	data []byte
	ends []int // end offset of each message
}

func (b *batch) reset() {
	if cap(b.data) > 2*pipeBuffer {
		b.data = nil
	}
	b.data, b.ends = b.data[:0], b.ends[:0]
}

// lane is one direction. The reader takes the whole filled batch and hands back the
// one it has finished.
type lane struct {
	mu       sync.Mutex
	filling  batch
	eof      bool // the writer has closed
	gone     bool // the reader has closed
	readable chan struct{}
	writable chan struct{}

	// Owned by the reader.
	reading batch
	next    int
}

func newLane() *lane {
	return &lane{readable: make(chan struct{}, 1), writable: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (l *lane) read(ctx context.Context) ([]byte, error) {
	for {
		if l.next < len(l.reading.ends) {
			from := 0
			if l.next > 0 {
				from = l.reading.ends[l.next-1]
			}
			to := l.reading.ends[l.next]
			l.next++
			return l.reading.data[from:to:to], nil
		}
		l.reading.reset()
		l.next = 0
		l.mu.Lock()
		switch {
		case l.gone:
			l.mu.Unlock()
			return nil, ErrClosed
		case len(l.filling.ends) > 0:
			l.reading, l.filling = l.filling, l.reading
			l.mu.Unlock()
			signal(l.writable)
			continue
		case l.eof:
			l.mu.Unlock()
			return nil, io.EOF
		}
		l.mu.Unlock()
		select {
		case <-l.readable:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *lane) write(ctx context.Context, msgs [][]byte) error {
	for len(msgs) > 0 {
		l.mu.Lock()
		if l.eof {
			l.mu.Unlock()
			return ErrClosed
		}
		if l.gone {
			l.mu.Unlock()
			return io.ErrClosedPipe
		}
		n := 0
		for n < len(msgs) && (len(l.filling.data) == 0 || len(l.filling.data)+len(msgs[n]) <= pipeBuffer) {
			l.filling.data = append(l.filling.data, msgs[n]...)
			l.filling.ends = append(l.filling.ends, len(l.filling.data))
			n++
		}
		l.mu.Unlock()
		msgs = msgs[n:]
		if n > 0 {
			signal(l.readable)
		}
		if len(msgs) == 0 {
			return nil
		}
		select {
		case <-l.writable:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l *lane) closeWrite() {
	l.mu.Lock()
	l.eof = true
	l.mu.Unlock()
	signal(l.readable)
	signal(l.writable)
}

func (l *lane) closeRead() {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	signal(l.readable)
	signal(l.writable)
}
