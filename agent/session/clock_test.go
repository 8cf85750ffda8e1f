package session

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Clocks stand still, when two things happen in one tick, and are set back.
func TestPagesOfAListingDoNotDependOnTheClock(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name string
		tick time.Duration
		want []string
	}{
		{"standing still: by id", 0, []string{"sess_0", "sess_1", "sess_2", "sess_3", "sess_4", "sess_5"}},
		{"running backwards: by the time that was told", -time.Second, []string{"sess_0", "sess_1", "sess_2", "sess_3", "sess_4", "sess_5"}},
		{"running", time.Second, []string{"sess_5", "sess_4", "sess_3", "sess_2", "sess_1", "sess_0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSQLite(fileInMemory(), Options{})
			defer s.Close()
			s.leaseTime = time.Hour
			at := start
			s.now = func() time.Time { at = at.Add(test.tick); return at }
			var leases []Lease
			for n := range 6 {
				leases = append(leases, newSession(t, s, fmt.Sprintf("sess_%d", n)))
			}
			var got []string
			for cursor := ""; ; {
				page, err := s.List(t.Context(), Filter{Limit: 2, Cursor: cursor})
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range page.Sessions {
					got = append(got, info.ID)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
				for _, l := range leases {
					if _, err := l.Append(t.Context(), TurnStarted{Turn: "t"}); err != nil {
						t.Fatal(err)
					}
				}
				newSession(t, s, fmt.Sprintf("sess_new_%d", len(got)))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the pages show %v, want %v", got, test.want)
			}
		})
	}
}
