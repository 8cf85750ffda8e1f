package offline

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// worker carries out a list of instructions.
type worker struct {
	*turn
	conv  conversation
	plan  []task
	dirty bool // the plan differs from what was last set
}

// outcome is how an instruction ended.
type outcome int

const (
	done   outcome = iota
	missed         // it gave nothing, but nothing depends on it: go on
	halted         // it failed; what comes after may build on it
)

// work does the task of the conversation.
func (c conversation) work(ctx context.Context, t *turn) error {
	p := parse(ctx, c.text)
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case c.blind && c.text == "" && len(c.files)+len(c.links) == 0:
		t.say(blindness)
	case len(p.problems) > 0:
		t.say(sayProblems(p))
		return nil
	case len(p.list) > 0:
		w := &worker{turn: t, conv: c, plan: c.plan}
		if err := w.runAll(ctx, p.list); err != nil {
			return err
		}
	default:
		if err := c.answer(t); err != nil {
			return err
		}
	}
	return nil
}

func sayProblems(p parsed) string {
	var b strings.Builder
	for i, e := range p.problems {
		if i == 20 {
			fmt.Fprintf(&b, "… and %d more lines that are not clear.\n", len(p.problems)-i)
			break
		}
		fmt.Fprintf(&b, "%s.\n", upperFirst(e.Error()))
	}
	if len(p.list) > 0 {
		b.WriteString("\nI did nothing: I begin only when every line is clear.")
	}
	b.WriteString("\n`help` lists what I can do.\n")
	return b.String()
}

// runAll carries out the list in order, ticking the plan that the list itself began with.
func (w *worker) runAll(ctx context.Context, list []instruction) error {
	next := -1 // the plan entry of the instruction at hand
	for i, ins := range list {
		if p, ok := ins.(planIns); ok && len(p.entries) > 0 {
			w.setPlan(p.entries)
			if i+1 == len(list) {
				return w.flushPlan(true)
			}
			next = 0
			continue
		}
		ticks := next >= 0 && next < len(w.plan)
		if ticks {
			w.mark(next, inProgress)
		}
		result, err := w.carryOut(ctx, ins)
		if err != nil {
			return err
		}
		if ticks {
			if result == done {
				w.mark(next, completed)
			} else {
				w.mark(next, pending)
			}
		}
		if next >= 0 {
			next++
		}
		if rest := list[i+1:]; result == halted && len(rest) > 0 {
			w.sayf("I stopped there; not done: %s.\n\n", titles(rest))
			break
		}
	}
	return w.flushPlan(false)
}

func titles(list []instruction) string {
	var out []string
	for _, i := range list {
		out = append(out, "`"+i.title()+"`")
	}
	return strings.Join(out, ", ")
}

// ask makes the calls of an instruction; a changed plan goes along with them.
func (w *worker) ask(asks ...ask) ([]reply, error) {
	if !w.dirty || !w.offered["plan"] {
		return w.do(asks...)
	}
	replies, err := w.do(append([]ask{w.planAsk()}, asks...)...)
	if err != nil {
		return nil, err
	}
	w.dirty = false
	return replies[1:], nil
}

func (w *worker) askOne(tool string, args any) (reply, error) {
	replies, err := w.ask(ask{tool, args})
	if err != nil {
		return reply{}, err
	}
	return replies[0], nil
}

// carryOut carries out one instruction and says what came of it.
func (w *worker) carryOut(ctx context.Context, ins instruction) (outcome, error) {
	switch ins := ins.(type) {
	case readIns:
		return w.read(ins)
	case listIns:
		return w.list(ins)
	case findIns:
		return w.find(ins)
	case searchIns:
		return w.search(ins)
	case createIns:
		return w.create(ins)
	case replaceIns:
		return w.replace(ins)
	case appendIns:
		return w.appendTo(ins)
	case runIns:
		return w.command(ins)
	case planIns:
		return w.showPlan()
	case doIns:
		return w.doPlan(ctx, ins)
	case doneIns:
		return w.donePlan(ins)
	case helpIns:
		w.say(helpText)
		return done, nil
	case askIns:
		c := w.conv
		c.text = ins.question
		return done, c.answer(w.turn)
	}
	return halted, fmt.Errorf("instruction %T is not known", ins)
}

// failedTo says that a call gave nothing; the tool's or the person's reason is quoted.
func (w *worker) failedTo(what string, r reply) {
	w.sayf("Could not %s: %s\n\n", what, ended(r.text))
}

