-- +goose Up
-- What people look for: the title of a session (seq 0), its prompts and its answers. The index holds the texts themselves,
-- under these ids; this table is small, so that many matches are quickly sorted into sessions.
CREATE TABLE texts (
	id      INTEGER PRIMARY KEY,
	session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq     INTEGER NOT NULL           -- of the event that the text begins with
) STRICT;
CREATE UNIQUE INDEX texts_by_session ON texts (session, seq);
CREATE VIRTUAL TABLE search USING fts5 (body, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);

CREATE TABLE found (id INTEGER PRIMARY KEY, session TEXT, seq INTEGER, body TEXT);
INSERT INTO found (session, seq, body)
	SELECT id, 0, title FROM sessions WHERE title <> '';
INSERT INTO found (session, seq, body)
	SELECT e.session, e.seq, substr(group_concat(b.value ->> 'text', char(10)), 1, 262144)
	FROM events e, json_each(CASE WHEN json_valid(e.data) THEN e.data ELSE '{}' END, '$.prompt') b
	WHERE e.kind IN ('turn.started', 'turn.steered') AND b.value ->> 'type' = 'text'
		AND coalesce(CASE WHEN json_valid(e.data) THEN e.data ->> 'command' END, '') = ''
	GROUP BY e.session, e.seq;
INSERT INTO found (session, seq, body)
	SELECT session, min(seq), substr(group_concat(body, ''), 1, 262144) FROM (
		SELECT session, seq, data ->> 'message' AS message, data ->> 'text' AS body FROM events
		WHERE kind = 'message.saved' AND json_valid(data) AND data ->> 'speaker' = 'assistant'
		ORDER BY session, seq)
	GROUP BY session, message;
INSERT INTO texts (id, session, seq) SELECT id, session, seq FROM found;
INSERT INTO search (rowid, body) SELECT id, body FROM found;
DROP TABLE found;
PRAGMA user_version = 3;

-- +goose Down
DROP TABLE search;
DROP TABLE texts;
PRAGMA user_version = 2;
