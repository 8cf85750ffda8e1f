package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsoncheck"
)

// kind says what a message is.
type kind uint8

const (
	kindInvalid kind = iota
	kindRequest
	kindNotification
	kindResponse
)

// An envelope is one message, taken apart but not decoded. Its slices alias the line
// it was scanned from.
type envelope struct {
	kind    kind
	id      jsontext.Value // nil if absent
	method  []byte         // unquoted
	params  jsontext.Value // nil if absent or null
	result  jsontext.Value // nil if absent
	err     jsontext.Value // nil if absent
	problem string         // why it is invalid, or what is wrong with a response
	twice   error          // not nil if an object within params or result has a name twice
}

// errNotJSON is returned by scan for a text that is not one JSON value in UTF-8.
var errNotJSON = errors.New("not JSON")

// A scanner takes envelopes apart. It is not safe for concurrent use.
type scanner struct {
	dec jsontext.Decoder
	src bytes.Buffer
}

const (
	sawVersion = 1 << iota
	sawID
	sawMethod
	sawParams
	sawResult
	sawError
)

// scan splits line. The only error is errNotJSON; a JSON text that is no JSON-RPC
// message gives an envelope of kindInvalid that names its problem.
func (s *scanner) scan(line []byte) (envelope, error) {
	if e, ok := quick(line); ok {
		return e, nil
	}
	e, err := s.any(line)
	if err == nil {
		e.twice = errors.Join(uniqueNames(e.params), uniqueNames(e.result))
	}
	return e, err
}

// quick splits a line that is what peers usually send, and reports whether it is.
func quick(line []byte) (e envelope, ok bool) {
	i := jsoncheck.Space(line, 0)
	if i == len(line) || line[i] != '{' {
		return e, false
	}
	var seen uint
	versionOK := false
	for more := true; more; {
		i = jsoncheck.Space(line, i+1)
		flag, n := plainMember(line[i:])
		if flag == 0 || seen&flag != 0 {
			return e, false
		}
		seen |= flag
		if i = jsoncheck.Space(line, i+n); i == len(line) || line[i] != ':' {
			return e, false
		}
		i = jsoncheck.Space(line, i+1)
		end := jsoncheck.Value(line, i)
		if end < 0 {
			return e, false
		}
		value := jsontext.Value(line[i:end:end])
		i = jsoncheck.Space(line, end)
		if i == len(line) || line[i] != ',' && line[i] != '}' {
			return e, false
		}
		more = line[i] == ','
		if flag == sawVersion {
			versionOK = string(value) == `"2.0"`
			continue
		}
		if flag == sawMethod && (value[0] != '"' || len(value) == len(`""`)) {
			return e, false
		}
		e.set(flag, value)
	}
	if jsoncheck.Space(line, i+1) < len(line) {
		return e, false
	}
	e.classify(seen, versionOK)
	return e, true
}

// plainMember returns the flag of the name that b begins with and its length with quotes, or 0.
func plainMember(b []byte) (flag uint, n int) {
	if len(b) < len(`"error"`) || b[0] != '"' {
		return 0, 0
	}
	switch b[1] {
	case 'j':
		flag, n = sawVersion, len(`"jsonrpc"`)
	case 'i':
		flag, n = sawID, len(`"id"`)
	case 'm':
		flag, n = sawMethod, len(`"method"`)
	case 'p':
		flag, n = sawParams, len(`"params"`)
	case 'r':
		flag, n = sawResult, len(`"result"`)
	case 'e':
		flag, n = sawError, len(`"error"`)
	default:
		return 0, 0
	}
	if n > len(b) || member(b[:n]) != flag {
		return 0, 0
	}
	return flag, n
}

// set keeps the value of a member. That of method is a string.
func (e *envelope) set(flag uint, value jsontext.Value) {
	switch flag {
	case sawID:
		e.id = value
	case sawMethod:
		e.method = unquote(value)
	case sawParams:
		if value.Kind() != 'n' {
			e.params = value
		}
	case sawResult:
		e.result = value
	case sawError:
		e.err = value
	}
}

