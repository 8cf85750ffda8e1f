package main

import (
	"strings"
	"unicode"
)

// initialisms are words that Go spells in capitals.
var initialisms = map[string]string{
	"id": "ID", "ids": "IDs", "mcp": "MCP", "url": "URL", "uri": "URI", "http": "HTTP", "sse": "SSE", "acp": "ACP",
	"llm": "LLM", "fs": "FS", "api": "API", "mime": "MIME", "json": "JSON",
}

// goName turns a schema or wire name into an exported Go name.
func goName(s string) string {
	var out strings.Builder
	for _, w := range words(s) {
		if up, ok := initialisms[strings.ToLower(w)]; ok {
			out.WriteString(up)
			continue
		}
		out.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return out.String()
}

func words(s string) []string {
	var ws []string
	var w strings.Builder
	flush := func() {
		if w.Len() > 0 {
			ws = append(ws, w.String())
			w.Reset()
		}
	}
	for _, r := range s {
		switch {
		case r == '_' || r == '-' || r == '/' || r == '$' || r == ' ':
			flush()
		case unicode.IsUpper(r):
			flush()
			w.WriteRune(r)
		default:
			w.WriteRune(r)
		}
	}
	flush()
	return ws
}

// lowerFirst makes an unexported name of an exported one.
func lowerFirst(s string) string {
	for i, r := range s {
		if unicode.IsLower(r) {
			switch i {
			case 0:
				return s
			case 1:
				return strings.ToLower(s[:1]) + s[1:]
			}
			return strings.ToLower(s[:i-1]) + s[i-1:]
		}
	}
	return strings.ToLower(s)
}
