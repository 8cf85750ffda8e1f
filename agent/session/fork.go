package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Forked says that everything before it was copied from another session, whose newest copied event was numbered Seq.
// That the person allowed every edit holds for the other session alone.
type Forked struct {
	Parent string `json:"parent"`
	Seq    int64  `json:"seq"`
}

// Kind implements [Data].
func (Forked) Kind() Kind { return KindForked }

// Fork implements [Store].
func (s *sqliteStore) Fork(ctx context.Context, parent, id string) error {
	doing := "fork session " + parent
	if id == "" {
		return errors.New(doing + ": the new id is empty")
	}
	return s.write(ctx, doing, func(ctx context.Context, tx *sql.Conn) error {
		row, err := leaseRow(ctx, tx, parent)
		if err != nil {
			return err
		}
		last, err := settled(ctx, tx, parent, s.heldBy(parent, row) != nil)
		if err != nil {
			return err
		}
		at := stamp(s.now())
		_, err = tx.ExecContext(ctx, `INSERT INTO sessions (id, roots, folder, title, title_by, model, mode, options, turns, last, created, updated, revision)
			SELECT ?, roots, folder, title, title_by, model, mode, options,
				(SELECT count(*) FROM events WHERE session = ? AND seq <= ? AND kind = ?), 0, ?, ?, 0
			FROM sessions WHERE id = ?`, id, parent, last, string(KindTurnStarted), at.UnixMicro(), at.UnixMicro(), parent)
		if err != nil {
			return err
		}
		newest, err := copyEvents(ctx, tx, parent, id, last)
		if err != nil {
			return err
		}
		if err := copyTexts(ctx, tx, parent, id, last); err != nil {
			return err
		}
		if err := touch(ctx, tx, id, at); err != nil {
			return err
		}
		_, err = insertEvents(ctx, tx, id, newest, at, []Data{Forked{Parent: parent, Seq: last}})
		return err
	})
}

// settled gives the number of the newest event that a copy takes: the newest of all or, while somebody runs a turn, the one
// before that turn.
func settled(ctx context.Context, tx *sql.Conn, id string, held bool) (int64, error) {
	var last, started, ended int64
	err := tx.QueryRowContext(ctx, `SELECT last,
		coalesce((SELECT seq FROM events WHERE session = id AND kind = ? ORDER BY seq DESC LIMIT 1), 0),
		coalesce((SELECT seq FROM events WHERE session = id AND kind = ? ORDER BY seq DESC LIMIT 1), 0)
		FROM sessions WHERE id = ?`, string(KindTurnStarted), string(KindTurnEnded), id).Scan(&last, &started, &ended)
	if held && started > ended {
		last = started - 1
	}
	return last, err
}

// copyEvents copies the events up to last as they are stored. Of those after it only what the session row shows is
// copied: its title, its settings and its folders.
func copyEvents(ctx context.Context, tx *sql.Conn, from, to string, last int64) (newest int64, err error) {
	_, err = tx.ExecContext(ctx, `INSERT INTO events (session, seq, time, kind, version, data)
		SELECT ?, seq, time, kind, version, data FROM events WHERE session = ? AND seq <= ?`, to, from, last)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO events (session, seq, time, kind, version, data)
		SELECT ?, ? + row_number() OVER (ORDER BY seq), time, kind, version, data FROM events
		WHERE session = ? AND seq > ? AND kind IN (?, ?, ?)`,
		to, last, from, last, string(KindTitled), string(KindConfigured), string(KindRooted))
	if err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT max(seq) FROM events WHERE session = ?", to).Scan(&newest); err != nil {
		return 0, fmt.Errorf("count what was copied: %w", err)
	}
	return newest, nil
}
