package offline

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// instruction is one thing to do. The set is closed.
type instruction interface{ title() string }

type (
	readIns struct {
		path     string
		from, to int // 0 for the start and the end
	}
	listIns   struct{ path string }
	findIns   struct{ pattern, path string }
	searchIns struct {
		pattern, path string
		regex         bool
	}
	createIns struct {
		path, content string
		overwrite     bool
	}
	replaceIns struct {
		path  string
		pairs []pair
		all   bool
	}
	appendIns struct {
		text quoted
		path string
	}
	runIns  struct{ command string }
	planIns struct{ entries []string } // without entries: show it
	doIns   struct{ one bool }
	doneIns struct{ numbers []int }
	helpIns struct{}
	askIns  struct{ question string }
)

type pair struct{ old, new quoted }

func (i readIns) title() string    { return "read " + i.path }
func (i listIns) title() string    { return strings.TrimSpace("list " + i.path) }
func (i findIns) title() string    { return "find " + i.pattern }
func (i searchIns) title() string  { return "search " + i.pattern }
func (i replaceIns) title() string { return "replace in " + i.path }
func (i appendIns) title() string  { return "append to " + i.path }
func (i runIns) title() string     { return "run " + clip(i.command, 60) }
func (i planIns) title() string    { return "plan" }
func (i doneIns) title() string    { return "done" }
func (i helpIns) title() string    { return "help" }
func (i askIns) title() string     { return clip(i.question, 60) }
func (i doIns) title() string {
	if i.one {
		return "next"
	}
	return "do"
}

func (i createIns) title() string {
	if i.overwrite {
		return "overwrite " + i.path
	}
	return "create " + i.path
}

// formError says which form of an instruction was expected.
type formError struct {
	line string // what was written
	want string // the form, as help has it
}

func (e *formError) Error() string {
	return fmt.Sprintf("`%s` is not a form I know; I expected %s", clip(e.line, 80), e.want)
}

// The forms, for help and for errors.
const (
	formRead    = "`read FILE`, `read FILE 10-20`"
	formList    = "`list`, `list FOLDER`"
	formFind    = "`find PATTERN` (part of a path, or a glob such as `**/*.go`)"
	formSearch  = "`search \"TEXT\"`, `search \"TEXT\" in PATH`, `search regex \"RE\"`"
	formCreate  = "`create FILE: text`"
	formReplace = "`replace \"old\" with \"new\" in FILE`"
	formAppend  = "`append \"text\" to FILE`"
	formRun     = "`run COMMAND`"
	formPlan    = "`plan: first; second; third`"
	formDone    = "`done 2`"
)

// parsed is a prompt as the grammar sees it.
type parsed struct {
	list     []instruction
	problems []*formError
}

// parse reads a prompt as instructions. A prompt that does not begin with one is a question: parse gives nothing.
// When the context ends, so does the reading, and what is given means nothing.
func parse(ctx context.Context, text string) parsed {
	var p parsed
	rest := strings.TrimSpace(text)
	started := false
	for rest != "" {
		line, _ := cutLine(rest)
		ins, after, err := parseOne(ctx, rest)
		switch {
		case err != nil:
			p.problems = append(p.problems, err)
			started = true
		case ins != nil:
			p.list = append(p.list, ins...)
			started = true
		case !started && !heading(line):
			return parsed{}
		case !started || courtesy().MatchString(line):
		case isQuestion(line):
			p.list = append(p.list, askIns{strings.TrimSpace(line)})
		default:
			p.problems = append(p.problems, &formError{strings.TrimSpace(line), "an instruction (`help` lists them)"})
		}
		rest = strings.TrimLeft(after, " \t\n")
	}
	if len(p.list) == 0 && len(p.problems) == 0 {
		return parsed{}
	}
	return p
}

// parseOne reads the instructions at the start of s: one, or several joined with "then". It gives neither instructions
// nor an error when s does not begin with one; after is then what follows the first line.
func parseOne(ctx context.Context, s string) (ins []instruction, after string, err *formError) {
	return parseJoined(ctx, s, map[int]bool{})
}

// parseJoined is parseOne for s and what "then" joins to it. vain holds the lengths of the ends of s that were tried in
// vain, so that each is tried once.
func parseJoined(ctx context.Context, s string, vain map[int]bool) (ins []instruction, after string, err *formError) {
	if ctx.Err() != nil {
		return nil, "", nil
	}
	line, after := cutLine(s)
	body := polite(s)
	verb, args := cutVerb(body)
	switch verb {
	case "create", "write", "overwrite", "new":
		return parseCreate(ctx, verb, args, line, after)
	case "replace", "change", "substitute":
		return parseReplace(ctx, verb, args, line, after)
	case "append", "add":
		return parseAppend(ctx, verb, args, line, after)
	}
	if verb == "plan" && strings.TrimSpace(strings.TrimPrefix(args, ":")) != args {
		if entries, below := bullets(args, after); len(entries) > 0 {
			return []instruction{planIns{entries}}, below, nil
		}
	}
	// "read a then run b": only where both sides are instructions, so that a "then" in a text or a command stays there.
	isRun := verb == "run" || verb == "execute" || verb == "exec" || verb == "$"
	for _, at := range joints(line) {
		if verb == "plan" || isRun && !clearJoint(line[at[0]:at[1]]) {
			continue
		}
		rest := s[at[1]:]
		if vain[len(rest)] {
			continue
		}
		left, err := parseLine(polite(line[:at[0]]))
		if left == nil || err != nil {
			continue
		}
		if right, below, err := parseJoined(ctx, rest, vain); len(right) > 0 && err == nil {
			return append([]instruction{left}, right...), below, nil
		}
		vain[len(rest)] = true
	}
	one, lineErr := parseLine(polite(line))
	if one == nil && lineErr == nil {
		return nil, after, nil
	}
	if lineErr != nil {
		return nil, after, lineErr
	}
	return []instruction{one}, after, nil
}

