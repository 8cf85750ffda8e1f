// Package jsoncheck tells quickly that a JSON text is well formed, that its strings are valid UTF-8 and that no object in it
// has a name twice. It knows the texts that messages are made of and is certain of those alone: what it does not vouch for,
// package jsontext decides. The two never differ on a text that this package vouches for.
package jsoncheck

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What is beyond these is left to package jsontext.
const (
	maxDepth = 32 // objects and arrays within each other
	maxNames = 48 // names of the objects that are open at a time
)

// Valid reports whether text is exactly one well-formed JSON value in UTF-8, with white space around it allowed, in which no
// object has a name twice.
func Valid(text []byte) bool {
	if end := Value(text, Space(text, 0)); end >= 0 && Space(text, end) == len(text) {
		return true
	}
	return jsontext.Value(text).IsValid()
}

// Space returns the offset of the first byte from i on that is not white space, or the length of text.
func Space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// inArray is what the stack of Value holds for an array, and otherwise the number of names before an object's.
const inArray = -1

// Value returns the offset behind the value that begins at text[i] when it is certain that Valid holds for it, and -1 when it
// is not certain.
func Value(text []byte, i int) int {
	if uint64(len(text)) > math.MaxUint32 {
		return -1
	}
	var (
		stack  [maxDepth]int8
		depth  int
		prints [maxNames]uint64 // of the names of the open objects
		spans  [maxNames]span
		names  int
		base   int // number of names before those of the object at hand; inArray in an array
	)
value:
	if i >= len(text) {
		return -1
	}
	switch c := text[i]; c {
	case '"':
		if i = stringEnd(text, i+1); i < 0 {
			return -1
		}
	case '{', '[':
		if i = Space(text, i+1); i >= len(text) {
			return -1
		}
		if text[i] == c+2 { // the bracket that ends it
			i++
			break
		}
		if depth == maxDepth {
			return -1
		}
		stack[depth] = int8(base)
		depth++
		if c == '[' {
			base = inArray
			goto value
		}
		base = names
		goto name
	case 't':
		if len(text)-i < 4 || string(text[i:i+4]) != "true" {
			return -1
		}
		i += 4
	case 'n':
		if len(text)-i < 4 || string(text[i:i+4]) != "null" {
			return -1
		}
		i += 4
	case 'f':
		if len(text)-i < 5 || string(text[i:i+5]) != "false" {
			return -1
		}
		i += 5
	default:
		if i = numberEnd(text, i); i < 0 {
			return -1
		}
	}
	for depth > 0 {
		if i >= len(text) {
			return -1
		}
		c := text[i]
		if c <= ' ' {
			if i = Space(text, i); i >= len(text) {
				return -1
			}
			c = text[i]
		}
		i++
		if c == ',' {
			if i < len(text) && text[i] <= ' ' {
				i = Space(text, i)
			}
			if base == inArray {
				goto value
			}
			goto name
		}
		if base == inArray {
			if c != ']' {
				return -1
			}
		} else {
			if c != '}' {
				return -1
			}
			names = base
		}
		depth--
		base = int(stack[depth])
	}
	return i

name:
	if names == maxNames || i >= len(text) || text[i] != '"' {
		return -1
	}
	i++
	end, p := nameEnd(text, i)
	if end < 0 {
		return -1
	}
	for j := base; j < names; j++ {
		if prints[j] == p && bytes.Equal(text[spans[j].from:spans[j].to], text[i:end]) {
			return -1
		}
	}
	prints[names], spans[names] = p, span{uint32(i), uint32(end)}
	names++
	if i = end + 1; i < len(text) && text[i] <= ' ' {
		i = Space(text, i)
	}
	if i >= len(text) || text[i] != ':' {
		return -1
	}
	if i++; i < len(text) && text[i] <= ' ' {
		i = Space(text, i)
	}
	goto value
}

// A span is where a name is, without its quotes.
type span struct{ from, to uint32 }

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// special finds, among eight bytes, quotes, backslashes, control characters and what is not ASCII. The lowest bit that is set
// is the top one of the first such byte; nothing is set if there is none.
func special(w uint64) uint64 {
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w | w) & tops
}

// nameEnd returns the offset of the quote that ends the name that begins at text[i], and a fingerprint of the name: names with
// different ones differ. The offset is -1 if the name is unusual or wrong.
func nameEnd(text []byte, i int) (end int, print uint64) {
	var first uint64
	for end = i; len(text)-end >= 8; end += 8 {
		w := binary.LittleEndian.Uint64(text[end:])
		if end == i {
			first = w
		}
		found := special(w)
		if found == 0 {
			continue
		}
		at := bits.TrailingZeros64(found) &^ 7
		if byte(w>>at) != '"' {
			break
		}
		if end == i {
			return i + at/8, w & (1<<at - 1)
		}
		end += at / 8
		return end, first ^ bits.RotateLeft64(binary.LittleEndian.Uint64(text[end-8:]), 29)
	}
	// It has an escape, is not ASCII or wrong, or is at the text's very end.
	end = stringEnd(text, i) - 1
	if end < 0 || bytes.IndexByte(text[i:end], '\\') >= 0 {
		return -1, 0
	}
	if end-i >= 8 {
		return end, binary.LittleEndian.Uint64(text[i:]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(text[end-8:]), 29)
	}
	for k, c := range text[i:end] {
		print |= uint64(c) << (8 * k)
	}
	return end, print
}

// stringEnd returns the offset behind the string whose first byte after the quote is text[i], or -1.
func stringEnd(text []byte, i int) int {
	for {
		for len(text)-i >= 8 {
			if found := special(binary.LittleEndian.Uint64(text[i:])); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
			i += 8
		}
		if i >= len(text) {
			return -1
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = escapeEnd(text, i); i < 0 {
				return -1
			}
		case c < ' ':
			return -1
		case c < utf8.RuneSelf: // near the end
			i++
		default:
			for i < len(text) && text[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(text[i:])
				if r == utf8.RuneError && n == 1 {
					return -1
				}
				i += n
			}
		}
	}
}

// escapeEnd returns the offset behind the escape sequence at text[i], or -1.
func escapeEnd(text []byte, i int) int {
	if len(text)-i < 2 {
		return -1
	}
	switch text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		r := hex(text, i+2)
		if r < 0xd800 || r > 0xdfff { // also if it is none
			if r < 0 {
				return -1
			}
			return i + 6
		}
		if r > 0xdbff || len(text)-i < 12 || text[i+6] != '\\' || text[i+7] != 'u' {
			return -1
		}
		if low := hex(text, i+8); low < 0xdc00 || low > 0xdfff {
			return -1
		}
		return i + 12
	}
	return -1
}

// hex returns the number that the four hexadecimal digits at text[i] are, or -1.
func hex(text []byte, i int) int {
	if len(text)-i < 4 {
		return -1
	}
	n := 0
	for _, c := range text[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		n = n<<4 | int(c)
	}
	return n
}

// numberEnd returns the offset behind the number at text[i], or -1.
func numberEnd(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	switch start := i; {
	case i < len(text) && text[i] == '0':
		i++
	default:
		if i = digitsEnd(text, i); i == start {
			return -1
		}
	}
	if i < len(text) && text[i] == '.' {
		start := i + 1
		if i = digitsEnd(text, start); i == start {
			return -1
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		start := i
		if i = digitsEnd(text, start); i == start {
			return -1
		}
	}
	return i
}

func digitsEnd(text []byte, i int) int {
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return i
}
