package detect

import "strings"

// longestPEM bounds how far a key's other end is looked for, in bytes.
const longestPEM = 32 << 10

// privateKeyBegin finds a private key from its first line on, and the rest of one whose end is not shown. The keyword is
// "-----begin".
func privateKeyBegin(text string, start, end int, found []Span) []Span {
	label, after, ok := pemLabel(text, end)
	if !ok {
		return found
	}
	rest := text[after:min(len(text), after+longestPEM)]
	stop, last := strings.Index(rest, "-----END"), len(rest)
	if label == "ssh2" {
		stop = strings.Index(rest, "---- END")
	}
	if stop >= 0 {
		last = stop
	}
	to := after + encodedLength(rest[:last])
	if stop >= 0 && to >= after+stop { // nothing but the key is between the two lines
		if _, whole, ok := pemLabel(text, after+stop+len("-----END")); ok {
			to = whole
		}
	}
	if to-after < 16 { // the line alone, as in a program that looks for it
		return found
	}
	return append(found, Span{Start: start, End: to, Kind: Secret, Rule: "private-key"})
}

// privateKeyEnd finds the last part of a private key whose beginning is not shown. The keyword is "-----end".
func privateKeyEnd(text string, start, end int, found []Span) []Span {
	_, after, ok := pemLabel(text, end)
	if !ok {
		return found
	}
	before := text[max(0, start-longestPEM):start]
	from := start
	for from > start-len(before) {
		line := lastLine(text[start-len(before) : from])
		if !encodedLine(line) {
			break
		}
		from -= len(line)
	}
	if start-from < 16 {
		return found
	}
	return append(found, Span{Start: from, End: after, Kind: Secret, Rule: "private-key"})
}

// pemLabel reads the rest of a line such as "-----BEGIN RSA PRIVATE KEY-----" from after its first word on.
func pemLabel(text string, at int) (label string, after int, ok bool) {
	rest := text[at:min(len(text), at+100)]
	n := strings.Index(rest, "----")
	if n < 0 {
		return "", 0, false
	}
	label = rest[:n]
	if !strings.Contains(strings.ToUpper(label), "PRIVATE KEY") || strings.ContainsAny(label, "\n\"'`%{") {
		return "", 0, false
	}
	after = at + n
	dashes := 0
	for after < len(text) && text[after] == '-' && dashes < 5 {
		after, dashes = after+1, dashes+1
	}
	if dashes == 4 {
		return "ssh2", after, true
	}
	return "pem", after, true
}

// encodedLength is how much of a text, from its beginning, is lines of a key.
func encodedLength(text string) int {
	n := 0
	for n < len(text) {
		line := firstLine(text[n:])
		if n > 0 && !encodedLine(line) {
			return n
		}
		if n == 0 && !encodedLine(line) { // the rest of the first line: empty, or the whole key with \n in it
			return encodedRun(line)
		}
		n += len(line)
	}
	return n
}

// encodedRun is how much of a line is base64 with the line breaks of string literals.
func encodedRun(line string) int {
	n := 0
	for n < len(line) && (isEncoded(line[n]) || line[n] == '\\' || line[n] == ' ') {
		n++
	}
	return n
}

// encodedLine tells whether a line is one of a key: base64, perhaps with a number, a quote or a comment's sign around it,
// one of its headers, or blank.
func encodedLine(line string) bool {
	if i := strings.IndexByte(line, '\t'); i >= 0 && isNumber(strings.TrimSpace(line[:i])) {
		line = line[i+1:]
	}
	if i := strings.LastIndexByte(line, ':'); i >= 0 {
		if head := strings.TrimSpace(line[:i]); strings.HasSuffix(head, "Proc-Type") || strings.HasSuffix(head, "DEK-Info") ||
			strings.HasSuffix(head, "Comment") || strings.HasSuffix(head, "Version") {
			return true
		}
		if i > 0 && line[i-1] >= '0' && line[i-1] <= '9' {
			line = line[i+1:] // path:12: of a search
		}
	}
	line = strings.Trim(line, " \t\r\n\"'`+,;#*|\\")
	line = strings.TrimSuffix(strings.TrimSuffix(line, `\n`), `\r`)
	for i := range len(line) {
		if !isEncoded(line[i]) && line[i] != '\\' {
			return false
		}
	}
	return true
}

func isEncoded(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
}

// firstLine is a text up to its first line break, with it.
func firstLine(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

// lastLine is the end of a text after its last line break but one that ends it.
func lastLine(text string) string {
	return text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
}
