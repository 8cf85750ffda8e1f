package detect

import "strings"

// quotedFiles finds what lines such as "path:12: text" and "path:text" quote of files that hold secrets: that is what
// searches print.
func quotedFiles(text string, secret func(path string) bool, found []Span) []Span {
	for at := 0; at < len(text); {
		line := firstLine(text[at:])
		if from := quotedFrom(line, secret); from >= 0 {
			to := len(strings.TrimRight(line, "\r\n"))
			if strings.TrimSpace(line[from:to]) != "" {
				found = append(found, Span{Start: at + from, End: at + to, Kind: Secret, Rule: "secret-file"})
			}
		}
		at += len(line)
	}
	return found
}

// quotedFrom is where a line begins to quote a file that holds secrets, or -1.
func quotedFrom(line string, secret func(path string) bool) int {
	i := strings.IndexByte(line[:min(len(line), 512)], ':')
	if i == 1 && len(line) > 2 && (line[2] == '\\' || line[2] == '/') { // C:\…
		if next := strings.IndexByte(line[2:min(len(line), 512)], ':'); next >= 0 {
			i = 2 + next
		}
	}
	if i <= 0 || i+1 >= len(line) {
		return -1
	}
	path := line[:i]
	if strings.ContainsAny(path, " \t\"'`(){}<>=,;") || !strings.ContainsAny(path, "./_\\") || !secret(path) {
		return -1
	}
	from := i + 1
	digits := from
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	if digits > from && digits < len(line) && line[digits] == ':' {
		from = digits + 1
	}
	return from
}

// kubernetesSecret finds the values of a manifest of kind Secret. The keyword is the line with the kind; its data stands
// before or after it, up to the end of the document.
func kubernetesSecret(text string, start, end int, found []Span) (all []Span, seen int) {
	if end < len(text) && isWord(text[end]) { // SecretStore
		return found, end
	}
	from, to := max(0, start-8192), min(len(text), end+64<<10)
	if i := strings.LastIndex(text[from:start], "\n---"); i >= 0 {
		from += i + 4
	}
	if i := strings.Index(text[end:to], "\n---"); i >= 0 {
		to = end + i
	}
	inside, depth := false, 0
	for at := from; at < to; {
		line := firstLine(text[at:to])
		body, indent := content(line)
		switch trimmed := strings.TrimSpace(body); {
		case trimmed == "":
		case inside && indent > depth:
			found = append(found, mappedValue(text, at, line, body)...)
		default:
			inside = trimmed == "data:" || trimmed == "stringData:"
			depth = indent
		}
		at += len(line)
	}
	return found, to
}

// content is a line without the number before it, and how deep it is indented.
func content(line string) (body string, indent int) {
	if i := strings.IndexByte(line, '\t'); i >= 0 && isNumber(strings.TrimSpace(line[:i])) {
		line = line[i+1:]
	}
	body = strings.TrimRight(line, "\r\n")
	return body, len(body) - len(strings.TrimLeft(body, " "))
}

// mappedValue is the value in "key: value", or the whole of a line that has no key.
func mappedValue(text string, at int, line, body string) []Span {
	from := at + strings.Index(line, body)
	to := from + len(body)
	if i := strings.IndexByte(body, ':'); i >= 0 && !strings.ContainsAny(strings.TrimSpace(body[:i]), " \"") {
		from += i + 1
	}
	from = skipBlank(text, from)
	value := strings.Trim(text[from:to], " \"'")
	if value == "" || value == "|" || value == ">" || value == "|-" || value == ">-" || strings.HasPrefix(value, "{{") || strings.HasPrefix(value, "${") || strings.HasPrefix(value, "#") {
		return nil
	}
	return []Span{{Start: from, End: to, Kind: Secret, Rule: "kubernetes-secret"}}
}
