// Package clienthost is a ready-made client side: files below given roots, commands in
// terminals, and the answers to permission requests. Files and Terminals ask nobody: an agent
// that may use them is one that asks for permission itself.
package clienthost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/acp"
)

// DefaultMaxReadBytes is the largest text that Files returns when no limit is set.
const DefaultMaxReadBytes = 8 << 20

// Files reads and writes text files below its roots. It implements acp.FileReader and
// acp.FileWriter. A path that leads out of the roots, also through a symbolic link, is
// refused, and so is what is not a regular file. Texts keep their byte order mark and
// their line ends. Its methods may be called concurrently, and call Overlay and Save so.
type Files struct {
	// MaxReadBytes limits the text returned by one read; 0 means 8 MiB.
	MaxReadBytes int

	// Overlay returns the text of a file as an editor has it, with unsaved changes, and
	// false if it has not opened the file: then the file on disk is read. It is asked only
	// for paths that may be read, also for files that do not exist on disk yet. path is
	// absolute and clean. Nil means that nothing is open.
	Overlay func(ctx context.Context, path string) (text string, ok bool)

	// Save offers an editor the new text of a file. If it returns false and no error the
	// file on disk is written. It is asked only for paths that may be written. Nil means
	// that the disk is always written.
	Save func(ctx context.Context, path, text string) (taken bool, err error)

	roots []root
}

type root struct {
	names []string // absolute paths that mean this folder
	dir   *os.Root
}

var (
	_ acp.FileReader = (*Files)(nil)
	_ acp.FileWriter = (*Files)(nil)
)

// NewFiles opens the roots, which are absolute paths of folders. Close must be called.
func NewFiles(roots ...string) (*Files, error) {
	f := &Files{}
	for _, name := range roots {
		if !filepath.IsAbs(name) {
			_ = f.Close()
			return nil, fmt.Errorf("open root %s: the path is not absolute", name)
		}
		dir, err := os.OpenRoot(name)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("open root %s: %w", name, err)
		}
		r := root{names: []string{filepath.Clean(name)}, dir: dir}
		if real, err := filepath.EvalSymlinks(name); err == nil && real != r.names[0] {
			r.names = append(r.names, real)
		}
		f.roots = append(f.roots, r)
	}
	return f, nil
}

// Close gives the roots up.
func (f *Files) Close() error {
	var errs []error
	for _, r := range f.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

// locate finds the root that path is below, the innermost if there are several.
func (f *Files) locate(path string) (*os.Root, string, error) {
	if !filepath.IsAbs(path) {
		return nil, "", acp.InvalidParams("path: expected an absolute path, got %q", path)
	}
	path = filepath.Clean(path)
	var dir *os.Root
	var best string
	for _, r := range f.roots {
		for _, name := range r.names {
			rel, err := filepath.Rel(name, path)
			if err == nil && filepath.IsLocal(rel) && (dir == nil || len(rel) < len(best)) {
				dir, best = r.dir, rel
			}
		}
	}
	if dir == nil {
		return nil, "", acp.InvalidParams("path: %s is outside of the roots", path)
	}
	return dir, best, nil
}

// problem is what the agent may know of a file error.
func problem(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return acp.ResourceNotFound(path)
	case errors.Is(err, fs.ErrPermission):
		return acp.InternalError("no permission for %s", path)
	case strings.Contains(err.Error(), "escapes"):
		return acp.InvalidParams("path: %s leads out of the roots", path)
	}
	return fmt.Errorf("file %s: %w", path, err)
}

// check refuses what is there and is no regular file, a pipe or a device for example, and
// what a link puts out of the roots. It reports whether there is a file.
func check(dir *os.Root, rel, path string) (exists bool, err error) {
	info, err := dir.Stat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, problem(path, err)
	case !info.Mode().IsRegular():
		return false, acp.InvalidParams("path: %s is not a regular file", path)
	}
	return true, nil
}

