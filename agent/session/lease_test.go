package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/approval"
)

// elsewhere makes a store on the file that belongs to a process that nothing is known of.
func elsewhere(t *testing.T, path string, now func() time.Time) *sqliteStore {
	t.Helper()
	s := newSQLite(fileOnDisk(path), Options{Program: "wherry far away"})
	s.self.place = "another machine"
	if now != nil {
		s.now = now
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newSession(t *testing.T, s Store, id string) Lease {
	t.Helper()
	if err := s.Create(t.Context(), id, Created{Roots: []string{"/project"}, Mode: approval.ModeAsk}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAnExpiredLeaseIsTakenOverAndItsHolderCannotWriteAnyMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	var now atomic.Int64
	now.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	clock := func() time.Time { return time.Unix(now.Load(), 0) }
	a, b := elsewhere(t, path, clock), elsewhere(t, path, clock)
	b.self.place = "a third machine"
	old := newSession(t, a, "sess_a")

	now.Add(29)
	var held *HeldError
	if _, err := b.Acquire(t.Context(), "sess_a"); !errors.As(err, &held) {
		t.Fatalf("a lease of 29 seconds is not held: %v", err)
	}
	if !strings.Contains(held.Owner, "wherry far away, process ") || !held.Until.Equal(clock().Add(time.Second)) {
		t.Errorf("the holder is described as %+v", held)
	}
	if _, err := old.Append(t.Context(), Notice{}); err != nil { // an append renews
		t.Fatal(err)
	}
	now.Add(29)
	if _, err := b.Acquire(t.Context(), "sess_a"); !errors.As(err, &held) {
		t.Fatalf("an append did not renew the lease: %v", err)
	}
	now.Add(1)
	next, err := b.Acquire(t.Context(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := old.Append(t.Context(), Notice{Text: "too late"}); !errors.Is(err, ErrLeaseLost) {
			t.Fatalf("a lease that was taken over appended: %v", err)
		}
	}
	if err := old.Release(t.Context()); err != nil { // which must not free the other's
		t.Fatal(err)
	}
	if _, err := a.Acquire(t.Context(), "sess_a"); !errors.As(err, &held) {
		t.Fatalf("two holders: %v", err)
	}
	events, err := next.Append(t.Context(), Notice{Text: "mine"})
	if err != nil || events[0].Seq != 3 {
		t.Fatalf("the new holder appended %v, %v", events, err)
	}
}

func TestALeaseIsRenewedWhileItIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	synctest.Test(t, func(t *testing.T) {
		a, b := elsewhere(t, path, nil), elsewhere(t, path, nil)
		b.self.place = "a third machine"
		l := newSession(t, a, "sess_a")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		var held *HeldError
		if _, err := b.Acquire(t.Context(), "sess_a"); !errors.As(err, &held) {
			t.Fatalf("the lease was not renewed: %v", err)
		}
		if left := time.Until(held.Until); left < 20*time.Second || left > 30*time.Second {
			t.Errorf("the lease lasts another %v", left)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, err := b.Acquire(t.Context(), "sess_a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if _, err := next.Append(t.Context(), Notice{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAHolderNoticesThatItsLeaseWasTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	synctest.Test(t, func(t *testing.T) {
		a := elsewhere(t, path, nil)
		b := elsewhere(t, path, func() time.Time { return time.Now().Add(time.Minute) }) // whose clock is wrong
		newSession(t, a, "sess_a")
		if _, err := b.Acquire(t.Context(), "sess_a"); err != nil {
			t.Fatalf("an expired lease was not taken over: %v", err)
		}
		time.Sleep(15 * time.Second) // the next renewal notices
		synctest.Wait()
		if a.leases.get("sess_a") != nil {
			t.Error("the holder did not notice that it lost the lease")
		}
		var held *HeldError
		if _, err := a.Acquire(t.Context(), "sess_a"); !errors.As(err, &held) || !strings.Contains(held.Owner, "far away") {
			t.Errorf("acquire names %v", err)
		}
	})
}

func TestOneGoroutineRenewsAndEndsWithTheLastLease(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	s := newSQLite(fileInMemory(), Options{})
	defer s.Close()
	var leases []Lease
	for _, id := range []string{"sess_a", "sess_b", "sess_c"} {
		leases = append(leases, newSession(t, s, id))
	}
	for i, l := range leases {
		if running := s.leases.renewer != nil; !running {
			t.Errorf("nothing renews the %d leases left", len(leases)-i)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.leases.renewer != nil {
		t.Error("the renewing goes on without a lease")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, ignore)
}

// dead starts a process and gives it as an owner after it has ended.
func dead(t *testing.T, reap bool) owner {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started, state := processStart(cmd.Process.Pid)
	if state == processUnknown {
		started = 0
	}
	buf := make([]byte, 4096)
	for err == nil { // until it has closed its output, by ending
		_, err = stdout.Read(buf)
	}
	if reap {
		_ = cmd.Wait()
	} else {
		t.Cleanup(func() { _ = cmd.Wait() })
	}
	return owner{name: "dead", place: processPlace(), pid: cmd.Process.Pid, started: started}
}

func TestAProcessIsKnownDeadOnlyWhenThatIsCertain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the start time of a process is looked up on Linux only")
	}
	self := thisProcess("wherry")
	gone := dead(t, true)
	for _, test := range []struct {
		name string
		of   owner
		want bool
	}{
		{"this process", self, false},
		{"a process that has ended", gone, true},
		{"its number on another machine", owner{place: "other", pid: gone.pid, started: gone.started}, false},
		{"its number on a machine that is not known", owner{pid: gone.pid, started: gone.started}, false},
		{"another process with the number of a dead one", owner{place: self.place, pid: self.pid, started: self.started - 1}, true},
		{"a process whose start is not known", owner{place: self.place, pid: self.pid}, false},
		{"no process", owner{place: self.place}, false},
		{"a process group", owner{place: self.place, pid: -self.pid}, false},
	} {
		if got := test.of.knownDead(self); got != test.want {
			t.Errorf("%s: known dead is %v", test.name, got)
		}
	}
	nowhere := self
	nowhere.place = ""
	if (owner{pid: gone.pid, started: gone.started}).knownDead(nowhere) {
		t.Error("two machines that are not known were taken for one")
	}
}

func TestALeaseOfADeadProcessIsTakenOverAtOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up on Linux")
	}
	path := filepath.Join(t.TempDir(), "sessions.db")
	a := elsewhere(t, path, nil)
	a.self = dead(t, false) // a zombie is as dead
	old := newSession(t, a, "sess_a")
	b := newSQLite(fileOnDisk(path), Options{})
	defer b.Close()
	zombie := a.self
	for deadline := time.Now().Add(10 * time.Second); !zombie.knownDead(b.self) && time.Now().Before(deadline); {
		runtime.Gosched() // it has closed its output and is about to end
	}
	next, err := b.Acquire(t.Context(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Append(t.Context(), Notice{}); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the old holder appended: %v", err)
	}
	if _, err := next.Append(t.Context(), Notice{}); err != nil {
		t.Error(err)
	}
}

func TestALeaseWhoseReleaseCouldNotBeStoredCanBeTakenAgainAtOnce(t *testing.T) {
	store, err := OpenSQLite(filepath.Join(t.TempDir(), "sessions.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	id := NewID()
	if err := store.Create(t.Context(), id, Created{Roots: []string{"/w"}}); err != nil {
		t.Fatal(err)
	}
	lease, err := store.Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lease.Release(ended); err == nil {
		t.Fatal("the release was stored after all")
	}
	again, err := store.Acquire(t.Context(), id)
	if err != nil {
		t.Fatalf("take it again: %v", err)
	}
	if _, err := again.Append(t.Context(), Titled{Title: "t", By: "prompt"}); err != nil {
		t.Error(err)
	}
}
