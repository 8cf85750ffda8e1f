-- +goose Up
CREATE TABLE sessions (
	id       TEXT PRIMARY KEY,
	roots    TEXT NOT NULL,            -- JSON array of absolute paths
	folder   TEXT NOT NULL,            -- the first root
	title    TEXT NOT NULL DEFAULT '',
	title_by TEXT NOT NULL DEFAULT '',
	model    TEXT NOT NULL,
	turns    INTEGER NOT NULL DEFAULT 0,
	last     INTEGER NOT NULL,         -- number of the newest event
	created  INTEGER NOT NULL,         -- all times: microseconds since 1970 UTC
	updated  INTEGER NOT NULL,
	revision INTEGER NOT NULL          -- of the newest touch
) STRICT;
CREATE INDEX sessions_by_time ON sessions (updated DESC, id);
CREATE INDEX sessions_by_folder ON sessions (folder, updated DESC, id);
CREATE INDEX sessions_by_revision ON sessions (revision);

-- Every moment that moved a session to the top of the listing. A listing in pages shows the order as of its first
-- page, whatever happens meanwhile; revisions are never reused, so they tell before from after when clocks do not.
CREATE TABLE touches (
	revision INTEGER PRIMARY KEY AUTOINCREMENT,
	session  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	at       INTEGER NOT NULL
) STRICT;
CREATE INDEX touches_by_session ON touches (session, revision);

CREATE TABLE events (
	session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq     INTEGER NOT NULL,
	time    INTEGER NOT NULL,
	kind    TEXT NOT NULL,
	version INTEGER NOT NULL,
	data    TEXT NOT NULL,             -- JSON
	PRIMARY KEY (session, seq)
) STRICT;

-- A row stays when its lease is released, so that fences only rise.
CREATE TABLE leases (
	session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
	fence   INTEGER NOT NULL,
	owner   TEXT NOT NULL,             -- for people; empty when released
	place   TEXT NOT NULL,             -- where pid means something: machine start and process namespace; may be empty
	pid     INTEGER NOT NULL,
	started INTEGER NOT NULL,          -- the process's start, as the system counts it; 0 when not known
	expires INTEGER NOT NULL
) STRICT;

PRAGMA application_id = 2003333753; -- "whry"
PRAGMA user_version = 1;

-- +goose Down
DROP TABLE leases;
DROP TABLE events;
DROP TABLE touches;
DROP TABLE sessions;
PRAGMA user_version = 0;
