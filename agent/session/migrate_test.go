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
		`INSERT INTO events (session, seq, time, kind, version, data) VALUES ('sess_old', 1, 1, 'session.created', 1, '{"roots":["/project"],"mode":"edits","model":"a/b"}'),
			('sess_old', 2, 2, 'turn.started', 1, '{"turn":"t","message":"u","prompt":[{"type":"text","text":"What is"},{"type":"image","data":"AA=="},{"type":"text","text":"a wallaby?"}]}'),
			('sess_old', 3, 3, 'message.saved', 1, '{"message":"m","speaker":"assistant","text":"A small kanga"}'),
			('sess_old', 4, 4, 'message.saved', 1, '{"message":"m","speaker":"assistant","text":"roo."}'),
			('sess_old', 5, 5, 'turn.started', 1, '{"turn":"c","message":"v","command":"help","prompt":[{"type":"text","text":"/help"}]}'),
			('sess_old', 6, 6, 'message.saved', 1, 'broken')`,
		`UPDATE sessions SET last = 6`)
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
	for text, want := range map[string]int{"old": 1, "what wallaby": 1, "kangaroo": 1, "help": 0} {
		if page, err := s.List(t.Context(), Filter{Text: text}); err != nil || len(page.Sessions) != want {
			t.Errorf("%q finds %+v, %v", text, page.Sessions, err)
		}
	}
	n := 0
	for _, err := range s.Events(t.Context(), "sess_old", 0) {
		if err != nil {
			break // the broken one
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d events", n)
	}
}
