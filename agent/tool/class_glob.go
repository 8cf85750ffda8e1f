package tool

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/wherry-acp/wherry/agent/host"
)

// Bounds on what is looked up of one command's words.
const (
	mostWords   = 200
	mostEntries = 5000
)

// reachesSecret tells whether a word of a shell line that is to run in dir leads to a file that usually holds secrets under
// another name: through a symlink, or as a pattern such as ".e*" that the shell expands. Like [namesSecret] it catches the
// plain cases; what a command works out while it runs is not known before.
func reachesSecret(ctx context.Context, h host.Host, dir, line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>()`'\"=,:$@", r) })
	left := mostEntries
	for _, word := range words[:min(len(words), mostWords)] {
		if strings.HasPrefix(word, "-") {
			continue
		}
		places := []string{dir}
		if path.IsAbs(word) {
			places = []string{"/"}
		}
		for part := range strings.SplitSeq(strings.Trim(word, "/"), "/") {
			places = step(ctx, h, places, part, &left)
		}
		for _, place := range places {
			p, err := h.Resolve(place)
			if err != nil || !SecretPath(p.Abs) {
				continue
			}
			if info, err := h.Stat(ctx, place); err == nil && !info.Dir {
				return true
			}
		}
	}
	return false
}

// step goes from folders to what a part of a path names in them, as a shell expands it: a pattern does not match a leading
// dot. left bounds how many entries are looked at.
func step(ctx context.Context, h host.Host, places []string, part string, left *int) (out []string) {
	for _, place := range places {
		if !strings.ContainsAny(part, "*?[") {
			out = append(out, filepath.Join(place, part))
			continue
		}
		entries, err := h.List(ctx, place)
		if err != nil || *left <= 0 {
			continue
		}
		*left -= len(entries)
		for _, e := range entries {
			name := filepath.Base(e.Path.Abs)
			if strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") {
				continue
			}
			if ok, err := path.Match(part, name); err == nil && ok {
				out = append(out, filepath.Join(place, name))
			}
		}
	}
	return out
}
