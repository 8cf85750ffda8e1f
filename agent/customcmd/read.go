package customcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Read reads the Markdown files of a folder, in the order of their names. A folder that is not there has none. Links, and
// what is not a regular file, are left out and told; folders in the folder are not looked into.
func Read(folder string) ([]File, []Problem) {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{{folder, "cannot be opened: " + reason(err)}}
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, []Problem{{folder, "cannot be read: " + reason(err)}}
	}
	var files []File
	var problems []Problem
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".md") {
			continue
		}
		shown := path.Join(filepath.ToSlash(folder), e.Name())
		if len(files) == MaxFiles {
			return files, append(problems, Problem{folder, fmt.Sprintf("holds more than %d commands: the rest is not read", MaxFiles)})
		}
		data, err := readFile(root, e)
		if err != nil {
			problems = append(problems, Problem{shown, reason(err)})
			continue
		}
		files = append(files, File{shown, data})
	}
	return files, problems
}

// errNotRegular says that a file is a link or another special one.
var errNotRegular = errors.New("is a link or another special file, which cannot be a command")

// readFile reads a file up to one byte more than it may have. What it opens is checked again: it may have been replaced.
func readFile(root *os.Root, e fs.DirEntry) ([]byte, error) {
	if !e.Type().IsRegular() {
		return nil, errNotRegular
	}
	f, err := root.Open(e.Name())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if now, err := root.Lstat(e.Name()); err != nil || !os.SameFile(info, now) || !info.Mode().IsRegular() {
		return nil, errors.Join(errNotRegular, err)
	}
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
}

// reason is an error without the path that is told beside it.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
