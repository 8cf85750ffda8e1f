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
	Text     string `json:"q,omitzero"`
	Revision int64  `json:"r"` // of that moment
	Time     int64  `json:"t"` // of the last session shown, as of that moment, in microseconds
	ID       string `json:"i"` // of the last session shown
}

func (c cursor) encode() (string, error) {
	raw, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

func decodeCursor(filter Filter) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.Strict().DecodeString(filter.Cursor)
	if err != nil {
		return c, ErrBadCursor
	}
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil || c.Revision <= 0 || c.ID == "" {
		return c, ErrBadCursor
	}
	if filter.Folder != "" && filter.Folder != c.Folder || filter.Text != "" && filter.Text != c.Text {
		return c, ErrBadCursor
	}
	return c, nil
}

const (
	defaultLimit = 50
	largestLimit = 1000
)

// List implements [Store]. A cursor stands for the folder and the text it was made with: naming others is ErrBadCursor,
// naming none goes on with them.
func (s *sqliteStore) List(ctx context.Context, filter Filter) (page Page, err error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, largestLimit)
	c := cursor{Folder: filter.Folder, Text: filter.Text}
	if filter.Cursor != "" {
		if c, err = decodeCursor(filter); err != nil {
			return Page{}, err
		}
	}
	query := ""
	if c.Text != "" {
		if query, err = matching(c.Text); err != nil {
			return Page{}, err
		}
	}
	err = s.use(ctx, "list sessions", func(db *database) error {
		page, err = list(ctx, db, c, query, limit)
		return err
	})
	return page, err
}

// The first half walks the sessions that have rested since the first page, along an index; the second looks up where
// the few that have moved since were then.
const listQuery = `
SELECT ` + infoColumns + `, place, {hit} FROM (
	SELECT * FROM (
		SELECT s.*, s.updated AS place FROM sessions s
		WHERE s.revision <= :revision AND {here}
			AND (s.updated < :time OR s.updated = :time AND s.id > :id)
		ORDER BY s.updated DESC, s.id LIMIT :limit)
	UNION ALL
	SELECT * FROM (
		SELECT s.*, t.at AS place FROM sessions s
		JOIN touches t ON t.revision = (SELECT max(revision) FROM touches WHERE session = s.id AND revision <= :revision)
		WHERE s.revision > :revision AND {here}
			AND (t.at < :time OR t.at = :time AND s.id > :id)
		ORDER BY t.at DESC, s.id LIMIT :limit))
ORDER BY place DESC, id LIMIT :limit`

// hitsQuery finds the sessions with a text that matches, and the newest such text, 0 when it is the title alone.
const hitsQuery = `
WITH hits AS MATERIALIZED (
	SELECT t.session AS session, coalesce(max(CASE WHEN t.seq > 0 THEN t.id END), 0) AS text
	FROM search CROSS JOIN texts t ON t.id = search.rowid WHERE search MATCH :query GROUP BY t.session)`

func list(ctx context.Context, db *database, c cursor, query string, limit int) (Page, error) {
	if c.Revision == 0 {
		c.Time = math.MaxInt64
		if err := db.reader.QueryRowContext(ctx, "SELECT coalesce(max(revision), 0) FROM touches").Scan(&c.Revision); err != nil {
			return Page{}, err
		}
	}
	ask, here, hit := listQuery, "TRUE", "0"
	if c.Folder != "" {
		here = "s.folder = :folder"
	}
	if query != "" {
		ask, here, hit = hitsQuery+listQuery, here+" AND s.id IN (SELECT session FROM hits)", "(SELECT text FROM hits WHERE session = id)"
	}
	rows, err := db.reader.QueryContext(ctx, strings.NewReplacer("{here}", here, "{hit}", hit).Replace(ask),
		sql.Named("revision", c.Revision), sql.Named("folder", c.Folder), sql.Named("time", c.Time), sql.Named("id", c.ID),
		sql.Named("limit", limit+1), sql.Named("query", query)) // one more, to know whether there is another page
	if err != nil {
		return Page{}, err
	}
	defer rows.Close()
	var page Page
	var hits []int64
	for rows.Next() {
		if len(page.Sessions) == limit {
			if page.Next, err = c.encode(); err != nil {
				return Page{}, err
			}
			break
		}
		var hit int64
		info, err := scanInfo(rows.Scan, &c.Time, &hit)
		if err != nil {
			return Page{}, err
		}
		c.ID = info.ID
		page.Sessions, hits = append(page.Sessions, info), append(hits, hit)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return Page{}, err
	}
	for i, hit := range hits {
		if hit == 0 {
			continue
		}
		if page.Sessions[i].Match, err = excerpt(ctx, db, c.Text, hit); err != nil {
			return Page{}, err
		}
	}
	return page, nil
}
