-- +goose Up
-- What the session works with, besides its model: for listings, and for the next session in the same folder.
ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN options TEXT NOT NULL DEFAULT '{}'; -- JSON object of strings
PRAGMA user_version = 2;

-- +goose Down
ALTER TABLE sessions DROP COLUMN options;
ALTER TABLE sessions DROP COLUMN mode;
PRAGMA user_version = 1;
