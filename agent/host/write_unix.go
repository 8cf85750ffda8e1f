//go:build unix

package host

import (
	"io/fs"
	"os"
	"syscall"
)

func linkCount(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// copyAttributes gives to the owner, mode and extended attributes of from. It returns errCannotCopy when that is not
// possible.
func copyAttributes(to, from *os.File, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errCannotCopy
	}
	now, err := to.Stat()
	if err != nil {
		return errCannotCopy
	}
	mine, ok := now.Sys().(*syscall.Stat_t)
	if !ok {
		return errCannotCopy
	}
	if mine.Uid != stat.Uid || mine.Gid != stat.Gid {
		if err := to.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return errCannotCopy
		}
	}
	if err := to.Chmod(info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
		return errCannotCopy
	}
	return copyExtended(to, from)
}
