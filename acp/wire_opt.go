package acp

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Opt is a value that may be absent. Its zero value is absent.
type Opt[T any] struct {
	v   T
	set bool
}

// Some returns a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{v, true} }

// Get returns the value and whether it is present.
func (o Opt[T]) Get() (T, bool) { return o.v, o.set }

// Or returns the value, or instead when it is absent.
func (o Opt[T]) Or(instead T) T {
	if o.set {
		return o.v
	}
	return instead
}

// IsSet reports whether the value is present.
func (o Opt[T]) IsSet() bool { return o.set }

// Set makes v the present value.
func (o *Opt[T]) Set(v T) { *o = Some(v) }

// Patch is a field of an update that changes something which exists already. It says one of three things: keep what is there (the
// zero value, absent on the wire), clear it (null), or set it to a value.
type Patch[T any] struct {
	v  T
	op uint8
}

const (
	patchKeep = iota
	patchClear
	patchSet
)

// PatchSet returns a patch that sets a value.
func PatchSet[T any](v T) Patch[T] { return Patch[T]{v, patchSet} }

// PatchClear returns a patch that clears what is there.
func PatchClear[T any]() Patch[T] { return Patch[T]{op: patchClear} }

// IsKeep reports whether the patch leaves things as they are.
func (p Patch[T]) IsKeep() bool { return p.op == patchKeep }

// IsClear reports whether the patch clears what is there.
func (p Patch[T]) IsClear() bool { return p.op == patchClear }

// Get returns the value to set, and whether there is one.
func (p Patch[T]) Get() (T, bool) { return p.v, p.op == patchSet }

// Apply returns what current becomes under the patch; a cleared value is the zero value.
func (p Patch[T]) Apply(current T) T {
	switch p.op {
	case patchKeep:
		return current
	case patchClear:
		var none T
		return none
	}
	return p.v
}

// Set makes the patch set v.
func (p *Patch[T]) Set(v T) { *p = PatchSet(v) }

// Clear makes the patch clear what is there.
func (p *Patch[T]) Clear() { *p = PatchClear[T]() }

// Keep makes the patch leave things as they are.
func (p *Patch[T]) Keep() { *p = Patch[T]{} }

// Meta is the free-form "_meta" object of a protocol value: one JSON object, or nil when absent. Names in it belong to whoever sends
// it; the protocol reserves those of tracing (traceparent, tracestate, baggage).
type Meta jsontext.Value

// NewMeta returns the JSON object for the given names and values.
func NewMeta(members map[string]any) (Meta, error) {
	b, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode _meta: %w", err)
	}
	return b, nil
}

// Get returns the named member's raw value and whether there is one.
func (m Meta) Get(name string) (jsontext.Value, bool) {
	if !jsontext.Value(m).IsValid() {
		return nil, false
	}
	d := Codec{}.decoder(m)
	if d.b[d.i] != '{' {
		return nil, false
	}
	at := d.find(name)
	if at < 0 {
		return nil, false
	}
	return jsontext.Value(m[at:valueEnd(m, at)]).Clone(), true
}

// String returns the JSON text.
func (m Meta) String() string { return string(m) }
