// Command bench measures wherry beside other implementations of the Agent Client Protocol, in one run on one machine, and
// prints tables. `make bench` builds what it needs and runs it. It asserts nothing: the figures are for reading.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	wherry := flag.String("wherry", "", "the wherry command")
	coder := flag.String("coder", "", "the example agent of github.com/coder/acp-go-sdk")
	codex := flag.String("codex", "", "the codex-acp command")
	runs := flag.Int("runs", 11, "how often each agent is started")
	flag.Parse()
	for _, program := range []*string{wherry, coder, codex} {
		path, err := exec.LookPath(*program)
		if err == nil {
			path, err = filepath.Abs(path) // agents are started elsewhere
		}
		if err != nil {
			return fmt.Errorf("find the program to measure (scripts/bench gets them all): %w", err)
		}
		*program = path
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	fmt.Printf("%s, %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	agents := []agentProgram{
		{name: "wherry acp", args: []string{*wherry, "acp"}},
		{name: "coder example agent (no model, no tools)", args: []string{*coder}},
		{name: "codex-acp", args: []string{*codex}, env: codexEnv},
	}
	for _, measure := range []func() (table, error){
		func() (table, error) { return startTable(ctx, agents, *runs) },
		codecTable,
		func() (table, error) { return streamTable(ctx, *runs) },
	} {
		t, err := measure()
		if err != nil {
			return err
		}
		t.print(os.Stdout)
	}
	return nil
}
