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
	small := flag.String("small", "", "the command of the folder agent")
	coder := flag.String("coder", "", "the example agent of github.com/coder/acp-go-sdk")
	node := flag.String("node", "node", "the node command")
	ts := flag.String("ts", "ts", "the folder with the programs in TypeScript's SDK")
	runs := flag.Int("runs", 11, "how often everything is measured")
	only := flag.String("only", "", "one table only: connection or codec")
	flag.Parse()
	for _, program := range []*string{small, coder, node} {
		path, err := exec.LookPath(*program)
		if err == nil {
			path, err = filepath.Abs(path) // agents are started elsewhere
		}
		if err != nil {
			return fmt.Errorf("find the program to measure (scripts/bench gets them all): %w", err)
		}
		*program = path
	}
	folder, err := filepath.Abs(*ts)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	fmt.Printf("%s, %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	coderAgent := agentProgram{args: []string{*coder}}
	sdks := []sdk{
		{name: "wherry", connect: newWherryPair, part: 1, idle: idle(openWherry), start: agentProgram{args: []string{*small}}},
		{name: "coder", connect: newCoderPair, part: 1, idle: idle(openCoder), start: coderAgent},
		{
			name: "TypeScript", connect: newTypeScriptPair(*node, folder), part: 10, idle: idleTypeScript(*node, folder),
			start: agentProgram{args: []string{*node, filepath.Join(folder, "agent.mjs")}},
		},
	}
	for _, m := range []struct {
		name    string
		measure func() (table, error)
	}{
		{"connection", func() (table, error) { return connectionTable(ctx, sdks, *runs) }},
		{"codec", func() (table, error) {
			return codecTable(ctx, func(ctx context.Context) (*nodeProgram, error) { return startTypeScriptCodec(ctx, *node, folder) }, *runs)
		}},
	} {
		if *only != "" && *only != m.name {
			continue
		}
		t, err := m.measure()
		if err != nil {
			return err
		}
		t.print(os.Stdout)
	}
	return nil
}
