package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// exchange swaps temp and the file in one step. It returns false when the kernel or the file system cannot do that.
func (w *writer) exchange(temp string) (bool, error) {
	dir, err := w.root.Open(filepath.Dir(w.name))
	if err != nil {
		return false, err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	err = unix.Renameat2(fd, filepath.Base(temp), fd, filepath.Base(w.name), unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return false, nil
	case errors.Is(err, unix.ENOENT):
		return false, nil // the file is gone: the check that follows finds out
	}
	return false, err
}

// copyExtended copies extended attributes (access control lists are such). Labels that the system sets by itself need not
// be copied.
func copyExtended(to, from *os.File) error {
	names, err := extendedNames(from)
	if err != nil {
		return errCannotCopy
	}
	for _, name := range names {
		value := make([]byte, 64<<10) // the kernel's limit for one attribute
		n, err := unix.Fgetxattr(int(from.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
		if err != nil && !strings.HasPrefix(name, "security.") {
			return errCannotCopy
		}
	}
	return nil
}

func extendedNames(file *os.File) ([]string, error) {
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(file.Fd()), list)
	if errors.Is(err, unix.EOPNOTSUPP) || n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00"), nil
}
