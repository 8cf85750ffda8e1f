package acp

import (
	"fmt"
	"strconv"
)

// DecodeError says that a well-formed JSON value does not fit the protocol.
type DecodeError struct {
	// Path leads to the value from the root of what was decoded: "prompt[0].text". It is empty when the root itself is meant.
	Path string
	// Expected names what the protocol has there, such as "string" or "uint32". It is empty when a required member is missing.
	Expected string
	// Got describes what was there: "number", "null", or the number itself when its range or form is the problem.
	Got string

	at   int    // offset of the value, or of the object a member is missing from
	name string // the missing member
}

// Error returns the path and what is wrong there, such as "cwd: expected string, got number".
func (e *DecodeError) Error() string {
	what := "required, missing"
	if e.Expected != "" {
		what = "expected " + e.Expected + ", got " + e.Got
	}
	if e.Path == "" {
		return what
	}
	return e.Path + ": " + what
}

// Within returns a copy of e whose path starts at an outer value, named by prefix: "params".
func (e *DecodeError) Within(prefix string) *DecodeError {
	c := *e
	switch {
	case c.Path == "":
		c.Path = prefix
	case c.Path[0] == '[':
		c.Path = prefix + c.Path
	default:
		c.Path = prefix + "." + c.Path
	}
	return &c
}

// expected returns the error for the value at hand. Its path is found when the error leaves the decoder.
func (d *decoder) expected(what string) error {
	return &DecodeError{Expected: what, Got: describe(d.b[d.i:]), at: d.i}
}

// unfit returns the error for the number at hand, whose range or form is the problem.
func (d *decoder) unfit(what string) error {
	e := &DecodeError{Expected: what, Got: "number", at: d.i}
	if s := d.b[d.i:valueEnd(d.b, d.i)]; len(s) <= 32 {
		e.Got = string(s)
	}
	return e
}

// missing returns the error for the first of names whose bit is not set in seen.
func (d *decoder) missing(object int, seen uint64, names ...string) error {
	for i, n := range names {
		if seen&(1<<i) == 0 {
			return &DecodeError{at: object, name: n}
		}
	}
	return nil
}

// missingTag returns the error for an object that lacks the member which tells its kind.
func (d *decoder) missingTag(name string) error { return d.missing(d.i, 0, name) }

func describe(b []byte) string {
	switch b[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// finish gives an error that leaves the decoder its path.
func (d *decoder) finish(err error) error {
	if e, ok := err.(*DecodeError); ok {
		e.Path = e.find(d.b)
	}
	return err
}

func (e *DecodeError) find(b []byte) string {
	path := pathOf(b, e.at)
	switch {
	case e.name == "":
		return path
	case path == "":
		return e.name
	}
	return path + "." + e.name
}

// lenient passes over the value at the offset, which did not decode, and reports it.
func (d *decoder) lenient(at int, err error) {
	d.i = at
	d.skip()
	if e, ok := err.(*DecodeError); ok && d.mayReport() {
		e.Path = e.find(d.b)
		d.onLenient(pathOf(d.b, at), e.Error())
	}
}

// report tells of a value that was taken although it is not what the protocol has there.
func (d *decoder) report(at int, reason string) {
	if d.mayReport() {
		d.onLenient(pathOf(d.b, at), reason)
	}
}

// reportAbsent tells of a required member that was taken as empty.
func (d *decoder) reportAbsent(object int, name string) {
	if d.mayReport() {
		e := DecodeError{at: object, name: name}
		d.onLenient(e.find(d.b), "required, missing; taken as empty")
	}
}

// maxReports bounds the reports of one value. Finding a path walks the value from its start, so reporting each of a million bad items
// would let a peer burn our time.
const maxReports = 16

func (d *decoder) mayReport() bool {
	if d.onLenient == nil || d.reports > maxReports {
		return false
	}
	d.reports++
	if d.reports > maxReports {
		d.onLenient("", "more values were left out or replaced; they are not reported one by one")
		return false
	}
	return true
}

// pathOf walks to the value at the offset and returns its path.
func pathOf(b []byte, at int) string {
	d := decoder{b: b}
	d.space()
	var path []byte
	for d.i < at {
		if d.b[d.i] == '{' {
			d.i++
			for {
				name, ok := d.next()
				if !ok {
					return string(path)
				}
				if at < valueEnd(b, d.i) {
					path = appendName(path, name)
					break
				}
				d.skip()
			}
			continue
		}
		if d.b[d.i] != '[' {
			break
		}
		d.i++
		for n := 0; d.more(); n++ {
			if at < valueEnd(b, d.i) {
				path = append(path, '[')
				path = strconv.AppendInt(path, int64(n), 10)
				path = append(path, ']')
				break
			}
			d.skip()
		}
	}
	return string(path)
}

func appendName(path, name []byte) []byte {
	for _, c := range name {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return fmt.Appendf(path, "[%q]", name)
		}
	}
	if len(name) == 0 {
		return append(path, `[""]`...)
	}
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, name...)
}
