package acp

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// streamBuffer is how many updates wait, besides those the reader has taken, before the session does.
const streamBuffer = 128

// An updateQueue hands updates to a stream's reader, in order and in runs: whoever is faster than the other finds a run
// waiting, or room for one, without waking anybody.
type updateQueue struct {
	mu      sync.Mutex
	waiting []SessionUpdate
	ended   bool // nothing more comes
	left    bool // nobody reads any more
	reader  bool // the reader waits for news
	news    chan struct{}
	writer  bool // a writer waits for room
	room    chan struct{}

	handing sync.Mutex // held while the default handler gets what nobody has read

	// For those who wait until the reader is done with everything pushed so far.
	reading bool          // there is a reader
	pushed  uint64        // updates, in all
	done    atomic.Uint64 // of them, those the reader is done with
	behind  []behind      // who waits
	awaited atomic.Bool   // there is somebody in behind
}

// behind waits until the reader is done with so many updates.
type behind struct {
	target uint64
	done   chan struct{}
}

func newUpdateQueue() *updateQueue {
	return &updateQueue{news: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func wake(waits *bool, c chan struct{}) {
	if *waits {
		*waits = false
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// push adds an update, waiting for room until the queue or ctx ends. It reports false if nobody will read it. One goroutine may
// push at a time.
func (q *updateQueue) push(ctx context.Context, u SessionUpdate) bool {
	for {
		q.mu.Lock()
		if q.left {
			q.mu.Unlock()
			return false
		}
		if len(q.waiting) < streamBuffer {
			q.waiting = append(q.waiting, u)
			q.pushed++
			wake(&q.reader, q.news)
			q.mu.Unlock()
			return true
		}
		if q.ended {
			q.mu.Unlock()
			return false
		}
		q.writer = true
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return false
		}
	}
}

// next waits for updates and takes all of them, reusing the storage of read. It returns nil, and nothing is read any more,
// when the queue has ended and is empty.
func (q *updateQueue) next(read []SessionUpdate) []SessionUpdate {
	clear(read)
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			run := q.waiting
			q.waiting = read[:0]
			wake(&q.writer, q.room)
			q.mu.Unlock()
			return run
		}
		if q.ended {
			q.left = true
			q.settle()
			q.mu.Unlock()
			return nil
		}
		q.reader = true
		q.mu.Unlock()
		<-q.news
	}
}

// end says that nothing more comes.
func (q *updateQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	wake(&q.reader, q.news)
	wake(&q.writer, q.room)
}

// leave says that nobody reads any more, and gives back what was taken and not read.
func (q *updateQueue) leave(unread []SessionUpdate) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = true
	if len(unread) > 0 {
		q.waiting = append(unread, q.waiting...)
	}
	q.settle()
	wake(&q.writer, q.room)
}

// begin says that there is a reader.
func (q *updateQueue) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reading = true
}

// read says that the reader is done with one more update.
func (q *updateQueue) read() {
	q.done.Add(1)
	if q.awaited.Load() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.settle()
	}
}

// hasReader reports whether somebody has begun to read.
func (q *updateQueue) hasReader() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reading
}

// caughtUp returns a channel that is closed when the reader is done with every update pushed so far, or when nobody will read
// any more.
func (q *updateQueue) caughtUp() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := behind{q.pushed, make(chan struct{})}
	q.awaited.Store(true) // before done is looked at: the reader looks the other way round
	q.behind = append(q.behind, b)
	q.settle()
	return b.done
}

// settle tells those who need not wait any more; the caller holds mu.
func (q *updateQueue) settle() {
	free := q.left
	q.behind = slices.DeleteFunc(q.behind, func(b behind) bool {
		if !free && q.done.Load() < b.target {
			return false
		}
		close(b.done)
		return true
	})
	q.awaited.Store(len(q.behind) > 0)
}

// handOver gives what nobody has read to f, in order, once the reader has left; until then it does nothing.
func (q *updateQueue) handOver(f func(SessionUpdate)) {
	q.handing.Lock()
	defer q.handing.Unlock()
	q.mu.Lock()
	if !q.left {
		q.mu.Unlock()
		return
	}
	unread := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, u := range unread {
		f(u)
	}
}
