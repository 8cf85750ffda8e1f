package host

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// openNonblock keeps an open from waiting; files on Windows never do.
const openNonblock = 0

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
