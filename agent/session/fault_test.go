package session

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func openFile(t *testing.T, path string) *sqliteStore {
	t.Helper()
	s := newSQLite(fileOnDisk(path), Options{})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// raw opens the file as another program would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := fileOnDisk(path).connect("_busy_timeout=0")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// wantFault checks that the error is for people: what, where, and what to do.
func wantFault(t *testing.T, err error, kind StoreFault, path string, says ...string) {
	t.Helper()
	var fault *StoreError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a StoreError", err)
	}
	if fault.Kind != kind || fault.Path != path || fault.Err == nil {
		t.Errorf("got kind %q of %q, want %q of %q: %v", fault.Kind, fault.Path, kind, path, err)
	}
	for _, say := range append(says, path) {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("%q does not say %q", err, say)
		}
	}
	t.Log(err)
}

func TestAFileThatIsNoStoreIsRefusedAndLeftAlone(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(t *testing.T, path string)
		kind StoreFault
		says string
	}{
		{"something else", func(t *testing.T, path string) { write(t, path, strings.Repeat("Dear diary\n", 1000)) }, FaultNotDatabase, "move it away"},
		{"a short text", func(t *testing.T, path string) { write(t, path, "x") }, FaultNotDatabase, "move it away"},
		{"another program's database", func(t *testing.T, path string) { run(t, raw(t, path), "CREATE TABLE mail (body TEXT)") }, FaultNotDatabase, "another program"},
		{"another program's marked database", func(t *testing.T, path string) { run(t, raw(t, path), "PRAGMA application_id = 7") }, FaultNotDatabase, "another program"},
		{"a newer store", func(t *testing.T, path string) {
			s := openFile(t, path)
			newSession(t, s, "sess_a")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			run(t, raw(t, path), "PRAGMA user_version = 99")
		}, FaultNewer, "update wherry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			test.make(t, path)
			before := contents(t, path)
			for range 2 {
				_, err := openFile(t, path).List(t.Context(), Filter{})
				wantFault(t, err, test.kind, path, test.says)
				err = openFile(t, path).Create(t.Context(), "sess_b", Created{Roots: []string{"/project"}})
				wantFault(t, err, test.kind, path, test.says)
			}
			if !bytes.Equal(before, contents(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestAPathThatCannotBeAStoreIsRefused(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "file"), "x")
	below := filepath.Join(folder, "file", "wherry", "sessions.db")
	_, err := openFile(t, below).List(t.Context(), Filter{})
	wantFault(t, err, FaultFolder, below, "WHERRY_STATE")
	_, err = openFile(t, folder).List(t.Context(), Filter{})
	wantFault(t, err, FaultNotDatabase, folder, "not a regular file")
	if _, err := OpenSQLite("sessions.db", Options{}); err == nil {
		t.Error("a relative path was taken")
	}
}

func TestAFaultThatIsPutRightIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	write(t, path, "not yet")
	s := openFile(t, path)
	if _, err := s.List(t.Context(), Filter{}); err == nil {
		t.Fatal("a text was taken for a store")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), Filter{}); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestADamagedPageIsReportedAndOtherSessionsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openFile(t, path)
	marker := strings.Repeat("sesame open ", 20_000)
	l := newSession(t, s, "sess_a")
	if _, err := l.Append(t.Context(), Notice{Text: marker}, Notice{}); err != nil {
		t.Fatal(err)
	}
	newSession(t, s, "sess_b")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data := contents(t, path)
	const page = 4096
	for at := 2 * page; ; at += page { // the link to the next page, somewhere in the middle of the text
		if bytes.Contains(data[at-page:at-page+30], []byte("sesame")) && bytes.Contains(data[at:at+30], []byte("sesame")) {
			copy(data[at:], "\xee\xee\xee\xee")
			break
		}
	}
	write(t, path, string(data))

	s = openFile(t, path)
	var err error
	for _, err = range s.Events(t.Context(), "sess_a", 0) {
	}
	wantFault(t, err, FaultDamaged, path, "damaged", "move it away")
	for _, err := range s.Events(t.Context(), "sess_b", 0) {
		if err != nil {
			t.Errorf("the other session: %v", err)
		}
	}
}

func TestAMissingOrUnreadableEventIsReportedWithItsNumber(t *testing.T) {
	for _, test := range []struct{ name, statement, says string }{
		{"missing", "DELETE FROM events WHERE seq = 3", "event 3 is missing"},
		{"not JSON", "UPDATE events SET data = '{\"text\"' WHERE seq = 3", "event 3: decode event notice"},
		{"of another type", "UPDATE events SET data = '{\"text\":7}' WHERE seq = 3", "event 3: decode event notice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			s := openFile(t, path)
			l := newSession(t, s, "sess_a")
			if _, err := l.Append(t.Context(), Notice{}, Notice{}, Notice{}); err != nil {
				t.Fatal(err)
			}
			run(t, raw(t, path), test.statement)
			var err error
			seen := 0
			for _, err = range s.Events(t.Context(), "sess_a", 0) {
				if err == nil {
					seen++
				}
			}
			wantFault(t, err, FaultDamaged, path, "sess_a", test.says)
			if seen != 2 {
				t.Errorf("%d events before the damage were read", seen)
			}
		})
	}
}

func TestEventsOfANewerProgramAreKeptAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openFile(t, path)
	newSession(t, s, "sess_a")
	run(t, raw(t, path),
		`INSERT INTO events VALUES ('sess_a', 2, 0, 'notice', 1, '{"text":"x","colour":"red"}')`,
		`INSERT INTO events VALUES ('sess_a', 3, 0, 'notice', 2, '{"text":["x"]}')`,
		`INSERT INTO events VALUES ('sess_a', 4, 0, 'weather', 1, '{"rain":true}')`)
	var got []Data
	for e, err := range s.Events(t.Context(), "sess_a", 1) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Data)
	}
	if len(got) != 3 {
		t.Fatalf("got %v", got)
	}
	if n, ok := got[0].(Notice); !ok || n.Text != "x" {
		t.Errorf("an event with a new member is %#v", got[0])
	}
	if u, ok := got[1].(Unknown); !ok || u.Name != KindNotice || string(u.Raw) != `{"text":["x"]}` {
		t.Errorf("an event of a new version is %#v", got[1])
	}
	if u, ok := got[2].(Unknown); !ok || u.Name != "weather" || string(u.Raw) != `{"rain":true}` {
		t.Errorf("an event of a new kind is %#v", got[2])
	}
	var kept string
	if err := raw(t, path).QueryRow("SELECT data FROM events WHERE seq = 2").Scan(&kept); err != nil || !strings.Contains(kept, "colour") {
		t.Errorf("the new member is gone: %s, %v", kept, err)
	}
}

func TestAFullDiskLosesNothingAndWorksAgainWhenThereIsSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openFile(t, path)
	l := newSession(t, s, "sess_a")
	if _, err := l.Append(t.Context(), Notice{Text: "before"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		run(t, s.opened.writer, "PRAGMA max_page_count = 1") // as far as it is already
		_, err := l.Append(t.Context(), Titled{Title: "lost", By: "person"}, Notice{Text: strings.Repeat("x", 1<<20)})
		wantFault(t, err, FaultFull, path, "full", "free some space")
	}
	info, err := s.Get(t.Context(), "sess_a")
	if err != nil || info.Title != "" {
		t.Errorf("half of the append is there: %+v, %v", info, err)
	}
	run(t, s.opened.writer, "PRAGMA max_page_count = 100000")
	events, err := l.Append(t.Context(), Notice{Text: strings.Repeat("x", 1<<20)})
	if err != nil || events[0].Seq != 3 {
		t.Fatalf("appended %v, %v", events, err)
	}
}

func TestAFileWithoutWritePermissionIsReported(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("this user may write everything")
	}
	folder := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(folder, "sessions.db")
	s := openFile(t, path)
	newSession(t, s, "sess_a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, folder} {
		if err := os.Chmod(p, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(folder, 0o700)
	err := openFile(t, path).Create(t.Context(), "sess_b", Created{Roots: []string{"/project"}})
	wantFault(t, err, FaultReadOnly, path, "write permission")
}

func TestAStoreThatAnotherProgramKeepsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openFile(t, path)
	l := newSession(t, s, "sess_a")
	other := raw(t, path)
	run(t, other, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Append(ctx, Notice{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the wait for the lock does not end with its context: %v", err)
	}
	if _, err := s.Get(t.Context(), "sess_a"); err != nil { // readers do not wait for writers
		t.Error(err)
	}
	run(t, s.opened.writer, "PRAGMA busy_timeout = 10")
	_, err := l.Append(t.Context(), Notice{})
	wantFault(t, err, FaultBusy, path, "try again")
	run(t, other, "COMMIT")
	events, err := l.Append(t.Context(), Notice{})
	if err != nil || events[0].Seq != 2 {
		t.Errorf("appended %v, %v", events, err)
	}
}

func TestTheStoreIsForThisUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	folder := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(folder, "sessions.db")
	s := openFile(t, path)
	newSession(t, s, "sess_a")
	for name, want := range map[string]os.FileMode{folder: 0o700, filepath.Dir(folder): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", name, got, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the write-ahead log is left behind: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(t, path).List(t.Context(), Filter{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could read has mode %v, %v", info.Mode().Perm(), err)
	}
}

func TestNothingOfADeletedSessionIsLeftInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := openFile(t, path)
	newSession(t, s, "sess_keep")
	size := func() int {
		run(t, s.opened.writer, "PRAGMA wal_checkpoint(TRUNCATE)")
		return len(contents(t, path))
	}
	before := size()
	l := newSession(t, s, "sess_a")
	if _, err := l.Append(t.Context(), Notice{Text: strings.Repeat("secret word ", 100_000)}); err != nil {
		t.Fatal(err)
	}
	if grown := size(); grown < before+1_000_000 {
		t.Fatalf("the file has %d bytes", grown)
	}
	if err := s.Delete(t.Context(), "sess_a"); err != nil {
		t.Fatal(err)
	}
	if shrunk := size(); shrunk > before+100_000 {
		t.Errorf("the file has %d bytes, before the session it had %d", shrunk, before)
	}
	for _, name := range []string{path, path + "-wal"} {
		if bytes.Contains(contents(t, name), []byte("secret")) || bytes.Contains(contents(t, name), []byte("sess_a")) {
			t.Errorf("%s still has the session", name)
		}
	}
}

func TestNothingIsTouchedBeforeTheFirstUse(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	s, err := OpenSQLite(filepath.Join(folder, "sessions.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
