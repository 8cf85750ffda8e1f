package guard

import (
	"hash/maphash"
	"sync"

	"github.com/wherry-acp/wherry/agent/guard/detect"
)

// checked is what came of a text.
type checked struct {
	clean bool   // it is sent as it is
	text  string // what is sent in its place, unless clean
	found []finding
}

// finding counts one kind in a text.
type finding struct {
	kind   detect.Kind
	places int
	fresh  int // how many values had not been replaced before in the session
}

// digest stands for a text: two independent hashes whose seeds nobody knows, and the length.
type digest struct {
	a, b uint64
	n    int
	form byte // text, or JSON of one of two sorts: they are checked differently
}

// The bounds of what is remembered. When the newer half is full, the older half is forgotten.
const (
	mostSeen      = 8192
	mostSeenBytes = 16 << 20 // of replaced texts
)

// seen remembers checked texts, so that a conversation is not checked anew with each request.
type seen struct {
	a, b maphash.Seed

	mu           sync.Mutex
	newer, older map[digest]checked
	bytes        int // of the texts in newer
}

func newSeen() *seen {
	return &seen{a: maphash.MakeSeed(), b: maphash.MakeSeed(), newer: map[digest]checked{}, older: map[digest]checked{}}
}

func (s *seen) text(text string) digest {
	return digest{a: maphash.String(s.a, text), b: maphash.String(s.b, text), n: len(text)}
}

func (s *seen) json(text []byte, named bool) digest {
	d := digest{a: maphash.Bytes(s.a, text), b: maphash.Bytes(s.b, text), n: len(text), form: 1}
	if named {
		d.form = 2
	}
	return d
}

func (s *seen) get(key digest) (checked, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.newer[key]; ok {
		return c, true
	}
	c, ok := s.older[key]
	if ok {
		s.keep(key, c)
	}
	return c, ok
}

// put remembers a checked text. What is fresh in it is fresh this one time.
func (s *seen) put(key digest, c checked) {
	found := make([]finding, len(c.found))
	for i, f := range c.found {
		found[i] = finding{kind: f.kind, places: f.places}
	}
	c.found = found
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(key, c)
}

func (s *seen) keep(key digest, c checked) {
	if len(s.newer) >= mostSeen/2 || s.bytes+len(c.text) > mostSeenBytes/2 {
		s.newer, s.older, s.bytes = map[digest]checked{}, s.newer, 0
	}
	s.newer[key] = c
	s.bytes += len(c.text)
}
