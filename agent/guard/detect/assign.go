package detect

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// assignedKeywords are in the names that a secret is assigned to.
var assignedKeywords = []string{
	"passw", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key", "access-key",
	"privatekey", "private_key", "private-key", "accountkey", "account_key", "sharedaccesskey", "authkey", "auth_key",
	"encryption_key", "encryptionkey", "signing_key", "signingkey", "master_key", "_auth", "credential", "passcode",
}

// strength is how telling a name is, and so how little its value must look like a secret.
type strength int

const (
	no       strength = iota
	keyLike           // token, secret, api_key: often a name for something else
	passLike          // password: what is written there is one, were it a plain word
)

// longestName and longestValue bound what is looked at, in bytes.
const (
	longestName  = 128
	longestValue = 1024
)

// endings are how names of secrets end, without case and separators.
var endings = []struct {
	text     string
	strength strength
}{
	{"password", passLike},
	{"passwd", passLike},
	{"passphrase", passLike},
	{"passcode", passLike},
	{"pwd", passLike},
	{"secret", keyLike},
	{"secretkey", keyLike},
	{"token", keyLike},
	{"apikey", keyLike},
	{"accesskey", keyLike},
	{"privatekey", keyLike},
	{"accountkey", keyLike},
	{"authkey", keyLike},
	{"encryptionkey", keyLike},
	{"signingkey", keyLike},
	{"masterkey", keyLike},
	{"credential", keyLike},
	{"credentials", keyLike},
	{"auth", keyLike},
}

// nameStrength judges a name such as DB_PASSWORD, apiKey2 or "npm.authToken".
func nameStrength(name string) strength {
	if len(name) > longestName {
		return no
	}
	plain := make([]byte, 0, longestName)
	for i := range len(name) {
		if c := name[i]; c != '_' && c != '-' && c != '.' && c != ' ' {
			plain = append(plain, lower(c))
		}
	}
	text := strings.TrimRight(string(plain), "0123456789")
	for _, suffix := range []string{"prod", "production", "dev", "development", "staging", "test", "live", "default", "base64"} {
		text = strings.TrimSuffix(text, suffix)
	}
	for _, e := range endings {
		if strings.HasSuffix(text, e.text) {
			return e.strength
		}
	}
	return no
}

// assignment finds what is assigned to a telling name: password = "…", "token": "…", DB_PASSWORD=…, --password …,
// <password>…</password>.
func assignment(text string, start, end int, found []Span) []Span {
	name, after := nameAround(text, start, end)
	how := nameStrength(text[name:after])
	if how == no {
		return found
	}
	from, to, ok := assigned(text, name, after, how)
	if !ok {
		return found
	}
	return append(found, Span{Start: from, End: to, Kind: Secret, Rule: "assignment"})
}

// nameAround gives the bounds of the name that text[start:end] is in.
func nameAround(text string, start, end int) (from, to int) {
	for start > 0 && inName(text[start-1]) && end-start < longestName {
		start--
	}
	for end < len(text) && inName(text[end]) && end-start <= longestName {
		end++
	}
	return start, end
}

func inName(c byte) bool { return isWord(c) || c == '-' || c == '.' }

// assigned gives the bounds of the value that follows the name text[name:after].
func assigned(text string, name, after int, how strength) (from, to int, ok bool) {
	at, closing := skipQuote(text, after)
	before := byte('\n')
	if name > 0 {
		before = text[name-1]
	}
	if before == '<' && at < len(text) && text[at] == '>' {
		return element(text, at+1, how)
	}
	spaced := skipBlank(text, at)
	operatorAt := spaced
	for spaced < len(text) && strings.IndexByte(":=>", text[spaced]) >= 0 && spaced-operatorAt < 3 {
		spaced++
	}
	op := text[operatorAt:spaced]
	switch op {
	case "=", ":", ":=", "=>", "==", "===":
	case "":
		if strings.HasPrefix(text[name:], "--") && !closing {
			return flagValue(text, at, how)
		}
		return 0, 0, false
	default:
		return 0, 0, false
	}
	at = skipBlank(text, spaced)
	if from, to, ok := quoted(text, at); ok {
		return from, to, plausible(text[name:after], text[from:to], how)
	}
	tight := operatorAt == after && at == spaced && op == "="
	return bare(text, name, after, at, tight, op == ":", how)
}

