package acp

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// RequestID identifies a JSON-RPC request: a number, a string, or null, which is the zero value. It keeps the exact JSON text, so an id
// is echoed as it came. RequestIDs are comparable.
type RequestID struct {
	raw string // JSON text; empty for null
}

// NumberID returns a numeric request id.
func NumberID(n int64) RequestID { return RequestID{strconv.FormatInt(n, 10)} }

// StringID returns a request id that is a string.
func StringID(s string) RequestID {
	b, _ := jsontext.AppendQuote(nil, s) // an error means that invalid UTF-8 was replaced
	return RequestID{string(b)}
}

// IsNull reports whether the id is null.
func (id RequestID) IsNull() bool { return id.raw == "" }

// Number returns the id if it is a number.
func (id RequestID) Number() (int64, bool) {
	n, err := strconv.ParseInt(id.raw, 10, 64)
	return n, err == nil
}

// Text returns the id if it is a string.
func (id RequestID) Text() (string, bool) {
	if id.raw == "" || id.raw[0] != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, id.raw)
	return string(b), err == nil
}

// String returns the id's JSON text.
func (id RequestID) String() string {
	if id.raw == "" {
		return "null"
	}
	return id.raw
}

// MarshalJSON writes the id as it came.
func (id RequestID) MarshalJSON() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalJSON reads a number, a string or null.
func (id *RequestID) UnmarshalJSON(b []byte) error {
	v, err := unmarshalUnion(b, decodeRequestID)
	if err == nil {
		*id = v
	}
	return err
}

func decodeRequestID(d *decoder) (RequestID, error) {
	at := d.i
	switch c := d.b[at]; {
	case c == 'n':
		d.skip()
		return RequestID{}, nil
	case c == '"':
		return RequestID{string(d.rawBytes())}, nil
	case isNumber(c):
		id := RequestID{string(d.rawBytes())}
		if _, ok := id.Number(); ok {
			return id, nil
		}
		d.i = at
	}
	return RequestID{}, d.expected("int64, string or null")
}

func encodeRequestID(e *encoder, id RequestID) { e.lit(id.String()) }
