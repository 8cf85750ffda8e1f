package acp

import (
	"context"
	"iter"
	"slices"
)

// StateParts is a set of parts of a [SessionState].
type StateParts uint16

// The parts of a state.
const (
	ChangedEntries StateParts = 1 << iota // the transcript
	ChangedPlan
	ChangedModes
	ChangedConfigOptions
	ChangedCommands
	ChangedUsage
	ChangedInfo // title, time and _meta
	ChangedTurn
	ChangedSubagents
	ChangedUnknown

	changedAll StateParts = 1<<iota - 1
)

// Has reports whether the set has all of parts.
func (p StateParts) Has(parts StateParts) bool { return p&parts == parts }

// A Change says what is different between a snapshot and the one before it.
type Change struct {
	// All is set for the first change of an observer and after a reload: nothing that was
	// seen before counts, entries have new indexes.
	All bool
	// Parts are the parts that changed.
	Parts StateParts
	// Entries are the indexes of the entries that are new or changed, ascending; with All,
	// those of the whole transcript.
	Entries []int
}

// An observer collects what has changed since it last looked.
type observer struct {
	all     bool
	parts   StateParts
	first   int // entries from here on are new to it
	revised map[int]struct{}
	last    int // the last one that was put into revised, -1 if none
	wake    chan struct{}
}

// changed tells the observers of a change; entries that were added are found by their
// index.
func (b *StateBuilder) changed(parts StateParts) {
	for o := range b.observers {
		o.parts |= parts
		if parts == changedAll {
			o.all, o.first = true, 0
			o.forget()
		}
		o.notify()
	}
}

// touched tells the observers that entry i is a different one.
func (b *StateBuilder) touched(i int) {
	for o := range b.observers {
		o.parts |= ChangedEntries
		if i < o.first && i != o.last {
			o.revised[i] = struct{}{}
			o.last = i
		}
		o.notify()
	}
}

func (o *observer) forget() {
	clear(o.revised)
	o.last = -1
}

func (o *observer) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns what has changed for an observer, and forgets it.
func (b *StateBuilder) take(o *observer) (c Change, s *SessionState, changed bool, end, busy bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s = b.snapshot()
	end, busy = b.closed, s.turn.Running || s.turn.Loading
	if o.parts == 0 {
		return Change{}, s, false, end, busy
	}
	c = Change{All: o.all, Parts: o.parts}
	if c.Parts.Has(ChangedEntries) {
		c.Entries = make([]int, 0, len(o.revised)+s.entries.n-o.first)
		for i := range o.revised {
			c.Entries = append(c.Entries, i)
		}
		slices.Sort(c.Entries)
		for i := o.first; i < s.entries.n; i++ {
			c.Entries = append(c.Entries, i)
		}
	}
	o.all, o.parts, o.first = false, 0, s.entries.n
	o.forget()
	return c, s, true, end, busy
}

// Changes iterates over what changes, each time with the state after it. The first is the
// state as it is. An observer that is slower than the session misses nothing: it is told
// once of all that has changed since it last looked, with the newest state, and what waits
// for it never takes more room than one index an entry. The loop ends with ctx and with
// Close, in that case after the last change. Several may run at once.
func (b *StateBuilder) Changes(ctx context.Context) iter.Seq2[Change, *SessionState] {
	return b.changes(ctx, nil, nil)
}

// changes is Changes that also ends once done is closed, what handled then returns is
// closed, and the session is idle.
func (b *StateBuilder) changes(ctx context.Context, done <-chan struct{}, handled func() <-chan struct{}) iter.Seq2[Change, *SessionState] {
	return func(yield func(Change, *SessionState) bool) {
		o := b.observe()
		defer b.unobserve(o)
		gone, rest, ending := done, (<-chan struct{})(nil), false
		for ctx.Err() == nil {
			c, s, changed, end, busy := b.take(o)
			if changed {
				if !yield(c, s) {
					return
				}
				continue
			}
			if end || ending && !busy {
				return
			}
			select {
			case <-o.wake:
			case <-ctx.Done():
			case <-gone:
				gone, rest = nil, handled()
			case <-rest:
				rest, ending = nil, true
			}
		}
	}
}

func (b *StateBuilder) observe() *observer {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &observer{all: true, parts: changedAll, revised: make(map[int]struct{}), last: -1, wake: make(chan struct{}, 1)}
	if b.observers == nil {
		b.observers = make(map[*observer]struct{})
	}
	b.observers[o] = struct{}{}
	return o
}

func (b *StateBuilder) unobserve(o *observer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.observers, o)
}

// Close ends the loops of Changes. The state can still be read and built on.
func (b *StateBuilder) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for o := range b.observers {
		o.notify()
	}
}
