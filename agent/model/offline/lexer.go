package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoted is a quoted text of a prompt.
type quoted struct {
	raw  string // between the quotes, as written
	open rune   // the opening quote, 0 for a bare word
}

// literal is the text with nothing but an escaped quote unescaped.
func (q quoted) literal() string {
	if q.open == '"' || q.open == '\'' {
		return strings.ReplaceAll(q.raw, `\`+string(q.open), string(q.open))
	}
	return q.raw
}

// text is the text with the usual escapes read: \n, \t, \\ and the quote. Only straight quotes have escapes.
func (q quoted) text() string {
	if q.open != '"' && q.open != '\'' {
		return q.raw
	}
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\`+string(q.open), string(q.open)).Replace(q.raw)
}

// closers gives the closing quote for each opening one.
func closer(open rune) (rune, bool) {
	switch open {
	case '"', '\'', '`':
		return open, true
	case '“', '„':
		return '”', true
	case '‘':
		return '’', true
	case '«':
		return '»', true
	}
	return 0, false
}

// cutQuoted reads a quoted text at the start of s. A text in straight quotes may hold its quote after a backslash.
func cutQuoted(s string) (q quoted, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t\n")
	open, size := utf8.DecodeRuneInString(s)
	end, ok := closer(open)
	if !ok {
		return quoted{}, s, false
	}
	escaped := false
	for i, r := range s[size:] {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && (open == '"' || open == '\''):
			escaped = true
		case r == end || open == '„' && r == '“':
			at := size + i
			return quoted{s[size:at], open}, s[at+utf8.RuneLen(r):], true
		}
	}
	return quoted{}, s, false
}

// quotedSpans gives where the quoted texts of a line begin and end, in order. A quote that is not closed from one place
// on is not closed further on either, so each kind of quote is looked for in vain only once.
func quotedSpans(line string) [][2]int {
	var spans [][2]int
	vain := map[rune]bool{}
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		if _, ok := closer(r); ok && !vain[r] && (i == 0 || line[i-1] == ' ') {
			if _, rest, ok := cutQuoted(line[i:]); ok {
				end := len(line) - len(rest)
				spans = append(spans, [2]int{i, end})
				i = end
				continue
			}
			vain[r] = true
		}
		i += size
	}
	return spans
}

// word reads a path or pattern at the start of s: quoted, or up to the next space. A bare word loses the punctuation of
// the sentence around it.
func word(s string) (w, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	if q, rest, ok := cutQuoted(s); ok {
		if q.raw == "" || strings.Contains(q.raw, "\n") {
			return "", s, false
		}
		return q.literal(), trimEnd(rest), true
	}
	w, rest, _ = strings.Cut(s, " ")
	rest = strings.TrimSpace(rest)
	w = strings.TrimRight(strings.TrimSpace(w), ",;!")
	if trimmed := strings.TrimSuffix(w, "."); trimmed != "" && !strings.HasSuffix(trimmed, ".") && !strings.HasSuffix(trimmed, "/") {
		w = trimmed
	}
	return w, trimEnd(rest), w != ""
}

// wordBefore reads a path that ends at a space or at stop, on the same line.
func wordBefore(s, stop string) (w, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	if q, rest, ok := cutQuoted(s); ok {
		return q.literal(), rest, q.raw != "" && !strings.Contains(q.raw, "\n")
	}
	end := strings.IndexAny(s, " \t\n")
	if end < 0 {
		end = len(s)
	}
	if at := strings.Index(s[:end], stop); at >= 0 && !drive(s[:end], at) {
		end = at
	} else if at >= 0 {
		if again := strings.Index(s[at+1:end], stop); again >= 0 {
			end = at + 1 + again
		}
	}
	return s[:end], s[end:], end > 0
}

// drive tells whether the colon at is that of C:\ or C:/.
func drive(s string, at int) bool {
	return at == 1 && len(s) > 2 && (s[2] == '\\' || s[2] == '/') && wordByte(s[0])
}

// inPlace reads "in PATH" and nothing else.
func inPlace(s string) (string, bool) {
	rest, ok := cutWord(s, "in", "under", "inside")
	if !ok {
		return "", false
	}
	p, rest, ok := word(rest)
	return p, ok && rest == "" && !filler(p)
}

