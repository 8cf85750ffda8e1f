package offline

import (
	"fmt"
	"slices"
	"strings"
)

// aboutFiles answers a question that comes with files or points at them. It tells whether that was an answer; if not,
// the whole folder is searched.
func (a *asker) aboutFiles(c conversation) (bool, error) {
	for _, f := range c.files {
		v := view{path: f.path, first: 1, lines: strings.Split(strings.TrimSuffix(f.text, "\n"), "\n")}
		v.total = len(v.lines)
		if answered, err := a.aboutView(v, mention{path: f.path}); err != nil || answered {
			return answered, err
		}
	}
	links := slices.Clone(c.links)
	for _, p := range a.q.paths {
		if slices.ContainsFunc(links, func(l mention) bool { return l.path == p }) ||
			slices.ContainsFunc(c.files, func(f attached) bool { return f.path == p }) {
			continue
		}
		path, err := a.resolve(p)
		if err != nil {
			return false, err
		}
		if path == "" {
			a.sayf("There is no `%s` here. ", p)
			continue
		}
		links = append(links, mention{path: path})
	}
	for _, l := range links {
		args := viewArgs{Path: l.path, From: l.from}
		if l.to > 0 {
			args.Lines = l.to - l.from + 1
		}
		r, err := a.one("view", args)
		if err != nil {
			return false, err
		}
		if r.failed {
			a.sayf("Could not read `%s`: %s\n\n", l.path, ended(r.text))
			continue
		}
		v := readView(l.path, r.text)
		for len(v.lines) > 0 && v.next > v.last() && v.next <= 8000 && l.to == 0 {
			r, err := a.one("view", viewArgs{Path: l.path, From: v.next})
			if err != nil {
				return false, err
			}
			more := readView(l.path, r.text)
			if r.failed || more.first != v.last()+1 {
				break
			}
			v.lines, v.next, v.cut = append(v.lines, more.lines...), more.next, append(v.cut, more.cut...)
		}
		if answered, err := a.aboutView(v, l); err != nil || answered {
			return answered, err
		}
	}
	if len(a.q.terms) == 0 {
		if len(links) == 0 {
			a.say("\n")
		}
		return true, nil
	}
	return false, nil
}

// resolve finds the file that a word of the question names; empty when there is none.
func (a *asker) resolve(name string) (string, error) {
	name = strings.TrimPrefix(name, "./")
	if strings.HasPrefix(name, "/") {
		return name, nil // view will tell
	}
	r, err := a.one("find", findArgs{Pattern: name})
	if err != nil {
		return "", err
	}
	if r.failed {
		return name, nil // view will tell
	}
	best := ""
	for _, p := range readPaths(r.text) {
		if p == name {
			return p, nil
		}
		if strings.HasSuffix(p, "/"+name) && (best == "" || strings.Count(p, "/") < strings.Count(best, "/")) {
			best = p
		}
	}
	return best, nil
}

// aboutView answers from one file: the lines that have the question's words, or what the file is when there are none.
func (a *asker) aboutView(v view, at mention) (bool, error) {
	if len(v.lines) == 0 {
		return false, nil
	}
	if at.from > 0 && len(a.q.terms) == 0 {
		q := quotation{path: v.path, first: v.first, lines: v.lines[:min(len(v.lines), 40)]}
		a.sayf("This is what %s says; explaining it is beyond me.\n\n", citation(q))
		a.sayQuote(q)
		return true, nil
	}
	if len(a.q.terms) == 0 {
		a.outline(v)
		return true, nil
	}
	local := newRanking(a.q)
	var hits []hit
	for i, l := range v.lines {
		if slices.ContainsFunc(a.q.terms, func(t term) bool { return t.any.MatchString(l) }) {
			hits = append(hits, hit{v.path, v.first + i, l})
		}
	}
	local.add(hits)
	places := local.places()
	if len(places) == 0 {
		has := "has no line with"
		if len(v.cut) > 0 || v.next > 0 {
			has = "is too long for me to see all of it; what I saw has no line with"
		}
		a.sayf("`%s` %s %s; this is from the rest of the folder.\n\n", v.path, has, listOr(a.q.terms))
		return false, nil
	}
	best := a.choose(places)
	var quotes []quotation
	for _, p := range best {
		if q := quote(v, p); len(q.lines) > 0 && !within(quotes, q) {
			quotes = append(quotes, q)
		}
	}
	a.rank = local
	a.sayf("%s\n\n", a.verdict(best))
	for _, q := range quotes {
		a.sayQuote(q)
	}
	a.how(places, quotes)
	a.sayf("Only `%s` was searched, because you pointed at it.\n", v.path)
	return true, nil
}

// outline says what a file is: the comment it begins with, and the names it defines.
func (a *asker) outline(v view) {
	a.sayf("`%s` has %s. It begins:\n\n", v.path, count(max(v.total, len(v.lines)), "line"))
	to := 0
	for to < len(v.lines) && to < 16 && (to < 3 || !blank(v.lines[to])) {
		to++
	}
	heads := []quotation{{path: v.path, first: v.first, lines: v.lines[:to]}}
	if docFile(v.path) {
		heads = readmeOpening(v)
	}
	for _, head := range heads {
		a.sayQuote(head)
	}
	const limit = 40
	var defs []string
	for i, l := range v.lines {
		if _, s := defines(v.path, l); s == defStrong && indent(l) < 8 {
			defs = append(defs, fmt.Sprintf("%s:%d: %s", v.path, v.first+i, strings.TrimSpace(l)))
		}
	}
	over := max(len(defs)-limit, 0)
	if len(defs) > 0 {
		a.sayf("It defines:\n\n%s\n", blockIn("", defs[:len(defs)-over]))
	}
	if over > 0 {
		a.sayf("… and %d more.\n\n", over)
	}
	a.sayf("Chosen by declarations and headings only. Ask for one of the names, or `read %s`.\n", quotePath(v.path))
}
