package session

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
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

// words gives the words of a text with their places, as the index cuts them: everything that is no letter and no digit
// only separates.
func words(text string) (places [][2]int) {
	begin := -1
	for i, r := range text {
		in := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r) || unicode.Is(unicode.Co, r)
		switch {
		case in && begin < 0:
			begin = i
		case !in && begin >= 0:
			places, begin = append(places, [2]int{begin, i}), -1
		}
	}
	if begin >= 0 {
		places = append(places, [2]int{begin, len(text)})
	}
	return places
}

// matching turns the words of a text into a query of the index: each word, or one that begins with it, in the same
// prompt, answer or title.
func matching(text string) (string, error) {
	var query []string
	for _, w := range words(text) {
		query = append(query, `"`+text[w[0]:w[1]]+`"*`)
	}
	if len(query) == 0 {
		return "", ErrNoWords
	}
	return strings.Join(query, " "), nil
}

// Of a text that matches, so many words are shown before and after the first one that does.
const (
	wordsBefore = 6
	wordsAfter  = 18
)

// excerpt gives the place in an indexed text where it matches what was looked for.
func excerpt(ctx context.Context, db *database, sought string, row int64) (string, error) {
	var body string
	err := db.reader.QueryRowContext(ctx, "SELECT body FROM search WHERE rowid = ?", row).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) { // replaced meanwhile
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return around(body, sought), nil
}

// around cuts a line out of a text, round its first word that begins with one of those sought.
func around(body, sought string) string {
	var prefixes []string
	for _, w := range words(sought) {
		prefixes = append(prefixes, folded(sought[w[0]:w[1]]))
	}
	places := words(body)
	at := max(0, slices.IndexFunc(places, func(w [2]int) bool {
		word := folded(body[w[0]:w[1]])
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
	}))
	begin, end, before, after := 0, len(body), "", ""
	if at > wordsBefore {
		begin, before = places[at-wordsBefore][0], "…"
	}
	if at+wordsAfter < len(places) {
		end, after = places[at+wordsAfter][1], "…"
	}
	return before + strings.Join(strings.Fields(body[begin:end]), " ") + after
}

// folded is a word without what makes no difference: case and accents.
func folded(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(word))
}
