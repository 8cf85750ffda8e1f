package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// Create implements [Store].
func (s *sqliteStore) Create(ctx context.Context, id string, first Created) error {
	doing := "create session " + id
	if id == "" {
		return errors.New("create session: the id is empty")
	}
	if len(first.Roots) == 0 {
		return fmt.Errorf("%s: it has no folder", doing)
	}
	return s.write(ctx, doing, func(ctx context.Context, tx *sql.Conn) error {
		at := stamp(s.now())
		roots, err := json.Marshal(first.Roots)
		if err != nil {
			return err
		}
		options, err := encodeOptions(first.Options)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO sessions (id, roots, folder, model, mode, options, last, created, updated, revision) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, 0)",
			id, string(roots), first.Roots[0], first.Model, string(first.Mode), options, at.UnixMicro(), at.UnixMicro())
		if err != nil {
			return err
		}
		if err := touch(ctx, tx, id, at); err != nil {
			return err
		}
		_, err = insertEvents(ctx, tx, id, 0, at, []Data{first})
		return err
	})
}

// Append implements [Lease].
func (l *lease) Append(ctx context.Context, data ...Data) ([]Event, error) {
	doing := "append to session " + l.session
	if err := l.usable(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	var events []Event
	err := l.store.write(ctx, doing, func(ctx context.Context, tx *sql.Conn) error {
		last, titledBy, err := l.check(ctx, tx)
		if err != nil {
			return err
		}
		at := stamp(l.store.now())
		if events, err = insertEvents(ctx, tx, l.session, last, at, data); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE leases SET expires = ? WHERE session = ?", l.store.expiry(), l.session)
		if err != nil {
			return err
		}
		return describe(ctx, tx, l.session, titledBy, at, events)
	})
	if err != nil {
		if errors.Is(err, ErrLeaseLost) {
			l.lost()
		}
		return nil, err
	}
	return events, nil
}

// check compares the fence, and gives the number of the newest event and who made the title.
func (l *lease) check(ctx context.Context, tx *sql.Conn) (last int64, titledBy string, err error) {
	var fence int64
	err = tx.QueryRowContext(ctx, "SELECT s.last, s.title_by, l.fence FROM sessions s JOIN leases l ON l.session = s.id WHERE s.id = ?", l.session).
		Scan(&last, &titledBy, &fence)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, "", ErrNotFound
	case err != nil:
		return 0, "", err
	case fence != l.fence:
		return 0, "", ErrLeaseLost
	}
	return last, titledBy, nil
}

// insertEvents stores data after the event numbered last.
func insertEvents(ctx context.Context, tx *sql.Conn, id string, last int64, at time.Time, data []Data) ([]Event, error) {
	insert, err := tx.PrepareContext(ctx, "INSERT INTO events (session, seq, time, kind, version, data) VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return nil, err
	}
	defer insert.Close()
	events := make([]Event, 0, len(data))
	for _, d := range data {
		if _, again := d.(Created); again && last > 0 {
			return nil, fmt.Errorf("event %s: only the first event of a session can be that", KindCreated)
		}
		raw, stored, err := encode(d)
		if err != nil {
			return nil, err
		}
		last++
		if _, err := insert.ExecContext(ctx, id, last, at.UnixMicro(), string(d.Kind()), dataVersion, string(raw)); err != nil {
			return nil, err
		}
		events = append(events, Event{Session: id, Seq: last, Time: at, Data: stored})
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET last = ? WHERE id = ?", last, id)
	return events, err
}

// describe keeps the row of the session, which listings are made from, in step with its events.
func describe(ctx context.Context, tx *sql.Conn, id, titledBy string, at time.Time, events []Event) error {
	touched := false
	for _, e := range events {
		err := index(ctx, tx, id, e)
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case Titled:
			if titledBy == byPerson && d.By != byPerson {
				continue
			}
			titledBy, touched = d.By, true
			if err = indexText(ctx, tx, id, 0, d.Title); err == nil {
				_, err = tx.ExecContext(ctx, "UPDATE sessions SET title = ?, title_by = ? WHERE id = ?", d.Title, d.By, id)
			}
		case Configured:
			err = configure(ctx, tx, id, d)
		case Rooted:
			if len(d.Roots) == 0 {
				return fmt.Errorf("event %s: it has no folder", KindRooted)
			}
			var roots []byte
			if roots, err = json.Marshal(d.Roots); err == nil {
				_, err = tx.ExecContext(ctx, "UPDATE sessions SET roots = ?, folder = ? WHERE id = ?", string(roots), d.Roots[0], id)
			}
		case TurnStarted:
			touched = true
			_, err = tx.ExecContext(ctx, "UPDATE sessions SET turns = turns + 1 WHERE id = ?", id)
		case TurnEnded:
			touched = true
		}
		if err != nil {
			return err
		}
	}
	if !touched {
		return nil
	}
	return touch(ctx, tx, id, at)
}

// configure keeps what the session works with.
func configure(ctx context.Context, tx *sql.Conn, id string, d Configured) error {
	var raw []byte
	if err := tx.QueryRowContext(ctx, "SELECT options FROM sessions WHERE id = ?", id).Scan(&raw); err != nil {
		return err
	}
	var before map[string]string
	if err := json.Unmarshal(raw, &before); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	options, err := encodeOptions(mergeOptions(before, d.Options))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET model = coalesce(nullif(?, ''), model), mode = coalesce(nullif(?, ''), mode), options = ? WHERE id = ?",
		d.Model, string(d.Mode), options, id)
	return err
}

// encodeOptions gives the JSON of options, in the order of their names.
func encodeOptions(options map[string]string) (string, error) {
	if options == nil {
		return "{}", nil
	}
	raw, err := json.Marshal(options, json.Deterministic(true))
	return string(raw), err
}

// touch moves the session to the top of the listing.
func touch(ctx context.Context, tx *sql.Conn, id string, at time.Time) error {
	done, err := tx.ExecContext(ctx, "INSERT INTO touches (session, at) VALUES (?, ?)", id, at.UnixMicro())
	if err != nil {
		return err
	}
	revision, err := done.LastInsertId()
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET updated = ?, revision = ? WHERE id = ?", at.UnixMicro(), revision, id)
	return err
}

// stamp is the time as it is stored.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
