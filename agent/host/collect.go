package host

import (
	"io"
	"sync"
	"time"
)

// collector takes a command's output from its pipe: it keeps it in the ring and hands it on in pieces. None is held back
// for longer than coalesce, and none ends inside a character unless the output does. A receiver that falls behind slows
// the command down; it never costs output that is kept.
type collector struct {
	source io.Reader
	ring   *Ring // the reader's until read is closed
	output func([]byte)

	mu      sync.Mutex
	pending []byte // not yet handed on

	heard   chan struct{} // something was read
	more    chan struct{} // something is pending
	full    chan struct{} // a whole piece is pending
	space   chan struct{} // something was handed on
	release chan struct{} // closed when the command has ended: the reader does not wait for the receiver any more
	read    chan struct{} // closed when the source has ended
	done    chan struct{} // closed when all was handed on
}

// maxPending is how much output may wait for the receiver before the command has to, in bytes.
const maxPending = 1 << 20

func collect(source io.Reader, ring *Ring, output func([]byte)) *collector {
	c := &collector{
		source: source, ring: ring, output: output,
		heard: make(chan struct{}, 1), more: make(chan struct{}, 1), full: make(chan struct{}, 1), space: make(chan struct{}, 1),
		release: make(chan struct{}), read: make(chan struct{}), done: make(chan struct{}),
	}
	go c.readAll()
	go c.deliver()
	return c
}

func (c *collector) readAll() {
	defer close(c.read)
	buf := make([]byte, pieceSize)
	for {
		n, err := c.source.Read(buf)
		if n > 0 {
			notify(c.heard)
			_, _ = c.ring.Write(buf[:n])
			if c.output != nil {
				c.add(buf[:n])
			}
		}
		if err != nil { // its end, or it was closed
			return
		}
	}
}

func (c *collector) add(b []byte) {
	for {
		c.mu.Lock()
		room := len(c.pending) < maxPending
		if !room {
			select {
			case <-c.release:
				room = true
			default:
			}
		}
		if room {
			c.pending = append(c.pending, b...)
			n := len(c.pending)
			c.mu.Unlock()
			notify(c.more)
			if n >= pieceSize {
				notify(c.full)
			}
			return
		}
		c.mu.Unlock()
		select {
		case <-c.space:
		case <-c.release:
		}
	}
}

func (c *collector) deliver() {
	defer close(c.done)
	timer := time.NewTimer(coalesce)
	defer timer.Stop()
	for ended := false; !ended; {
		select {
		case <-c.more:
			timer.Reset(coalesce)
			select {
			case <-timer.C:
			case <-c.full:
			case <-c.read:
			}
		case <-c.read:
			ended = true
		}
		c.hand(ended)
	}
}

// hand gives the receiver what is pending, in pieces; an incomplete character at the end waits unless it is the last.
func (c *collector) hand(last bool) {
	c.mu.Lock()
	all := c.pending
	c.pending = nil
	if keep := partialEnd(all); keep > 0 && !last {
		c.pending = append(c.pending, all[len(all)-keep:]...)
		all = all[:len(all)-keep]
	}
	c.mu.Unlock()
	notify(c.space)
	for len(all) > 0 {
		n := min(len(all), pieceSize)
		if n < len(all) {
			n -= partialEnd(all[:n])
		}
		c.output(all[:n:n])
		all = all[n:]
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