// bullets reads the entries of "plan:" from the list below it.
func bullets(args, below string) (entries []string, rest string) {
	if first, _ := cutLine(args); strings.TrimSpace(first) != ":" {
		return nil, below
	}
	for below != "" {
		line, next := cutLine(below)
		at := bullet().FindString(line)
		if at == "" {
			break
		}
		if e := strings.TrimSpace(line[len(at):]); e != "" {
			entries = append(entries, e)
		}
		below = next
	}
	return entries, below
}

var joint = lazy(`(?i)\s*[,;.]?\s+(?:and\s+)?then\s+|\s*,\s*then\s+`)

// joints are the places of "then" in a line, outside quotes. A line with very many is prose, and trying them all would
// take forever.
func joints(line string) [][]int {
	const most = 8
	found := joint().FindAllStringIndex(line, -1)
	if len(found) == 0 {
		return nil
	}
	var out [][]int
	spans := quotedSpans(line)
	for _, at := range found {
		for len(spans) > 0 && spans[0][1] <= at[0] {
			spans = spans[1:]
		}
		if len(spans) == 0 || at[0] <= spans[0][0] {
			out = append(out, at)
		}
	}
	if len(out) > most {
		return nil
	}
	return out
}

// clearJoint tells whether a "then" joins two sentences: "if x; then y" belongs to the shell.
func clearJoint(s string) bool {
	return strings.Contains(s, ",") || strings.Contains(strings.ToLower(s), "and")
}

// parseLine reads an instruction that ends with its line.
func parseLine(line string) (instruction, *formError) {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(line, "$ "); ok && strings.TrimSpace(rest) != "" {
		return runIns{strings.TrimSpace(rest)}, nil
	}
	verb, args := cutVerb(line)
	fail := func(want string) *formError { return &formError{line, want} }
	if shellLine().MatchString(line) {
		return nil, fail("`run " + clip(line, 60) + "` for a command")
	}
	if m := fileChore().FindStringSubmatch(line); m != nil && pathLike(m[2]) {
		want := "`run mv OLD NEW`"
		if v := strings.ToLower(m[1]); v == "delete" || v == "remove" {
			want = "`run rm FILE`"
		}
		return nil, fail("a command for that: " + want)
	}
	switch verb {
	case "help", "?":
		if trimEnd(args) == "" {
			return helpIns{}, nil
		}
	case "read", "show", "view", "open", "cat", "print":
		return parseRead(verb, args, fail)
	case "list", "ls", "dir":
		return parseList(args)
	case "find", "locate":
		if p, rest, ok := word(args); ok && !filler(p) {
			if rest == "" {
				return findIns{pattern: p}, nil
			}
			if in, ok := inPlace(rest); ok {
				return findIns{pattern: p, path: in}, nil
			}
		}
		if args == "" {
			return nil, fail(formFind)
		}
	case "search", "grep":
		return parseSearch(args, fail)
	case "run", "execute", "exec":
		return parseRun(args, fail)
	case "plan", "plan:":
		return parsePlan(args, fail)
	case "next":
		if a := strings.ToLower(trimEnd(args)); a == "" || a == "step" || a == "task" {
			return doIns{one: true}, nil
		}
	case "do", "go", "continue":
		switch strings.ToLower(trimEnd(args)) {
		case "", "it", "all", "on", "plan", "the plan", "the rest":
			return doIns{}, nil
		}
	case "done":
		return parseDone(args, fail)
	}
	return nil, nil
}

var (
	// shellLine is a command that was typed without "run".
	shellLine = lazy(`^(?:(?:ls|cat|grep|find|dir) -|(?:git|npm|npx|yarn|pnpm|cargo|pytest|python3?|node|docker|cd|rm|mv|cp|mkdir|touch|curl|sed|awk|echo|chmod) [\w./-]|go (?:test|build|run|vet|fmt|mod|get|install|version|doc|list|generate)\b)`)
	// fileChore is something done to a file that has no instruction.
	fileChore = lazy(`(?i)^(delete|remove|rename|move) (?:the )?(?:file )?(\S*[\w/])`)
)