// open opens a file that was checked. What has taken its place meanwhile is refused too,
// without waiting for the other end of a pipe.
func open(dir *os.Root, rel, path string, flag int) (*os.File, error) {
	file, err := dir.OpenFile(rel, flag|noWait, 0o666)
	if err != nil {
		return nil, problem(path, err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, acp.InvalidParams("path: %s is not a regular file", path)
	}
	return file, nil
}

// ReadTextFile returns a file's text, or Limit lines of it from Line on, with their line
// ends (fs/read_text_file). A file that does not exist is the error -32002.
func (f *Files) ReadTextFile(ctx context.Context, req acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	var none acp.ReadTextFileResponse
	dir, rel, err := f.locate(req.Path)
	if err != nil {
		return none, err
	}
	exists, err := check(dir, rel, req.Path)
	if err != nil {
		return none, err
	}
	in, err := f.source(ctx, dir, rel, req.Path, exists)
	if err != nil {
		return none, err
	}
	defer in.Close()
	text, err := f.lines(ctx, in, req.Line.Or(1), req.Limit)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", req.Path, err)
	}
	if !utf8.ValidString(text) {
		return none, acp.InvalidParams("path: %s is not UTF-8 text", req.Path)
	}
	return acp.ReadTextFileResponse{Content: text}, nil
}

// source opens the text of a file: the editor's, or else the disk's.
func (f *Files) source(ctx context.Context, dir *os.Root, rel, path string, exists bool) (io.ReadCloser, error) {
	if f.Overlay != nil {
		if text, ok := f.Overlay(ctx, filepath.Clean(path)); ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
	}
	if !exists {
		return nil, acp.ResourceNotFound(path)
	}
	return open(dir, rel, path, os.O_RDONLY)
}

// lines reads limit lines from the first one on, counted from 1.
func (f *Files) lines(ctx context.Context, r io.Reader, first uint32, limit acp.Opt[uint32]) (string, error) {
	most := f.MaxReadBytes
	if most <= 0 {
		most = DefaultMaxReadBytes
	}
	in := bufio.NewReaderSize(r, 64<<10)
	var out strings.Builder
	line := uint32(1)
	count, limited := limit.Get()
	if limited && count == 0 {
		return "", nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		part, err := in.ReadSlice('\n')
		if line >= first {
			if out.Len()+len(part) > most {
				return "", acp.InvalidParams("the text is larger than %d bytes: ask for fewer lines with line and limit", most)
			}
			out.Write(part)
		}
		switch {
		case err == nil:
			line++
			if limited && line >= first && uint64(line) >= uint64(max(first, 1))+uint64(count) {
				return out.String(), nil
			}
		case errors.Is(err, bufio.ErrBufferFull): // a long line goes on
		case errors.Is(err, io.EOF):
			return out.String(), nil
		default:
			return "", err
		}
	}
}

// WriteTextFile replaces a file's text, making the file and its folders if need be
// (fs/write_text_file).
func (f *Files) WriteTextFile(ctx context.Context, req acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	var none acp.WriteTextFileResponse
	dir, rel, err := f.locate(req.Path)
	if err != nil {
		return none, err
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if _, err := check(dir, rel, req.Path); err != nil {
		return none, err
	}
	if f.Save != nil {
		taken, err := f.Save(ctx, filepath.Clean(req.Path), req.Content)
		if err != nil {
			return none, fmt.Errorf("save %s in the editor: %w", req.Path, err)
		}
		if taken {
			return none, nil
		}
	}
	if parent := filepath.Dir(rel); parent != "." {
		if err := dir.MkdirAll(parent, 0o777); err != nil {
			return none, problem(req.Path, err)
		}
	}
	file, err := open(dir, rel, req.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return none, err
	}
	_, err = file.WriteString(req.Content)
	if err := errors.Join(err, file.Close()); err != nil {
		return none, fmt.Errorf("write %s: %w", req.Path, err)
	}
	return none, nil
}
