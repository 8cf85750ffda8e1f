package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/go-json-experiment/json"
)

// batchBytes is about how much of a log is in memory at once while it is read.
const batchBytes = 1 << 20

// Events implements [Store]. Between yields it holds neither a lock nor a transaction, so the loop may take its time and
// use the store.
func (s *sqliteStore) Events(ctx context.Context, id string, after int64) iter.Seq2[Event, error] {
	doing := "read session " + id
	return func(yield func(Event, error) bool) {
		after := max(after, 0)
		for first := true; ; first = false {
			var batch []Event
			err := s.use(ctx, doing, func(db *database) (err error) {
				batch, err = s.readBatch(ctx, db, id, after)
				if err == nil && first && len(batch) == 0 {
					_, err = readInfo(ctx, db, id) // nothing new, or no such session
				}
				return err
			})
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
				after = e.Seq
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if len(batch) == 0 {
				return
			}
		}
	}
}

// readBatch reads the next events, those before a broken one included.
func (s *sqliteStore) readBatch(ctx context.Context, db *database, id string, after int64) ([]Event, error) {
	rows, err := db.reader.QueryContext(ctx, "SELECT seq, time, kind, version, data FROM events WHERE session = ? AND seq > ? ORDER BY seq", id, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var batch []Event
	for size := 0; size < batchBytes && rows.Next(); {
		var micros int64
		var version int
		var kind Kind
		var raw []byte
		e := Event{Session: id}
		if err := rows.Scan(&e.Seq, &micros, &kind, &version, &raw); err != nil {
			return batch, err
		}
		after++
		if e.Seq != after {
			return batch, &StoreError{Path: s.file.path, Kind: FaultDamaged, Err: fmt.Errorf("session %s: event %d is missing", id, after)}
		}
		if e.Data, err = decode(kind, version, raw); err != nil {
			return batch, &StoreError{Path: s.file.path, Kind: FaultDamaged, Err: fmt.Errorf("session %s, event %d: %w", id, e.Seq, err)}
		}
		e.Time = time.UnixMicro(micros).UTC()
		batch = append(batch, e)
		size += len(raw)
	}
	return batch, errors.Join(rows.Err(), rows.Close())
}

// infoColumns are what scanInfo reads.
const infoColumns = "id, roots, title, model, turns, created, updated, mode, options"

func scanInfo(scan func(...any) error, more ...any) (Info, error) {
	var info Info
	var roots, options []byte
	var created, updated int64
	if err := scan(append([]any{&info.ID, &roots, &info.Title, &info.Model, &info.Turns, &created, &updated, &info.Mode, &options}, more...)...); err != nil {
		return Info{}, err
	}
	if err := json.Unmarshal(roots, &info.Roots); err != nil {
		return Info{}, fmt.Errorf("folders of session %s: %w", info.ID, err)
	}
	if err := json.Unmarshal(options, &info.Options); err != nil {
		return Info{}, fmt.Errorf("options of session %s: %w", info.ID, err)
	}
	if len(info.Options) == 0 {
		info.Options = nil
	}
	info.Created, info.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return info, nil
}

func readInfo(ctx context.Context, db *database, id string) (Info, error) {
	info, err := scanInfo(db.reader.QueryRowContext(ctx, "SELECT "+infoColumns+" FROM sessions WHERE id = ?", id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Info{}, ErrNotFound
	}
	return info, err
}

// Get implements [Store].
func (s *sqliteStore) Get(ctx context.Context, id string) (info Info, err error) {
	err = s.use(ctx, "look up session "+id, func(db *database) error {
		info, err = readInfo(ctx, db, id)
		return err
	})
	return info, err
}

// Delete implements [Store].
func (s *sqliteStore) Delete(ctx context.Context, id string) error {
	own := s.leases.get(id)
	return s.use(ctx, "delete session "+id, func(db *database) error {
		err := db.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
			row, err := leaseRow(ctx, tx, id)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			if own == nil || own.fence != row.fence {
				if held := s.heldBy(id, row); held != nil {
					return held
				}
			}
			if err := unindex(ctx, tx, "session = ?", id); err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ?", id)
			return err
		})
		if err != nil {
			return err
		}
		if own != nil {
			s.leases.forget(own)
		}
		return db.shrink(ctx)
	})
}

// shrink takes what was deleted out of the files. It is best effort: another process may be reading.
func (db *database) shrink(ctx context.Context) error {
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return nil //nolint:nilerr // the session is deleted
	}
	defer conn.Close()
	for _, pragma := range []string{"PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		rows, err := conn.QueryContext(ctx, pragma)
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		for rows.Next() { // a row a page
		}
		_ = rows.Close()
	}
	return nil
}
