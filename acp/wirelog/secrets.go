package wirelog

import (
	"bytes"
	"strings"
)

// veilOf returns what the name of a member says about its value.
func veilOf(name string) veil {
	if _, ok := frequentNames[name]; ok {
		return shown
	}
	lower := strings.ToLower(name)
	switch lower {
	case "env", "environment", "headers", "httpheaders", "http_headers":
		return entries
	case "account", "accounts":
		return secret
	case "progresstoken":
		return shown
	}
	for _, word := range [...]string{"passw", "passphrase", "secret", "credential"} {
		if strings.Contains(lower, word) {
			return sealed
		}
	}
	for _, word := range [...]string{"key", "token", "authorization", "cookie", "bearer", "jwt"} {
		if strings.Contains(lower, word) {
			return secret
		}
	}
	return shown
}

// secretFlag tells a command-line option whose value is the next argument.
func secretFlag(arg []byte) bool {
	return len(arg) > 2 && arg[0] == '-' && bytes.IndexByte(arg, '=') < 0 && veilOf(string(bytes.TrimLeft(arg, "-"))) != shown
}

// scrub leaves the keys, tokens and passwords out of a text, and what hide lists. It
// reports whether there were any; if not it returns text itself.
func scrub(text []byte, hide []string) ([]byte, bool) {
	var out []byte
	copied := 0
	for i := 0; i < len(text); {
		if !marks[text[i]] && len(hide) == 0 {
			i++
			continue
		}
		from, to := secretAt(text, i)
		for _, h := range hide {
			if text[i] == h[0] && bytes.HasPrefix(text[i:], []byte(h)) && i+len(h) > to {
				from, to = i, i+len(h)
			}
		}
		if to <= i {
			i++
			continue
		}
		from = max(from, copied)
		out = append(append(out, text[copied:from]...), hidden...)
		copied, i = to, to
	}
	if copied == 0 {
		return text, false
	}
	return append(out, text[copied:]...), true
}

// secretAt returns the secret that the byte at i announces, which is at or behind it; to
// is 0 if there is none.
func secretAt(s []byte, i int) (from, to int) {
	switch c := s[i]; {
	case c == '=' || c == ':':
		return assigned(s, i)
	case c == '-':
		return pem(s, i)
	case marks[c] && (i == 0 || !wordByte(s[i-1])):
		return i, token(s, i)
	}
	return 0, 0
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// tokenByte tells what the keys and tokens of services are made of.
func tokenByte(c byte) bool {
	return wordByte(c) || c == '-' || c == '.' || c == '+' || c == '/' || c == '=' || c == '~'
}

// A keyKind is a kind of key that is known by how it begins.
type keyKind struct {
	prefix string
	least  int // bytes behind the prefix
}

// keyKinds are ordered by nothing; the first that fits is taken.
var keyKinds = [...]keyKind{
	{"sk-", 16}, {"sk_live_", 10}, {"sk_test_", 10}, {"rk_live_", 10}, {"rk_test_", 10},
	{"ghp_", 20}, {"gho_", 20}, {"ghu_", 20}, {"ghs_", 20}, {"ghr_", 20}, {"github_pat_", 20},
	{"glpat-", 16}, {"glsa_", 16}, {"xoxb-", 10}, {"xoxp-", 10}, {"xoxa-", 10}, {"xoxr-", 10}, {"xoxs-", 10}, {"xapp-", 10},
	{"AKIA", 16}, {"ASIA", 16}, {"AIza", 30}, {"ya29.", 20},
	{"npm_", 30}, {"pypi-", 16}, {"hf_", 20}, {"gsk_", 20}, {"xai-", 20}, {"pplx-", 20}, {"nvapi-", 20}, {"r8_", 20},
	{"SG.", 20}, {"shpat_", 20}, {"dop_v1_", 20}, {"AGE-SECRET-KEY-", 20}, {"eyJ", 30},
}

// starts are the kinds of keys by their first byte, of which there may be none: an
// authorization scheme begins with it then.
var starts = func() (b [256][]keyKind) {
	b['B'], b['b'] = []keyKind{}, []keyKind{}
	for _, k := range keyKinds {
		b[k.prefix[0]] = append(b[k.prefix[0]], k)
	}
	return b
}()

// marks are the bytes that announce a secret.
var marks = func() (b [256]bool) {
	for c, kinds := range starts {
		b[c] = kinds != nil
	}
	b['='], b[':'], b['-'] = true, true, true
	return b
}()

// token returns the end of the key that begins at i, 0 if none does.
func token(s []byte, i int) int {
	if c := s[i]; c == 'B' || c == 'b' {
		return scheme(s, i)
	}
	for _, k := range starts[s[i]] {
		if len(s)-i < len(k.prefix)+k.least || string(s[i:i+len(k.prefix)]) != k.prefix {
			continue
		}
		end := run(s, i+len(k.prefix), tokenByte)
		rest := s[i+len(k.prefix) : end]
		switch {
		case len(rest) < k.least || !hasDigit(rest):
		case k.prefix == "eyJ" && bytes.Count(rest, []byte{'.'}) < 2: // base64 of some JSON, but no JWT
		default:
			return end
		}
	}
	return 0
}

// scheme returns the end of "Bearer …" or "Basic …" at i, 0 if there is none.
func scheme(s []byte, i int) int {
	for _, name := range [...]string{"bearer ", "basic "} {
		at := i + len(name)
		if at > len(s) || !strings.EqualFold(string(s[i:at]), name) {
			continue
		}
		end := run(s, at, tokenByte)
		if value := s[at:end]; len(value) >= 20 || len(value) >= 8 && hasDigit(value) {
			return end
		}
	}
	return 0
}

// assigned returns the value of "name=value" or "name: value" whose sign is at i, if the
// name speaks of a secret, and the user and password of "scheme://user:password@host".
func assigned(s []byte, i int) (from, to int) {
	if s[i] == ':' && bytes.HasPrefix(s[i:], []byte("://")) {
		return userinfo(s, i+3)
	}
	if i+1 < len(s) && s[i+1] == '=' {
		return 0, 0 // ":=" comes again at its "="; "==" compares
	}
	if s[i] == '=' && i > 0 && (s[i-1] == '=' || s[i-1] == '!') {
		return 0, 0
	}
	end := i
	for end > 0 && i-end < 4 && strings.IndexByte(` "'\:`, s[end-1]) >= 0 {
		end--
	}
	begin := end
	for begin > 0 && end-begin < 64 && (wordByte(s[begin-1]) || s[begin-1] == '-') {
		begin--
	}
	kind := nameOf(s[begin:end])
	switch {
	case kind == notSecret:
		return 0, 0
	case kind == ifRandom && s[begin] == '-': // an option of a command
		kind = anyValue
	}
	from = i + 1
	for from < len(s) && from-i < 6 && strings.IndexByte(` "'\`, s[from]) >= 0 {
		from++
	}
	if kind == wholeLine {
		to = run(s, from, func(c byte) bool { return c != '\n' && c != '\r' && c != '"' })
	} else {
		to = run(s, from, func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`,;&<>)\\", c) < 0 })
	}
	value := s[from:to]
	switch {
	case bytes.IndexByte(value, '(') >= 0, len(value) < 4: // a call in source code, or nothing much
		return 0, 0
	case kind == ifRandom && (len(value) < 8 || !hasDigit(value)):
		return 0, 0
	}
	return from, to
}

