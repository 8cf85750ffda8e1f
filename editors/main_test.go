//go:build unix

package editors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// wherry is the path of the program, built once for all tests.
var wherry string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverCommand {
		os.Exit(serveTides())
	}
	dir, err := os.MkdirTemp("", "editors-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests cannot run:", err)
		os.Exit(1)
	}
	wherry = filepath.Join(dir, "wherry")
	build := exec.Command("go", "build", "-o", wherry, "../cmd/wherry")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build wherry: %v\n%s", err, out)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}
