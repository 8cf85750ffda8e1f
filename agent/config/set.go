package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/wherry-acp/wherry/agent/atomicfile"
)

// Set writes one value into the person's file at path: a key with a plain value ("model", "budget.steps") or
// "providers.ID.base_url". Everything else in the file stays as it is, comments and order too. The file is replaced
// whole; a new one is readable by its owner alone. A file that is not valid is not touched: the error is then the
// [*Problem] in it.
func Set(path, key, text string) error {
	data, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Problem{Path: path, Text: reason(err)}
	}
	if _, problems := (place{layer: Global, path: path}).parse(data); len(problems) > 0 {
		return fmt.Errorf("set %s: correct the file first: %w", key, problems[0])
	}
	literal, err := literal(key, text)
	if err != nil {
		return fmt.Errorf("set %s: %w", key, err)
	}
	edited, err := edit(data, strings.Split(key, "."), literal)
	if err != nil {
		return fmt.Errorf("set %s in %s: %w", key, path, err)
	}
	if _, problems := (place{layer: Global, path: path}).parse(edited); len(problems) > 0 {
		return fmt.Errorf("set %s: %w", key, problems[0])
	}
	if bytes.Equal(data, edited) {
		return nil
	}
	return atomicfile.Write(path, edited, 0o600)
}

// literal writes the value in TOML, after a check.
func literal(key, text string) (string, error) {
	parts := strings.Split(key, ".")
	if len(parts) == 3 && parts[0] == "providers" && parts[2] == "base_url" && bare(parts[1]) {
		return quote(text), checkURL(text)
	}
	o, ok := findOption(key)
	if !ok || o.kind == kindStrings {
		return "", errors.New("it cannot be set this way; edit the file")
	}
	if err := o.apply(&Settings{}, value{text: text}); err != nil {
		return "", err
	}
	if o.kind == kindString {
		return quote(text), nil
	}
	if o.kind == kindFloat && !strings.ContainsAny(text, ".eE") {
		return text + ".0", nil // TOML tells integers from floats
	}
	return text, nil
}

// bare tells that a key needs no quotes.
func bare(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// quote writes a basic string.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case isControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// edit puts a value into a document: over the old one, or behind the last key of its table, or into a table at the end.
// The result is checked to differ in that key alone.
func edit(data []byte, key []string, literal string) ([]byte, error) {
	where, err := scan(data, key)
	if err != nil {
		return nil, err
	}
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	table, name := key[:len(key)-1], key[len(key)-1]
	line := name + " = " + literal + newline
	var edited []byte
	switch {
	case where.valueEnd > 0:
		edited = splice(data, where.valueStart, where.valueEnd, literal)
	case where.lastKey >= 0:
		at, ended := lineEnd(data, where.lastKey)
		if !ended {
			line = newline + line
		}
		edited = splice(data, at, at, line)
	case len(table) == 0: // no key outside of tables yet: at the top, before the first table and its comments
		at := where.rootEnd
		if at < len(data) {
			line += newline
		} else if at > 0 && data[at-1] != '\n' {
			line = newline + line
		}
		edited = splice(data, at, at, line)
	default:
		head := "[" + strings.Join(table, ".") + "]" + newline
		if len(data) > 0 {
			head = newline + head
			if data[len(data)-1] != '\n' {
				head = newline + head
			}
		}
		edited = splice(data, len(data), len(data), head+line)
	}
	return edited, differsIn(data, edited, key)
}

// spot is where a key is, or would go.
type spot struct {
	valueStart, valueEnd int // of the value that is there; valueEnd is 0 if there is none
	lastKey              int // a byte of the last key (or the heading) of the table; -1 if the table is not there
	rootEnd              int // where what is outside of all tables ends
}

func scan(data []byte, key []string) (spot, error) {
	s := spot{lastKey: -1, rootEnd: len(data)}
	var p unstable.Parser
	p.KeepComments = true
	p.Reset(data)
	var current []string
	comment := -1 // where the comments directly above begin
	seenTable := false
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Comment:
			if comment < 0 || !attached(data[comment:e.Raw.Offset]) {
				comment = int(e.Raw.Offset)
			}
			continue
		case unstable.Table, unstable.ArrayTable:
			parts, start := expressionKey(&p, e)
			if !seenTable {
				seenTable = true
				s.rootEnd = lineStart(data, start.Offset)
				if comment >= 0 && attached(data[comment:s.rootEnd]) {
					s.rootEnd = comment
				}
			}
			current = parts
			if slices.Equal(current, key[:len(key)-1]) {
				s.lastKey = start.Offset
			}
		case unstable.KeyValue:
			parts, start := expressionKey(&p, e)
			if slices.Equal(slices.Concat(current, parts), key) {
				s.valueEnd = int(e.Raw.Offset + e.Raw.Length)
				s.valueStart = valueStart(&p, e)
			}
			if slices.Equal(current, key[:len(key)-1]) {
				s.lastKey = max(start.Offset, int(e.Raw.Offset+e.Raw.Length)-1)
			}
		}
		comment = -1
	}
	return s, p.Error()
}

// attached tells that comments and what follows them have no empty line between them.
func attached(text []byte) bool {
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			return false
		}
	}
	return true
}

// valueStart finds the first byte behind the key's = and blanks.
func valueStart(p *unstable.Parser, e *unstable.Node) int {
	end := 0
	for it := e.Key(); it.Next(); {
		end = int(it.Node().Raw.Offset + it.Node().Raw.Length)
	}
	data := p.Data()
	for data[end] == ' ' || data[end] == '\t' || data[end] == '=' {
		end++
	}
	return end
}

func lineStart(data []byte, at int) int { return bytes.LastIndexByte(data[:at], '\n') + 1 }

// lineEnd gives the first byte of the next line, and whether this one is ended.
func lineEnd(data []byte, at int) (int, bool) {
	i := bytes.IndexByte(data[at:], '\n')
	if i < 0 {
		return len(data), false
	}
	return at + i + 1, true
}

func splice(data []byte, from, to int, text string) []byte {
	return slices.Concat(data[:from], []byte(text), data[to:])
}

var errEdit = errors.New("the file is written in a way that cannot be edited here; edit it by hand")

// differsIn makes sure that an edit changed one key and nothing else.
func differsIn(before, after []byte, key []string) error {
	old, err := flat(before)
	if err != nil {
		return errEdit
	}
	now, err := flat(after)
	if err != nil {
		return errEdit
	}
	name := keyPath(key...)
	if _, ok := now[name]; !ok {
		return errEdit
	}
	delete(old, name)
	delete(now, name)
	if len(old) != len(now) {
		return errEdit
	}
	for k, v := range old {
		if now[k] != v {
			return errEdit
		}
	}
	return nil
}

// flat decodes a document into its leaves.
func flat(data []byte) (map[string]string, error) {
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	leaves := map[string]string{}
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		if table, ok := v.(map[string]any); ok {
			for k, inner := range table {
				walk(append(slices.Clip(path), k), inner)
			}
			return
		}
		leaves[keyPath(path...)] = strconv.Quote(fmt.Sprintf("%T %v", v, v))
	}
	walk(nil, tree)
	return leaves, nil
}
