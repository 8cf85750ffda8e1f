package acp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sample is a value of a type or of one variant of a union; trip decodes and encodes it. Its out is nil when it did not decode.
type sample struct {
	typeName, what, text string
	trip                 func(c Codec, in []byte) (value any, out []byte, err error)
}

// unknown tells the samples of unknown variants, which are kept whole.
func (s sample) unknown() bool { return strings.HasPrefix(s.text, `{ "z"`) }

func structTrip[T any, P structPtr[T]](c Codec, in []byte) (any, []byte, error) {
	var v T
	if err := c.Unmarshal(in, P(&v)); err != nil {
		return nil, nil, err
	}
	out, err := c.Append([]byte{}, P(&v))
	return v, out, err
}

func unionTrip[U any](decode func(*decoder) (U, error), encode func(*encoder, U)) func(Codec, []byte) (any, []byte, error) {
	return func(c Codec, in []byte) (any, []byte, error) {
		if err := checkSyntax(in); err != nil {
			return nil, nil, err
		}
		d := c.decoder(in)
		u, err := decode(&d)
		if err = d.finish(err); err != nil {
			return nil, nil, err
		}
		e := encoder{b: []byte{}, unstable: c.Unstable}
		encode(&e, u)
		return u, e.b, e.err
	}
}

func TestEveryTypeAndVariantSurvivesARoundTripByteForByte(t *testing.T) {
	for _, s := range samples() {
		_, out, err := s.trip(everything, []byte(s.text))
		if err != nil {
			t.Errorf("%s, %s: %v\n%s", s.typeName, s.what, err, s.text)
			continue
		}
		if string(out) != s.text {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", s.typeName, s.what, out, s.text)
		}
	}
}

func TestMembersSurviveInAnyOrder(t *testing.T) {
	for _, s := range samples() {
		var members Members[jsontext.Value]
		d := everything.decoder([]byte(s.text))
		members, err := decodeOrdered(&d, (*decoder).raw)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(members)
		e := encoder{}
		encodeOrdered(&e, members, func(e *encoder, v *jsontext.Value) { e.raw(*v) })
		_, out, err := s.trip(everything, e.b)
		if err != nil {
			t.Errorf("%s, %s: %v\n%s", s.typeName, s.what, err, e.b)
			continue
		}
		if !sameJSON(t, out, []byte(s.text)) {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", s.typeName, s.what, out, s.text)
		}
	}
}

func TestUnknownMembersOfEveryObjectSurvive(t *testing.T) {
	const extra = `"\u0061later":{"x":[1.50,"\/"]},"SessionID":"not sessionId"`
	for _, s := range samples() {
		if s.unknown() {
			continue // kept whole anyway
		}
		in := strings.Replace(s.text, "{", "{"+extra+",", 1)
		in = strings.Replace(in, ",}", "}", 1)
		_, out, err := s.trip(everything, []byte(in))
		if err != nil {
			t.Errorf("%s, %s: %v", s.typeName, s.what, err)
			continue
		}
		if !bytes.Contains(out, []byte(extra)) {
			t.Errorf("%s, %s: unknown members are lost or changed:\n%s", s.typeName, s.what, out)
		}
		if !sameJSON(t, out, []byte(in)) {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", s.typeName, s.what, out, in)
		}
	}
}

func TestAStableConnectionPassesOnWhatItDoesNotKnow(t *testing.T) {
	for _, s := range samples() {
		if strings.HasPrefix(s.typeName, "Unstable") {
			continue // never decoded by a stable connection
		}
		v, out, err := s.trip(Codec{}, []byte(s.text))
		if err != nil {
			t.Errorf("%s, %s: %v", s.typeName, s.what, err)
			continue
		}
		if !sameJSON(t, out, []byte(s.text)) {
			t.Errorf("%s, %s (%T):\ngot  %s\nwant %s", s.typeName, s.what, v, out, s.text)
		}
	}
}

func TestTheStandardJSONPackagesReadAndWriteEveryType(t *testing.T) {
	for _, s := range samples() {
		v, _, err := s.trip(everything, []byte(s.text))
		if err != nil {
			continue
		}
		v1, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s, %s: %v", s.typeName, s.what, err)
			continue
		}
		v2, err := jsonv2.Marshal(v)
		if err != nil {
			t.Errorf("%s, %s: %v", s.typeName, s.what, err)
			continue
		}
		if _, field := v.(ToolCallUpdate); field {
			continue // without its tag on its own
		}
		if !sameJSON(t, v1, []byte(s.text)) || !sameJSON(t, v2, []byte(s.text)) {
			t.Errorf("%s, %s:\nv1   %s\nv2   %s\nwant %s", s.typeName, s.what, v1, v2, s.text)
		}
	}
}

// sameJSON reports whether two JSON texts are equal, whatever the order of their members.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	order := jsontext.CanonicalizeRawInts(false)
	if err := x.Canonicalize(order); err != nil {
		t.Errorf("%s: %v", a, err)
	}
	if err := y.Canonicalize(order); err != nil {
		t.Errorf("%s: %v", b, err)
	}
	return bytes.Equal(x, y)
}
