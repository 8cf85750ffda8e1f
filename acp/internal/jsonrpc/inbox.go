package jsonrpc

import (
	"sync"
)

// itemOverhead is what a queued message costs besides its own bytes.
const itemOverhead = 128

// An item is a received notification, or a barrier: the answer to a call, which is
// delivered when everything before it has been handled.
type item struct {
	method string
	params []byte
	buf    *[]byte // pooled storage of params
	call   *Call
}

func (it *item) cost() int { return len(it.params) + itemOverhead }

// A queue holds the notifications of one key, in order. It exists while it has work.
type queue struct {
	items []item
}

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

	bufs sync.Pool // *[]byte
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

// store copies params into pooled storage.
func (in *inbox) store(params []byte) ([]byte, *[]byte) {
	if len(params) == 0 {
		return nil, nil
	}
	buf, ok := in.bufs.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	*buf = append((*buf)[:0], params...)
	return *buf, buf
}

func (in *inbox) recycle(buf *[]byte) {
	if buf != nil && cap(*buf) <= keepFrame {
		in.bufs.Put(buf)
	}
}

// wait blocks the reader until cost bytes fit. It returns false if the inbox is gone.
func (in *inbox) wait(cost int) bool {
	for {
		in.mu.Lock()
		if in.discarded {
			in.mu.Unlock()
			return false
		}
		limit := in.limit
		if in.notifyOut > 0 || len(in.requests) > 0 && in.requestOut > 0 {
			limit *= 4
		}
		if in.bytes == 0 || in.bytes+cost <= limit {
			in.bytes += cost
			in.starved = false
			in.mu.Unlock()
			return true
		}
		in.starved = true
		in.mu.Unlock()
		<-in.room
	}
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

// push queues a notification whose cost has been waited for. It reports whether the
// caller must start a worker for the key.
func (in *inbox) push(key []byte, it item) (start *queue, name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.discarded {
		return nil, ""
	}
	if q, ok := in.queues[string(key)]; ok {
		q.items = append(q.items, it)
		return nil, ""
	}
	q := &queue{items: []item{it}}
	name = string(key)
	in.queues[name] = q
	return q, name
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
	q.items = append(q.items, item{call: c})
	return true
}

// next takes everything that a queue holds, reusing the storage of done. It returns nil,
// and the queue is gone, when there is nothing.
func (in *inbox) next(name string, q *queue, done []item) []item {
	clear(done)
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(q.items) == 0 {
		if in.queues[name] == q {
			delete(in.queues, name)
		}
		in.checkIdle()
		return nil
	}
	items := q.items
	q.items = done[:0]
	return items
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
		for i := range q.items {
			if c := q.items[i].call; c != nil {
				calls = append(calls, c)
			} else {
				in.bytes -= q.items[i].cost()
			}
		}
		q.items = nil
	}
	signal(in.room)
	return calls
}
