package detect

import "strings"

// addressPassword finds the password in scheme://user:password@host. The keyword is "://".
func addressPassword(text string, start, end int, found []Span) []Span {
	if start == 0 || !isWord(text[start-1]) {
		return found
	}
	rest := text[end:min(len(text), end+longestValue)]
	colon, at := -1, -1
	for i := range len(rest) {
		c := rest[i]
		if c == '@' {
			at = i // the last one before the host counts: passwords have them too
			continue
		}
		if c == ':' && colon < 0 {
			colon = i
		}
		if c <= ' ' || strings.IndexByte("/?#\"'`<>()[]{}|\\,", c) >= 0 && !insideBraces(rest[:i+1], c) {
			break
		}
	}
	if colon < 0 || at <= colon+1 {
		return found
	}
	user, password := rest[:colon], rest[colon+1:at]
	if !addressSecret(user, password) {
		return found
	}
	return append(found, Span{Start: end + colon + 1, End: end + at, Kind: Secret, Rule: "address-password"})
}

// insideBraces tells whether c belongs to ${NAME}, so that a reference is seen as one.
func insideBraces(text string, c byte) bool {
	return (c == '{' || c == '}') && strings.Contains(text, "${")
}

// addressSecret tells whether what stands as a password in an address is one, and not a word for one.
func addressSecret(user, password string) bool {
	if len(password) < 3 || strings.EqualFold(user, password) || isReference(password) {
		return false
	}
	plain := plainWord(password)
	switch plain {
	case "", "password", "passwd", "pass", "pwd", "secret", "token", "yourpassword", "mypassword", "test", "port", "redacted":
		return false
	}
	return strings.Count(plain, plain[:1]) != len(plain)
}

// mysqlPassword finds the password in user:password@tcp(host). The keyword begins with the "@".
func mysqlPassword(text string, start, _ int, found []Span) []Span {
	from := start
	for from > 0 && start-from < longestName && text[from-1] > ' ' && strings.IndexByte("\"'`/<>=", text[from-1]) < 0 {
		from--
	}
	user, password, ok := strings.Cut(text[from:start], ":")
	if !ok || !addressSecret(user, password) {
		return found
	}
	return append(found, Span{Start: start - len(password), End: start, Kind: Secret, Rule: "address-password"})
}

// authorization finds what follows "Bearer " or "Basic ".
func authorization(text string, start, end int, found []Span) []Span {
	if start > 0 && isWord(text[start-1]) {
		return found
	}
	end = skipBlank(text, end)
	to := end
	for to < len(text) && (isWord(text[to]) || strings.IndexByte("-._~+/=", text[to]) >= 0) {
		to++
	}
	value := text[end:to]
	letters, digits, _ := count(value)
	switch {
	case len(value) < 16, letters == 0, isReference(value), isDummy(plainWord(value)), isSlug(value):
		return found
	case lower(text[start+1]) == 'a' && lower(text[start+2]) == 's': // Basic: base64, so nearly always of both cases
		if isSingleCase(value) {
			return found
		}
	case digits == 0:
		return found
	}
	return append(found, Span{Start: end, End: to, Kind: Secret, Rule: "authorization"})
}

// sharedSignature finds the signature of an address that Azure made to be passed on: …&sig=…
func sharedSignature(text string, start, end int, found []Span) []Span {
	if start == 0 || text[start-1] != '?' && text[start-1] != '&' && text[start-1] != ';' {
		return found
	}
	to := end
	for to < len(text) && (isWord(text[to]) || strings.IndexByte("-._~+/=%", text[to]) >= 0) {
		to++
	}
	if to-end < 40 {
		return found
	}
	return append(found, Span{Start: end, End: to, Kind: Secret, Rule: "shared-access-signature"})
}
