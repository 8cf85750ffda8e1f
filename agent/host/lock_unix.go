//go:build unix

package host

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile locks a file for one writer. The lock is advisory and ends when the file is closed. A host holds it for as long
// as a write takes, so whoever has it after lockLimit is another program that means something else by it: then, as where
// files cannot be locked, the write goes on without.
func lockFile(ctx context.Context, file *os.File) {
	const (
		lockLimit = 2 * time.Second
		pause     = 2 * time.Millisecond
	)
	limit := time.NewTimer(lockLimit)
	defer limit.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-limit.C:
			again.Stop()
			return
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}
