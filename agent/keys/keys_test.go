package keys_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ring is a keyring in memory, which may be out of reach.
type ring struct {
	mu     sync.Mutex
	broken error
	keys   map[string]string
	asked  int
}

func (r *ring) Get(provider string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.broken != nil {
		return "", r.broken
	}
	if k, ok := r.keys[provider]; ok {
		return k, nil
	}
	return "", keys.ErrNoKey
}

func (r *ring) Set(provider, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.keys[provider] = secret
	}
	return r.broken
}

func (r *ring) Delete(provider string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.keys[provider]; !ok && r.broken == nil {
		return keys.ErrNoKey
	}
	delete(r.keys, provider)
	return r.broken
}

const (
	canary = "sk-ant-canary-0123456789-wxyz"
	other  = "sk-ant-other-9876543210-abcd"
)

type setup struct {
	store *keys.Store
	ring  *ring
	env   map[string]string
	path  string
}

func newSetup(t *testing.T) *setup {
	s := &setup{ring: &ring{keys: map[string]string{}}, env: map[string]string{}}
	folder := filepath.Join(t.TempDir(), "state")
	s.path = filepath.Join(folder, "keys.json")
	s.store = keys.New(keys.Options{
		Folder: folder, Keyring: s.ring, Variables: map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"},
		Lookup: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
	})
	return s
}

func (s *setup) get(t *testing.T, want string, place keys.Place) {
	t.Helper()
	k, err := s.store.Get(t.Context(), "anthropic")
	if err != nil || k.Secret() != want || k.Place != place {
		t.Errorf("got a key in the %s (%v), wanted one in the %s", k.Place, err, place)
	}
}

func TestAKeyInTheEnvironmentWins(t *testing.T) {
	s := newSetup(t)
	if _, err := s.store.Set(t.Context(), "anthropic", other); err != nil {
		t.Fatal(err)
	}
	asked := s.ring.asked
	s.env["ANTHROPIC_API_KEY"] = " " + canary + "\n"
	s.get(t, canary, keys.InEnvironment)
	if s.ring.asked != asked {
		t.Error("the keyring was asked all the same")
	}
	s.env["ANTHROPIC_API_KEY"] = " "
	s.get(t, other, keys.InKeyring)
	s.env["ANTHROPIC_API_KEY"] = canary
	stored, err := s.store.Set(t.Context(), "anthropic", other)
	if err != nil || !strings.Contains(stored.Note, "ANTHROPIC_API_KEY holds another key") {
		t.Errorf("%+v, %v", stored, err)
	}
}

func TestAKeyGoesIntoTheKeyringAndIntoNoFile(t *testing.T) {
	s := newSetup(t)
	stored, err := s.store.Set(t.Context(), "anthropic", " "+canary+"\r\n")
	if err != nil || stored.Place != keys.InKeyring || stored.Note != "" {
		t.Errorf("%+v, %v", stored, err)
	}
	if s.ring.keys["anthropic"] != canary {
		t.Error("it is not in the keyring")
	}
	if _, err := os.Stat(s.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
	s.get(t, canary, keys.InKeyring)
}

func TestWithoutAKeyringAKeyGoesIntoAFileOfThePersonsOwnAndThatIsSaid(t *testing.T) {
	s := newSetup(t)
	s.ring.broken = errors.New("no bus")
	stored, err := s.store.Set(t.Context(), "anthropic", canary)
	if err != nil || stored.Place != keys.InFile || !strings.Contains(stored.Note, s.path) || !strings.Contains(stored.Note, "no bus") {
		t.Fatalf("%+v, %v", stored, err)
	}
	if info, err := os.Stat(s.path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s.get(t, canary, keys.InFile)
	if _, err := s.store.Get(t.Context(), "openai"); !errors.Is(err, keys.ErrNoKey) || !strings.Contains(err.Error(), "no bus") {
		t.Errorf("without a key: %v", err)
	}
}

func TestTheKeyStoredLastIsTheOneThatCounts(t *testing.T) {
	s := newSetup(t)
	store := func(secret string, broken error) {
		t.Helper()
		s.ring.broken = broken
		if _, err := s.store.Set(t.Context(), "anthropic", secret); err != nil {
			t.Fatal(err)
		}
		s.ring.broken = nil
	}
	store(other, nil)
	store(canary, errors.New("over SSH"))
	s.get(t, canary, keys.InFile) // although the keyring is there again, with the older one
	store(other, nil)
	s.get(t, other, keys.InKeyring)
	if data, err := os.ReadFile(s.path); err != nil || bytes.Contains(data, []byte("canary")) {
		t.Errorf("the older key is still in the file (%v)", err)
	}
}

func TestAKeyStoredByAnotherProcessIsSeen(t *testing.T) {
	s := newSetup(t)
	if _, err := s.store.Get(t.Context(), "anthropic"); !errors.Is(err, keys.ErrNoKey) {
		t.Fatal(err)
	}
	second := keys.New(keys.Options{Folder: filepath.Dir(s.path), Keyring: &ring{broken: errors.New("no bus")}})
	if _, err := second.Set(t.Context(), "anthropic", canary); err != nil {
		t.Fatal(err)
	}
	s.get(t, canary, keys.InFile)
}

func TestAFileThatOthersCanReadIsRefusedAndKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions say nothing there")
	}
	s := newSetup(t)
	s.ring.broken = errors.New("no bus")
	if _, err := s.store.Set(t.Context(), "anthropic", canary); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o610} {
		if err := os.Chmod(s.path, mode); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "chmod 600 "+s.path)
	}
	s.env["ANTHROPIC_API_KEY"] = other
	s.get(t, other, keys.InEnvironment) // which is not the file's business
}

