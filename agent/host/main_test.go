package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && modes[os.Args[1]] != nil {
		os.Exit(modes[os.Args[1]](os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// tempRoot is a fresh folder, resolved.
func tempRoot(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newLocal(t testing.TB, roots ...string) *Local {
	t.Helper()
	l, err := NewLocal(roots, LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("symlinks cannot be made here: %v", err)
	}
}

func wantOutside(t *testing.T, err error) {
	t.Helper()
	var outside *OutsideError
	if !errors.As(err, &outside) {
		t.Errorf("the error is %v, not an *OutsideError", err)
	}
}

func wantSentence(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error: %v\nwant:  %s", err, want)
	}
}

func names(t *testing.T, l *Local, start string) string {
	t.Helper()
	var out []string
	err := l.Walk(t.Context(), start, func(info Info) error {
		out = append(out, info.Path.Show)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func mustRead(t *testing.T, l *Local, path string) Text {
	t.Helper()
	text, err := l.Read(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