func (w *worker) read(ins readIns) (outcome, error) {
	args := viewArgs{Path: ins.path, From: ins.from}
	if ins.to > 0 {
		args.Lines = ins.to - max(ins.from, 1) + 1
	}
	r, err := w.askOne("view", args)
	if err != nil {
		return halted, err
	}
	if r.failed {
		w.failedTo("read `"+ins.path+"`", r)
		return missed, nil
	}
	v := readView(ins.path, r.text)
	if len(v.lines) == 0 {
		said := ended(r.text) // it begins with the file's name
		if v.known && v.total == 0 {
			said = fmt.Sprintf("`%s` is empty.", ins.path)
		}
		w.sayf("%s\n\n", said)
		return done, nil
	}
	of := ""
	if v.total > 0 {
		of = fmt.Sprintf(" of %d", v.total)
	}
	w.sayf("`%s`, lines %d-%d%s:\n\n%s\n", ins.path, v.first, v.last(), of, block(ins.path, v.lines))
	if v.next > 0 && (ins.to == 0 || v.last() < ins.to) {
		w.sayf("It goes on: `read %s %d-`.\n\n", quotePath(ins.path), v.next)
	}
	return done, nil
}

func (w *worker) list(ins listIns) (outcome, error) {
	r, err := w.askOne("list", listArgs{ins.path})
	if err != nil {
		return halted, err
	}
	if r.failed {
		w.failedTo("list "+orHere(ins.path), r)
		return missed, nil
	}
	head, rest := firstLine(r.text)
	w.sayf("%s\n\n", head)
	w.sayLines("", rest, 100)
	return done, nil
}

func orHere(path string) string {
	if path == "" {
		return "this folder"
	}
	return "`" + path + "`"
}

func (w *worker) find(ins findIns) (outcome, error) {
	r, err := w.askOne("find", findArgs{ins.pattern, ins.path})
	if err != nil {
		return halted, err
	}
	if r.failed {
		w.failedTo("find `"+ins.pattern+"`", r)
		return missed, nil
	}
	head, rest := firstLine(r.text)
	w.sayf("%s\n\n", head)
	w.sayLines("", rest, 50)
	return done, nil
}

func (w *worker) search(ins searchIns) (outcome, error) {
	r, err := w.askOne("search", searchArgs{Pattern: ins.pattern, Path: ins.path, Regex: ins.regex})
	if err != nil {
		return halted, err
	}
	if r.failed {
		w.failedTo("search `"+ins.pattern+"`", r)
		return missed, nil
	}
	f := readSearch(r.text)
	if len(f.hits) == 0 && !ins.regex {
		r, err = w.askOne("search", searchArgs{Pattern: ins.pattern, Path: ins.path, IgnoreCase: true})
		if err != nil {
			return halted, err
		}
		if again := readSearch(r.text); !r.failed && len(again.hits) > 0 {
			w.sayf("No match for `%s` as it is written; ignoring case:\n\n", ins.pattern)
			f = again
		}
	}
	if len(f.hits) == 0 {
		in := ""
		if ins.path != "" {
			in = " in `" + ins.path + "`"
		}
		w.sayf("Found nothing: no line%s has `%s`, in any case.\n\n", in, ins.pattern)
		return missed, nil
	}
	_, rest := firstLine(r.text)
	w.sayf("%s:\n\n", f.head)
	w.sayLines("", rest, 50)
	return done, nil
}

// sayLines quotes the lines of a result, at most n, in a block.
func (w *worker) sayLines(lang, text string, n int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return
	}
	left := max(len(lines)-n, 0)
	lines = lines[:len(lines)-left]
	w.sayf("%s\n", blockIn(lang, lines))
	if left > 0 {
		w.sayf("… and %d more lines in the result above.\n\n", left)
	}
}

func (w *worker) create(ins createIns) (outcome, error) {
	there := false
	if ins.overwrite && w.offered["create"] {
		// A file is replaced only by who has seen it; one that is not there yet needs no look.
		seen, err := w.askOne("view", viewArgs{Path: ins.path})
		if err != nil {
			return halted, err
		}
		there = !seen.failed
	}
	r, err := w.askOne("create", createArgs{ins.path, ins.content, ins.overwrite})
	if err != nil {
		return halted, err
	}
	if r.failed {
		w.failedTo(ins.title(), r)
		if !ins.overwrite && strings.Contains(r.text, "exists") {
			w.sayf("`overwrite %s: …` replaces it.\n\n", quotePath(ins.path))
		}
		return halted, nil
	}
	w.sayf("%s\n\n", wrote(r.text, there))
	return done, nil
}

func (w *worker) command(ins runIns) (outcome, error) {
	r, err := w.askOne("run", runArgs{Command: ins.command})
	if err != nil {
		return halted, err
	}
	head, rest := firstLine(r.text)
	if r.failed {
		head = ended(head)
	}
	w.sayf("%s: %s\n\n", code(ins.command), head)
	lines := strings.Split(strings.Trim(rest, "\n"), "\n")
	if len(lines) > 1 || lines[0] != "" {
		const tail = 40
		if over := len(lines) - tail; over > 0 {
			w.sayf("The last %d lines of %d:\n\n", tail, len(lines))
			lines = lines[over:]
		}
		w.sayf("%s\n", blockIn("", lines))
	}
	if r.failed || !strings.HasPrefix(head, "exit code 0") {
		return halted, nil
	}
	return done, nil
}

// seenText is what was seen of a file.
type seenText struct {
	text  string
	whole bool // nothing of it is missing
	toEnd bool // its end was seen
}

