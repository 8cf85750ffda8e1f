package session_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
)

// childRole makes the test binary play another process that uses the store; see child.
const childRole = "WHERRY_SESSION_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role, os.Args[1], os.Args[2]); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child does what another process would.
func child(role, path, id string) error {
	ctx := context.Background()
	store, err := session.OpenSQLite(path, session.Options{Program: "wherry child"})
	if err != nil {
		return err
	}
	defer store.Close()
	switch role {
	case "create": // one of several that open a new file at the same moment
		return store.Create(ctx, id, session.Created{Roots: []string{"/project"}})
	case "append": // until killed, saying what has been stored
		lease, err := store.Acquire(ctx, id)
		if err != nil {
			return err
		}
		for n := 0; ; n++ {
			events, err := lease.Append(ctx,
				session.MessageSaved{Message: "m", Speaker: session.Assistant, Text: strings.Repeat("x", n%5000)},
				session.Notice{Text: strconv.Itoa(n)})
			if err != nil {
				return err
			}
			fmt.Println("stored", events[1].Seq)
		}
	case "take": // as often as asked by a line on standard input
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			lease, err := store.Acquire(ctx, id)
			var held *session.HeldError
			if errors.As(err, &held) {
				fmt.Println("held by", held.Owner)
				continue
			}
			if err != nil {
				return err
			}
			if _, err := lease.Append(ctx, session.Notice{Text: "child"}); err != nil {
				return err
			}
			if err := lease.Release(ctx); err != nil {
				return err
			}
			fmt.Println("appended")
		}
		return lines.Err()
	}
	return fmt.Errorf("unknown role %q", role)
}

func startChild(t *testing.T, role, path, id string) (cmd *exec.Cmd, say func(string), next func() string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], path, id)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	lines := bufio.NewScanner(stdout)
	say = func(line string) {
		if _, err := fmt.Fprintln(stdin, line); err != nil {
			t.Fatal(err)
		}
	}
	next = func() string {
		if !lines.Scan() {
			return ""
		}
		return lines.Text()
	}
	return cmd, say, next
}

func TestWhatAKilledProcessHadAppendedIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	store := openAt(t, path)
	if err := store.Create(t.Context(), "sess_a", session.Created{Roots: []string{"/project"}, Mode: approval.ModeAsk}); err != nil {
		t.Fatal(err)
	}
	var stored int64 = 1
	for round := range 4 {
		cmd, _, next := startChild(t, "append", path, "sess_a")
		for range 3 + 20*round {
			line := next()
			seq, ok := strings.CutPrefix(line, "stored ")
			if !ok {
				t.Fatalf("the child says %q", line)
			}
			stored, _ = strconv.ParseInt(seq, 10, 64)
		}
		var held *session.HeldError
		if _, err := store.Acquire(t.Context(), "sess_a"); !errors.As(err, &held) || !strings.HasPrefix(held.Owner, fmt.Sprintf("wherry child, process %d on ", cmd.Process.Pid)) {
			t.Fatalf("the session that the child holds: %v", err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for line := next(); line != ""; line = next() { // said before it died
			if seq, ok := strings.CutPrefix(line, "stored "); ok {
				stored, _ = strconv.ParseInt(seq, 10, 64)
			}
		}
		_ = cmd.Wait()

		reopened := openAt(t, path)
		var count int64
		for e, err := range reopened.Events(t.Context(), "sess_a", 0) {
			if err != nil {
				t.Fatal(err)
			}
			count++
			if e.Seq != count {
				t.Fatalf("event %d has number %d", count, e.Seq)
			}
		}
		if count < stored || count > stored+2 || count%2 == 0 { // at most one more append, and that whole
			t.Fatalf("the child had stored %d events, %d are there", stored, count)
		}
		if runtime.GOOS != "linux" {
			return // there the lease has to expire
		}
		begun := time.Now()
		lease, err := reopened.Acquire(t.Context(), "sess_a")
		if err != nil {
			t.Fatalf("the dead process still holds the session: %v", err)
		}
		t.Logf("taken over in %v", time.Since(begun))
		events, err := lease.Append(t.Context(), session.Notice{}, session.Notice{})
		if err != nil || events[0].Seq != count+1 {
			t.Fatalf("appended %v, %v", events, err)
		}
		if err := reopened.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcessesTakeTurnsOnASession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	store := openAt(t, path)
	if err := store.Create(t.Context(), "sess_a", session.Created{Roots: []string{"/project"}}); err != nil {
		t.Fatal(err)
	}
	_, say, next := startChild(t, "take", path, "sess_a")
	want := int64(2)
	for range 3 {
		lease, err := store.Acquire(t.Context(), "sess_a")
		if err != nil {
			t.Fatal(err)
		}
		say("try")
		if line := next(); !strings.HasPrefix(line, fmt.Sprintf("held by wherry test, process %d on ", os.Getpid())) {
			t.Fatalf("the child says %q while this process holds the session", line)
		}
		events, err := lease.Append(t.Context(), session.Notice{})
		if err != nil || events[0].Seq != want {
			t.Fatalf("appended %v, %v", events, err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		say("try")
		if line := next(); line != "appended" {
			t.Fatalf("the child says %q when the session is free", line)
		}
		want += 2
	}
}

func TestProcessesThatStartTogetherShareANewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new folder", "sessions.db")
	const processes = 6
	var children []*exec.Cmd
	var said []func() string
	for n := range processes {
		cmd, _, next := startChild(t, "create", path, fmt.Sprintf("sess_%d", n))
		children, said = append(children, cmd), append(said, next)
	}
	for n, cmd := range children {
		if line := said[n](); line != "" {
			t.Errorf("process %d says %q", n, line)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", n, err)
		}
	}
	page, err := openAt(t, path).List(t.Context(), session.Filter{})
	if err != nil || len(page.Sessions) != processes {
		t.Errorf("%d sessions are there, %v", len(page.Sessions), err)
	}
}
