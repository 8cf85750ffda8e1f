//go:build !unix

package acp

import (
	"io"
	"os"
)

func claimStdin() (io.Reader, func()) { return keepOpen{os.Stdin}, func() {} }

// claimStdout keeps the real standard output for the protocol and points os.Stdout to
// standard error.
func claimStdout() (io.Writer, func(), error) {
	was := os.Stdout
	os.Stdout = os.Stderr
	return struct{ io.Writer }{was}, func() { os.Stdout = was }, nil
}
