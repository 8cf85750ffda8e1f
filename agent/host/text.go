package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// The names of encodings in [Format], besides "" for UTF-8.
const (
	encodingUTF16LE     = "utf-16le"
	encodingUTF16BE     = "utf-16be"
	encodingWindows1252 = "windows-1252"
)

const byteOrderMark = "\uFEFF"

// Digest is the digest of a [Version]: SHA-256 of the content as its source gave it, in hex.
func Digest[T ~string | ~[]byte](content T) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Decode makes a text of a file's bytes as they are on the disk: it finds out the encoding, the byte-order mark and the
// line endings, and the version. Bytes that are not plausibly text, and those that could not be put back exactly, are
// refused with [ErrBinary]. [Text.Encode] is its inverse.
func Decode(raw []byte) (Text, error) {
	content, format, ok := decodeBytes(raw)
	if !ok {
		return Text{}, ErrBinary
	}
	content, format.CRLF = uniformLines(content)
	return Text{Content: content, Format: format, Version: Version{Source: FromDisk, Digest: Digest(raw)}}, nil
}

// DecodeString makes a text of what an editor gives for a file: a string with the buffer's own line endings and perhaps a
// byte-order mark. [Text.EncodeString] is its inverse.
func DecodeString(s string, source Source) Text {
	t := Text{Version: Version{Source: source, Digest: Digest(s)}}
	t.Content, t.Format.BOM = strings.CutPrefix(s, byteOrderMark)
	t.Content, t.Format.CRLF = uniformLines(t.Content)
	return t
}

// EncodeString gives the text with its byte-order mark and line endings, but not its encoding, put back.
func (t Text) EncodeString() string {
	s := t.Content
	if t.Format.CRLF {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
	}
	if t.Format.BOM {
		s = byteOrderMark + s
	}
	return s
}

// Encode gives the bytes to store: line endings, encoding and byte-order mark as Format says. A character that the encoding
// does not have is an error that names it.
func (t Text) Encode() ([]byte, error) {
	if !utf8.ValidString(t.Content) {
		return nil, errors.New("the new text is not valid UTF-8")
	}
	s := t.EncodeString()
	switch t.Format.Encoding {
	case "":
		return []byte(s), nil
	case encodingUTF16LE, encodingUTF16BE:
		return encodeUTF16(s, t.Format.Encoding == encodingUTF16BE), nil
	case encodingWindows1252:
		out := make([]byte, 0, len(s))
		for _, r := range s {
			b, ok := charmap.Windows1252.EncodeRune(r)
			if !ok {
				return nil, fmt.Errorf("the file is stored as windows-1252, which does not have the character %q (U+%04X)", r, r)
			}
			out = append(out, b)
		}
		return out, nil
	}
	return nil, fmt.Errorf("the encoding %q is not known", t.Format.Encoding)
}

// uniformLines turns "\r\n" into "\n" when every line ending is "\r\n" and no other "\r" is there; else s stays as it is.
func uniformLines(s string) (string, bool) {
	crlf := strings.Count(s, "\r\n")
	if crlf == 0 || crlf != strings.Count(s, "\n") || crlf != strings.Count(s, "\r") {
		return s, false
	}
	return strings.ReplaceAll(s, "\r\n", "\n"), true
}

func decodeBytes(raw []byte) (content string, format Format, ok bool) {
	switch {
	case bytes.HasPrefix(raw, []byte(byteOrderMark)):
		rest := raw[len(byteOrderMark):]
		return string(rest), Format{BOM: true}, plainUTF8(rest)
	case bytes.HasPrefix(raw, []byte{0xFF, 0xFE}):
		content, ok = decodeUTF16(raw[2:], false)
		return content, Format{Encoding: encodingUTF16LE, BOM: true}, ok
	case bytes.HasPrefix(raw, []byte{0xFE, 0xFF}):
		content, ok = decodeUTF16(raw[2:], true)
		return content, Format{Encoding: encodingUTF16BE, BOM: true}, ok
	case plainUTF8(raw):
		return string(raw), Format{}, true
	case bytes.IndexByte(raw, 0) >= 0:
		if bigEndian, likely := guessUTF16(raw); likely {
			format.Encoding = encodingUTF16LE
			if bigEndian {
				format.Encoding = encodingUTF16BE
			}
			content, ok = decodeUTF16(raw, bigEndian)
			return content, format, ok
		}
		return "", Format{}, false
	}
	content, ok = decodeWindows1252(raw)
	return content, Format{Encoding: encodingWindows1252}, ok
}

// plainUTF8 tells whether b is valid UTF-8 without NUL.
func plainUTF8(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) }

// guessUTF16 tells whether bytes without a byte-order mark are likely UTF-16: nearly every character of code and prose in
// Latin script has a zero in the same half.
func guessUTF16(raw []byte) (bigEndian, likely bool) {
	if len(raw) < 4 || len(raw)%2 != 0 {
		return false, false
	}
	var zeros [2]int
	for i, b := range raw {
		if b == 0 {
			zeros[i%2]++
		}
	}
	units := len(raw) / 2
	switch {
	case zeros[0] == 0 && zeros[1]*10 >= units*7:
		return false, true
	case zeros[1] == 0 && zeros[0]*10 >= units*7:
		return true, true
	}
	return false, false
}

// decodeUTF16 decodes text whose encoding is sure or likely. It is not text when it has half a character, an unpaired
// surrogate, a NUL or other control characters that text does not have.
func decodeUTF16(raw []byte, bigEndian bool) (string, bool) {
	if len(raw)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		lo, hi := raw[2*i], raw[2*i+1]
		if bigEndian {
			lo, hi = hi, lo
		}
		units[i] = uint16(lo) | uint16(hi)<<8
	}
	var out strings.Builder
	out.Grow(len(units))
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i+1 == len(units) {
				return "", false
			}
			if r = utf16.DecodeRune(r, rune(units[i+1])); r == unicode.ReplacementChar {
				return "", false
			}
			i++
		}
		if !textRune(r) {
			return "", false
		}
		out.WriteRune(r)
	}
	return out.String(), true
}

func encodeUTF16(s string, bigEndian bool) []byte {
	units := utf16.Encode([]rune(s))
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		lo, hi := byte(u), byte(u>>8)
		if bigEndian {
			lo, hi = hi, lo
		}
		out = append(out, lo, hi)
	}
	return out
}

// decodeWindows1252 decodes bytes that are not UTF-8 as the most common single-byte encoding, when the result looks like
// text: no control characters, no bytes that the encoding leaves undefined, and mostly ASCII.
func decodeWindows1252(raw []byte) (string, bool) {
	high := 0
	for _, b := range raw {
		switch {
		case b >= 0x80:
			high++
			switch b {
			case 0x81, 0x8D, 0x8F, 0x90, 0x9D:
				return "", false
			}
		case !textRune(rune(b)):
			return "", false
		}
	}
	if high*10 > len(raw)*3 {
		return "", false
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(raw)
	return string(out), err == nil
}

// textRune tells whether a character is one that text has: the control characters in use are tab, the line and page
// breaks, backspace, bell and escape.
func textRune(r rune) bool {
	switch {
	case r >= 0x20 && r != 0x7F:
		return r != 0xFFFE && r != 0xFFFF
	case r == 0x1B, r >= 0x07 && r <= 0x0D:
		return true
	}
	return false
}
