package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v6/plumbing/format/gitignore"
)

// Walk calls visit for every regular file below path, in the order of their paths. See [Host].
//
// Rules come from .gitignore and .git/info/exclude, .ignore, and .aiignore; where they differ the later one wins, and the
// deeper one within a kind. What is below an excluded folder stays excluded. Symlinks are not followed. A folder that
// cannot be read is passed over. When path itself is in a folder that .gitignore, .ignore or the built-in list excludes,
// it was asked for by name: then only the ignore files in it count. What .aiignore excludes is never visited.
func (l *Local) Walk(ctx context.Context, path string, visit func(Info) error) error {
	if err := l.need(CanRead, path); err != nil {
		return err
	}
	start, err := l.Resolve(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(start.Root)
	if err != nil {
		return sentence(path, "open its folder", err)
	}
	defer root.Close()
	info, err := root.Lstat(filepath.FromSlash(start.Rel))
	if err != nil {
		return sentence(path, "walk", err)
	}
	w := &walker{ctx: ctx, root: root, visit: visit}
	rs, names, hidden := w.rulesFor(start, info.IsDir())
	switch {
	case hidden:
		return nil
	case info.IsDir():
		err = w.walk(start, names, rs)
	case info.Mode().IsRegular():
		err = visit(newInfo(start, info))
	default:
		err = mustBeRegular(path, info.Mode())
	}
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walker struct {
	ctx   context.Context
	root  *os.Root
	visit func(Info) error
}

// rulesFor gives the rules in force in the folder where p is, p's place in the repository, and whether .aiignore hides it.
func (w *walker) rulesFor(p Path, dir bool) (rs rules, names []string, hidden bool) {
	rs, names = outerRules(p.Root)
	if p.Rel == "." {
		return rs, names, false
	}
	place := Path{Abs: p.Root, Root: p.Root, Rel: "."}
	parts := strings.Split(p.Rel, "/")
	for i, name := range parts {
		rs = rs.readIgnoreFiles(w.root, place, names, func(string) bool { return true })
		names = append(slices.Clip(names), name)
		isDir := i < len(parts)-1 || dir
		if rs.verdict(layerAI, names, isDir) == gitignore.Exclude {
			return rs, names, true
		}
		if rs.excluded(names, isDir) {
			rs[layerGit], rs[layerPlain] = nil, nil
		}
		place = child(place, name)
	}
	return rs, names, false
}

// walk visits what is below the folder p, in the order of the paths.
func (w *walker) walk(p Path, names []string, rs rules) error {
	if err := w.ended(p); err != nil {
		return err
	}
	entries, err := readDir(w.root, p, p.Show)
	if err != nil {
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(sortKey(a), sortKey(b)) })
	rs = rs.readIgnoreFiles(w.root, p, names, func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	})
	path := append(slices.Clip(names), "")
	for _, entry := range entries {
		if err := w.ended(p); err != nil { // a folder may be large
			return err
		}
		path[len(path)-1] = entry.Name()
		kind := entry.Type()
		if !kind.IsDir() && !kind.IsRegular() || rs.excluded(path, kind.IsDir()) {
			continue
		}
		if kind.IsDir() {
			err = w.walk(child(p, entry.Name()), path, rs)
		} else if info, statErr := entry.Info(); statErr == nil && info.Mode().IsRegular() {
			err = w.visit(newInfo(child(p, entry.Name()), info))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ended is the error of a walk whose context has ended.
func (w *walker) ended(p Path) error {
	if w.ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: walk: %w", p.Show, context.Cause(w.ctx))
}

// sortKey orders entries so that a depth-first walk gives paths in the order of their bytes.
func sortKey(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}
