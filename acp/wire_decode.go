package acp

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder walks one JSON value that is already known to be well formed and free of duplicate names, so it checks types, never syntax.
// Every method that reads a value starts at the value's first byte and ends behind its last.
type decoder struct {
	b               []byte
	i               int
	nameAt          int // offset of the latest member name's opening quote
	scratch         []byte
	session         SessionID // the latest one, which is often the next one too
	unstable        bool
	tolerateUpdates bool
	onLenient       func(path, reason string)
	reports         int
}

// flattened, given as the tag to a decodeMembers method, says that the object belongs to a parent that keeps the unknown members.
const flattened = "\x00"

// read reads the whole value into v. Nothing and null are read as an empty object.
func (d *decoder) read(v Message) error {
	if d.i == len(d.b) || d.b[d.i] == 'n' {
		d.b, d.i = []byte("{}"), 0
	}
	return d.finish(v.decodeWire(d))
}

func (d *decoder) space() {
	for d.i < len(d.b) {
		switch d.b[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// open enters an object.
func (d *decoder) open() error {
	if d.b[d.i] != '{' {
		return d.expected("object")
	}
	d.i++
	return nil
}

// next moves to the value of the next member and returns its name, or leaves the object and returns false.
func (d *decoder) next() ([]byte, bool) {
	b, i := d.b, d.i
	for b[i] != '"' {
		if b[i] == '}' {
			d.i = i + 1
			return nil, false
		}
		i++ // white space or comma
	}
	d.nameAt = i
	end := quoteOrSlash(b, i+1)
	name := b[i+1 : end]
	if b[end] == '\\' {
		d.i = i
		name = d.unquote()
		end = d.i - 1
	}
	for i = end + 1; b[i] == ':' || b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r'; {
		i++
	}
	d.i = i
	return name, true
}

// openArray enters an array.
func (d *decoder) openArray() error {
	if d.b[d.i] != '[' {
		return d.expected("array")
	}
	d.i++
	return nil
}

// more moves to the next element, or leaves the array and returns false.
func (d *decoder) more() bool {
	b, i := d.b, d.i
	for {
		switch b[i] {
		case ',', ' ', '\t', '\n', '\r':
			i++
			continue
		case ']':
			d.i = i + 1
			return false
		}
		d.i = i
		return true
	}
}

// text reads a string and returns its content, which is valid until the next call or the buffer's end, whichever is first.
func (d *decoder) text() []byte {
	start := d.i + 1
	end := quoteOrSlash(d.b, start)
	if d.b[end] == '\\' {
		return d.unquote()
	}
	d.i = end + 1
	return d.b[start:end]
}

// quoteOrSlash returns the offset of the first quote or backslash from i on, of which there is one.
func quoteOrSlash(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for far := i + shortString; len(b)-i >= 8 && i < far; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		if found := ((quote-ones)&^quote | (slash-ones)&^slash) & tops; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	// No search goes on for much longer than what was passed already: the cost of all calls grows with b alone.
	for window := shortString; ; window *= 2 {
		part := b[i:min(i+window, len(b))]
		n := bytes.IndexByte(part, '"')
		if n >= 0 {
			part = part[:n]
		}
		if slash := bytes.IndexByte(part, '\\'); slash >= 0 {
			return i + slash
		}
		if i += len(part); n >= 0 {
			return i
		}
	}
}

// shortString is the length up to which a loop is faster than two calls that search.
const shortString = 64

func (d *decoder) unquote() []byte {
	raw := d.b[d.i:stringEnd(d.b, d.i)]
	d.i += len(raw)
	d.scratch, _ = jsontext.AppendUnquote(d.scratch[:0], raw) // valid already
	return d.scratch
}

// stringEnd returns the offset behind the string that starts at i.
func stringEnd(b []byte, i int) int {
	for i++; ; i += 2 {
		if i = quoteOrSlash(b, i); b[i] == '"' {
			return i + 1
		}
	}
}

// valueEnd returns the offset behind the value that starts at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = stringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

func (d *decoder) skip() { d.i = valueEnd(d.b, d.i) }

// null consumes a null and reports whether there was one.
func (d *decoder) null() bool {
	if d.b[d.i] == 'n' {
		d.i += len("null")
		return true
	}
	return false
}

func (d *decoder) str() (string, error) {
	if d.b[d.i] != '"' {
		return "", d.expected("string")
	}
	start := d.i + 1
	end := quoteOrSlash(d.b, start)
	if d.b[end] == '\\' {
		return d.unquoted(end), nil
	}
	d.i = end + 1
	return string(d.b[start:end]), nil
}

func decodeString[T ~string](d *decoder) (T, error) {
	s, err := d.str()
	return T(s), err
}

// unquoted reads the string at hand, whose first backslash is at slash.
func (d *decoder) unquoted(slash int) string {
	b, from := d.b, d.i+1
	end := stringEnd(b, d.i) - 1
	d.i = end + 1
	var out strings.Builder
	out.Grow(end - from - 1) // an escape sequence is longer than what it stands for
	for {
		out.Write(b[from:slash])
		from = slash + 2
		switch c := b[slash+1]; c {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			r := rune(hex4(b[from:]))
			from += 4
			if utf16.IsSurrogate(r) { // the other half follows
				r = utf16.DecodeRune(r, rune(hex4(b[from+2:])))
				from += 6
			}
			out.WriteRune(r)
		default: // a quote, a slash or a backslash
			out.WriteByte(c)
		}
		next := bytes.IndexByte(b[from:end], '\\')
		if next < 0 {
			out.Write(b[from:end])
			return out.String()
		}
		slash = from + next
	}
}

// hex4 returns the number that b's first four bytes, which are hexadecimal digits, stand for.
func hex4(b []byte) (n uint16) {
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		n = n<<4 | uint16(c)
	}
	return n
}

func decodeSessionID(d *decoder) (SessionID, error) {
	if d.b[d.i] != '"' {
		return "", d.expected("string")
	}
	text := d.text()
	if string(text) == string(d.session) {
		return d.session, nil
	}
	id := SessionID(text)
	if len(id) <= keepSessionID {
		d.session = id
	}
	return id, nil
}

// keepSessionID is the length up to which a decoder remembers a session id.
const keepSessionID = 128

func (d *decoder) bool() (bool, error) {
	switch d.b[d.i] {
	case 't':
		d.i += len("true")
		return true, nil
	case 'f':
		d.i += len("false")
		return false, nil
	}
	return false, d.expected("boolean")
}

func isNumber(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

func (d *decoder) number() []byte {
	end := valueEnd(d.b, d.i)
	s := d.b[d.i:end]
	d.i = end
	return s
}

func decodeUint[T ~uint16 | ~uint32 | ~uint64](d *decoder, bits int) (T, error) {
	if at := d.i; isNumber(d.b[at]) {
		if n, err := strconv.ParseUint(string(d.number()), 10, bits); err == nil {
			return T(n), nil
		}
		d.i = at
		return 0, d.unfit("uint" + strconv.Itoa(bits))
	}
	return 0, d.expected("uint" + strconv.Itoa(bits))
}

func decodeInt[T ~int32 | ~int64](d *decoder, bits int) (T, error) {
	if at := d.i; isNumber(d.b[at]) {
		if n, err := strconv.ParseInt(string(d.number()), 10, bits); err == nil {
			return T(n), nil
		}
		d.i = at
		return 0, d.unfit("int" + strconv.Itoa(bits))
	}
	return 0, d.expected("int" + strconv.Itoa(bits))
}

func (d *decoder) float() (float64, error) {
	if at := d.i; isNumber(d.b[at]) {
		if f, err := strconv.ParseFloat(string(d.number()), 64); err == nil && !math.IsInf(f, 0) {
			return f, nil
		}
		d.i = at
		return 0, d.unfit("float64")
	}
	return 0, d.expected("number")
}

// rawBytes returns the value's own bytes, valid as long as the buffer is.
func (d *decoder) rawBytes() []byte {
	at := d.i
	d.skip()
	return d.b[at:d.i]
}

func (d *decoder) raw() (jsontext.Value, error) {
	return oneLine(bytes.Clone(d.rawBytes())), nil
}

func (d *decoder) rawObject() (jsontext.Value, error) {
	if d.b[d.i] != '{' {
		return nil, d.expected("object")
	}
	return d.raw()
}

func (d *decoder) meta() (Meta, error) {
	v, err := d.rawObject()
	return Meta(v), err
}

// oneLine makes raw JSON fit a line of its own. Text without line breaks, which is all that a line transport delivers, is returned as it is.
func oneLine(v jsontext.Value) jsontext.Value {
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return v
	}
	_ = v.Compact(jsontext.PreserveRawStrings(true)) // well formed already
	return v
}

// unknown keeps the member at hand, name and value, for encoding. Members that are the union's tag or belong to a parent are passed over.
func (d *decoder) unknown(kept *string, name []byte, tag string) {
	at := d.nameAt
	d.skip()
	if tag == flattened || string(name) == tag {
		return
	}
	*kept += "," + string(oneLineMember(d.b[at:d.i]))
}

func oneLineMember(m []byte) []byte {
	if bytes.IndexByte(m, '\n') < 0 && bytes.IndexByte(m, '\r') < 0 {
		return m
	}
	object := jsontext.Value("{" + string(m) + "}")
	_ = object.Compact(jsontext.PreserveRawStrings(true)) // well formed already
	return object[1 : len(object)-1]
}

// find returns the offset of the value of the named member of the object at hand, or -1. It does not move.
func (d *decoder) find(name string) int {
	was, wasName := d.i, d.nameAt
	defer func() { d.i, d.nameAt = was, wasName }()
	d.i++
	for {
		n, ok := d.next()
		if !ok {
			return -1
		}
		if string(n) == name {
			return d.i
		}
		d.skip()
	}
}

// tag returns the string value of the tag of the object at hand; it is nil when the tag is absent or null. It does not move.
func (d *decoder) tag(name string) ([]byte, error) {
	if d.b[d.i] != '{' {
		return nil, d.expected("object")
	}
	at := d.find(name)
	if at < 0 || d.b[at] == 'n' {
		return nil, nil
	}
	was := d.i
	d.i = at
	if d.b[at] != '"' {
		return nil, d.expected("string")
	}
	s := d.text()
	d.i = was
	return s, nil
}

// rest returns the object at hand without the named members, and moves behind it.
func (d *decoder) rest(without ...string) jsontext.Value {
	out := []byte{}
	d.i++
members:
	for {
		name, ok := d.next()
		if !ok {
			break
		}
		at := d.nameAt
		d.skip()
		for _, w := range without {
			if string(name) == w {
				continue members
			}
		}
		out = append(append(out, ','), oneLineMember(d.b[at:d.i])...)
	}
	if len(out) == 0 {
		return jsontext.Value("{}")
	}
	out[0] = '{'
	return append(out, '}')
}

// withoutMember returns the kept members without the named one.
func withoutMember(kept, name string) string {
	if kept == "" {
		return ""
	}
	d := decoder{b: []byte("{" + kept[1:] + "}")}
	rest := d.rest(name)
	if len(rest) == len("{}") {
		return ""
	}
	return "," + string(rest[1:len(rest)-1])
}
