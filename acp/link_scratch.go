package acp

import (
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// A slot keeps one value from one use to the next, so that a connection at work makes no new ones and a connection at rest
// holds no more than one. Its methods may be called concurrently.
type slot[T any] struct{ kept atomic.Pointer[T] }

func (s *slot[T]) take() *T {
	if v := s.kept.Swap(nil); v != nil {
		return v
	}
	return new(T)
}

func (s *slot[T]) give(v *T) { s.kept.Store(v) }

// sending is what it takes to write an update.
type sending struct {
	unstable bool
	encoder  encoder
	update   SessionNotification
}

// AppendJSON implements jsonrpc.Appender.
func (s *sending) AppendJSON(dst []byte) ([]byte, error) {
	s.encoder = encoder{b: dst, unstable: s.unstable}
	s.update.encodeWire(&s.encoder)
	out, err := s.encoder.b, s.encoder.err
	s.encoder = encoder{}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// reading is what it takes to read a message.
type reading struct {
	decoder
	update SessionNotification
}

// keepScratch is the largest scratch buffer, in bytes, that is kept.
const keepScratch = 4 << 10

// begin makes r read raw.
func (r *reading) begin(c Codec, raw jsontext.Value) {
	scratch, session := r.scratch, r.session
	r.decoder = c.decoder(raw)
	r.scratch, r.session = scratch, session
}

// end lets go of what was read.
func (r *reading) end() {
	r.b, r.update = nil, SessionNotification{}
	if cap(r.scratch) > keepScratch {
		r.scratch = nil
	}
}
