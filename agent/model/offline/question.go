package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// question is what was asked, taken apart.
type question struct {
	text  string
	kind  asking
	terms []term
	paths []string // files named in it
}

var (
	identifier = lazy(`^[\pL_$@][\pL\pN_$]*(?:(?:\.|::|->|#)[\pL_$][\pL\pN_$]*)*(?:\(\))?$`)
	flagWord   = lazy(`^--?[a-z][\w-]*$`)
	splitter   = lazy(`[^\pL\pN_$]+`)
)

// maxQuestion bounds what is weighed of a question, maxWord one word of it.
const (
	maxQuestion = 20_000 // characters
	maxWord     = 200    // bytes
)

// firstRunes gives the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// maxTerms bounds what one question searches for.
const maxTerms = 6

// readQuestion takes a question apart.
func readQuestion(text string) question {
	text = strings.ToValidUTF8(text, "")
	q := question{text: text, kind: askingKind(text)}
	text = bullet().ReplaceAllString(text, "")
	seen := map[string]bool{}
	add := func(t term) {
		key := strings.ToLower(t.text)
		if !t.exact {
			key = stem(key)
		}
		if !seen[key] {
			seen[key] = true
			q.terms = append(q.terms, t)
		}
	}
	var plain []string
	var leftOut []string // stop words, for a question of nothing else
	words, literals := takeQuoted(text)
	for _, l := range literals {
		if pathLike(l) && fileName(l) {
			q.paths = append(q.paths, l)
		} else {
			add(newExact(l))
		}
	}
	for i, w := range words {
		w = strings.Trim(w, ",;:!?\"'`()[]{}<>*“”‘’«»…")
		w = strings.TrimRight(w, ".")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		switch {
		case w == "", len(w) > maxWord: // too long for a name or a word
		case fileName(w):
			q.paths = append(q.paths, w)
		case flagWord().MatchString(w):
			add(newExact(w))
		case identifier().MatchString(w) && (looksNamed(w) || i > 0 && capitalised(w)):
			parts := nameParts(w)
			add(newExact(parts[len(parts)-1]))
			for _, p := range parts[:len(parts)-1] {
				plain = append(plain, strings.ToLower(p))
			}
		default:
			for _, p := range splitter().Split(w, -1) {
				p = strings.ToLower(p)
				if stop()[p] {
					leftOut = append(leftOut, p)
				} else if p != "" {
					plain = append(plain, p)
				}
			}
		}
	}
	for i, p := range plain[:min(len(plain), 40)] {
		if utf8.RuneCountInString(p) < 2 || aboutKind(q.kind, p) {
			continue
		}
		t := newWord(p)
		if i > 0 && i == len(plain)-1 && q.kind != askingCalls && participle().MatchString(p) {
			t.weight = weightGeneric
		}
		add(t)
	}
	if q.kind == askingCalls && len(q.terms) == 1 && !q.terms[0].exact {
		q.terms[0] = newExact(q.terms[0].text)
	}
	if len(q.terms) == 0 && len(q.paths) == 0 {
		for _, p := range leftOut {
			if generic()[p] && p != "file" && p != "files" && p != "line" && p != "lines" {
				add(newWord(p))
			}
		}
	}
	if len(q.terms) > maxTerms {
		slices.SortStableFunc(q.terms, func(a, b term) int {
			switch {
			case a.weight > b.weight:
				return -1
			case a.weight < b.weight:
				return 1
			}
			return 0
		})
		q.terms = q.terms[:maxTerms]
	}
	return q
}

// takeQuoted separates quoted texts from the words around them.
func takeQuoted(text string) (words, literals []string) {
	for text != "" {
		at := strings.IndexFunc(text, func(r rune) bool { _, ok := closer(r); return ok })
		if at < 0 {
			break
		}
		before := text[:at]
		near := text[at:min(len(text), at+maxWord+8)] // a longer one is no literal
		lit, rest, ok := cutQuoted(near)
		apostrophe := at > 0 && wordByte(text[at-1])
		if !ok || apostrophe || strings.TrimSpace(lit.raw) == "" || len(lit.raw) > maxWord || strings.Contains(lit.raw, "\n") {
			_, size := utf8.DecodeRuneInString(text[at:])
			end := at + size
			words = append(words, strings.Fields(before)...)
			if apostrophe && len(words) > 0 { // the rest of the word: doesn't
				tail := text[end:]
				n := strings.IndexFunc(tail, unicode.IsSpace)
				if n < 0 {
					n = len(tail)
				}
				end += n
			}
			text = text[end:]
			continue
		}
		words = append(words, strings.Fields(before)...)
		literals = append(literals, strings.TrimSpace(lit.literal()))
		text = text[at+len(near)-len(rest):]
	}
	return append(words, strings.Fields(text)...), literals
}

// looksNamed tells an identifier from a word: it has an underscore, a dot, parentheses, or a capital inside.
func looksNamed(w string) bool {
	if strings.ContainsAny(w, "_$().:>#") {
		return true
	}
	lower := false
	capitals := 0
	for i, r := range w {
		switch {
		case unicode.IsUpper(r):
			if lower {
				return true
			}
			if i > 0 {
				capitals++
			}
		case unicode.IsLower(r):
			if capitals > 1 { // HTTPServer
				return true
			}
			lower = true
		}
	}
	return false
}

// capitalised tells a name of one hump: Digest. Acronyms are words.
func capitalised(w string) bool {
	first, size := utf8.DecodeRuneInString(w)
	rest := w[size:]
	return unicode.IsUpper(first) && len(rest) > 1 && rest == strings.ToLower(rest) && !stop()[strings.ToLower(w)]
}

// nameParts splits a qualified name: Session.Turn() is Session and Turn.
func nameParts(w string) []string {
	w = strings.TrimSuffix(w, "()")
	return strings.FieldsFunc(strings.ReplaceAll(w, "->", "."), func(r rune) bool {
		return r == '.' || r == ':' || r == '#' || r == '@'
	})
}

// humps splits an identifier into its words, in lower case: MaxMessageBytes, max_message_bytes.
func humps(name string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 1 {
			out = append(out, strings.ToLower(string(cur)))
		}
		cur = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])):
			flush()
		}
		cur = append(cur, r)
	}
	flush()
	return out
}

// extensions are endings by which a word is taken for a file's name.
var extensions = lazySet(`go mod sum py pyi ts tsx js jsx mjs cjs json toml yaml yml md rst txt adoc html css scss rs java kt c h cc cpp
	hpp cs rb php swift sh bash zsh sql proto lua zig ex exs erl hs ml scala clj r jl vue svelte xml ini cfg conf env lock mk
	gradle tf csv ipynb txtar golden log`)

// fileName tells whether a word names a file: limits.go, src/app.ts, ./cmd, Makefile.
func fileName(w string) bool {
	if strings.ContainsAny(w, " *?\"(){}") || strings.Contains(w, "://") {
		return false
	}
	dot := strings.LastIndexByte(w, '.')
	if dot > 0 && extensions()[strings.ToLower(w[dot+1:])] {
		return true
	}
	if !strings.Contains(w, ".") && !strings.Contains(w, "/") {
		return pathLike(w)
	}
	return strings.Count(w, "/") >= 1 && !strings.HasPrefix(w, "/") && dot > strings.LastIndexByte(w, '/') || strings.HasPrefix(w, "./")
}
