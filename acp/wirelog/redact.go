package wirelog

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// hidden stands for a string that was left out.
const hidden = "[redacted]"

// errNotJSON is for a text that does not even begin as an object or array.
var errNotJSON = errors.New("not JSON")

// A redactor leaves out parts of JSON texts, token by token; everything else stays byte
// for byte. It must not be used concurrently.
type redactor struct {
	mode Redaction
	hide []string
	key  []byte // of pseudonyms

	dec     *jsontext.Decoder
	buf     bytes.Buffer
	levels  []level
	scratch []byte
	renamed int  // member names replaced in this frame
	login   bool // the frame may be about authentication
}

// A veil says how much of a value is left out.
type veil uint8

const (
	shown   veil = iota
	secret       // every string
	sealed       // every string and number
	entries      // env or headers: of the entries everything but their names
	entry        // one of them
)

// A level is an object or array that is open.
type level struct {
	veil   veil
	object bool
	inName bool   // the next string is a member's name
	flag   bool   // the string before was an option that takes a secret
	name   string // of the member whose value is next
}

func newRedactor(mode Redaction, hide []string) *redactor {
	r := &redactor{mode: mode, dec: jsontext.NewDecoder(strings.NewReader(""))}
	if mode == RedactContents {
		r.key = pseudonymKey()
	}
	for _, h := range hide {
		if h != "" {
			r.hide = append(r.hide, h)
		}
	}
	return r
}

// tolerant are the options that take in whatever a peer may send as JSON: names twice, half
// a surrogate pair.
func tolerant() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// json appends message to dst without what must not be seen. If message is not JSON it
// returns an error: either errNotJSON, or another one, and then what it has appended is
// the part that was understood and a mark for the rest.
func (r *redactor) json(dst, message []byte) ([]byte, error) {
	trimmed := bytes.TrimLeft(message, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return dst, errNotJSON
	}
	if r.mode == RedactNothing {
		if !jsontext.Value(message).IsValid(tolerant()...) {
			return dst, errNotJSON
		}
		return append(dst, message...), nil
	}
	r.buf = *bytes.NewBuffer(message)
	r.dec.Reset(&r.buf, tolerant()...)
	r.levels = r.levels[:0]
	r.renamed = 0
	r.login = bytes.Contains(message, []byte(`"authenticate"`))
	copied, good := 0, 0
	for {
		if good > 0 && len(r.levels) == 0 { // the value has ended
			if rest := message[good:]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
				return r.broken(dst, message, copied, good), errors.New("text after the value")
			}
			return append(dst, message[copied:]...), nil
		}
		switch kind := r.dec.PeekKind(); kind {
		case '{', '[', '}', ']':
			if _, err := r.dec.ReadToken(); err != nil {
				return r.broken(dst, message, copied, good), err
			}
			switch kind {
			case '{':
				r.open(true)
			case '[':
				r.open(false)
			default:
				r.levels = r.levels[:len(r.levels)-1]
				r.after()
			}
		default:
			raw, err := r.dec.ReadValue()
			if err != nil {
				return r.broken(dst, message, copied, good), err
			}
			end := int(r.dec.InputOffset())
			dst = append(dst, message[copied:end-len(raw)]...)
			dst = r.scalar(dst, raw)
			copied = end
		}
		good = int(r.dec.InputOffset())
	}
}

// broken ends a text that is not JSON after good bytes. The context of the rest is not
// known, so it is left out.
func (r *redactor) broken(dst, message []byte, copied, good int) []byte {
	dst = append(dst, message[copied:good]...)
	rest := message[good:]
	if r.mode == RedactContents {
		return appendMask(dst, rest)
	}
	if len(rest) > 0 {
		dst = append(dst, hidden...)
	}
	return dst
}

// open enters an object or array.
func (r *redactor) open(object bool) {
	v, _ := r.next()
	if v == entries && object { // a map of names to values
		v = secret
		if n := len(r.levels); n > 0 && !r.levels[n-1].object {
			v = entry
		}
	}
	if v == entries && len(r.levels) > 0 && r.levels[len(r.levels)-1].veil == entries {
		v = secret // an array in the list
	}
	r.levels = append(r.levels, level{veil: v, object: object, inName: object})
}

