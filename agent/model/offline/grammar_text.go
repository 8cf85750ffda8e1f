package offline

import (
	"context"
	"strings"
)

// The instructions that carry text: create, replace, append. Their text may run over several lines.

// parseCreate reads "create F: text". Text that begins on the line of the instruction ends before the next line that is
// an instruction; text that begins below it is a fenced block, or everything to the end of the prompt.
func parseCreate(ctx context.Context, verb, args, line, after string) ([]instruction, string, *formError) {
	fail := func() ([]instruction, string, *formError) {
		return nil, after, &formError{strings.TrimSpace(line), formCreate}
	}
	args = trimWord(args, "a", "new", "file", "called", "named", "the")
	p, rest, ok := wordBefore(args, ":")
	if !ok {
		return fail()
	}
	ins := createIns{path: p, overwrite: verb == "overwrite"}
	rest = strings.TrimLeft(rest, " \t")
	if w, ok := cutWord(rest, "with", "containing"); ok {
		q, tail, ok := cutQuoted(trimWord(w, "text", "content", "contents", "the"))
		if !ok || !lineEnds(tail) {
			return fail()
		}
		ins.content = withNewline(q.text())
		_, after = cutLine(tail)
		return []instruction{ins}, after, nil
	}
	if !strings.HasPrefix(rest, ":") {
		if pathLike(p) && lineEnds(rest) || verb == "overwrite" {
			return fail()
		}
		return nil, after, nil // "create a parser for …" is no instruction
	}
	rest = strings.TrimPrefix(rest, ":")
	first, below := cutLine(rest)
	if body, tail, ok := fenced(rest); ok {
		ins.content = body
		return []instruction{ins}, tail, nil
	}
	if strings.TrimSpace(first) == "" {
		if below != "" {
			ins.content = withNewline(below)
		}
		return []instruction{ins}, "", nil
	}
	for below != "" && ctx.Err() == nil {
		l, next := cutLine(below)
		if more, _, err := parseOne(ctx, l); more != nil || err != nil {
			break
		}
		below = next
	}
	content := strings.TrimPrefix(rest[:len(rest)-len(below)], " ")
	ins.content = withNewline(strings.TrimRight(content, "\n"))
	return []instruction{ins}, below, nil
}

var fence = lazy("^\\s*(```+|~~~+)[^\n`]*\n")

// fenced reads a fenced block at the start of s.
func fenced(s string) (body, rest string, ok bool) {
	m := fence().FindStringSubmatchIndex(s)
	if m == nil {
		return "", "", false
	}
	mark, body := s[m[2]:m[3]], s[m[1]:]
	if closing := strings.Index("\n"+body, "\n"+mark); closing >= 0 {
		_, rest = cutLine(body[closing:])
		return body[:closing], rest, true
	}
	return withNewline(body), "", true
}

// parseReplace reads `replace "a" with "b" and "c" with "d" in F`.
func parseReplace(ctx context.Context, verb, args, line, after string) ([]instruction, string, *formError) {
	fail := func() ([]instruction, string, *formError) {
		return nil, after, &formError{strings.TrimSpace(line), formReplace}
	}
	var ins replaceIns
	if rest, ok := cutWord(args, "all", "every", "each"); ok {
		ins.all, args = true, rest
	}
	if _, _, ok := cutQuoted(args); !ok {
		if p, ok := bareReplace(line); ok { // replace foo with bar in F
			p.all = ins.all
			return []instruction{p}, after, nil
		}
		plain := strings.ToLower(line)
		if strings.Contains(plain, " in ") && (strings.Contains(plain, " with ") || verb == "replace") {
			return fail()
		}
		return nil, after, nil
	}
	for {
		old, rest, ok := cutQuoted(args)
		if !ok {
			return fail()
		}
		if rest, ok = cutWord(rest, "with", "by", "to", "->", "=>", "→"); !ok {
			return fail()
		}
		next, rest, ok := cutQuoted(rest)
		if !ok || old.raw == "" {
			return fail()
		}
		ins.pairs = append(ins.pairs, pair{old, next})
		args = strings.TrimLeft(rest, " \t,")
		if more, ok := cutWord(args, "and"); ok {
			args = more
		}
		if _, _, ok := cutQuoted(args); !ok {
			break
		}
	}
	if rest, ok := cutWord(args, "everywhere"); ok {
		ins.all, args = true, rest
	}
	rest, ok := cutWord(args, "in")
	if !ok {
		return fail()
	}
	place, tail := cutLine(rest)
	return textPlace(ctx, place, tail, func(p string) instruction { ins.path = p; return ins }, fail)
}

var bare = lazy(`(?i)^\S+\s+(?:(?:all|every|each)\s+)?(\S+) (?:with|by) (\S+) in (\S+)$`)

func bareReplace(line string) (replaceIns, bool) {
	m := bare().FindStringSubmatch(trimEnd(polite(line)))
	if m == nil || strings.ContainsAny(m[1]+m[2], "\"'`") || filler(m[1]) {
		return replaceIns{}, false
	}
	p, rest, ok := word(m[3])
	if !ok || rest != "" || !pathLike(p) {
		return replaceIns{}, false
	}
	return replaceIns{path: p, pairs: []pair{{quoted{raw: m[1]}, quoted{raw: m[2]}}}}, true
}

// parseAppend reads `append "x" to F`.
func parseAppend(ctx context.Context, verb, args, line, after string) ([]instruction, string, *formError) {
	fail := func() ([]instruction, string, *formError) {
		return nil, after, &formError{strings.TrimSpace(line), formAppend}
	}
	q, rest, ok := cutQuoted(args)
	if !ok {
		if verb == "append" {
			return fail()
		}
		return nil, after, nil
	}
	rest, ok = cutWord(rest, "to")
	if !ok {
		return fail()
	}
	rest = trimWord(rest, "the", "end", "of", "file")
	place, tail := cutLine(rest)
	return textPlace(ctx, place, tail, func(p string) instruction { return appendIns{q, p} }, fail)
}

// textPlace reads the file at the end of a text instruction, and what "then" joins to it.
func textPlace(ctx context.Context, place, tail string, make func(string) instruction, fail func() ([]instruction, string, *formError)) ([]instruction, string, *formError) {
	for _, at := range joints(place) {
		p, rest, ok := word(place[:at[0]])
		if !ok || rest != "" {
			continue
		}
		if more, after, err := parseOne(ctx, place[at[1]:]+"\n"+tail); len(more) > 0 && err == nil {
			return append([]instruction{make(p)}, more...), after, nil
		}
	}
	p, rest, ok := word(place)
	if !ok || rest != "" {
		return fail()
	}
	return []instruction{make(p)}, tail, nil
}

func withNewline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// lineEnds tells whether nothing but punctuation is left on the line.
func lineEnds(s string) bool {
	line, _ := cutLine(s)
	return trimEnd(line) == ""
}
