package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/zalando/go-keyring"
)

// keyringName is what messages call it; service is its name for what is ours.
const (
	keyringName = "the system's keyring"
	service     = "wherry"
)

// System is the keyring of the person's desktop: the Secret Service on Linux, the Keychain on macOS, the Credential
// Manager on Windows. lookup reads environment variables; WHERRY_KEYRING=off keeps away from it.
func System(lookup func(string) (string, bool)) Keyring { return system{lookup} }

type system struct{ lookup func(string) (string, bool) }

func (s system) Get(provider string) (string, error) {
	if err := s.reachable(); err != nil {
		return "", err
	}
	secret, err := keyring.Get(service, provider)
	return secret, translate(err)
}

func (s system) Set(provider, secret string) error {
	if err := s.reachable(); err != nil {
		return err
	}
	return translate(keyring.Set(service, provider, secret))
}

func (s system) Delete(provider string) error {
	if err := s.reachable(); err != nil {
		return err
	}
	return translate(keyring.Delete(service, provider))
}

func translate(err error) error {
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrNoKey
	}
	return err
}

// reachable tells whether there is a session bus on Linux and its like. The library would start one with dbus-launch, a
// daemon that outlives us and knows no keys.
func (s system) reachable() error {
	if v, _ := s.lookup("WHERRY_KEYRING"); v == "off" {
		return errors.New("WHERRY_KEYRING is off")
	}
	switch runtime.GOOS {
	case "linux", "freebsd", "netbsd", "openbsd", "dragonfly":
	default:
		return nil
	}
	if address, _ := s.lookup("DBUS_SESSION_BUS_ADDRESS"); address != "" && address != "autolaunch:" {
		return nil
	}
	folder := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return nil
		}
	}
	return errors.New("there is no desktop session")
}

// patient asks a keyring that may wait for a person, or for ever, and does not wait longer than it should.
type patient struct {
	ring    Keyring
	most    time.Duration
	waiting chan struct{} // holds one while a call is under way
}

func newPatient(ring Keyring, most time.Duration) *patient {
	return &patient{ring: ring, most: most, waiting: make(chan struct{}, 1)}
}

func (p *patient) get(ctx context.Context, provider string) (string, error) {
	return p.do(ctx, func() (string, error) { return p.ring.Get(provider) })
}

func (p *patient) set(ctx context.Context, provider, secret string) error {
	_, err := p.do(ctx, func() (string, error) { return "", p.ring.Set(provider, secret) })
	return err
}

func (p *patient) delete(ctx context.Context, provider string) error {
	_, err := p.do(ctx, func() (string, error) { return "", p.ring.Delete(provider) })
	return err
}

// do runs a call in a goroutine of its own, because no keyring takes a context. One that does not come back leaves that
// goroutine behind, and at most one: the next call waits for it.
func (p *patient) do(ctx context.Context, call func() (string, error)) (string, error) {
	type result struct {
		secret string
		err    error
	}
	enough := time.NewTimer(p.most)
	defer enough.Stop()
	late := fmt.Errorf("it did not answer within %s; is it locked?", p.most)
	select {
	case p.waiting <- struct{}{}:
	case <-enough.C:
		return "", late
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-p.waiting }()
		secret, err := call()
		done <- result{secret, err}
	}()
	select {
	case r := <-done:
		return r.secret, r.err
	case <-enough.C:
		return "", late
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