// next returns the veil of the value that comes next and the name of its member, if it
// has one.
func (r *redactor) next() (veil, string) {
	if len(r.levels) == 0 {
		return shown, ""
	}
	l := &r.levels[len(r.levels)-1]
	if !l.object {
		return l.veil, ""
	}
	switch l.veil {
	case secret, sealed:
		return l.veil, l.name
	case entry:
		if l.name == "name" {
			return shown, l.name
		}
		return secret, l.name
	}
	if len(r.levels) == 1 && (l.name == "method" || l.name == "id" || l.name == "jsonrpc") {
		return shown, l.name
	}
	if r.login && l.name == "_meta" {
		return sealed, l.name
	}
	return veilOf(l.name), l.name
}

// after is called behind each value.
func (r *redactor) after() {
	if n := len(r.levels); n > 0 {
		l := &r.levels[n-1]
		l.inName = l.object
		l.flag = false
	}
}

// scalar appends a string, number or literal, or a member's name.
func (r *redactor) scalar(dst, raw []byte) []byte {
	if raw[0] != '"' {
		v, _ := r.next()
		r.after()
		if v == sealed && raw[0] != 't' && raw[0] != 'f' && raw[0] != 'n' {
			return append(dst, '0')
		}
		return append(dst, raw...)
	}
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		r.scratch, _ = jsontext.AppendUnquote(r.scratch[:0], raw) // raw is a valid string
		text = r.scratch
	}
	if n := len(r.levels); n > 0 && r.levels[n-1].inName {
		l := &r.levels[n-1]
		l.inName = false
		l.name = intern(text)
		scrubbed, found := scrub(text, r.hide)
		if !found {
			return append(dst, raw...)
		}
		r.renamed++
		return appendText(dst, string(scrubbed)+"-"+strconv.Itoa(r.renamed)) // names stay apart
	}
	v, name := r.next()
	flagged := false
	if n := len(r.levels); n > 0 && !r.levels[n-1].object {
		flagged = r.levels[n-1].flag
		defer func(f bool) { r.levels[n-1].flag = f }(secretFlag(text))
	}
	r.after()
	switch {
	case len(text) == 0:
		return append(dst, raw...)
	case r.mode == RedactContents && (v != shown || flagged):
		return r.mask(dst, text)
	case v != shown || flagged:
		return append(append(append(dst, '"'), hidden...), '"')
	case r.mode == RedactContents && r.structural(name, text):
	case r.mode == RedactContents && isID(name):
		return r.pseudonym(dst, text)
	case r.mode == RedactContents:
		return r.mask(dst, text)
	}
	if scrubbed, found := scrub(text, r.hide); found {
		return appendText(dst, scrubbed)
	}
	return append(dst, raw...)
}

// text leaves out what must not be seen of a text that is not JSON.
func (r *redactor) text(s []byte) ([]byte, bool) {
	switch r.mode {
	case RedactNothing:
		return s, false
	case RedactContents:
		return appendMask(nil, s), true
	}
	return scrub(s, r.hide)
}

// structural tells the strings that a frame cannot be understood without.
func (r *redactor) structural(name string, text []byte) bool {
	if len(r.levels) == 1 {
		switch name {
		case "jsonrpc", "method", "id":
			return true
		}
	}
	return tagNames[name] && protocolWords[string(text)]
}

// isID tells the names of members that hold identifiers.
func isID(name string) bool { return name == "id" || strings.HasSuffix(name, "Id") }

// pseudonym appends what stands for an identifier.
func (r *redactor) pseudonym(dst, text []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write(text)
	dst = append(dst, `"id-`...)
	dst = hex.AppendEncode(dst, h.Sum(nil)[:6])
	return append(dst, '"')
}

func (r *redactor) mask(dst, text []byte) []byte {
	return append(appendMask(append(dst, '"'), text), '"')
}

// appendMask appends an x for each character.
func appendMask(dst, text []byte) []byte {
	for range utf8.RuneCount(text) {
		dst = append(dst, 'x')
	}
	return dst
}

// intern returns name as a string, without an allocation if the protocol has it.
func intern(name []byte) string {
	if s, ok := frequentNames[string(name)]; ok {
		return s
	}
	return string(name)
}
