package acp

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsoncheck"
)

// encoder appends JSON. The first error stays; later output is then thrown away.
//
// Members are written with a comma before each, and close turns the first comma into the opening brace.
type encoder struct {
	b        []byte
	unstable bool
	err      error
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("encode "+format, args...)
	}
}

func (e *encoder) gate(what string) {
	if !e.unstable {
		e.fail("%s: it is unstable, and this connection has not opted in", what)
	}
}

func (e *encoder) close(at int) {
	if len(e.b) == at {
		e.b = append(e.b, '{', '}')
		return
	}
	e.b[at] = '{'
	e.b = append(e.b, '}')
}

func (e *encoder) lit(s string) { e.b = append(e.b, s...) }

func (e *encoder) str(s string) {
	b := append(e.b, '"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			b, _ = jsontext.AppendQuote(b[:len(b)-1], s) // an error means that invalid UTF-8 was replaced
			e.b = b
			return
		}
	}
	b = append(b, s...)
	e.b = append(b, '"')
}

func (e *encoder) bool(v bool) { e.b = strconv.AppendBool(e.b, v) }

func (e *encoder) uint(v uint64) { e.b = strconv.AppendUint(e.b, v, 10) }

func (e *encoder) int(v int64) { e.b = strconv.AppendInt(e.b, v, 10) }

func (e *encoder) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.fail("number %v: JSON cannot express it", v)
		return
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	e.b = strconv.AppendFloat(e.b, v, format, -1, 64)
}

// raw writes a raw value in one line, and null for none.
func (e *encoder) raw(v jsontext.Value) {
	switch {
	case len(v) == 0:
		e.lit("null")
	case !jsoncheck.Valid(v):
		e.fail("raw value: it is not valid JSON")
	default:
		if bytes.IndexByte(v, '\n') >= 0 || bytes.IndexByte(v, '\r') >= 0 {
			v = oneLine(slices.Clone(v))
		}
		e.b = append(e.b, v...)
	}
}

func (e *encoder) meta(m Meta) {
	if v := jsontext.Value(m); v.Kind() != '{' {
		e.fail("_meta: it is not a JSON object")
	}
	e.raw(jsontext.Value(m))
}

// rawMembers writes the members of the raw object that an unknown variant holds.
func (e *encoder) rawMembers(what string, v jsontext.Value) {
	if v.Kind() != '{' {
		e.fail("%s: Raw is not a JSON object", what)
		return
	}
	at := len(e.b)
	e.raw(v)
	if e.err != nil {
		return
	}
	b := bytes.TrimSpace(e.b[at:])
	inner := b[1 : len(b)-1]
	if len(bytes.TrimSpace(inner)) == 0 {
		e.b = e.b[:at]
		return
	}
	n := copy(e.b[at+1:cap(e.b)], inner)
	e.b[at] = ','
	e.b = e.b[:at+1+n]
}

func encodeSlice[T any](e *encoder, s []T, item func(*encoder, *T)) {
	e.b = append(e.b, '[')
	for i := range s {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		item(e, &s[i])
	}
	e.b = append(e.b, ']')
}

func encodeMap[T any](e *encoder, m map[string]T, item func(*encoder, *T)) {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	at := len(e.b)
	for _, n := range names {
		v := m[n]
		e.member(n)
		item(e, &v)
	}
	e.close(at)
}

func encodeOrdered[T any](e *encoder, m Members[T], item func(*encoder, *T)) {
	at := len(e.b)
	for i := range m {
		e.member(m[i].Name)
		item(e, &m[i].Value)
	}
	e.close(at)
}

func (e *encoder) member(name string) {
	e.b = append(e.b, ',')
	e.str(name)
	e.b = append(e.b, ':')
}

func encodeString[T ~string](e *encoder, v *T) { e.str(string(*v)) }
