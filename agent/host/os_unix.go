//go:build unix

package host

import (
	"errors"
	"syscall"
)

// openNonblock keeps an open from waiting for the other end of a named pipe.
const openNonblock = syscall.O_NONBLOCK

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
