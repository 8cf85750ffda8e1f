package guard

import "strings"

// Restorer puts personal data back into a text that comes in pieces, also where a placeholder is split among them. It is
// for one stream and one goroutine.
type Restorer struct {
	guard *Guard
	held  string
}

// Restorer gives one for a stream.
func (g *Guard) Restorer() *Restorer { return &Restorer{guard: g} }

// Add gives what can be shown after the next piece. What may be the beginning of a placeholder is held back, which is never
// more than a placeholder is long.
func (r *Restorer) Add(delta string) string {
	if !r.guard.restores() {
		return delta
	}
	text := r.held + delta
	r.held = ""
	if i := strings.LastIndexByte(text, '['); i >= 0 {
		if n, whole := holderLength(text[i:]); !whole && i+n == len(text) {
			text, r.held = text[:i], text[i:]
		}
	}
	return r.guard.Restore(text)
}

// Rest gives what was held back, at the stream's end.
func (r *Restorer) Rest() string {
	held := r.held
	r.held = ""
	return r.guard.Restore(held)
}