func TestADamagedFileIsNeverOverwritten(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":1,"keys":{"anthropic":{"` + canary + `":1}}}`, `{"version":2}`, `["` + canary + `"]`} {
		s := newSetup(t)
		if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "move it away")
		s.ring.broken = errors.New("no bus")
		refused(t, s, "move it away")
	}
	s := newSetup(t)
	if err := os.MkdirAll(s.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Get(t.Context(), "anthropic"); err == nil || errors.Is(err, keys.ErrNoKey) {
		t.Errorf("a folder in its place: %v", err)
	}
}

// refused checks that nothing is read from the file, written to it or stored elsewhere, and that the errors say what to do.
func refused(t *testing.T, s *setup, say string) {
	t.Helper()
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	_, get := s.store.Get(t.Context(), "anthropic")
	_, set := s.store.Set(t.Context(), "anthropic", other)
	_, forget := s.store.Delete(t.Context(), "anthropic")
	for _, err := range []error{get, set, forget} {
		if err == nil || errors.Is(err, keys.ErrNoKey) || !strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), say) {
			t.Errorf("got %v", err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("a key is quoted: %v", err)
		}
	}
	if after, err := os.ReadFile(s.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed (%v)", err)
	}
	if len(s.ring.keys) > 0 {
		t.Error("the key went into the keyring")
	}
}

