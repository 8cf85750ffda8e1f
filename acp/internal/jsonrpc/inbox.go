package jsonrpc

import (
	"bytes"
	"sync"
)

// itemOverhead is what a queued message costs besides its own bytes.
const itemOverhead = 128

func cost(params []byte) int { return len(params) + itemOverhead }

// An inbox holds what has been received and not yet handled. All of it together is
// bounded in bytes: while it is full the reader waits. A queue has no bound of its own,
// so a slow key can use up the whole budget before it slows the others; until then
// answers and cancellations, which need no room, keep passing it.
//
// The reader does not wait when that would be a deadlock, that is while a handler that
// holds up a queue waits for an answer that only the reader can bring. Then the budget
// is four times as large.
type inbox struct {
	limit       int
	maxRequests int

	mu         sync.Mutex
	queues     map[string]*queue
	bytes      int
	running    int        // request handlers
	requests   []*Request // waiting for a free handler
	notifyOut  int        // calls made from inside notification handlers
	requestOut int        // calls made from inside request handlers
	room       chan struct{}
	starved    bool // the reader waits for room
	discarded  bool
	idle       []idler
	spare      []*parcel
}

// An idler waits for handlers to end.
type idler struct {
	done      chan struct{}
	queuesToo bool
}

func (in *inbox) init(limit, maxRequests int) {
	in.limit, in.maxRequests = limit, maxRequests
	in.queues = make(map[string]*queue)
	in.room = make(chan struct{}, 1)
}

// wait blocks the reader until n bytes fit. It returns false if the inbox is gone.
func (in *inbox) wait(n int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.waitLocked(n)
}

func (in *inbox) waitLocked(n int) bool {
	for !in.discarded {
		limit := in.limit
		if in.notifyOut > 0 || len(in.requests) > 0 && in.requestOut > 0 {
			limit *= 4
		}
		if in.bytes == 0 || in.bytes+n <= limit {
			in.bytes += n
			in.starved = false
			return true
		}
		in.starved = true
		in.mu.Unlock()
		<-in.room
		in.mu.Lock()
	}
	return false
}

// free gives bytes back.
func (in *inbox) free(n int) {
	in.mu.Lock()
	in.freeLocked(n)
	in.mu.Unlock()
}

func (in *inbox) freeLocked(n int) {
	in.bytes -= n
	if in.starved {
		signal(in.room)
	}
}

// push queues a notification, waiting for room. If the caller must start a worker for the
// key it returns the key's queue. It returns false if the inbox is gone.
func (in *inbox) push(key []byte, method string, params []byte) (start *queue, name string, ok bool) {
	n := cost(params)
	if len(params) > ownBytes {
		params = bytes.Clone(params)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.waitLocked(n) {
		return nil, "", false
	}
	q, ok := in.queues[string(key)]
	if !ok {
		q, name = &queue{}, string(key)
		in.queues[name] = q
		start = q
	}
	q.add(in, method, params)
	return start, name, true
}

// barrier queues the delivery of an answer behind the notifications of its key. It
// returns false if there are none, so that it can be delivered at once.
func (in *inbox) barrier(key string, c *Call) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	q, ok := in.queues[key]
	if !ok || in.discarded {
		return false
	}
	q.addCall(in, c)
	return true
}

// next takes the first parcel of a queue, after done, if any, has been handled and n bytes
// of it are to be freed. It returns nil, and the queue is gone, when there is nothing.
func (in *inbox) next(name string, q *queue, done *parcel, n int) *parcel {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n > 0 {
		in.freeLocked(n)
	}
	if done != nil {
		in.recycle(done)
	}
	if len(q.parcels) == 0 {
		if in.queues[name] == q {
			delete(in.queues, name)
		}
		in.checkIdle()
		return nil
	}
	return q.take()
}

// start admits a request: true if its handler may run now, false if it waits for
// another one to end.
func (in *inbox) start(r *Request) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.running >= in.maxRequests {
		in.requests = append(in.requests, r)
		return false
	}
	in.running++
	return true
}

// done ends a request's handler and returns the request that takes its place, if any.
func (in *inbox) done(r *Request) *Request {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.freeLocked(r.cost)
	if len(in.requests) > 0 {
		next := in.requests[0]
		in.requests[0] = nil
		in.requests = in.requests[1:]
		if len(in.requests) == 0 {
			in.requests = nil
		}
		return next
	}
	in.running--
	in.checkIdle()
	return nil
}

// calling counts calls made from inside handlers, see inbox.
func (in *inbox) calling(notification bool, by int) {
	in.mu.Lock()
	if notification {
		in.notifyOut += by
	} else {
		in.requestOut += by
	}
	if in.starved {
		signal(in.room)
	}
	in.mu.Unlock()
}

// quiet returns a channel that is closed when no request handler runs and, if queuesToo,
// no notification is queued or being handled.
func (in *inbox) quiet(queuesToo bool) <-chan struct{} {
	w := idler{make(chan struct{}), queuesToo}
	in.mu.Lock()
	in.idle = append(in.idle, w)
	in.checkIdle()
	in.mu.Unlock()
	return w.done
}

func (in *inbox) checkIdle() {
	if in.running > 0 || len(in.idle) == 0 {
		return
	}
	keep := in.idle[:0]
	for _, w := range in.idle {
		if w.queuesToo && len(in.queues) > 0 {
			keep = append(keep, w)
			continue
		}
		close(w.done)
	}
	in.idle = keep
}

// discard drops every queued notification, takes nothing more and frees the reader. It
// returns the calls whose answers waited in a queue.
func (in *inbox) discard() []*Call {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.discarded = true
	var calls []*Call
	for _, q := range in.queues {
		for _, p := range q.parcels {
			for i := range p.items {
				if c := p.items[i].call; c != nil {
					calls = append(calls, c)
				} else {
					in.bytes -= cost(p.params(i))
				}
			}
		}
		q.parcels = nil
	}
	signal(in.room)
	return calls
}
