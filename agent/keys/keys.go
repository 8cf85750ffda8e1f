// Package keys finds and keeps the API keys of model providers.
//
// A key in the environment wins. Otherwise there is one place for each provider's key: the system's keyring, or, where
// there is none to be reached (a server, a container, a session over SSH), the file keys.json in the person's state folder,
// readable by them alone. The file is asked before the keyring, because what is in it was stored later: [Store.Set]
// leaves a key in one place only, and falls back to the file when it cannot reach the keyring.
//
// Nothing is cached, so that a key stored by another process is seen at its next use. A [Key] prints itself masked; errors
// hold no part of a key.
package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Place says where a key is.
type Place string

// The places.
const (
	InEnvironment Place = "environment"
	InKeyring     Place = "keyring"
	InFile        Place = "file"
)

// ErrNoKey says that no key is stored for a provider and none is in its variable.
var ErrNoKey = errors.New("no key")

// Key is an API key. However it is printed, logged or encoded, only its first three and last four characters show.
type Key struct {
	Provider string
	Place    Place
	Where    string // the variable, the file, or "the system's keyring"

	secret string
}

// Secret is the key itself.
func (k Key) Secret() string { return k.secret }

// String is the key masked.
func (k Key) String() string { return mask(k.secret) }

// Format prints the key masked, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue logs the key masked.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText encodes the key masked.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// mask leaves of a long key its ends, of a short one nothing.
func mask(secret string) string {
	if len(secret) < 16 {
		return "…"
	}
	return secret[:3] + "…" + secret[len(secret)-4:]
}

// Check says whether text can be a key at all, and gives it without the white space around it, as pasted keys have it.
func Check(text string) (string, error) {
	secret := strings.TrimSpace(text)
	switch {
	case secret == "":
		return "", errors.New("the key is empty")
	case len(secret) > maxKey:
		return "", fmt.Errorf("this is longer than %d characters, so it is not a key", maxKey)
	}
	if i := strings.IndexFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return "", fmt.Errorf("character %d of the key is one that keys do not have (a blank, a line's end or a special letter): copy it again", i+1)
	}
	return secret, nil
}

// maxKey is what every keyring can hold.
const maxKey = 2048

// Keyring is a system's store for secrets.
type Keyring interface {
	// Get gives the secret of a provider; the error is [ErrNoKey] when there is none, any other when the keyring cannot
	// be used.
	Get(provider string) (string, error)
	Set(provider, secret string) error
	// Delete removes a secret; the error is [ErrNoKey] when there is none.
	Delete(provider string) error
}

// Options configure a [Store].
type Options struct {
	// Folder is the person's state folder; "" if unknown, and then no key can be kept in a file.
	Folder string
	// Lookup reads an environment variable, as os.LookupEnv does. Nil means that none is set.
	Lookup func(name string) (value string, ok bool)
	// Variables are the environment variables by provider. They are also the providers that [Store.List] knows.
	Variables map[string]string
	// Keyring is asked after the environment and the file. Nil means the system's: see [System].
	Keyring Keyring
	// Patience is how long the keyring may take, which includes that a person unlocks it; 0 for 30 seconds.
	Patience time.Duration
}

// Store finds and keeps keys. Its methods are safe for concurrent use.
type Store struct {
	opts Options
	file file
	ring *patient

	mu     sync.Mutex
	inRing map[string]bool // providers whose key the keyring gave the last time
}

// New makes a store. It does no I/O.
func New(opts Options) *Store {
	if opts.Lookup == nil {
		opts.Lookup = func(string) (string, bool) { return "", false }
	}
	if opts.Keyring == nil {
		opts.Keyring = System(opts.Lookup)
	}
	if opts.Patience == 0 {
		opts.Patience = 30 * time.Second
	}
	return &Store{
		opts: opts, file: file{folder: opts.Folder, checkMode: runtime.GOOS != "windows"},
		ring: newPatient(opts.Keyring, opts.Patience), inRing: map[string]bool{},
	}
}

// Get finds the key of a provider. The error is [ErrNoKey] when there is none, with the reason if the keyring could not
// be asked. A file of keys that others can read, or that is damaged, is an error of its own, and the keyring is not asked
// instead: it may hold an older key.
func (s *Store) Get(ctx context.Context, provider string) (Key, error) {
	if k, ok := s.environment(provider); ok {
		return k, nil
	}
	stored, err := s.file.read()
	if err != nil {
		return Key{}, fmt.Errorf("find the key for %s: %w", provider, err)
	}
	if secret := stored[provider]; secret != "" {
		return Key{Provider: provider, Place: InFile, Where: s.file.path(), secret: secret}, nil
	}
	secret, err := s.ring.get(ctx, provider)
	s.mu.Lock()
	s.inRing[provider] = err == nil && strings.TrimSpace(secret) != ""
	s.mu.Unlock()
	switch {
	case err == nil && strings.TrimSpace(secret) != "":
		return Key{Provider: provider, Place: InKeyring, Where: keyringName, secret: strings.TrimSpace(secret)}, nil
	case err == nil || errors.Is(err, ErrNoKey):
		return Key{}, fmt.Errorf("find the key for %s: %w", provider, ErrNoKey)
	case ctx.Err() != nil:
		return Key{}, context.Cause(ctx)
	}
	return Key{}, fmt.Errorf("find the key for %s: %w; %s cannot be asked: %w", provider, ErrNoKey, keyringName, err)
}

