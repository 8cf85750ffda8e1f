package session_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/session/storetest"
)

func openAt(t testing.TB, path string) session.Store {
	t.Helper()
	s, err := session.OpenSQLite(path, session.Options{Program: "wherry test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSQLite(t *testing.T) {
	defer goleak.VerifyNone(t)
	storetest.TestStore(t, func(t *testing.T) func(t *testing.T) session.Store {
		path := filepath.Join(t.TempDir(), "state of ü?#%", "sessions.db")
		return func(t *testing.T) session.Store { return openAt(t, path) }
	})
}

func TestMemory(t *testing.T) {
	defer goleak.VerifyNone(t)
	storetest.TestStore(t, func(t *testing.T) func(t *testing.T) session.Store {
		s := session.NewMemory()
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return func(*testing.T) session.Store { return s }
	})
}
