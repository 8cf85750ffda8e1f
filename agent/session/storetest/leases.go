package storetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/session"
)

func oneHolder(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	same(t, "session of the lease", l.Session(), "sess_a")
	_, err := s.Acquire(t.Context(), "sess_a")
	held := wantHeld(t, "second acquire", err)
	if held.Session != "sess_a" || !strings.Contains(held.Owner, "process") || !held.Until.After(time.Now()) {
		t.Errorf("the holder is not described: %+v", held)
	}
	other := hold(t, s, "sess_b") // another session is free
	release(t, l)
	release(t, acquire(t, s, "sess_a"))
	release(t, other)
}

func releasedLease(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	release(t, l)
	if _, err := l.Append(t.Context(), session.Notice{}); err == nil {
		t.Error("a released lease appended")
	}
	release(t, l) // again is no error
	next := acquire(t, s, "sess_a")
	release(t, l) // and does not free what another holds
	if _, err := l.Append(t.Context(), session.Notice{}); err == nil {
		t.Error("a released lease appended beside the new one")
	}
	_, err := s.Acquire(t.Context(), "sess_a")
	wantHeld(t, "acquire after a stale release", err)
	same(t, "number", add(t, next, session.Notice{})[0].Seq, int64(2))
}

func twoStores(t *testing.T, open func(t *testing.T) session.Store) {
	a, b := open(t), open(t)
	if a == b {
		t.Skip("this store does not share its data")
	}
	l := hold(t, a, "sess_a")
	_, err := b.Acquire(t.Context(), "sess_a")
	wantHeld(t, "acquire from the other store", err)
	appended := add(t, l, session.Notice{Text: "x"})
	same(t, "read from the other store", read(t, b, "sess_a", 1), appended)
	release(t, l)
	next := acquire(t, b, "sess_a")
	same(t, "number", add(t, next, session.Notice{})[0].Seq, int64(3))
	_, err = a.Acquire(t.Context(), "sess_a")
	wantHeld(t, "acquire from the first store", err)
}

func closeFrees(t *testing.T, open func(t *testing.T) session.Store) {
	a, b := open(t), open(t)
	if a == b {
		t.Skip("this store does not share its data")
	}
	l := hold(t, a, "sess_a")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("release after close: %v", err)
	}
	release(t, acquire(t, b, "sess_a"))
}

func closedStore(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	_, err := l.Append(ctx, session.Notice{})
	if err == nil {
		t.Error("appended to a closed store")
	}
	wantError(t, "create", s.Create(ctx, "sess_b", first("/project")), session.ErrClosed)
	_, err = s.Acquire(ctx, "sess_a")
	wantError(t, "acquire", err, session.ErrClosed)
	_, err = s.Get(ctx, "sess_a")
	wantError(t, "get", err, session.ErrClosed)
	_, err = s.List(ctx, session.Filter{})
	wantError(t, "list", err, session.ErrClosed)
	wantError(t, "delete", s.Delete(ctx, "sess_a"), session.ErrClosed)
	for _, err = range s.Events(ctx, "sess_a", 0) {
	}
	wantError(t, "read", err, session.ErrClosed)
}

func deleteSession(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	add(t, l, session.TurnStarted{Turn: "t"})
	create(t, s, "sess_b")
	for range 2 { // the second time it is not there, which is no error
		if err := s.Delete(t.Context(), "sess_a"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Get(t.Context(), "sess_a")
	wantError(t, "get", err, session.ErrNotFound)
	_, err = s.Acquire(t.Context(), "sess_a")
	wantError(t, "acquire", err, session.ErrNotFound)
	_, err = l.Append(t.Context(), session.Notice{})
	wantError(t, "append", err, session.ErrNotFound)
	release(t, l)
	page, err := s.List(t.Context(), session.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "listed", ids(page.Sessions), []string{"sess_b"})
}

func deleteHeld(t *testing.T, open func(t *testing.T) session.Store) {
	a, b := open(t), open(t)
	if a == b {
		t.Skip("this store does not share its data")
	}
	l := hold(t, a, "sess_a")
	wantHeld(t, "delete", b.Delete(t.Context(), "sess_a"))
	same(t, "number", add(t, l, session.Notice{})[0].Seq, int64(2))
	release(t, l)
	if err := b.Delete(t.Context(), "sess_a"); err != nil {
		t.Fatal(err)
	}
}
