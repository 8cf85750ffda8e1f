package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// errNotObject is given for JSON that is not an object; errBatch for an array.
var (
	errNotObject = errors.New("the message is not a JSON object")
	errBatch     = errors.New("JSON-RPC batches are not supported")
)

// An envelope is what a transport needs to know of a message.
type envelope struct {
	version       bool   // "jsonrpc" is "2.0"
	id            string // the key of the id, "" if there is none or it is none that an answer could have
	nullID        bool
	hasID         bool
	rawID         jsontext.Value
	method        string
	hasMethod     bool
	session       string // params.sessionId
	hasSession    bool
	resultSession string // result.sessionId
	answered      bool   // has a result or an error
	failed        bool   // has an error
}

func (e *envelope) request() bool      { return e.hasMethod && e.hasID }
func (e *envelope) response() bool     { return !e.hasMethod && e.hasID && e.answered }
func (e *envelope) notification() bool { return e.hasMethod && !e.hasID }

// initialize reports whether the message is the request that opens a connection.
func (e *envelope) initialize() bool {
	return e.version && e.request() && e.method == methodInitialize
}

// peek reads the envelope of a message and checks that all of it is JSON. Of a name that comes twice the last counts;
// the connection above refuses such a message anyway.
func peek(msg []byte) (envelope, error) {
	var e envelope
	dec := jsontext.NewDecoder(bytes.NewBuffer(msg), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	switch dec.PeekKind() {
	case '{':
	case '[':
		if err := skipAll(dec); err != nil {
			return e, err
		}
		return e, errBatch
	default:
		if err := skipAll(dec); err != nil {
			return e, err
		}
		return e, errNotObject
	}
	err := members(dec, func(name string) error {
		switch name {
		case "jsonrpc":
			s, _, err := text(dec)
			e.version = s == "2.0"
			return err
		case "id":
			e.hasID = true
			raw, err := dec.ReadValue()
			e.rawID = raw.Clone()
			e.id, e.nullID = key(raw), raw.Kind() == 'n'
			return err
		case "method":
			var err error
			e.method, e.hasMethod, err = text(dec)
			return err
		case "params":
			var err error
			e.session, e.hasSession, err = sessionID(dec)
			return err
		case "result":
			e.answered = true
			var err error
			e.resultSession, _, err = sessionID(dec)
			return err
		case "error":
			e.answered, e.failed = true, true
		}
		return dec.SkipValue()
	})
	if err == nil {
		if _, end := dec.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("something follows the JSON object")
		}
	}
	return e, err
}

func skipAll(dec *jsontext.Decoder) error {
	if err := dec.SkipValue(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// members calls f for each member of the object that comes next; f reads the value.
func members(dec *jsontext.Decoder, f func(name string) error) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := f(name.String()); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// text reads a string; any other value is skipped.
func text(dec *jsontext.Decoder) (string, bool, error) {
	if dec.PeekKind() != '"' {
		return "", false, dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return "", false, err
	}
	return token.String(), true, nil
}

// sessionID reads the member sessionId of the object that comes next.
func sessionID(dec *jsontext.Decoder) (id string, found bool, err error) {
	if dec.PeekKind() != '{' {
		return "", false, dec.SkipValue()
	}
	err = members(dec, func(name string) error {
		if name != "sessionId" {
			return dec.SkipValue()
		}
		var err error
		id, found, err = text(dec)
		return err
	})
	return id, found, err
}

// key makes equal ids equal strings; "" stands for null and for what is no id.
func key(raw jsontext.Value) string {
	switch raw.Kind() {
	case '"':
		s, err := jsontext.AppendUnquote(nil, raw)
		if err != nil && s == nil {
			return ""
		}
		return "s" + string(s)
	case '0':
		s := string(raw)
		if strings.ContainsAny(s, ".eE") {
			if f, err := strconv.ParseFloat(s, 64); err == nil {
				s = strconv.FormatFloat(f, 'f', -1, 64)
			}
		}
		return "n" + s
	}
	return ""
}

// failure is a JSON-RPC error answer; data is JSON or nil.
func failure(id jsontext.Value, code int, message string, data jsontext.Value) []byte {
	if len(id) == 0 {
		id = jsontext.Value("null")
	}
	quoted, err := jsontext.AppendQuote(nil, message)
	if err != nil {
		quoted = []byte(`"Internal error"`)
	}
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s`, id, code, quoted)
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	return append(b, "}}"...)
}
