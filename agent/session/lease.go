package session

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// lease implements [Lease].
type lease struct {
	store   *sqliteStore
	session string
	fence   int64

	mu    sync.Mutex
	state leaseState
}

type leaseState int

const (
	leaseHeld leaseState = iota
	leaseReleased
	leaseLost
)

// Session implements [Lease].
func (l *lease) Session() string { return l.session }

// become leaves leaseHeld for another state; it tells whether it was this call that did.
func (l *lease) become(state leaseState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != leaseHeld {
		return false
	}
	l.state = state
	return true
}

// usable is nil, or why the lease cannot be used any more.
func (l *lease) usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case leaseReleased:
		return errReleased
	case leaseLost:
		return ErrLeaseLost
	}
	return nil
}

var errReleased = errors.New("the lease has been released")

// Acquire implements [Store].
func (s *sqliteStore) Acquire(ctx context.Context, id string) (Lease, error) {
	doing := "acquire session " + id
	if s.leases.get(id) != nil {
		return nil, &HeldError{Session: id, Owner: s.self.name, Until: s.now().Add(s.leaseTime)}
	}
	l := &lease{store: s, session: id}
	err := s.use(ctx, doing, func(db *database) error {
		err := db.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
			row, err := leaseRow(ctx, tx, id)
			if err != nil {
				return err
			}
			if held := s.heldBy(id, row); held != nil && !s.leases.leftBehind(id, row.fence) {
				return held
			}
			l.fence = row.fence + 1
			_, err = tx.ExecContext(ctx, `INSERT INTO leases (session, fence, owner, place, pid, started, expires) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (session) DO UPDATE SET fence = excluded.fence, owner = excluded.owner, place = excluded.place,
					pid = excluded.pid, started = excluded.started, expires = excluded.expires`,
				id, l.fence, s.self.name, s.self.place, s.self.pid, s.self.started, s.expiry())
			return err
		})
		if err == nil {
			s.leases.add(l) // inside use, so that Close releases it
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// leaseOwner is a row of the table leases; the zero value stands for none.
type leaseOwner struct {
	owner
	fence   int64
	expires time.Time
}

// leaseRow gives who has the lease of a session, or ErrNotFound when there is no such session.
func leaseRow(ctx context.Context, tx *sql.Conn, id string) (leaseOwner, error) {
	var row leaseOwner
	var expires int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(l.fence, 0), coalesce(l.owner, ''), coalesce(l.place, ''), coalesce(l.pid, 0), coalesce(l.started, 0), coalesce(l.expires, 0)
		FROM sessions s LEFT JOIN leases l ON l.session = s.id WHERE s.id = ?`, id).
		Scan(&row.fence, &row.name, &row.place, &row.pid, &row.started, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return row, ErrNotFound
	}
	row.expires = time.UnixMicro(expires)
	return row, err
}

// heldBy tells whether somebody holds the lease just now.
func (s *sqliteStore) heldBy(id string, row leaseOwner) error {
	if row.name == "" || !row.expires.After(s.now()) || row.knownDead(s.self) {
		return nil
	}
	return &HeldError{Session: id, Owner: row.name, Until: row.expires}
}

func (s *sqliteStore) expiry() int64 { return s.now().Add(s.leaseTime).UnixMicro() }

// Release implements [Lease].
func (l *lease) Release(ctx context.Context) error {
	if !l.become(leaseReleased) {
		return nil
	}
	l.store.leases.remove(l)
	err := l.store.write(ctx, "release session "+l.session, l.free)
	if errors.Is(err, ErrClosed) { // which has released it
		return nil
	}
	if err != nil { // a full disk, say: the row still names us
		l.store.leases.leave(l)
	}
	return err
}

// free gives the row back, if it is still ours.
func (l *lease) free(ctx context.Context, tx *sql.Conn) error {
	_, err := tx.ExecContext(ctx, "UPDATE leases SET owner = '', expires = 0 WHERE session = ? AND fence = ?", l.session, l.fence)
	return err
}

// lost notes that another writer has the session. It may be called by the renewing goroutine, so it does not wait for it.
func (l *lease) lost() {
	if l.become(leaseLost) {
		l.store.leases.forget(l)
	}
}