// content views a whole file, page by page, but no more than a few pages of it.
func (w *worker) content(path string) (seen seenText, failure *reply, err error) {
	const pages = 4
	var lines []string
	from := 0
	seen.whole = true
	for range pages {
		r, err := w.askOne("view", viewArgs{Path: path, From: from})
		if err != nil {
			return seenText{}, nil, err
		}
		if r.failed {
			return seenText{}, &r, nil
		}
		v := readView(path, r.text)
		lines = append(lines, v.lines...)
		seen.whole = seen.whole && len(v.cut) == 0
		if v.next <= from {
			seen.toEnd = v.toEnd()
			break
		}
		from = v.next
	}
	seen.text = strings.Join(lines, "\n")
	seen.whole = seen.whole && seen.toEnd
	return seen, nil, nil
}

func (w *worker) replace(ins replaceIns) (outcome, error) {
	seen, failure, err := w.content(ins.path)
	if err != nil {
		return halted, err
	}
	if failure != nil {
		w.failedTo("replace in `"+ins.path+"`", *failure)
		return halted, nil
	}
	text := seen.text
	var edits []edit
	for _, p := range ins.pairs {
		e := edit{Old: p.old.literal(), New: p.new.literal(), All: ins.all}
		// "\n" is a line break unless the file itself has it written so.
		if plain := p.old.text(); !strings.Contains(text, e.Old) && (plain != e.Old || e.New != p.new.text()) && strings.Contains(text, plain) {
			e.Old, e.New = plain, p.new.text()
		} else if e.Old == plain && !strings.Contains(text, `\n`) {
			e.New = p.new.text()
		}
		if seen.whole { // else the tool decides
			if reason := checkEdit(text, e, ins.path); reason != "" {
				w.sayf("%s\n\n", reason)
				return halted, nil
			}
		}
		edits = append(edits, e)
	}
	r, err := w.askOne("edit", editArgs{ins.path, edits})
	if err != nil {
		return halted, err
	}
	return w.edited(ins.path, r), nil
}

// checkEdit says why an edit cannot be what the person wants, or nothing.
func checkEdit(text string, e edit, path string) string {
	n := strings.Count(text, e.Old)
	switch {
	case e.Old == e.New:
		return "Both texts are the same; there is nothing to replace."
	case n == 0:
		hint := ""
		if lines := occurrences(strings.ToLower(text), strings.ToLower(e.Old)); len(lines) > 0 {
			hint = fmt.Sprintf(" Line %d has it in another case.", lines[0])
		}
		return fmt.Sprintf("`%s` does not have %s, so nothing was changed.%s", path, code(e.Old), hint)
	case n > 1 && !e.All:
		return fmt.Sprintf("`%s` has %s %d times (lines %s), so nothing was changed. Quote more of the one you mean, or say `replace all …`.",
			path, code(e.Old), n, numbers(occurrences(text, e.Old)))
	}
	return ""
}

// occurrences gives the line numbers of part in text, each once.
func occurrences(text, part string) []int {
	var lines []int
	at := 0
	for {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return slices.Compact(lines)
		}
		at += i
		lines = append(lines, 1+strings.Count(text[:at], "\n"))
		at += len(part)
	}
}

func (w *worker) edited(path string, r reply) outcome {
	if r.failed {
		w.failedTo("edit `"+path+"`", r)
		return halted
	}
	head, _ := firstLine(r.text)
	w.sayf("%s\n\n", sentence(head))
	return done
}

// appendTo adds lines at the end: an edit of the last lines, as few as are unique in the file.
func (w *worker) appendTo(ins appendIns) (outcome, error) {
	seen, failure, err := w.content(ins.path)
	if err != nil {
		return halted, err
	}
	if failure != nil {
		w.failedTo("append to `"+ins.path+"`", *failure)
		return halted, nil
	}
	text := seen.text
	if !seen.toEnd {
		w.sayf("`%s` is too long for me to append to: I did not see its end.\n\n", ins.path)
		return halted, nil
	}
	added := strings.TrimSuffix(ins.text.text(), "\n")
	if strings.TrimSpace(text) == "" {
		r, err := w.askOne("create", createArgs{ins.path, added + "\n", true})
		if err != nil {
			return halted, err
		}
		if r.failed {
			w.failedTo("append to `"+ins.path+"`", r)
			return halted, nil
		}
		w.sayf("%s\n\n", wrote(r.text, true))
		return done, nil
	}
	old := uniqueTail(text)
	r, err := w.askOne("edit", editArgs{ins.path, []edit{{Old: old, New: old + "\n" + added}}})
	if err != nil {
		return halted, err
	}
	return w.edited(ins.path, r), nil
}

// uniqueTail is the shortest run of last lines that occurs once in text.
func uniqueTail(text string) string {
	at := len(text)
	for at > 0 {
		at = strings.LastIndexByte(text[:at], '\n')
		if tail := text[at+1:]; strings.TrimSpace(tail) != "" && strings.Index(text, tail) == at+1 {
			return tail
		}
		if at < 0 {
			break
		}
	}
	return text
}
