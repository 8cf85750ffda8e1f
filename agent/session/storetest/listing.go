package storetest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/session"
)

func ids(infos []session.Info) []string {
	var ids []string
	for _, i := range infos {
		ids = append(ids, i.ID)
	}
	return ids
}

func listed(t *testing.T, s session.Store, f session.Filter) session.Page {
	t.Helper()
	page, err := s.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func listing(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	same(t, "an empty listing", listed(t, s, session.Filter{}), session.Page{})
	a, b := hold(t, s, "sess_a"), hold(t, s, "sess_b")
	same(t, "newest first", ids(listed(t, s, session.Filter{}).Sessions), []string{"sess_b", "sess_a"})

	add(t, a, session.TurnStarted{Turn: "t1"}, session.Titled{Title: "First", By: "prompt"})
	same(t, "after a prompt", ids(listed(t, s, session.Filter{}).Sessions), []string{"sess_a", "sess_b"})
	add(t, b, session.Notice{}, session.UsageRecorded{}, session.Configured{Model: "x/y", Options: map[string]string{"thought": "high", "busy": "steer"}})
	add(t, b, session.Configured{Mode: approval.ModeEdits, Options: map[string]string{"thought": "", "more": "1"}})
	same(t, "after a notice", ids(listed(t, s, session.Filter{}).Sessions), []string{"sess_a", "sess_b"})
	add(t, b, session.Titled{Title: "Second", By: "model"}, session.Rooted{Roots: []string{"/elsewhere", "/project"}})
	add(t, a, session.TurnEnded{Turn: "t1"}, session.TurnStarted{Turn: "t2"})

	page := listed(t, s, session.Filter{})
	for i, want := range []session.Info{
		{ID: "sess_a", Roots: []string{"/project"}, Title: "First", Model: "offline/quotes", Mode: approval.ModeAsk, Turns: 2},
		{ID: "sess_b", Roots: []string{"/elsewhere", "/project"}, Title: "Second", Model: "x/y", Mode: approval.ModeEdits,
			Options: map[string]string{"busy": "steer", "more": "1"}},
	} {
		got := page.Sessions[i]
		want.Created, want.Updated = got.Created, got.Updated
		same(t, "listed session", got, want)
		if !got.Updated.After(got.Created) {
			t.Errorf("session %s: updated %v, created %v", got.ID, got.Updated, got.Created)
		}
		one, err := s.Get(t.Context(), got.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "looked up session", one, got)
	}
}

func personsTitle(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	l := hold(t, s, "sess_a")
	for _, step := range []struct {
		titled session.Titled
		want   string
	}{
		{session.Titled{Title: "a", By: "prompt"}, "a"},
		{session.Titled{Title: "b", By: "model"}, "b"},
		{session.Titled{Title: "c", By: "person"}, "c"},
		{session.Titled{Title: "d", By: "model"}, "c"},
		{session.Titled{Title: "e", By: "person"}, "e"},
	} {
		add(t, l, step.titled)
		info, err := s.Get(t.Context(), "sess_a")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "title", info.Title, step.want)
	}
	add(t, l, session.Titled{Title: "f", By: "person"}, session.Titled{Title: "g", By: "prompt"})
	info, err := s.Get(t.Context(), "sess_a")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "title set and replaced in one step", info.Title, "f")
}

func listFolder(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	folders := []string{"/project", "/project/sub", "/Project", "/project ", "/other"}
	for n := range 10 {
		if err := s.Create(t.Context(), fmt.Sprintf("sess_%d", n), first(folders[n%len(folders)])); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "in a folder", ids(listed(t, s, session.Filter{Folder: "/project"}).Sessions), []string{"sess_5", "sess_0"})
	same(t, "in no folder", listed(t, s, session.Filter{Folder: "/project/"}), session.Page{})
	same(t, "everywhere", len(listed(t, s, session.Filter{}).Sessions), 10)

	page := listed(t, s, session.Filter{Folder: "/project", Limit: 1})
	same(t, "first page", ids(page.Sessions), []string{"sess_5"})
	_, err := s.List(t.Context(), session.Filter{Folder: "/other", Cursor: page.Next})
	wantError(t, "a cursor of another folder", err, session.ErrBadCursor)
	for _, folder := range []string{"/project", ""} { // some clients name the folder once
		next := listed(t, s, session.Filter{Folder: folder, Cursor: page.Next, Limit: 1})
		same(t, "second page", ids(next.Sessions), []string{"sess_0"})
		same(t, "no third page", next.Next, "")
	}
}

func pagesWhileChanging(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	const total = 23
	leases := make([]session.Lease, total)
	var want []string
	for n := range total {
		id := fmt.Sprintf("sess_%02d", n)
		leases[n] = hold(t, s, id)
		add(t, leases[n], session.TurnStarted{Turn: "t"})
		want = append(want, id)
	}
	slices.Reverse(want)
	extras := make(map[string]bool) // created on the way
	for _, limit := range []int{1, 3, 7, 22, 23, 24, 0} {
		var got, young []string
		filter := session.Filter{Limit: limit}
		for turn := 0; ; turn++ {
			page := listed(t, s, filter)
			got = append(got, ids(page.Sessions)...)
			if limit > 0 && len(page.Sessions) > limit {
				t.Fatalf("%d sessions on a page of %d", len(page.Sessions), limit)
			}
			if page.Next == "" {
				break
			}
			filter.Cursor = page.Next
			// The oldest, some seen and some not, are prompted, and a new session appears.
			for n := turn % 3; n < total; n += 5 {
				add(t, leases[n], session.TurnStarted{Turn: "t"}, session.TurnEnded{Turn: "t"})
				add(t, leases[n], session.Titled{Title: "x", By: "model"})
			}
			extra := fmt.Sprintf("sess_extra_%d_%d", limit, turn)
			create(t, s, extra)
			extras[extra], young = true, append(young, extra)
		}
		for _, id := range young {
			if slices.Contains(got, id) {
				t.Fatalf("the listing shows %s, which is younger than its first page", id)
			}
		}
		got = slices.DeleteFunc(got, func(id string) bool { return extras[id] })
		same(t, fmt.Sprintf("pages of %d", limit), got, want)
		// The next round begins with the order of now.
		want = nil
		for _, id := range ids(listed(t, s, session.Filter{Limit: 1000}).Sessions) {
			if !extras[id] {
				want = append(want, id)
			}
		}
		same(t, "sessions", len(want), total)
	}
}

func badCursors(t *testing.T, open func(t *testing.T) session.Store) {
	s := open(t)
	create(t, s, "sess_a")
	create(t, s, "sess_b")
	good := listed(t, s, session.Filter{Limit: 1}).Next
	for _, bad := range []string{
		"x", "1", "sess_a", good + "=", good[1:], good[:len(good)-1], good + good, "!" + good[1:], " ",
		base64.RawURLEncoding.EncodeToString([]byte("{}")),
		base64.RawURLEncoding.EncodeToString([]byte("null")),
		base64.RawURLEncoding.EncodeToString([]byte(`{"r":1,"t":1,"i":"x","more":1}`)),
		base64.RawURLEncoding.EncodeToString([]byte(`{"r":-1,"t":1,"i":"x"}`)),
	} {
		_, err := s.List(t.Context(), session.Filter{Cursor: bad})
		wantError(t, fmt.Sprintf("cursor %q", bad), err, session.ErrBadCursor)
	}
	same(t, "the good cursor", ids(listed(t, s, session.Filter{Cursor: good}).Sessions), []string{"sess_a"})
}