func parseRead(verb string, args string, fail func(string) *formError) (instruction, *formError) {
	if verb == "show" {
		args = trimWord(args, "me")
	}
	args = trimWord(args, "file")
	p, rest, ok := word(args)
	if !ok {
		return nil, fail(formRead)
	}
	if filler(p) || strings.EqualFold(p, "plan") {
		return nil, nil
	}
	rest = trimEnd(rest)
	if rest == "" {
		ins := readIns{path: p}
		if at := readURI(p); at.from > 0 { // read F#L5-9
			ins = readIns(at)
		} else if m := colonRange().FindStringSubmatch(p); m != nil { // read F:5-9
			ins = readIns{path: m[1]}
			ins.from, ins.to = lineNumbers(m[2], m[3], false)
		}
		return ins, nil
	}
	if m := lineWords().FindStringSubmatch(rest); m != nil {
		ins := readIns{path: p}
		ins.from, ins.to = lineNumbers(m[1], m[3], m[2] != "")
		if ins.to != 0 && ins.to < ins.from || ins.from == 0 {
			return nil, fail(formRead)
		}
		return ins, nil
	}
	if next, _, _ := word(rest); pathLike(p) && pathLike(next) {
		return nil, fail(formRead)
	}
	return nil, nil // "read a.go and tell me …" asks about the file
}

var (
	lineWords  = lazy(`(?i)^,?\s*(?:from\s+)?(?:lines?\s+)?(\d{1,9})\s*(-|–|\.\.|to|:)?\s*(\d{1,9})?$`)
	colonRange = lazy(`^(.+?):(\d{1,9})(?:-(\d{1,9}))?$`)
)

// lineNumbers reads "10", "10-20" and "10-".
func lineNumbers(from, to string, open bool) (int, int) {
	a, _ := strconv.Atoi(from)
	b, _ := strconv.Atoi(to)
	if to == "" && !open {
		b = a
	}
	return a, b
}

func parseList(args string) (instruction, *formError) {
	args = trimWord(args, "the", "all", "files", "everything", "folder", "directory", "in", "of", "under", "the")
	args = trimWord(args, "folder", "directory")
	if a := trimEnd(args); a == "" || strings.EqualFold(a, "here") {
		return listIns{}, nil
	}
	if p, rest, ok := word(args); ok && rest == "" && !filler(p) {
		return listIns{p}, nil
	}
	return nil, nil
}

func parseSearch(args string, fail func(string) *formError) (instruction, *formError) {
	ins := searchIns{}
	if rest, ok := cutWord(args, "regex", "regexp"); ok {
		ins.regex, args = true, rest
	}
	args = trimWord(args, "for")
	if trimEnd(args) == "" {
		return nil, fail(formSearch)
	}
	if q, rest, ok := cutQuoted(args); ok {
		ins.pattern = q.literal()
		if rest = trimEnd(rest); rest == "" {
			return ins, nil
		}
		if in, ok := inPlace(rest); ok {
			ins.path = in
			return ins, nil
		}
		return nil, fail(formSearch)
	}
	pattern := trimEnd(args)
	if m := placed().FindStringSubmatch(pattern); m != nil {
		if in, ok := inPlace("in " + m[2]); ok && pathLike(in) {
			pattern, ins.path = m[1], in
		}
	}
	ins.pattern = pattern
	return ins, nil
}

// placed is a bare pattern with a path after it.
var placed = lazy(`(?i)^(.*\S)\s+in\s+(\S+)$`)

func parseRun(args string, fail func(string) *formError) (instruction, *formError) {
	args = strings.TrimLeft(strings.TrimPrefix(args, ":"), " ")
	if args == "" {
		return nil, fail(formRun)
	}
	if q, rest, ok := cutQuoted(args); ok && trimEnd(rest) == "" && q.open != '\'' {
		return runIns{q.literal()}, nil
	}
	first, rest, _ := strings.Cut(args, " ")
	if filler(first) && rest != "" { // "run the tests" is not a command
		return nil, nil
	}
	if n := len(args); n > 1 && args[n-1] == '.' && wordByte(args[n-2]) {
		args = args[:n-1]
	}
	return runIns{args}, nil
}

func parsePlan(args string, fail func(string) *formError) (instruction, *formError) {
	args = strings.TrimSpace(strings.TrimPrefix(args, ":"))
	if args == "" {
		return planIns{}, nil
	}
	var entries []string
	for _, e := range strings.Split(args, ";") {
		if e = strings.TrimSpace(e); e != "" {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return nil, fail(formPlan)
	}
	return planIns{entries}, nil
}

func parseDone(args string, fail func(string) *formError) (instruction, *formError) {
	var ins doneIns
	args = trimEnd(args)
	if args == "" {
		return ins, nil
	}
	for _, f := range strings.FieldsFunc(strings.ReplaceAll(strings.ToLower(args), " and ", " "), func(r rune) bool {
		return r == ' ' || r == ','
	}) {
		n, err := strconv.Atoi(strings.TrimPrefix(f, "#"))
		if err != nil || n < 1 {
			return nil, fail(formDone)
		}
		ins.numbers = append(ins.numbers, n)
	}
	return ins, nil
}
