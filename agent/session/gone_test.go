package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAStoreThatIsRemovedOrReplacedInUseSaysSoInsteadOfLosingWhatIsSaid(t *testing.T) {
	for name, disturb := range map[string]func(path string) error{
		"its folder is removed": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"another file has its place": func(path string) error {
			return errors.Join(os.Rename(path, path+".away"), os.WriteFile(path, nil, 0o600))
		},
	} {
		path := filepath.Join(t.TempDir(), "state", "sessions.db")
		store, err := OpenSQLite(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		id := NewID()
		if err := store.Create(t.Context(), id, Created{Roots: []string{"/w"}}); err != nil {
			t.Fatal(err)
		}
		held, err := store.Acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := disturb(path); err != nil {
			t.Fatal(err)
		}
		_, err = held.Append(t.Context(), Titled{Title: "lost"})
		var broken *StoreError
		if !errors.As(err, &broken) || broken.Kind != FaultGone || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		_ = held.Release(t.Context())
		_ = store.Close()
	}
}
