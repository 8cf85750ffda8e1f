package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxLinks is how many symlinks are followed in one path before it counts as a loop.
const maxLinks = 40

// Resolve gives the absolute path with its symlinks resolved, and its place below a root. See [Host].
func (l *Local) Resolve(path string) (Path, error) {
	if strings.ContainsRune(path, 0) {
		return Path{}, fmt.Errorf("%q: a path cannot contain a NUL character: %w", path, fs.ErrInvalid)
	}
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(l.roots[0], filepath.FromSlash(path))
	}
	resolved, err := resolveLinks(filepath.Clean(abs))
	if err != nil {
		return Path{}, sentence(path, "resolve", err)
	}
	for i, root := range l.roots {
		rel, ok := below(root, resolved)
		if !ok {
			continue
		}
		p := Path{Abs: filepath.Join(root, rel), Root: root, Rel: filepath.ToSlash(rel)}
		p.Show = p.Abs
		if i == 0 {
			p.Show = p.Rel
		}
		return p, nil
	}
	return Path{}, &OutsideError{Path: path, Abs: resolved, Roots: l.Roots()}
}

// below gives path relative to root when it is root or below it. A name that only begins like root is not below it.
func below(root, path string) (string, bool) {
	if path == root {
		return ".", true
	}
	prefix := root
	if !os.IsPathSeparator(prefix[len(prefix)-1]) {
		prefix += string(filepath.Separator)
	}
	if rest, ok := strings.CutPrefix(path, prefix); ok {
		return rest, true
	}
	if runtime.GOOS != "windows" && runtime.GOOS != "darwin" {
		return "", false
	}
	return belowByIdentity(root, path)
}

// belowByIdentity finds root among path's parents by file identity, for file systems that ignore case.
func belowByIdentity(root, path string) (string, bool) {
	want, err := os.Stat(root)
	if err != nil {
		return "", false
	}
	rel := "."
	for dir := path; ; {
		if got, err := os.Lstat(dir); err == nil && os.SameFile(want, got) {
			return rel, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		rel = filepath.Join(filepath.Base(dir), rel)
		dir = parent
	}
}

// resolveLinks resolves every symlink of a clean absolute path. Where the path stops existing, the rest is kept as it
// is: it names something that can be created there.
func resolveLinks(path string) (string, error) {
	volume := filepath.VolumeName(path)
	done := volume + string(filepath.Separator)
	rest := strings.TrimPrefix(path[len(volume):], string(filepath.Separator))
	links := 0
	for rest != "" {
		name, after, _ := strings.Cut(rest, string(filepath.Separator))
		switch name {
		case "", ".":
			rest = after
			continue
		case "..": // from a link's target; done has no symlinks, so its parent is the real one
			done, rest = filepath.Dir(done), after
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(next, after), nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done, rest = next, after
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("its symlinks lead in a circle")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			done = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = strings.TrimPrefix(target, string(filepath.Separator)) + string(filepath.Separator) + after
	}
	return done, nil
}

// sentence turns an error of the operating system into one that starts with the path as it was given and says what is
// the matter, without the resolved path that the system repeats. It wraps the error's cause.
func sentence(path, doing string, err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	cause := err
	switch {
	case errors.As(err, &pathErr):
		cause = pathErr.Err
	case errors.As(err, &linkErr):
		cause = linkErr.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &pathError{path, "does not exist", cause}
	case errors.Is(err, fs.ErrPermission):
		return &pathError{path, "permission denied (" + doing + ")", cause}
	case isNotDir(err):
		return &pathError{path, "a part of this path is a file, not a folder", cause}
	case isFull(err):
		return &pathError{path, "no space left on the disk", cause}
	}
	return fmt.Errorf("%s: %s: %w", path, doing, cause)
}

// pathError is a sentence about a path whose cause the caller can test for.
type pathError struct {
	path, text string
	cause      error
}

func (e *pathError) Error() string { return e.path + ": " + e.text }
func (e *pathError) Unwrap() error { return e.cause }