func TestAKeyIsSeenWithoutAskingTheKeyring(t *testing.T) {
	s := newSetup(t)
	seen := func(want bool) {
		t.Helper()
		asked := s.ring.asked
		if got := s.store.Seen("anthropic"); got != want || s.ring.asked != asked {
			t.Errorf("seen %v, want %v; the keyring was asked: %v", got, want, s.ring.asked != asked)
		}
	}
	seen(false)
	if _, err := s.store.Set(t.Context(), "anthropic", canary); err != nil {
		t.Fatal(err)
	}
	seen(false)
	s.get(t, canary, keys.InKeyring)
	seen(true)
	if _, err := s.store.Delete(t.Context(), "anthropic"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Get(t.Context(), "anthropic"); !errors.Is(err, keys.ErrNoKey) {
		t.Fatal(err)
	}
	seen(false)
	s.ring.broken = errors.New("no bus")
	if _, err := s.store.Set(t.Context(), "anthropic", canary); err != nil {
		t.Fatal(err)
	}
	seen(true)
}

func TestForgettingSaysWhereAKeyWas(t *testing.T) {
	s := newSetup(t)
	if _, err := s.store.Delete(t.Context(), "anthropic"); !errors.Is(err, keys.ErrNoKey) {
		t.Errorf("nothing to forget: %v", err)
	}
	if _, err := s.store.Set(t.Context(), "anthropic", canary); err != nil {
		t.Fatal(err)
	}
	if from, err := s.store.Delete(t.Context(), "anthropic"); err != nil || fmt.Sprint(from) != "[keyring]" {
		t.Errorf("%v, %v", from, err)
	}
	s.ring.broken = errors.New("no bus")
	if _, err := s.store.Set(t.Context(), "anthropic", canary); err != nil {
		t.Fatal(err)
	}
	if from, err := s.store.Delete(t.Context(), "anthropic"); err == nil || !strings.Contains(err.Error(), "no bus") || fmt.Sprint(from) != "[file]" {
		t.Errorf("%v, %v", from, err)
	}
	if _, err := s.store.Delete(t.Context(), "anthropic"); !errors.Is(err, keys.ErrNoKey) || !strings.Contains(err.Error(), "no bus") {
		t.Errorf("with the keyring out of reach: %v", err)
	}
}

func TestAKeyShowsItsEndsAtMost(t *testing.T) {
	s := newSetup(t)
	s.env["ANTHROPIC_API_KEY"], s.env["OPENAI_API_KEY"] = canary, "short-key-123"
	list := s.store.List(t.Context())
	if len(list) != 2 || list[0].Provider != "anthropic" {
		t.Fatalf("listed: %v", list)
	}
	if got := list[0].Key.String(); got != "sk-…wxyz" {
		t.Errorf("masked as %q", got)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	for _, e := range list {
		logger.Info("key", "key", e.Key, "entry", e)
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(data)
		fmt.Fprintf(&log, "%v %+v %#v %s %q %d %v %#v", e.Key, e.Key, e.Key, e.Key, e.Key, e.Key, e, &e)
	}
	for _, part := range []string{"canary", "0123456789", "short", "123\""} {
		if strings.Contains(log.String(), part) {
			t.Errorf("%q shows in %s", part, log.String())
		}
	}
}

func TestWhatCannotBeAKeyIsRefused(t *testing.T) {
	s := newSetup(t)
	for _, text := range []string{"", " \n", "two words", "line\nbreak", "nul\x00", "kéy", "del\x7f", strings.Repeat("x", 2049)} {
		if _, err := s.store.Set(t.Context(), "anthropic", text); err == nil || len(s.ring.keys) > 0 {
			t.Errorf("%q was stored", text)
		}
	}
}

func TestWithoutAFolderAndAKeyringNothingCanBeKept(t *testing.T) {
	store := keys.New(keys.Options{Keyring: &ring{broken: errors.New("no bus")}})
	if _, err := store.Get(t.Context(), "anthropic"); !errors.Is(err, keys.ErrNoKey) {
		t.Errorf("got %v", err)
	}
	if _, err := store.Set(t.Context(), "anthropic", canary); err == nil || !strings.Contains(err.Error(), "WHERRY_STATE") {
		t.Errorf("got %v", err)
	}
}

// stuck is a keyring that waits for somebody to unlock it.
type stuck struct{ unlocked chan struct{} }

func (s stuck) Get(string) (string, error) { <-s.unlocked; return canary, nil }
func (s stuck) Set(string, string) error   { <-s.unlocked; return nil }
func (s stuck) Delete(string) error        { <-s.unlocked; return nil }

func TestALockedKeyringIsNotWaitedForForEver(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ring := stuck{make(chan struct{})}
		store := keys.New(keys.Options{Folder: folder, Keyring: ring, Patience: 10 * time.Second})
		begin := time.Now()
		if _, err := store.Get(t.Context(), "anthropic"); !errors.Is(err, keys.ErrNoKey) || !strings.Contains(err.Error(), "locked") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := store.Get(ctx, "anthropic"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that ends: %v", err)
		}
		close(ring.unlocked)
		synctest.Wait()
		if k, err := store.Get(t.Context(), "anthropic"); err != nil || k.Secret() != canary {
			t.Errorf("unlocked: %v", err)
		}
	})
}

func TestTheSystemsKeyringIsNotStartedWhereThereIsNoDesktop(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("about the session bus")
	}
	if _, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())); err == nil {
		t.Skip("there is a desktop session here")
	}
	bin := t.TempDir()
	launched := filepath.Join(bin, "launched")
	script := "#!/bin/sh\necho > '" + launched + "'\n"
	if err := os.WriteFile(filepath.Join(bin, "dbus-launch"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	store := keys.New(keys.Options{Folder: filepath.Join(bin, "state"), Lookup: os.LookupEnv})
	stored, err := store.Set(t.Context(), "anthropic", canary)
	if err != nil || stored.Place != keys.InFile || !strings.Contains(stored.Note, "no desktop session") {
		t.Errorf("%+v, %v", stored, err)
	}
	if _, err := os.Stat(launched); err == nil {
		t.Error("dbus-launch was run")
	}
}
