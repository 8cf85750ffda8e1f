package host

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func utf16Bytes(s string, bigEndian, bom bool) string {
	if bom {
		s = byteOrderMark + s
	}
	return string(encodeUTF16(s, bigEndian))
}

func TestEncodingsMarksAndLineEndingsAreFoundOutAndPutBack(t *testing.T) {
	for name, c := range map[string]struct {
		raw, content string
		format       Format
	}{
		"empty":                    {"", "", Format{}},
		"utf-8":                    {"héllo\nwörld\n", "héllo\nwörld\n", Format{}},
		"no final newline":         {"a\nb", "a\nb", Format{}},
		"crlf":                     {"a\r\nb\r\n", "a\nb\n", Format{CRLF: true}},
		"crlf, no final newline":   {"a\r\nb", "a\nb", Format{CRLF: true}},
		"mixed endings are kept":   {"a\r\nb\n", "a\r\nb\n", Format{}},
		"a lone cr is kept":        {"a\rb\r\nc\r\n", "a\rb\r\nc\r\n", Format{}},
		"only cr":                  {"a\rb\r", "a\rb\r", Format{}},
		"utf-8 with mark":          {"\xEF\xBB\xBFa\r\nb\r\n", "a\nb\n", Format{BOM: true, CRLF: true}},
		"only a mark":              {"\xEF\xBB\xBF", "", Format{BOM: true}},
		"utf-16le with mark":       {utf16Bytes("hi €𝄞\r\n", false, true), "hi €𝄞\n", Format{Encoding: "utf-16le", BOM: true, CRLF: true}},
		"utf-16be with mark":       {utf16Bytes("hi €𝄞\n", true, true), "hi €𝄞\n", Format{Encoding: "utf-16be", BOM: true}},
		"utf-16le without mark":    {utf16Bytes("plain text\n", false, false), "plain text\n", Format{Encoding: "utf-16le"}},
		"utf-16be without mark":    {utf16Bytes("plain text\n", true, false), "plain text\n", Format{Encoding: "utf-16be"}},
		"windows-1252":             {"caf\xE9 \x80 5 \x93quoted\x94\r\n", "café € 5 “quoted”\n", Format{Encoding: "windows-1252", CRLF: true}},
		"escapes and form feeds":   {"a\x1b[1mb\f\n", "a\x1b[1mb\f\n", Format{}},
		"japanese in utf-8":        {"日本語\n", "日本語\n", Format{}},
		"utf-16le chinese, marked": {utf16Bytes("中文", false, true), "中文", Format{Encoding: "utf-16le", BOM: true}},
	} {
		text, err := Decode([]byte(c.raw))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text.Content != c.content || text.Format != c.format {
			t.Errorf("%s: %q %+v, want %q %+v", name, text.Content, text.Format, c.content, c.format)
		}
		if text.Version != (Version{Source: FromDisk, Digest: Digest(c.raw)}) {
			t.Errorf("%s: version %+v", name, text.Version)
		}
		if back, err := text.Encode(); err != nil || string(back) != c.raw {
			t.Errorf("%s: put back as %q, %v", name, back, err)
		}
	}
}

func TestWhatIsNotTextIsRefused(t *testing.T) {
	for name, raw := range map[string]string{
		"nul in ascii":            "abc\x00def",
		"png":                     "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"elf":                     "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00",
		"random high bytes":       "\xfe\x81\x8d\xf0\x9f\x00",
		"mostly high bytes":       strings.Repeat("\xe9\xe8", 50),
		"undefined in 1252":       "hello \x81 world, this is long enough",
		"control in 1252":         "hello \x01 w\xe9rld, this is long enough",
		"utf-32le":                "\xff\xfe\x00\x00a\x00\x00\x00",
		"utf-16 with half a char": "\xff\xfea",
		"utf-16 lone surrogate":   "\xff\xfe\x00\xd8a\x00",
		"utf-16 with nul":         "\xff\xfea\x00\x00\x00b\x00",
		"little integers":         "\x01\x00\x02\x00\x03\x00\x04\x00",
	} {
		if text, err := Decode([]byte(raw)); !errors.Is(err, ErrBinary) {
			t.Errorf("%s: read as %q %+v, %v", name, text.Content, text.Format, err)
		}
	}
}

