package session

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
)

// cursor is a place in a listing. The listing is the one of the moment of its first page: a session that is prompted
// while somebody turns pages keeps its place in it, so that each is seen once; one that is new is not seen.
type cursor struct {
	Folder   string `json:"f"`
	Revision int64  `json:"r"` // of that moment
	Time     int64  `json:"t"` // of the last session shown, as of that moment, in microseconds
	ID       string `json:"i"` // of the last session shown
}

func (c cursor) encode() (string, error) {
	raw, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

func decodeCursor(text, folder string) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return c, ErrBadCursor
	}
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil || c.Revision <= 0 || c.ID == "" {
		return c, ErrBadCursor
	}
	if folder != "" && folder != c.Folder {
		return c, ErrBadCursor
	}
	return c, nil
}

const (
	defaultLimit = 50
	largestLimit = 1000
)

// List implements [Store]. A cursor stands for the folder it was made with: naming another is ErrBadCursor, naming none
// goes on with it.
func (s *sqliteStore) List(ctx context.Context, filter Filter) (page Page, err error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, largestLimit)
	c := cursor{Folder: filter.Folder}
	if filter.Cursor != "" {
		if c, err = decodeCursor(filter.Cursor, filter.Folder); err != nil {
			return Page{}, err
		}
	}
	err = s.use(ctx, "list sessions", func(db *database) error {
		page, err = list(ctx, db, c, limit)
		return err
	})
	return page, err
}

// The first half walks the sessions that have rested since the first page, along an index; the second looks up where
// the few that have moved since were then.
const listQuery = `
SELECT ` + infoColumns + `, place FROM (
	SELECT * FROM (
		SELECT s.*, s.updated AS place FROM sessions s
		WHERE s.revision <= :revision AND {folder}
			AND (s.updated < :time OR s.updated = :time AND s.id > :id)
		ORDER BY s.updated DESC, s.id LIMIT :limit)
	UNION ALL
	SELECT * FROM (
		SELECT s.*, t.at AS place FROM sessions s
		JOIN touches t ON t.revision = (SELECT max(revision) FROM touches WHERE session = s.id AND revision <= :revision)
		WHERE s.revision > :revision AND {folder}
			AND (t.at < :time OR t.at = :time AND s.id > :id)
		ORDER BY t.at DESC, s.id LIMIT :limit))
ORDER BY place DESC, id LIMIT :limit`

func list(ctx context.Context, db *database, c cursor, limit int) (Page, error) {
	if c.Revision == 0 {
		c.Time = math.MaxInt64
		if err := db.reader.QueryRowContext(ctx, "SELECT coalesce(max(revision), 0) FROM touches").Scan(&c.Revision); err != nil {
			return Page{}, err
		}
	}
	here := "TRUE"
	if c.Folder != "" {
		here = "s.folder = :folder"
	}
	rows, err := db.reader.QueryContext(ctx, strings.ReplaceAll(listQuery, "{folder}", here),
		sql.Named("revision", c.Revision), sql.Named("folder", c.Folder), sql.Named("time", c.Time), sql.Named("id", c.ID),
		sql.Named("limit", limit+1)) // one more, to know whether there is another page
	if err != nil {
		return Page{}, err
	}
	defer rows.Close()
	var page Page
	for rows.Next() {
		if len(page.Sessions) == limit {
			page.Next, err = c.encode()
			return page, err
		}
		info, err := scanInfo(rows.Scan, &c.Time)
		if err != nil {
			return Page{}, err
		}
		c.ID = info.ID
		page.Sessions = append(page.Sessions, info)
	}
	return page, errors.Join(rows.Err(), rows.Close())
}
