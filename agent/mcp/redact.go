package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/host"
)

const (
	minSecret     = 4  // bytes; of a shorter value nothing is learnt, and replacing it would make nonsense of every text
	minPart       = 8  // bytes; of a part of a value, such as the token after "Bearer"
	minRandom     = 16 // bytes; a value of letters and digits so long is taken for a key whatever its name
	maxSecretKept = 8 << 10
)

// redactor takes the values of a server's variables and headers, and the path of its URL, out of texts.
type redactor struct {
	told    *strings.Replacer // for what the program says about the server: every value
	results *strings.Replacer // for what the server's tools give: values that look secret
	longest int               // bytes, of a secret
}

type secret struct{ value, mark string }

func newRedactor(cfg Server) *redactor {
	var all, likely []secret
	add := func(name, value string, sure bool) {
		parts := forms(name, value)
		all = append(all, parts...)
		if sure || host.LooksSecret(name) || looksRandom(value) {
			likely = append(likely, slices.DeleteFunc(parts, func(p secret) bool { return len(p.value) < minPart })...)
		}
	}
	for name, value := range cfg.Env {
		add(name, value, false)
	}
	for name, value := range cfg.Headers {
		add(name, value, isCredential(name))
	}
	if u, err := url.Parse(cfg.URL); err == nil && cfg.URL != "" {
		if password, ok := u.User.Password(); ok {
			add("password", password, true)
		}
		for _, place := range []string{u.Path, u.EscapedPath(), u.RequestURI()} {
			if len(place) >= minPart { // it may be a key; /mcp is none
				all = append(all, secret{place, "[path]"})
			}
		}
		for name, values := range u.Query() {
			for _, value := range values {
				add(name, value, false)
			}
		}
	}
	r := &redactor{told: replacer(all), results: replacer(likely)}
	for _, s := range all {
		r.longest = max(r.longest, len(s.value))
	}
	return r
}

// isCredential tells whether a header of this name is made to carry a secret.
func isCredential(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie":
		return true
	}
	return host.LooksSecret(name)
}

// forms gives the shapes in which a value may turn up: as it is, its words and lines, and encoded.
func forms(name, value string) []secret {
	mark := "[value of " + name + "]"
	var out []secret
	put := func(v string, least int) {
		if len(v) < least {
			return
		}
		out = append(out, secret{v, mark})
		for _, encoded := range []string{inJSON(v), url.QueryEscape(v), url.PathEscape(v)} {
			if encoded != v {
				out = append(out, secret{encoded, mark})
			}
		}
	}
	put(value, minSecret)
	put(strings.TrimSpace(value), minSecret)
	for word := range strings.FieldsSeq(value) {
		put(word, minPart)
		if plain, err := base64.StdEncoding.DecodeString(word); err == nil && utf8.Valid(plain) {
			put(string(plain), minPart)
			if _, password, ok := bytes.Cut(plain, []byte(":")); ok {
				put(string(password), minSecret)
			}
		}
	}
	for line := range strings.Lines(value) {
		put(strings.TrimSpace(line), minPart)
	}
	return out
}

func inJSON(v string) string {
	quoted, err := json.Marshal(v)
	if err != nil {
		return v
	}
	return strings.Trim(string(quoted), `"`)
}

// looksRandom tells whether a value is likely to be a key by its looks: long, of letters and digits, no path and no
// sentence.
func looksRandom(value string) bool {
	return len(value) >= minRandom && strings.ContainsFunc(value, unicode.IsDigit) &&
		strings.ContainsFunc(value, unicode.IsLetter) && !strings.ContainsAny(value, "/\\ \t\n,;")
}

// replacer makes a replacer in which the longer value wins.
func replacer(secrets []secret) *strings.Replacer {
	slices.SortFunc(secrets, func(a, b secret) int {
		if n := len(b.value) - len(a.value); n != 0 {
			return n
		}
		return strings.Compare(a.value+a.mark, b.value+b.mark)
	})
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s.value, s.mark)
	}
	return strings.NewReplacer(pairs...)
}

// addresses finds addresses in a text. It is made at its first use, as is every expression here: a start without servers
// should not pay for them.
var addresses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"'<>\\]+`) })

// say redacts what the program says about the server: errors, status, notices. Of addresses only the origin is left, since
// a path can be a key too.
func (r *redactor) say(text string) string {
	text = addresses().ReplaceAllStringFunc(text, func(address string) string {
		u, err := url.Parse(strings.TrimRight(address, ".,:;)"))
		if err != nil || u.Host == "" {
			return "[address]"
		}
		tail := address[len(strings.TrimRight(address, ".,:;)")):]
		if u.Path == "" && u.RawQuery == "" && u.User == nil {
			return u.Scheme + "://" + u.Host + tail
		}
		return u.Scheme + "://" + u.Host + "/…" + tail
	})
	return plain(r.told.Replace(text))
}

// result redacts what a tool of the server gives.
func (r *redactor) result(text string) string { return r.results.Replace(text) }

// escapes are the terminal sequences that colour text and move the cursor (ECMA-48).
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)
})

// plain makes a text valid UTF-8 without terminal sequences and control characters.
func plain(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.IndexByte(text, '\x1b') >= 0 {
		text = escapes().ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r < 0x20 && r != '\n' && r != '\t', r == 0x7F:
			return -1
		}
		return r
	}, text)
}