// uniqueNames returns an error if an object within v, which is well formed, has a name twice.
func uniqueNames(v jsontext.Value) error {
	if v == nil || v.IsValid() {
		return nil
	}
	if err := jsontext.NewDecoder(bytes.NewReader(v)).SkipValue(); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

// any splits any line.
func (s *scanner) any(line []byte) (envelope, error) {
	s.src = *bytes.NewBuffer(line)
	// Names inside params and result are looked at afterwards: one that is there twice
	// costs its message, but not its id.
	s.dec.Reset(&s.src, jsontext.AllowDuplicateNames(true))
	dec := &s.dec

	var e envelope
	if k := dec.PeekKind(); k != '{' {
		if err := s.rest(dec); err != nil {
			return e, err
		}
		e.problem = "a message is one JSON object"
		if k == '[' {
			e.problem = "batches are not supported"
		}
		return e, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return e, errNotJSON
	}
	var seen uint
	versionOK := false
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return e, errNotJSON
		}
		flag := member(name)
		value, err := dec.ReadValue()
		if err != nil {
			return e, errNotJSON
		}
		if flag != 0 && seen&flag != 0 {
			e.problem = "a member of the message appears twice"
		}
		seen |= flag
		switch flag {
		case sawVersion:
			versionOK = string(value) == `"2.0"`
		case sawMethod:
			if value.Kind() != '"' {
				e.problem = "method is not a string"
				continue
			}
			if e.method = unquote(value); len(e.method) == 0 {
				e.problem = "method is empty"
			}
		default:
			e.set(flag, value)
		}
	}
	if err := s.rest(dec); err != nil {
		return e, err
	}
	e.classify(seen, versionOK)
	return e, nil
}

// rest reads to the end of the text, which must hold nothing more than one value.
func (s *scanner) rest(dec *jsontext.Decoder) error {
	if dec.StackDepth() > 0 {
		if _, err := dec.ReadToken(); err != nil {
			return errNotJSON
		}
	} else if err := dec.SkipValue(); err != nil {
		return errNotJSON
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errNotJSON
	}
	return nil
}

func (e *envelope) classify(seen uint, versionOK bool) {
	if seen&sawMethod == 0 {
		if seen&(sawResult|sawError) != 0 {
			e.kind = kindResponse
			if seen&sawResult != 0 && seen&sawError != 0 && e.err.Kind() != 'n' && e.result.Kind() != 'n' {
				e.problem = "both result and error"
			}
			return
		}
		if seen&sawID != 0 {
			// Not a request, so it can only be meant as an answer.
			e.kind = kindResponse
			e.problem = "neither result nor error"
			return
		}
		if e.problem == "" {
			e.problem = "method is missing"
		}
		return
	}
	if e.problem != "" {
		return
	}
	if !versionOK {
		e.problem = `jsonrpc is not "2.0"`
		return
	}
	if seen&(sawResult|sawError) != 0 {
		e.problem = "both a method and a result"
		return
	}
	if seen&sawID == 0 {
		e.kind = kindNotification
		return
	}
	if k := e.id.Kind(); k != 'n' && k != '0' && k != '"' {
		e.problem = "id is not null, a number or a string"
		return
	}
	e.kind = kindRequest
}

// member maps a quoted name to its flag, 0 if it is none of the envelope's.
func member(name jsontext.Value) uint {
	switch string(name) {
	case `"jsonrpc"`:
		return sawVersion
	case `"id"`:
		return sawID
	case `"method"`:
		return sawMethod
	case `"params"`:
		return sawParams
	case `"result"`:
		return sawResult
	case `"error"`:
		return sawError
	}
	if bytes.IndexByte(name, '\\') < 0 {
		return 0
	}
	plain, err := jsontext.AppendQuote(nil, unquote(name))
	if err != nil || bytes.IndexByte(plain, '\\') >= 0 {
		return 0
	}
	return member(plain)
}

// unquote returns the text of a valid JSON string, without a copy where it can.
func unquote(quoted jsontext.Value) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil
	}
	return text
}

// headOf guesses the id and the shape of a message from its first bytes.
func headOf(head []byte) (id jsontext.Value, response, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return nil, false, false
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, false, false
	}
	var method bool
	for {
		name, err := dec.ReadValue()
		if err != nil {
			break
		}
		flag := member(name.Clone())
		if flag == sawResult || flag == sawError {
			response = true
		}
		value, err := dec.ReadValue()
		if flag == sawMethod {
			method = true
		}
		if err != nil {
			break
		}
		if flag == sawID {
			id = value.Clone()
		}
	}
	if id == nil || !id.IsValid() || (!method && !response) {
		return nil, false, false
	}
	return id, response, true
}