// What a name before "=" or ":" says of the value.
type nameKind uint8

const (
	notSecret nameKind = iota
	anyValue           // it is secret
	ifRandom           // it is if it does not look like a word
	wholeLine          // it is, up to the end of the line
)

func nameOf(name []byte) nameKind {
	if len(name) < 3 {
		return notSecret
	}
	lower := name[max(0, len(name)-16):]
	ends := func(word string) bool {
		return len(lower) >= len(word) && strings.EqualFold(string(lower[len(lower)-len(word):]), word)
	}
	switch name[len(name)-1] | 0x20 {
	case 'n':
		if ends("authorization") {
			return wholeLine
		}
		if ends("token") {
			return ifRandom
		}
	case 'e':
		if ends("cookie") {
			return wholeLine
		}
		if ends("passphrase") {
			return anyValue
		}
	case 'y':
		if ends("key") {
			return ifRandom
		}
	case 'd':
		if ends("password") || ends("passwd") || ends("pwd") {
			return anyValue
		}
	case 't':
		if ends("secret") {
			return anyValue
		}
	case 'l', 's':
		if ends("credential") || ends("credentials") {
			return anyValue
		}
	}
	return notSecret
}

// userinfo returns the user and password of a URL whose authority begins at i.
func userinfo(s []byte, i int) (from, to int) {
	end := run(s, i, func(c byte) bool { return c > ' ' && strings.IndexByte(`/?#"'<>\`, c) < 0 })
	at := bytes.LastIndexByte(s[i:end], '@')
	if at < 0 {
		return 0, 0
	}
	colon := bytes.IndexByte(s[i:i+at], ':')
	if colon < 0 || colon+1 == at {
		return 0, 0
	}
	return i, i + at
}

// pem returns the block that begins at i, also if its end is missing.
func pem(s []byte, i int) (from, to int) {
	if i > 0 && s[i-1] == '-' || !bytes.HasPrefix(s[i:], []byte("-----BEGIN ")) {
		return 0, 0
	}
	const end = "-----END "
	n := bytes.Index(s[i:], []byte(end))
	if n < 0 {
		return i, len(s)
	}
	to = i + n + len(end)
	if n := bytes.Index(s[to:], []byte("-----")); n >= 0 {
		return i, to + n + len("-----")
	}
	return i, len(s)
}

// run returns the end of the bytes from i on that are in the class.
func run(s []byte, i int, class func(byte) bool) int {
	for i < len(s) && class(s[i]) {
		i++
	}
	return i
}

func hasDigit(s []byte) bool {
	for _, c := range s {
		if c >= '0' && c <= '9' {
			return true
		}
	}
	return false
}