// cutWord removes one of the words from the start of s, in any case.
func cutWord(s string, words ...string) (string, bool) {
	s = strings.TrimLeft(s, " \t\n")
	for _, w := range words {
		if len(s) >= len(w) && strings.EqualFold(s[:len(w)], w) {
			rest := s[len(w):]
			if rest == "" || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n' {
				return strings.TrimLeft(rest, " \t"), true
			}
		}
	}
	return s, false
}

// trimWord removes any of the words from the start of s, as often as they come.
func trimWord(s string, words ...string) string {
	for {
		rest, ok := cutWord(s, words...)
		if !ok {
			return s
		}
		s = rest
	}
}

// trimEnd removes space and a sentence's last punctuation.
func trimEnd(s string) string {
	s = strings.TrimSpace(s)
	if s == "." || s == "!" || s == "," || s == ";" {
		return ""
	}
	if n := len(s); n > 1 && (s[n-1] == '.' || s[n-1] == '!') && wordByte(s[n-2]) {
		s = s[:n-1]
	}
	return strings.TrimSpace(strings.TrimSuffix(s, " please"))
}

func wordByte(b byte) bool { return asciiWord(b) || b >= utf8.RuneSelf }

func asciiWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return line, rest
}

// cutVerb splits the first word off, in lower case. A colon ends it too.
func cutVerb(s string) (verb, args string) {
	s = strings.TrimLeft(s, " \t")
	end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == ':' })
	if end < 0 {
		end = len(s)
	}
	verb = strings.ToLower(strings.TrimRight(s[:end], ".!,"))
	args = strings.TrimLeft(s[end:], " \t")
	return verb, args
}

var (
	bullet   = lazy(`^\s*(?:[-*•]|\d{1,3}[.)])\s+`)
	courtesy = lazy(`(?i)^\s*(?:thanks?(?: you)?|thank you|please|thx|cheers|ok(?:ay)?)\b[^a-z]*(?:very much|a lot|in advance|please)?[\s.!,]*$`)
	manners  = lazy(`(?i)^(?:please|kindly|now|then|and|also|first|finally|next,|ok|okay|hey|hi|(?:can|could|would|will) you(?: please)?|let'?s|i want you to|go ahead and)[,:]?\s+`)
	opening  = lazy(`(?i)^(?:what|where|which|who|whose|why|when|how|is|are|does|do|did|can|could|should|would|has|have|explain|describe|tell)\b`)
)

// polite removes what a person adds to an instruction: bullets, "please", "could you".
func polite(s string) string {
	s = strings.TrimLeft(s, " \t")
	s = s[len(bullet().FindString(s)):]
	const most = 20 // such words; what has more is prose
	for range most {
		at := manners().FindStringIndex(s)
		if at == nil || at[1] == len(s) || strings.Contains(s[:at[1]], "\n") {
			return s
		}
		if strings.Contains(strings.ToLower(s[:at[1]]), "you") && !strings.Contains(s, "\n") {
			s = strings.TrimSuffix(strings.TrimRight(s, " "), "?")
		}
		s = s[at[1]:]
	}
	return s
}

var asks = lazy(`(?i)\b(?:what|where|which|who|why|when|how)\b`)

// heading tells whether a line only introduces the list below it. A question before a pasted text does not.
func heading(line string) bool {
	return strings.HasSuffix(strings.TrimSpace(line), ":") && !asks().MatchString(line)
}

// isQuestion tells whether a line among instructions asks something.
func isQuestion(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasSuffix(line, "?") || opening().MatchString(polite(line))
}

// filler tells whether a word begins a phrase of ordinary language and is no path, pattern or command.
func filler(w string) bool {
	switch strings.ToLower(w) {
	case "the", "a", "an", "all", "any", "my", "our", "your", "this", "that", "these", "those", "it", "its", "some",
		"every", "each", "where", "what", "which", "who", "how", "why", "when", "out", "me", "us", "them", "about", "for", "more", "up":
		return true
	}
	return false
}

// pathLike tells whether a word looks like a path: it has a slash or an extension, or is a name that files have.
func pathLike(w string) bool {
	if strings.ContainsAny(w, "/\\*") {
		return true
	}
	switch strings.ToLower(w) {
	case "makefile", "dockerfile", "license", "readme", "changelog", "gemfile", "justfile", "procfile", ".":
		return true
	}
	dot := strings.LastIndexByte(w, '.')
	return dot >= 0 && dot < len(w)-1
}

// clip shortens text to n runes on one line.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
