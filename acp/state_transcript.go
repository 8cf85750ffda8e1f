package acp

import (
	"slices"
	"sync"
)

// pageSize is how many entries are copied when one of them changes after a snapshot.
const pageSize = 64

// A page holds entries. Only the edition that made it may write to it.
type page struct {
	edition uint64
	entries [pageSize]Entry
}

// A transcript is a list of entries that grows at its end. Copies of it share pages: one
// written to in a later edition is copied first, so that a copy never changes. The entry
// that was written last stays out of the pages, since it is mostly the next one, too.
type transcript struct {
	pages   []*page
	n       int
	edition uint64 // that made pages
	hot     Entry  // entry hotAt, if it is not nil
	hotAt   int
}

func (t *transcript) at(i int) Entry {
	if t.hot != nil && t.hotAt == i {
		return t.hot
	}
	return t.pages[i/pageSize].entries[i%pageSize]
}

// add appends an entry and returns its index.
func (t *transcript) add(e Entry, edition uint64) int {
	t.n++
	t.set(t.n-1, e, edition)
	return t.n - 1
}

// set replaces an entry.
func (t *transcript) set(i int, e Entry, edition uint64) {
	if t.hot != nil && t.hotAt != i {
		t.store(t.hotAt, t.hot, edition)
	}
	t.hot, t.hotAt = e, i
}

// store puts an entry into its page.
func (t *transcript) store(i int, e Entry, edition uint64) {
	if i/pageSize == len(t.pages) {
		t.own(edition)
		t.pages = append(t.pages, &page{edition: edition})
	}
	p := t.pages[i/pageSize]
	if p.edition != edition {
		t.own(edition)
		c := *p
		c.edition = edition
		p = &c
		t.pages[i/pageSize] = p
	}
	p.entries[i%pageSize] = e
}

// own makes the list of pages one that the edition may write to.
func (t *transcript) own(edition uint64) {
	if t.edition != edition {
		t.pages, t.edition = slices.Clone(t.pages), edition
	}
}

// An entryKey is what an update names an entry by. Ids of different kinds may be equal.
type entryKey struct {
	kind entryKind
	id   string
}

type entryKind uint8

const (
	keyUser entryKind = iota
	keyAgent
	keyThought
	keyToolCall
	keyCompaction
	keySessionMessage
)

// An entryIndex finds entries by what names them. Snapshots share it: an entry keeps its
// place, so a snapshot takes what lies beyond its own end as not there.
type entryIndex struct {
	mu sync.RWMutex
	at map[entryKey]int
}

func newEntryIndex() *entryIndex { return &entryIndex{at: make(map[entryKey]int)} }

func (x *entryIndex) find(k entryKey) (int, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, ok := x.at[k]
	return i, ok
}

func (x *entryIndex) put(k entryKey, i int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at[k] = i
}
