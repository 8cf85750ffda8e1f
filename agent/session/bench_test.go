package session_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

func must[T any](b *testing.B, value T, err error) T {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	return value
}

func held(b *testing.B, s session.Store, id string) session.Lease {
	b.Helper()
	if err := s.Create(b.Context(), id, session.Created{Roots: []string{"/project"}}); err != nil {
		b.Fatal(err)
	}
	l, err := s.Acquire(b.Context(), id)
	return must(b, l, err)
}

// BenchmarkOpen is what a start of the program pays once it uses a store that is there.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sessions.db")
	held(b, openAt(b, path), "sess_a")
	for b.Loop() {
		s, err := session.OpenSQLite(path, session.Options{})
		must(b, s, err)
		if _, err := s.Get(b.Context(), "sess_a"); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprintf("%d events", n), func(b *testing.B) {
			l := held(b, openAt(b, filepath.Join(b.TempDir(), "sessions.db")), "sess_a")
			data := make([]session.Data, n)
			for i := range data {
				data[i] = session.MessageSaved{Message: "m", Speaker: session.Assistant, Text: strings.Repeat("x", 200)}
			}
			for b.Loop() {
				must(b, 0, second(l.Append(b.Context(), data...)))
			}
		})
	}
}

func second(_ []session.Event, err error) error { return err }

// BenchmarkList lists among 1,000 sessions of one megabyte each; listing opens none of them.
func BenchmarkList(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "sessions.db"))
	chunk := session.Notice{Text: strings.Repeat("x", 1<<18)}
	for n := range 1000 {
		l := held(b, s, fmt.Sprintf("sess_%04d", n))
		must(b, 0, second(l.Append(b.Context(), session.TurnStarted{Turn: "t"}, chunk, chunk, chunk, chunk)))
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for _, limit := range []int{50, 1000} {
		b.Run(fmt.Sprintf("%d of 1000", limit), func(b *testing.B) {
			for b.Loop() {
				page, err := s.List(b.Context(), session.Filter{Limit: limit})
				if must(b, page, err); len(page.Sessions) != limit {
					b.Fatalf("%d sessions", len(page.Sessions))
				}
			}
		})
	}
}

// longLog is a conversation of a thousand steps.
func longLog() []session.Event {
	var data []session.Data
	for n := range 1000 {
		if n%10 == 0 {
			data = append(data, prompt("go on"))
		}
		id, call := fmt.Sprint(n), session.CallID(n+1)
		data = append(data, said(id, strings.Repeat("x", 200)), saidAll(id), request(call), session.CallStarted{Call: call}, done(call, session.CallCompleted, strings.Repeat("y", 1000)))
	}
	return numbered(data...)
}

func BenchmarkEvents(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "sessions.db"))
	l := held(b, s, "sess_a")
	for _, e := range longLog() {
		must(b, 0, second(l.Append(b.Context(), e.Data)))
	}
	for b.Loop() {
		for _, err := range s.Events(b.Context(), "sess_a", 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkMessages(b *testing.B) {
	events := longLog()
	var messages []model.Message
	for b.Loop() {
		messages = session.Messages(events)
	}
	if len(messages) == 0 {
		b.Fatal("no messages")
	}
}

// BenchmarkSearch searches 1,000 sessions of one megabyte each, a tenth of which is prompts and answers.
func BenchmarkSearch(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "sessions.db"))
	words := []string{"the", "session", "file", "parser", "error", "returns", "value", "config", "test", "handler", "because", "where"}
	text := func(n int) string {
		var t strings.Builder
		for i := range 300 {
			fmt.Fprintf(&t, "%s%d ", words[(n+i)%len(words)], (n*i)%977)
		}
		return t.String()
	}
	result := strings.Repeat("x", 18<<10)
	for n := range 1000 {
		l := held(b, s, fmt.Sprintf("sess_%04d", n))
		data := []session.Data{session.Titled{Title: fmt.Sprintf("session number %d", n), By: "model"}}
		for turn := range 50 {
			call, message := session.CallID(turn+1), fmt.Sprint("m", turn)
			data = append(data, prompt(fmt.Sprintf("question %d about everything", turn)), request(call), done(call, session.CallCompleted, result),
				said(message, text(n*50+turn)), saidAll(message), session.TurnEnded{Turn: "t"})
		}
		if n == 500 {
			data = append(data, prompt("where is the xylophone?"))
		}
		must(b, 0, second(l.Append(b.Context(), data...)))
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		text string
		want int
	}{{"xylophone", 1}, {"session number 77", 11}, {"parser12", 50}, {"question everything", 50}} {
		b.Run(c.text, func(b *testing.B) {
			for b.Loop() {
				page, err := s.List(b.Context(), session.Filter{Text: c.text})
				if must(b, page, err); len(page.Sessions) < min(c.want, 50) {
					b.Fatalf("%d sessions", len(page.Sessions))
				}
			}
		})
	}
}
