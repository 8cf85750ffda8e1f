package session

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// leaseTable is the leases that this store holds and the goroutine that renews them.
type leaseTable struct {
	mu      sync.Mutex
	held    map[string]*lease // by session
	left    map[string]int64  // fence of what could not be released in the database, by session
	renewer *renewer          // nil when none runs
}

type renewer struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *renewer) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}

// get gives the lease held of a session, or nil.
func (t *leaseTable) get(session string) *lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held[session]
}

func (t *leaseTable) all() []*lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*lease, 0, len(t.held))
	for _, l := range t.held {
		all = append(all, l)
	}
	return all
}

func (t *leaseTable) add(l *lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = make(map[string]*lease)
	}
	t.held[l.session] = l
	delete(t.left, l.session)
	if t.renewer == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t.renewer = &renewer{cancel: cancel, done: make(chan struct{})}
		go l.store.renew(ctx, t.renewer.done)
	}
}

// leave notes that the database still names this store as the holder of a lease that has been released.
func (t *leaseTable) leave(l *lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left == nil {
		t.left = make(map[string]int64)
	}
	t.left[l.session] = l.fence
}

// leftBehind tells whether a lease in the database is one that this store has released.
func (t *leaseTable) leftBehind(session string, fence int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	left, ok := t.left[session]
	return ok && left == fence
}

// forget takes a lease out. The goroutine may go on for nothing; remove and stop end it.
func (t *leaseTable) forget(l *lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[l.session] == l {
		delete(t.held, l.session)
	}
}

// remove takes a lease out and, with the last one, ends the goroutine and waits for it.
func (t *leaseTable) remove(l *lease) {
	t.forget(l)
	t.mu.Lock()
	var idle *renewer
	if len(t.held) == 0 {
		idle, t.renewer = t.renewer, nil
	}
	t.mu.Unlock()
	idle.stop()
}

// stop ends the goroutine and waits for it. The leases stay in the table.
func (t *leaseTable) stop() {
	t.mu.Lock()
	idle := t.renewer
	t.renewer = nil
	t.mu.Unlock()
	idle.stop()
}

// renew moves the expiry of every held lease on, three times before it comes.
func (s *sqliteStore) renew(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(s.leaseTime / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.renewOnce(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("session leases could not be renewed", "error", err)
		}
	}
}

func (s *sqliteStore) renewOnce(ctx context.Context) error {
	held := s.leases.all()
	if len(held) == 0 {
		return nil
	}
	var lost []*lease
	err := s.use(ctx, "renew leases", func(db *database) error {
		return db.writeUnsynced(ctx, func(ctx context.Context, tx *sql.Conn) error {
			for _, l := range held {
				done, err := tx.ExecContext(ctx, "UPDATE leases SET expires = ? WHERE session = ? AND fence = ? AND owner <> ''", s.expiry(), l.session, l.fence)
				if err != nil {
					return err
				}
				if n, err := done.RowsAffected(); err == nil && n == 0 {
					lost = append(lost, l)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, l := range lost {
		l.lost()
	}
	return nil
}

// releaseAll gives every held lease back when the store closes.
func (s *sqliteStore) releaseAll(db *database) error {
	held := s.leases.all()
	if len(held) == 0 {
		return nil
	}
	for _, l := range held {
		l.become(leaseReleased)
		s.leases.forget(l)
	}
	return db.write(context.Background(), func(ctx context.Context, tx *sql.Conn) error {
		for _, l := range held {
			if err := l.free(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
}