func TestACharacterThatTheEncodingLacksIsNamed(t *testing.T) {
	_, err := Text{Content: "naïve 日", Format: Format{Encoding: "windows-1252"}}.Encode()
	wantSentence(t, err, "the file is stored as windows-1252, which does not have the character '日' (U+65E5)")
	_, err = Text{Content: "x", Format: Format{Encoding: "klingon"}}.Encode()
	wantSentence(t, err, `the encoding "klingon" is not known`)
	_, err = Text{Content: "a\xffb"}.Encode()
	wantSentence(t, err, "the new text is not valid UTF-8")
}

func TestAnEditorsTextIsSplitAndPutBackTheSameWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab\r\n\n\uFEFF€"))).Draw(t, "text")
		text := DecodeString(s, FromEditor)
		if back := text.EncodeString(); back != s {
			t.Fatalf("%q became %q by way of %+v", s, back, text)
		}
		if text.Version != (Version{Source: FromEditor, Digest: Digest(s)}) {
			t.Fatalf("version %+v", text.Version)
		}
		if text.Format.CRLF && strings.Contains(text.Content, "\r") {
			t.Fatalf("uniform text keeps a carriage return: %q", text.Content)
		}
	})
}

func FuzzTextIsPutBackByteForByte(f *testing.F) {
	for _, seed := range []string{
		"", "plain\n", "a\r\nb\r\n", "a\r\nb\n", "\xEF\xBB\xBFx", utf16Bytes("héllo\r\n", false, true), utf16Bytes("abc", true, true),
		utf16Bytes("abcdef\n", false, false), "caf\xe9", "\xff\xfe", "\xfe\xff\xfe\xff", "\x00", "a\x00", "\r\r\n", "\xEF\xBB\xBF\xEF\xBB\xBF",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := Decode(raw)
		if err != nil {
			if !errors.Is(err, ErrBinary) {
				t.Fatal(err)
			}
			return
		}
		if !utf8.ValidString(text.Content) || strings.ContainsRune(text.Content, 0) {
			t.Fatalf("content is not plain UTF-8: %q", text.Content)
		}
		back, err := text.Encode()
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("%q was put back as %q (%v) by way of %+v", raw, back, err, text.Format)
		}
	})
}

func TestFilesOverTheLimitAreRefusedWithTheirSize(t *testing.T) {
	dir := tempRoot(t)
	put(t, dir+"/big", strings.Repeat("x", 101))
	put(t, dir+"/fits", strings.Repeat("x", 100))
	l, err := NewLocal([]string{dir}, LocalOptions{MaxText: 100})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Read(t.Context(), "big")
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error: %v", err)
	}
	wantSentence(t, err, "big: too large to read: it has 101 bytes, the limit is 100 bytes")
	if got := mustRead(t, l, "fits"); len(got.Content) != 100 {
		t.Errorf("%d bytes", len(got.Content))
	}
	if _, err := l.ReadBytes(t.Context(), "big", 50); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error: %v", err)
	}
}

func TestReadingWhatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	dir := tempRoot(t)
	if err := os.Mkdir(dir+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	makePipe(t, dir+"/pipe")
	l := newLocal(t, dir)
	_, err := l.Read(t.Context(), "pipe")
	wantSentence(t, err, "pipe: is not a regular file (a named pipe)")
	_, err = l.Read(t.Context(), "d")
	wantSentence(t, err, "d: is a folder, not a file")
	_, err = l.Read(t.Context(), "missing")
	wantSentence(t, err, "missing: does not exist")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error: %v", err)
	}
	_, err = l.Write(t.Context(), "pipe", Text{}, Version{Source: FromDisk, Digest: Digest("")})
	wantSentence(t, err, "pipe: is not a regular file (a named pipe)")
	if got := names(t, l, "."); got != "" {
		t.Errorf("walked: %s", got)
	}
}
