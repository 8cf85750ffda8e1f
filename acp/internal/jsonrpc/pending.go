package jsonrpc

const (
	chunkBytes = 64 << 10 // about as much goes to the transport at a time
	ownBytes   = 16 << 10 // a larger message keeps its own buffer while it is pending
	keepChunks = 4        // kept for later when they are empty
)

// A chunk is messages one behind the other.
type chunk struct {
	buf  []byte
	msgs []pendingMessage
	size int // bytes of the messages, wherever they are
}

type pendingMessage struct {
	end     int    // offset in buf behind its bytes
	own     []byte // its bytes if they are not in buf
	call    *Call  // the call it starts, if any
	dropped bool
}

// A place is where the message of a call is pending; the zero place is nowhere.
type place struct {
	chunk *chunk
	index int
}

// pending is what waits for the writer. Messages are copied to chunks, so that the sender keeps the frame it encodes into
// and the writer finds in one piece what it shall write.
type pending struct {
	chunks []*chunk
	free   []*chunk
}

func (p *pending) empty() bool { return len(p.chunks) == 0 }

// push copies a message to the end, or takes its buffer, and reports which.
func (p *pending) push(f *frame) (copied bool) {
	var c *chunk
	if n := len(p.chunks); n > 0 && p.chunks[n-1].size+f.len() <= chunkBytes {
		c = p.chunks[n-1]
	} else {
		c = p.fresh()
		p.chunks = append(p.chunks, c)
	}
	m := pendingMessage{call: f.call}
	copied = f.len() <= ownBytes
	if copied {
		c.buf = append(c.buf, f.buf...)
	} else {
		m.own = f.buf
	}
	m.end = len(c.buf)
	if m.call != nil {
		m.call.place = place{c, len(c.msgs)}
	}
	c.msgs = append(c.msgs, m)
	c.size += f.len()
	return copied
}

// fresh returns an empty chunk, a large one if there is much to write.
func (p *pending) fresh() *chunk {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	c := &chunk{}
	if n := len(p.chunks); n > 0 {
		c.buf = make([]byte, 0, chunkBytes)
		c.msgs = make([]pendingMessage, 0, len(p.chunks[n-1].msgs)*9/8)
	}
	return c
}

// take removes the first chunk. Its messages are not pending any more.
func (p *pending) take() *chunk {
	c := p.chunks[0]
	n := copy(p.chunks, p.chunks[1:])
	p.chunks[n] = nil
	p.chunks = p.chunks[:n]
	for i := range c.msgs {
		if call := c.msgs[i].call; call != nil {
			call.place = place{}
		}
	}
	return c
}

// recycle takes back a chunk that was taken.
func (p *pending) recycle(c *chunk) {
	if len(p.free) < keepChunks {
		clear(c.msgs)
		c.buf, c.msgs, c.size = c.buf[:0], c.msgs[:0], 0
		p.free = append(p.free, c)
	}
}

// drop makes the message of a call one that is not written, and reports whether it was still pending.
func (c *Call) drop() bool {
	at := c.place
	if at.chunk == nil {
		return false
	}
	at.chunk.msgs[at.index].dropped, at.chunk.msgs[at.index].call = true, nil
	c.place = place{}
	return true
}

// messages appends those that shall be written to into.
func (c *chunk) messages(into [][]byte) [][]byte {
	start := 0
	for i := range c.msgs {
		m := &c.msgs[i]
		msg := m.own
		if msg == nil {
			msg = c.buf[start:m.end:m.end]
		}
		start = m.end
		if !m.dropped {
			into = append(into, msg)
		}
	}
	return into
}
