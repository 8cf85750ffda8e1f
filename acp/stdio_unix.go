//go:build unix

package acp

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// claimStdin returns standard input in a form whose Read ends with Close where that can
// be: for pipes and sockets, which is what clients use.
func claimStdin() (io.Reader, func()) {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return keepOpen{os.Stdin}, func() {}
	}
	fd, err := syscall.Dup(int(os.Stdin.Fd()))
	if err != nil {
		return keepOpen{os.Stdin}, func() {}
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return keepOpen{os.Stdin}, func() {}
	}
	f := os.NewFile(uintptr(fd), "stdin")
	return f, func() {
		_ = f.Close()
		_ = syscall.SetNonblock(int(os.Stdin.Fd()), false)
	}
}

// claimStdout keeps the real standard output and points descriptor 1 and os.Stdout to
// standard error.
func claimStdout() (io.Writer, func(), error) {
	fd, err := syscall.Dup(1)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(fd)
	if err := replace(2, 1); err != nil {
		return nil, nil, errors.Join(err, syscall.Close(fd))
	}
	was := os.Stdout
	os.Stdout = os.Stderr
	out := os.NewFile(uintptr(fd), "stdout")
	return onlyWriter{out}, func() {
		os.Stdout = was
		_ = replace(fd, 1)
		_ = out.Close()
	}, nil
}

// onlyWriter hides Close: the descriptor is given back by claimStdout's caller.
type onlyWriter struct{ io.Writer }
