package jsonrpc

import (
	"container/list"
	"context"
	"sync"
)

// An outbox is the ordered queue in front of the writer, bounded in bytes. A sender
// that finds it full waits its turn; nothing is dropped and nothing overtakes, except
// that urgent frames are queued without waiting.
type outbox struct {
	limit     int // bytes queued or being written before senders wait
	heldLimit int // bytes held back until their key is open
	pool      *framePool

	mu      sync.Mutex
	queue   pending
	bytes   int
	waiting list.List // of *sender
	wake    chan struct{}
	idle    chan struct{} // closed when empty; nil if nobody waits for that
	ending  bool          // the writer stops once the queue is empty
	err     error         // nothing more is taken

	// Frames of a key that the peer does not know yet are held while an answer that
	// may announce it is on its way.
	holds     int
	open      map[string]struct{}
	held      []heldFrame
	heldBytes int
}

type heldFrame struct {
	key string
	f   *frame
}

// A sender waits for room.
type sender struct {
	f     *frame
	ready chan struct{} // closed when f is queued or err is set
	err   error
}

func (o *outbox) init(limit, heldLimit int, pool *framePool) {
	o.limit, o.heldLimit, o.pool = limit, heldLimit, pool
	o.wake = make(chan struct{}, 1)
	o.open = make(map[string]struct{})
}

// send queues f, waiting for room until ctx ends or stop is closed. f is the outbox's from
// then on; after an error it is not written. A key that is not open yet holds the frame
// back while a hold is in force.
func (o *outbox) send(ctx context.Context, f *frame, key string, stop <-chan struct{}) error {
	o.mu.Lock()
	if o.err != nil {
		err := o.err
		o.mu.Unlock()
		o.pool.put(f)
		return err
	}
	if key != "" && o.holds > 0 {
		if _, ok := o.open[key]; !ok {
			defer o.mu.Unlock()
			if o.heldBytes+f.len() > o.heldLimit {
				o.pool.put(f)
				return ErrHeldTooMuch
			}
			o.held = append(o.held, heldFrame{key, f})
			o.heldBytes += f.len()
			return nil
		}
	}
	if o.waiting.Len() == 0 && o.fits(f) {
		o.enqueue(f)
		o.mu.Unlock()
		return nil
	}
	w := &sender{f: f, ready: make(chan struct{})}
	at := o.waiting.PushBack(w)
	o.mu.Unlock()
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
	case <-stop:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-w.ready: // queued meanwhile
		return w.err
	default:
	}
	o.waiting.Remove(at)
	o.pool.put(f)
	o.grant()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return ErrClosed
}

// urgent queues f without waiting for room. With ifRoom it drops f when the queue is full.
// f is the outbox's from then on.
func (o *outbox) urgent(f *frame, ifRoom bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || ifRoom && !o.fits(f) {
		o.pool.put(f)
		return false
	}
	o.enqueue(f)
	return true
}

func (o *outbox) fits(f *frame) bool { return o.bytes == 0 || o.bytes+f.len() <= o.limit }

func (o *outbox) enqueue(f *frame) {
	o.bytes += f.len()
	if o.queue.empty() {
		signal(o.wake)
	}
	copied := o.queue.push(f)
	if f.call != nil {
		f.call.queued.Store(true)
	}
	if f.open != "" {
		o.open[f.open] = struct{}{}
	}
	if f.release {
		o.holds--
	}
	opened := f.open != "" || f.release
	if copied {
		o.pool.put(f)
	}
	if opened {
		o.unhold()
	}
}

// unhold queues, in order, the held frames that need not wait any more.
func (o *outbox) unhold() {
	keep := o.held[:0]
	for _, h := range o.held {
		if _, ok := o.open[h.key]; ok || o.holds == 0 {
			o.heldBytes -= h.f.len()
			o.enqueue(h.f)
		} else {
			keep = append(keep, h)
		}
	}
	clear(o.held[len(keep):])
	o.held = keep
}

// grant queues the frames of waiting senders while there is room.
func (o *outbox) grant() {
	for at := o.waiting.Front(); at != nil; at = o.waiting.Front() {
		w := at.Value.(*sender)
		if !o.fits(w.f) {
			return
		}
		o.waiting.Remove(at)
		o.enqueue(w.f)
		close(w.ready)
	}
}

// drop takes the frame of a call back and reports whether it was still unwritten.
func (o *outbox) drop(c *Call) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return c.drop()
}

// unsent reports whether nothing of a call has been handed to the transport.
func (o *outbox) unsent(c *Call) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return c.place.chunk != nil
}

// hold begins holding back frames of keys that are not open.
func (o *outbox) hold() {
	o.mu.Lock()
	o.holds++
	o.mu.Unlock()
}

// openKey lets frames of key pass. It reports whether they did not before.
func (o *outbox) openKey(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.open[key]; ok {
		return false
	}
	o.open[key] = struct{}{}
	o.unhold()
	return true
}

// closeKey forgets key.
func (o *outbox) closeKey(key string) {
	o.mu.Lock()
	delete(o.open, key)
	o.mu.Unlock()
}

// take takes queued messages for the writer, which gives them back to wrote. It waits for
// the first and returns false when the writer shall stop.
func (o *outbox) take() (*chunk, bool) {
	for {
		o.mu.Lock()
		if !o.queue.empty() {
			c := o.queue.take()
			o.mu.Unlock()
			return c, true
		}
		stop := o.err != nil || o.ending
		if o.bytes == 0 && o.idle != nil {
			close(o.idle)
			o.idle = nil
		}
		o.mu.Unlock()
		if stop {
			return nil, false
		}
		<-o.wake
	}
}

// wrote says that messages have left.
func (o *outbox) wrote(c *chunk) {
	o.mu.Lock()
	o.bytes -= c.size
	o.queue.recycle(c)
	if o.bytes <= o.limit/2 { // not one by one: who waits finds room for more than a message
		o.grant()
	}
	o.mu.Unlock()
}

// flushed returns a channel that is closed when everything queued has been written.
func (o *outbox) flushed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.idle == nil {
		o.idle = make(chan struct{})
		if o.err != nil {
			defer func() { o.idle = nil }()
			close(o.idle)
		}
		signal(o.wake)
	}
	return o.idle
}

// finish lets the writer stop after what is queued.
func (o *outbox) finish() {
	o.mu.Lock()
	o.ending = true
	o.mu.Unlock()
	signal(o.wake)
}

// fail refuses everything from now on and wakes waiting senders with err.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.err = err
	for at := o.waiting.Front(); at != nil; at = o.waiting.Front() {
		w := at.Value.(*sender)
		o.waiting.Remove(at)
		w.err = err
		close(w.ready)
	}
	o.queue, o.held, o.heldBytes = pending{}, nil, 0
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
	signal(o.wake)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
