package session

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode"
)

// ErrNoWords says that a text to search for has no letters and no digits.
var ErrNoWords = errors.New("there is no word to search for")

// searchedBytes bounds how much of one text can be found.
const searchedBytes = 256 << 10

// index keeps what people search for in step with the events.
func index(ctx context.Context, tx *sql.Conn, id string, e Event) error {
	switch d := e.Data.(type) {
	case TurnStarted:
		if d.Command != "" && d.Sent == nil {
			return nil
		}
		return indexText(ctx, tx, id, e.Seq, promptText(d.Prompt))
	case Steered:
		return indexText(ctx, tx, id, e.Seq, promptText(d.Prompt))
	case TurnEnded:
		return indexAnswers(ctx, tx, id, e.Seq)
	}
	return nil
}

func promptText(prompt []Block) string {
	var texts []string
	for _, b := range prompt {
		if b.Type == BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// indexAnswers takes in what was said in the turn that ends with the event numbered last.
func indexAnswers(ctx context.Context, tx *sql.Conn, id string, last int64) error {
	rows, err := tx.QueryContext(ctx, `SELECT seq, kind, version, data FROM events WHERE session = ?1 AND seq < ?2 AND kind = ?3
		AND seq > coalesce((SELECT seq FROM events WHERE session = ?1 AND kind = ?4 ORDER BY seq DESC LIMIT 1), 0) ORDER BY seq`,
		id, last, string(KindMessageSaved), string(KindTurnStarted))
	if err != nil {
		return err
	}
	defer rows.Close()
	type answer struct {
		seq  int64
		text strings.Builder
	}
	var answers []*answer
	byMessage := make(map[string]*answer)
	for rows.Next() {
		var seq int64
		var kind Kind
		var version int
		var raw []byte
		if err := rows.Scan(&seq, &kind, &version, &raw); err != nil {
			return err
		}
		data, err := decode(kind, version, raw)
		saved, ok := data.(MessageSaved)
		if err != nil || !ok || saved.Speaker != Assistant { // a damaged event is for whoever reads the log
			continue
		}
		a := byMessage[saved.Message]
		if a == nil {
			a = &answer{seq: seq}
			byMessage[saved.Message] = a
			answers = append(answers, a)
		}
		a.text.WriteString(saved.Text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, a := range answers {
		if err := indexText(ctx, tx, id, a.seq, a.text.String()); err != nil {
			return err
		}
	}
	return nil
}

// indexText makes a text one that can be found; it replaces the one that began with the same event.
func indexText(ctx context.Context, tx *sql.Conn, id string, seq int64, body string) error {
	if len(body) > searchedBytes {
		body = strings.ToValidUTF8(body[:searchedBytes], "")
	}
	if err := unindex(ctx, tx, "session = ? AND seq = ?", id, seq); err != nil {
		return err
	}
	if strings.TrimSpace(body) == "" {
		return nil
	}
	done, err := tx.ExecContext(ctx, "INSERT INTO texts (session, seq) VALUES (?, ?)", id, seq)
	if err != nil {
		return err
	}
	row, err := done.LastInsertId()
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO search (rowid, body) VALUES (?, ?)", row, body)
	return err
}

// unindex takes texts out of the index and deletes them.
func unindex(ctx context.Context, tx *sql.Conn, where string, args ...any) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM search WHERE rowid IN (SELECT id FROM texts WHERE "+where+")", args...); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM texts WHERE "+where, args...)
	return err
}

// copyTexts makes what a fork holds one that can be found.
func copyTexts(ctx context.Context, tx *sql.Conn, from, to string, last int64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO texts (session, seq) SELECT ?, seq FROM texts WHERE session = ? AND seq <= ?", to, from, last)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO search (rowid, body) SELECT new.id, old.body FROM texts new
		CROSS JOIN texts place ON place.session = ? AND place.seq = new.seq
		CROSS JOIN search old ON old.rowid = place.id WHERE new.session = ?`, from, to)
	return err
}

// matching turns the words of a text into a query of the index: each word, or one that begins with it, in the same
// prompt, answer or title. Everything that is no letter and no digit only separates words, as it does in the index.
func matching(text string) (string, error) {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.M, r) && !unicode.Is(unicode.Co, r)
	})
	if len(words) == 0 {
		return "", ErrNoWords
	}
	return `"` + strings.Join(words, `"* "`) + `"*`, nil
}

// excerpt gives the place in an indexed text that matches.
func excerpt(ctx context.Context, db *database, query string, row int64) (string, error) {
	var text string
	err := db.reader.QueryRowContext(ctx, "SELECT snippet(search, 0, '', '', '…', 20) FROM search WHERE search MATCH ? AND rowid = ?", query, row).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) { // replaced meanwhile
		return "", nil
	}
	return strings.Join(strings.Fields(text), " "), err
}
