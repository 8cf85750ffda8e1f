package session

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/wherry-acp/wherry/agent/approval"
)

func TestAStoreOfAnOlderVersionIsBroughtUpToDateWithItsSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	db := raw(t, path)
	run(t, db, "PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL")
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	run(t, db,
		`INSERT INTO sessions (id, roots, folder, title, model, turns, last, created, updated, revision) VALUES ('sess_old', '["/project"]', '/project', 'Old', 'a/b', 1, 1, 1, 1, 1)`,
		`INSERT INTO touches (session, at) VALUES ('sess_old', 1)`,
		`INSERT INTO events (session, seq, time, kind, version, data) VALUES ('sess_old', 1, 1, 'session.created', 1, '{"roots":["/project"],"mode":"edits","model":"a/b"}')`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	s := openFile(t, path)
	info, err := s.Get(t.Context(), "sess_old")
	if err != nil || info.Title != "Old" || info.Model != "a/b" || info.Mode != "" || info.Options != nil {
		t.Fatalf("%+v, %v", info, err)
	}
	l, err := s.Acquire(t.Context(), "sess_old")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), Configured{Mode: approval.ModeAsk, Options: map[string]string{"busy": "steer"}}); err != nil {
		t.Fatal(err)
	}
	if info, err = s.Get(t.Context(), "sess_old"); err != nil || info.Mode != approval.ModeAsk || info.Options["busy"] != "steer" {
		t.Errorf("%+v, %v", info, err)
	}
	n := 0
	for _, err := range s.Events(t.Context(), "sess_old", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
}
