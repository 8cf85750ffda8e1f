package jsonrpc

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// An ID is a request id exactly as it stood on the wire: null, a number or a string.
// The zero ID is null.
type ID struct{ raw string }

// NewID returns the id that the JSON text raw stands for. ok is false if raw is not
// null, a number or a string.
func NewID(raw jsontext.Value) (id ID, ok bool) {
	switch raw.Kind() {
	case 'n':
		return ID{}, true
	case '0', '"':
		return ID{string(raw)}, true
	}
	return ID{}, false
}

// IsNull reports whether the id is null.
func (id ID) IsNull() bool { return id.raw == "" }

// String returns the JSON text of the id.
func (id ID) String() string {
	if id.raw == "" {
		return "null"
	}
	return id.raw
}

// key is equal for ids that mean the same, however their strings were escaped.
func (id ID) key() string {
	if len(id.raw) == 0 || id.raw[0] != '"' {
		return id.raw
	}
	text, err := jsontext.AppendUnquote([]byte{'"'}, id.raw)
	if err != nil {
		return id.raw
	}
	return string(text)
}

// ours returns the number of a request of ours that the peer's answer names. Peers
// that hold numbers as floats may write 3 as 3.0.
func ours(raw jsontext.Value) (int64, bool) {
	if raw.Kind() != '0' {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < 0 {
		return 0, false
	}
	return int64(f), true
}