// skipQuote passes over the quote that ends a quoted name.
func skipQuote(text string, at int) (after int, quoted bool) {
	if strings.HasPrefix(text[at:], `\"`) || strings.HasPrefix(text[at:], `"]`) || strings.HasPrefix(text[at:], `']`) {
		return at + 2, true
	}
	if at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		return at + 1, true
	}
	return at, false
}

func skipBlank(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

// quoted gives the bounds of the quoted text that begins at text[at], without its quotes. It is on one line.
func quoted(text string, at int) (from, to int, ok bool) {
	for _, quote := range []string{`\"`, `"""`, `"`, `'`, "`"} {
		if !strings.HasPrefix(text[at:], quote) {
			continue
		}
		from = at + len(quote)
		for to = from; to < len(text) && to-from <= longestValue && text[to] != '\n'; to++ {
			if strings.HasPrefix(text[to:], quote) {
				return from, to, to > from
			}
			if text[to] == '\\' && quote == `"` {
				to++
			}
		}
		return 0, 0, false
	}
	return 0, 0, false
}

// element gives the bounds of the content of an XML element that begins at text[at].
func element(text string, at int, how strength) (from, to int, ok bool) {
	n := strings.IndexAny(text[at:min(at+longestValue, len(text))], "<\n")
	if n <= 0 || text[at+n] != '<' || !strings.HasPrefix(text[at+n:], "</") {
		return 0, 0, false
	}
	return at, at + n, plausible("", text[at:at+n], how)
}

// flagValue gives the bounds of the value of a flag, as in --password value.
func flagValue(text string, at int, how strength) (from, to int, ok bool) {
	from = skipBlank(text, at)
	if from == at {
		return 0, 0, false
	}
	if from, to, ok := quoted(text, from); ok {
		return from, to, plausible("", text[from:to], how)
	}
	to = from + wordLength(text[from:])
	value := text[from:to]
	return from, to, !strings.HasPrefix(value, "-") && plausible("", value, how) && mixed(value) && !codeLike(value)
}

// bare gives the bounds of a value without quotes. In code that is an expression, so only what looks like a line of
// settings counts: the name begins the line and the value ends it, or there is no blank around the equals sign.
func bare(text string, name, after, at int, tight, colon bool, how strength) (from, to int, ok bool) {
	to = at + wordLength(text[at:])
	value := text[at:to]
	if !tight && (!beginsLine(text, name) || !endsLine(text, to)) {
		return 0, 0, false
	}
	if tight {
		if i := strings.IndexAny(value, "&;"); i >= 0 {
			to = at + i
			value = text[at:to]
		}
	}
	if value == "" || codeLike(value) || !plausible(text[name:after], value, how) {
		return 0, 0, false
	}
	upper := text[name:after] == strings.ToUpper(text[name:after])
	switch {
	case mixed(value):
	case how == passLike && tight && upper:
	case how == passLike && colon && beginsLine(text, name):
	default:
		return 0, 0, false
	}
	return at, to, true
}

// wordLength is the length of the text up to the next blank or quote.
func wordLength(text string) int {
	n := strings.IndexAny(text[:min(len(text), longestValue)], " \t\r\n\"'`\\")
	if n < 0 {
		return min(len(text), longestValue)
	}
	return n
}

// beginsLine tells whether only indentation, a list's dash, export, a line's number or path:line: is before text[at].
func beginsLine(text string, at int) bool {
	from := strings.LastIndexByte(text[max(0, at-200):at], '\n') + 1 + max(0, at-200)
	before := text[from:at]
	if i := strings.LastIndexByte(before, '\t'); i >= 0 && isNumber(strings.TrimSpace(before[:i])) {
		before = before[i+1:] // a file with line numbers
	}
	if i := strings.LastIndexByte(strings.TrimRight(before, " "), ':'); i > 0 && before[i-1] >= '0' && before[i-1] <= '9' {
		before = before[i+1:] // a line that a search found
	}
	before = strings.Trim(before, " \t+-#\"'<")
	switch before {
	case "", "export", "set", "ENV", "ARG", "setenv", "env", "$env:":
		return true
	}
	return false
}

// endsLine tells whether at most a comment is after text[at].
func endsLine(text string, at int) bool {
	at = skipBlank(text, at)
	return at == len(text) || strings.IndexByte("\r\n#;", text[at]) >= 0 || strings.HasPrefix(text[at:], "//")
}

func isNumber(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// codeLike tells whether a value without quotes is more likely an expression: a call, a field, a type, an index.
func codeLike(value string) bool {
	if strings.ContainsAny(value, "()[]{}<>|,") || strings.HasPrefix(value, "*") || strings.HasPrefix(value, "&") {
		return true
	}
	if _, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64); err == nil {
		return true
	}
	if _, err := strconv.ParseInt(value, 0, 64); err == nil {
		return true
	}
	dots := 0
	for _, part := range strings.Split(value, ".") {
		if part == "" || !isIdentifier(part) {
			return false
		}
		dots++
	}
	return dots > 1
}

func isIdentifier(text string) bool {
	for i := range len(text) {
		if !isWord(text[i]) || i == 0 && text[i] >= '0' && text[i] <= '9' {
			return false
		}
	}
	return text != ""
}

// isAssigned is [assignment] for a name and a value that are known as such.
func isAssigned(name, value string) bool {
	how := nameStrength(name)
	return how != no && len(value) <= longestValue && plausible(name, value, how)
}

// plausible tells whether a value can be a secret: not a reference to one, an example of one, or a word about one.
func plausible(name, value string, how strength) bool {
	if len(value) < 4 || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsSpace) || isReference(value) {
		return false
	}
	plain := plainWord(value)
	if named := plainWord(name); plain == "" || isDummy(plain) || named != "" && strings.Contains(plain, named) {
		return false
	}
	letters, digits, others := count(value)
	if how == passLike {
		// Translations and field names are letters alone as well, but then seldom ASCII or a single lower-case word.
		if digits == 0 && !isASCII(value) && !strings.ContainsFunc(value, func(c rune) bool { return !unicode.IsLetter(c) }) {
			return false
		}
		return digits > 0 || others > 0 && !isSlug(value) || letters == len(value) && letters >= 6 && isSingleCase(value)
	}
	if isUUID(value) || isPath(value) || isSlug(value) {
		return false
	}
	return letters > 0 && digits > 0 && len(value) >= 8 || len(value) >= 20 && entropy(value) >= 3.7
}

