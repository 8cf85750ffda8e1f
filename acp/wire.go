package acp

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsoncheck"
)

// Message is implemented by a pointer to every generated protocol object, and by nothing else. It is what [Codec] reads and writes.
type Message interface {
	decodeWire(d *decoder) error
	encodeWire(e *encoder)
}

// Codec holds the rules under which one connection reads and writes protocol values. The zero Codec speaks the stable protocol only.
// A Codec is a value; it may be used concurrently if its OnLenient may be.
type Codec struct {
	// Unstable turns on fields and variants that are not in the stable protocol. When it is off, unstable members that arrive are kept
	// as unknown ones, and encoding a value that sets one is an error.
	Unstable bool

	// TolerateUpdates makes a session update that has a known tag but does not decode an [UnknownSessionUpdate] with its Err set,
	// instead of an error of the whole notification.
	TolerateUpdates bool

	// OnLenient, when set, is told of each value that was replaced or left out on receipt because the protocol asks its readers to be
	// lenient there. The path is that of the value; the reason says what was expected. After the first 16 of one message it is told
	// once, with an empty path, that there are more.
	OnLenient func(path, reason string)
}

// Unmarshal reads one JSON value into v. Members that v's type does not know are kept and written back by [Codec.Append].
// Syntax errors, duplicate names and invalid UTF-8 are errors; a value that does not fit its type is a [*DecodeError].
// A null is read as an empty object, since the protocol lets params and results be null.
// Nothing in v refers to data afterwards. When it fails, v holds what was read until then.
func (c Codec) Unmarshal(data []byte, v Message) error {
	if len(data) == 0 { // absent
		return c.unmarshalValid(nil, v)
	}
	if err := checkSyntax(data); err != nil {
		return err
	}
	return c.unmarshalValid(data, v)
}

// unmarshalValid is Unmarshal for data that is known to be one well-formed JSON value without duplicate names, or nothing, which is
// read as null.
func (c Codec) unmarshalValid(data []byte, v Message) error {
	d := c.decoder(data)
	return d.read(v)
}

// Append appends the JSON form of v to dst. Invalid UTF-8 in strings is replaced by U+FFFD. It fails when a required union is nil,
// when a raw value is not valid JSON, or when an unstable member is set and c.Unstable is off; dst is then returned as it was.
// The output never contains a line break.
func (c Codec) Append(dst []byte, v Message) ([]byte, error) {
	if cap(dst) == 0 {
		dst = make([]byte, 0, firstBytes)
	}
	e := encoder{b: dst, unstable: c.Unstable}
	v.encodeWire(&e)
	if e.err != nil {
		return dst, e.err
	}
	return e.b, nil
}

// firstBytes is what most messages fit in.
const firstBytes = 256

func (c Codec) decoder(data []byte) decoder {
	d := decoder{b: data, unstable: c.Unstable, tolerateUpdates: c.TolerateUpdates, onLenient: c.OnLenient}
	d.space()
	return d
}

// everything is the codec behind the encoding/json methods: no connection is involved, so nothing is gated.
var everything = Codec{Unstable: true}

// checkSyntax reports why data is not exactly one JSON value.
func checkSyntax(data []byte) error {
	if jsoncheck.Valid(data) {
		return nil
	}
	var probe jsontext.Value = append(jsontext.Value(nil), data...)
	if err := probe.Compact(); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	if err := probe.Format(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

// The functions below are what the generated methods call.

func marshalJSONTo(enc *jsontext.Encoder, v Message) error {
	b, err := everything.Append(enc.AvailableBuffer(), v)
	if err != nil {
		return err
	}
	return enc.WriteValue(b)
}

func unmarshalJSONFrom(dec *jsontext.Decoder, v Message) error {
	b, err := dec.ReadValue()
	if err != nil {
		return err
	}
	// The decoder may have let through what is an error here: from Go 1.27 on, that of encoding/json takes duplicate names.
	return everything.Unmarshal(b, v)
}

func marshalJSON(v Message) ([]byte, error) {
	return everything.Append(nil, v)
}

func unmarshalJSON(b []byte, v Message) error {
	return everything.Unmarshal(b, v)
}

func marshalUnion[U any](u U, encode func(*encoder, U)) ([]byte, error) {
	e := encoder{unstable: true}
	encode(&e, u)
	return e.b, e.err
}

func unmarshalUnion[U any](b []byte, decode func(*decoder) (U, error)) (U, error) {
	if err := checkSyntax(b); err != nil {
		var none U
		return none, err
	}
	d := everything.decoder(b)
	u, err := decode(&d)
	return u, d.finish(err)
}
