package acp

import (
	"context"
	"sync"
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
	wake(&q.writer, q.room)
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