// isReference tells whether a value stands for another: a variable, a template, a format, one of our own placeholders.
func isReference(value string) bool {
	switch value[0] {
	case '$', '%', '<', '{', '[', '\\':
		return true
	case '@':
		return isIdentifier(strings.ReplaceAll(value[1:], ".", ""))
	case '/', '~':
		return isPath(value) || isSlug(value)
	}
	for _, sign := range []string{"${", "{{", "}}", "$(", "%s", "%v", "%q", "%d", "...", "…", "***", "://", "<%", "=>", "\\(", "#{"} {
		if strings.Contains(value, sign) {
			return true
		}
	}
	return false
}

// dummies are what stands in examples and tests where a secret would be, in lower case without separators.
var dummies = []string{
	"password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey", "credential", "example", "changeme",
	"changeit", "placeholder", "dummy", "redacted", "yourkey", "your", "xxxx", "sample", "foobar", "notset", "undefined",
	"required", "optional", "invalid", "missing", "hidden", "masked", "replaceme", "insert", "todo", "fixme", "string", "bearer",
	"fake", "mock", "testing", "getenv", "environ", "process", "default", "username", "abc123", "123456789",
}

// words are what is no secret as a whole.
var words = map[string]bool{
	"null": true, "none": true, "nil": true, "true": true, "false": true, "text": true, "bool": true, "boolean": true, "bytes": true,
	"object": true, "array": true, "number": true, "integer": true, "basic": true, "digest": true, "header": true, "query": true,
	"cookie": true, "pass": true, "user": true, "admin": true, "empty": true, "type": true, "value": true, "test": true, "auth": true,
	"keyword": true, "ident": true, "option": true, "optional[str]": true, "login": true, "input": true, "field": true,
	"cancel": true, "always": true, "never": true, "enabled": true, "disabled": true, "inherit": true, "write": true, "read": true,
	"compat": true, "files": true, "systemd": true, "oauth": true, "oauth2": true, "sha256": true, "sha512": true, "base64": true, "utf8": true, "bcrypt": true, "argon2": true,
}