// Seen tells, without asking the keyring, whether there is a key for a provider: in the environment, in the file, or
// found in the keyring by an earlier Get of this store.
func (s *Store) Seen(provider string) bool {
	if _, ok := s.environment(provider); ok {
		return true
	}
	stored, _ := s.file.read() // Get tells what is wrong with it
	if stored[provider] != "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inRing[provider]
}

func (s *Store) environment(provider string) (Key, bool) {
	name := s.opts.Variables[provider]
	if name == "" {
		return Key{}, false
	}
	value, _ := s.opts.Lookup(name)
	if value = strings.TrimSpace(value); value == "" {
		return Key{}, false
	}
	return Key{Provider: provider, Place: InEnvironment, Where: name, secret: value}, true
}

// Stored says what became of a key.
type Stored struct {
	Place Place
	Where string
	// Note is for the person: why the key is not in the keyring, or that the one in the environment wins. "" if there
	// is nothing to say.
	Note string
}

// Set keeps a key for a provider, in the keyring if that can be used, else in the file. A copy in the other place is removed.
func (s *Store) Set(ctx context.Context, provider, text string) (Stored, error) {
	secret, err := Check(text)
	if err != nil {
		return Stored{}, fmt.Errorf("store the key for %s: %w", provider, err)
	}
	inFile, err := s.file.read()
	if err != nil { // found out before anything is changed
		return Stored{}, fmt.Errorf("store the key for %s: %w", provider, err)
	}
	out := Stored{Place: InKeyring, Where: keyringName}
	if err := s.ring.set(ctx, provider, secret); err != nil {
		if ctx.Err() != nil {
			return Stored{}, context.Cause(ctx)
		}
		out = Stored{Place: InFile, Where: s.file.path(), Note: fmt.Sprintf(
			"%s cannot be used here (%v), so the key is in the file %s, which you alone can read.", capital(keyringName), err, s.file.path())}
		if err := s.file.set(provider, secret); err != nil {
			return Stored{}, fmt.Errorf("store the key for %s: %w", provider, err)
		}
	} else if inFile[provider] != "" {
		if err := s.file.set(provider, ""); err != nil {
			return Stored{}, fmt.Errorf("store the key for %s: remove the older one: %w", provider, err)
		}
	}
	if k, ok := s.environment(provider); ok && k.secret != secret {
		out.Note = strings.TrimSpace(out.Note + fmt.Sprintf(" The environment variable %s holds another key, and wins while it is set.", k.Where))
	}
	return out, nil
}

// Delete forgets the stored key of a provider, and says where one was. What is in the environment stays. The error is
// [ErrNoKey] when none was stored. When the keyring could not be asked, there is an error too, whether or not the file
// had a key.
func (s *Store) Delete(ctx context.Context, provider string) ([]Place, error) {
	var from []Place
	stored, err := s.file.read()
	if err != nil {
		return nil, fmt.Errorf("forget the key for %s: %w", provider, err)
	}
	if stored[provider] != "" {
		if err := s.file.set(provider, ""); err != nil {
			return nil, fmt.Errorf("forget the key for %s: %w", provider, err)
		}
		from = append(from, InFile)
	}
	switch err := s.ring.delete(ctx, provider); {
	case err == nil:
		return append(from, InKeyring), nil
	case errors.Is(err, ErrNoKey) && len(from) > 0:
		return from, nil
	case errors.Is(err, ErrNoKey):
		return nil, fmt.Errorf("forget the key for %s: %w", provider, ErrNoKey)
	case len(from) > 0:
		return from, fmt.Errorf("forget the key for %s: %s cannot be asked, so an older key in it would stay: %w", provider, keyringName, err)
	default:
		return nil, fmt.Errorf("forget the key for %s: %w in the file; %s cannot be asked: %w", provider, ErrNoKey, keyringName, err)
	}
}

// Entry is what is known of one provider's key.
type Entry struct {
	Provider string
	Key      Key   // masked when printed; its Place is "" if there is none
	Err      error // why it is not known; nil if there is a key, or none
}

// List tells for each provider in [Options.Variables], in alphabetical order, whether there is a key and where.
func (s *Store) List(ctx context.Context) []Entry {
	var list []Entry
	for provider := range s.opts.Variables {
		k, err := s.Get(ctx, provider)
		if errors.Is(err, ErrNoKey) {
			err = nil
		}
		list = append(list, Entry{Provider: provider, Key: k, Err: err})
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Provider, b.Provider) })
	return list
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
