//go:build unix

package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs are what the tests run, as absolute paths.
type programs struct {
	self        string // this test binary, which is also the wire tee
	wherry      string
	echoAgent   string // the example of our SDK
	coderClient string
	coderAgent  string
	coderPlayer string // our program on the other Go SDK's client side
	modules     string // node_modules
	ts          string // folder of our TypeScript SDK programs
	python      string // the interpreter that has the Python SDK
	py          string // folder of our Python SDK programs
}

var installed programs

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == teeCommand {
		os.Exit(tee(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == agentCommand {
		os.Exit(serveScripted())
	}
	dir, err := os.MkdirTemp("", "interop-*")
	if err == nil {
		installed, err = install(dir)
	}
	code := 1
	if err != nil {
		fmt.Fprintf(os.Stderr, "the interop tests cannot run: %v\n", err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// install looks for what must be there and builds the Go programs into dir.
func install(dir string) (programs, error) {
	here, err := os.Getwd()
	if err != nil {
		return programs{}, err
	}
	p := programs{
		wherry:      filepath.Join(dir, "wherry"),
		echoAgent:   filepath.Join(dir, "echoagent"),
		coderClient: filepath.Join(dir, "coder-client"),
		coderAgent:  filepath.Join(dir, "coder-agent"),
		coderPlayer: filepath.Join(dir, "coder-player"),
		modules:     filepath.Join(here, "node_modules"),
		ts:          filepath.Join(here, "ts"),
		python:      filepath.Join(here, "..", ".cache", "python", "bin", "python"),
		py:          filepath.Join(here, "py"),
	}
	if p.self, err = os.Executable(); err != nil {
		return programs{}, err
	}
	if _, err := exec.LookPath("node"); err != nil {
		return programs{}, fmt.Errorf("node is not installed (%w); get it with: apt-get install nodejs npm", err)
	}
	for _, name := range []string{"@agentclientprotocol/sdk", "acpx", "acp-factory"} {
		if _, err := os.Stat(filepath.Join(p.modules, name)); errors.Is(err, fs.ErrNotExist) {
			return programs{}, fmt.Errorf("the npm package %s is not installed; `make interop` installs it, or: scripts/npm-packages interop", name)
		}
	}
	if _, err := os.Stat(p.python); err != nil {
		return programs{}, fmt.Errorf("the Python SDK is not installed (%w); `make interop` installs it, or: scripts/python-packages interop/py", err)
	}
	if err := build("..", p.wherry, "./cmd/wherry"); err != nil {
		return programs{}, err
	}
	if err := build("..", p.echoAgent, "./examples/echoagent"); err != nil {
		return programs{}, err
	}
	// The module of the benchmarks pins the other Go SDK.
	for out, pkg := range map[string]string{p.coderClient: "client", p.coderAgent: "agent"} {
		if err := build("../bench", out, "github.com/coder/acp-go-sdk/example/"+pkg); err != nil {
			return programs{}, err
		}
	}
	if err := build("../bench", p.coderPlayer, "./coderclient"); err != nil {
		return programs{}, err
	}
	return p, nil
}

func build(dir, out, pkg string) error {
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, strings.TrimSpace(string(text)))
	}
	return nil
}