func isDummy(plain string) bool {
	if words[plain] {
		return true
	}
	for _, d := range dummies {
		if strings.Contains(plain, d) {
			return true
		}
	}
	return strings.Count(plain, plain[:1]) == len(plain)
}

// plainWord is a text in lower case without what separates words.
func plainWord(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("_-. :", c) {
			return -1
		}
		return unicode.ToLower(c)
	}, text)
}

func count(value string) (letters, digits, others int) {
	for i := range len(value) {
		switch c := value[i]; {
		case c >= '0' && c <= '9':
			digits++
		case isWord(c) && c != '_':
			letters++
		default:
			others++
		}
	}
	return letters, digits, others
}

// mixed tells whether a value has both letters and digits, or a sign that names do not have.
func mixed(value string) bool {
	letters, digits, _ := count(value)
	return letters > 0 && digits > 0 || strings.ContainsAny(value, "!@#%^*+?~")
}

// isSlug tells whether a value is words in lower or upper case with separators between them.
func isSlug(value string) bool {
	for i := range len(value) {
		c := lower(value[i])
		if (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.' && c != '/' && c != ':' && c != '@' {
			return false
		}
	}
	return strings.ContainsAny(value, "-_./:@") || isSingleCase(value)
}

func isSingleCase(value string) bool {
	return value == strings.ToLower(value) || value == strings.ToUpper(value)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isPath(value string) bool {
	return strings.Count(value, "/") > 1 && entropy(value) < 4 || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../")
}

func isUUID(value string) bool {
	if len(value) != 36 {
		return false
	}
	for i := range len(value) {
		switch i {
		case 8, 13, 18, 23:
			if value[i] != '-' {
				return false
			}
		default:
			if !isHex(value[i]) {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// telling is what gitleaks' rule for telling names must meet besides: "key", "auth" and "access" name many things that are
// no secrets, and hashes and ids are common among them.
func telling(match, secret string) bool {
	if isUUID(secret) || isReference(secret) {
		return false
	}
	name := match[:strings.LastIndex(match, secret)]
	name = strings.TrimRight(name, " \t\r\n\"'`=:>|?,")
	if i := strings.LastIndexFunc(name, func(c rune) bool { return c > 0x7f || !inName(byte(c)) }); i >= 0 {
		name = name[i+1:]
	}
	if nameStrength(name) != no {
		return true
	}
	for _, sum := range []string{"h1", "sum", "hash", "digest", "integrity", "md5", "sha1", "sha256", "sha384", "sha512"} {
		if strings.HasSuffix(strings.ToLower(name), sum) || strings.HasPrefix(secret, sum+"-") {
			return false
		}
	}
	for i := range len(secret) {
		if !isHex(secret[i]) && secret[i] != '-' {
			return entropy(secret) > 4
		}
	}
	return false
}
