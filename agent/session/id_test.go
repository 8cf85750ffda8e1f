package session

import (
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestIDsAreUniqueSafeAndSortByTime(t *testing.T) {
	form := regexp.MustCompile(`^(sess|turn|msg)_[0-9a-v]{36}$`)
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		seen := make(map[string]bool)
		for range 500 {
			time.Sleep(time.Millisecond)
			id := NewID()
			ids = append(ids, id)
			for _, id := range []string{id, NewTurnID(), NewMessageID()} {
				if !form.MatchString(id) {
					t.Errorf("id %q has another form", id)
				}
				if seen[id[len(id)-25:]] { // the random bits alone
					t.Errorf("id %q came twice", id)
				}
				seen[id[len(id)-25:]] = true
			}
		}
		if !slices.IsSorted(ids) {
			t.Error("ids do not sort by the time they were made")
		}
	})
}

func TestCallIDsCarryTheirNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1<<40).Draw(t, "n")
		if got := callNumber(CallID(n)); got != n {
			t.Fatalf("%s has number %d", CallID(n), got)
		}
	})
}
