// Package storetest is the test suite that every session store passes.
package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
)

// TestStore runs the suite. open gives a new, empty place for sessions, as a function that opens a store on it: each
// call another store on the same data. A store that cannot share its data may be given by a function that returns the
// same store again; what needs two is skipped then.
func TestStore(t *testing.T, open func(t *testing.T) func(t *testing.T) session.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open func(t *testing.T) session.Store)
	}{
		{"a created session is there with its first event", createdSession},
		{"a session id is created once", createTwice},
		{"every kind of event comes back as it was appended", roundTrip},
		{"events are numbered from one without gaps", numbering},
		{"reading goes on after a number", readAfter},
		{"a reader may use the store inside its loop", nestedUse},
		{"what is shown live only is not stored", liveOnly},
		{"an append is all or nothing", allOrNothing},
		{"text that is not UTF-8 is stored as what append returned", invalidText},
		{"an unknown session is not found", notFound},
		{"an append under an ended context stores nothing", endedContext},
		{"one holder at a time", oneHolder},
		{"a released lease does not append", releasedLease},
		{"another store waits for the release", twoStores},
		{"closing a store frees its sessions", closeFrees},
		{"a closed store refuses", closedStore},
		{"concurrent writers of many sessions lose nothing", concurrentWriters},
		{"a deleted session is gone", deleteSession},
		{"a session in use elsewhere is not deleted", deleteHeld},
		{"the listing follows prompts and titles", listing},
		{"a title of the person stays", personsTitle},
		{"a listing keeps to one folder", listFolder},
		{"every session is on one page, whatever changes meanwhile", pagesWhileChanging},
		{"a cursor of something else is refused", badCursors},
		{"a search finds titles, prompts and answers", searching},
		{"a search is in pages, each session once", searchPages},
		{"what is deleted or replaced is not found", searchForgets},
		{"a fork holds what its parent holds, which stays as it is", forkSession},
		{"a fork leaves out the turn that runs, and keeps the settings", forkWhileRunning},
		{"a fork of a session left in the middle of a turn holds all of it", forkAfterCrash},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func first(folder string) session.Created {
	return session.Created{Roots: []string{folder}, Mode: approval.ModeAsk, Model: "offline/quotes"}
}

func create(t *testing.T, s session.Store, id string) {
	t.Helper()
	if err := s.Create(t.Context(), id, first("/project")); err != nil {
		t.Fatal(err)
	}
}

func acquire(t *testing.T, s session.Store, id string) session.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t *testing.T, l session.Lease) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// hold creates a session and takes its lease.
func hold(t *testing.T, s session.Store, id string) session.Lease {
	t.Helper()
	create(t, s, id)
	return acquire(t, s, id)
}

func add(t *testing.T, l session.Lease, data ...session.Data) []session.Event {
	t.Helper()
	events, err := l.Append(t.Context(), data...)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func read(t *testing.T, s session.Store, id string, after int64) []session.Event {
	t.Helper()
	var events []session.Event
	for e, err := range s.Events(t.Context(), id, after) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %#v\nwant %#v", what, got, want)
	}
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: got error %v, want %v", what, got, want)
	}
}

func wantHeld(t *testing.T, what string, err error) *session.HeldError {
	t.Helper()
	var held *session.HeldError
	if !errors.As(err, &held) {
		t.Fatalf("%s: got error %v, want a HeldError", what, err)
	}
	return held
}
