package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options tune a store. The zero value is ready to use.
type Options struct {
	// Program is what people call this program when it holds a session: "wherry acp". Empty means "wherry".
	Program string
	// LeaseTime is how long a lease outlives a holder that cannot be seen to be dead. 0 means 30 seconds.
	LeaseTime time.Duration
	// Logger gets what goes wrong in the background. Nil discards it.
	Logger *slog.Logger
}

// ErrClosed is returned by everything that a closed store is asked to do.
var ErrClosed = errors.New("the session store is closed")

// sqliteStore keeps sessions in one SQLite database. Its locks are taken in the order of its fields.
type sqliteStore struct {
	file      storeFile
	self      owner
	leaseTime time.Duration
	logger    *slog.Logger
	now       func() time.Time

	life   sync.RWMutex // held shared by every operation, alone by Close
	closed bool

	opening sync.Mutex
	opened  *database // nil until first used

	leases leaseTable
}

// OpenSQLite gives the store in the SQLite file at the absolute path. The file is created when it is first needed,
// readable by this user alone, in a folder of the same kind; nothing is touched before the first use, and what is wrong
// with the file is a [*StoreError] then. Several processes may use the file at once. It must be on a local disk.
func OpenSQLite(path string, opts Options) (Store, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("open session store %q: the path must be absolute", path)
	}
	return newSQLite(fileOnDisk(path), opts), nil
}

// NewMemory gives an empty store that is gone when it is closed or the process ends.
func NewMemory() Store { return newSQLite(fileInMemory(), Options{}) }

func newSQLite(file storeFile, opts Options) *sqliteStore {
	if opts.Program == "" {
		opts.Program = "wherry"
	}
	if opts.LeaseTime <= 0 {
		opts.LeaseTime = 30 * time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &sqliteStore{
		file:      file,
		self:      thisProcess(opts.Program),
		leaseTime: opts.LeaseTime,
		logger:    opts.Logger,
		now:       time.Now,
	}
}

// use runs do with the open database, which stays open meanwhile. doing says what for, in errors.
func (s *sqliteStore) use(ctx context.Context, doing string, do func(db *database) error) error {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return ErrClosed
	}
	db, err := s.open(ctx)
	if err != nil {
		return s.file.fault(doing, err)
	}
	return s.file.fault(doing, do(db))
}

// write runs do in one transaction of the only writer. It is done and on the disk, or nothing has changed. ctx ends the
// wait for other writers; once begun, the transaction is not left half way, so that its outcome is always known.
func (s *sqliteStore) write(ctx context.Context, doing string, do func(ctx context.Context, tx *sql.Conn) error) error {
	return s.use(ctx, doing, func(db *database) error { return db.write(ctx, do) })
}

// open gives the database, opened by the first caller. A failure is not remembered: the person may have put it right.
func (s *sqliteStore) open(ctx context.Context) (*database, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.opened != nil {
		return s.opened, s.file.there(s.opened)
	}
	db, err := s.file.open(ctx)
	if err != nil {
		return nil, err
	}
	s.opened = db
	return db, nil
}

// Close implements [Store].
func (s *sqliteStore) Close() error {
	s.leases.stop() // which may be waiting for another process
	s.life.Lock()
	if s.closed {
		s.life.Unlock()
		return nil
	}
	s.closed = true
	s.life.Unlock() // whoever was inside is out, and nobody enters any more

	s.leases.stop() // one that was started meanwhile
	if s.opened == nil {
		return nil
	}
	err := s.releaseAll(s.opened)
	return s.file.fault("close the session store", errors.Join(err, s.opened.close()))
}

// database is an open file.
type database struct {
	info   os.FileInfo // of the file; nil for a database in memory
	writer *sql.DB     // one connection; writers queue for it
	reader *sql.DB     // several, read only
	anchor *sql.Conn   // keeps a database in memory from vanishing; nil for a file
}

func (db *database) close() error {
	var err error
	if db.anchor != nil {
		err = db.anchor.Close()
	}
	// The writer last: it empties and removes the write-ahead log, which it cannot while others look at it.
	return errors.Join(err, db.reader.Close(), db.writer.Close())
}

func (db *database) write(ctx context.Context, do func(ctx context.Context, tx *sql.Conn) error) error {
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return transact(ctx, conn, do)
}

// writeUnsynced is write for what may be forgotten by a power cut. It does not keep an idle disk awake.
func (db *database) writeUnsynced(ctx context.Context, do func(ctx context.Context, tx *sql.Conn) error) error {
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return err
	}
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = FULL"); err != nil {
			discard(conn) // the next one is opened with it
		}
	}()
	return transact(ctx, conn, do)
}

func transact(ctx context.Context, conn *sql.Conn, do func(ctx context.Context, tx *sql.Conn) error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			rollback(conn)
		}
	}()
	ctx = context.WithoutCancel(ctx)
	if err := do(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	committed = true
	return nil
}

// rollback ends the transaction without a trace. After some failures SQLite has done so by itself; a connection that
// cannot be brought out of the transaction is thrown away.
func rollback(conn *sql.Conn) {
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		discard(conn)
	}
}

func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which is all that it can return
}
