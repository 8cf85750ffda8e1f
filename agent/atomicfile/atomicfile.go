// Package atomicfile replaces a small file whole: another process sees the old content or the new one, and a crash leaves
// one of them.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with data. A symbolic link at path is followed, so that the file it names is replaced and
// the link stays. A file that is there keeps its permissions, a new one gets perm. Missing folders are made, readable
// by their owner alone.
func Write(path string, data []byte, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for %s: %w", path, err)
	}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		info, err := os.Stat(target)
		if err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("write %s: it is not a regular file", path)
		}
		perm = info.Mode().Perm()
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("write %s: it is a link to a file that is not there", path)
		}
		target = path
	default:
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if err := replace(target, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(target string, data []byte, perm fs.FileMode) (err error) {
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close() // may be closed already
			_ = os.Remove(file.Name())
		}
	}()
	if err := file.Chmod(perm); err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}
