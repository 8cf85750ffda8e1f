//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := drive(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

// drive tries the agents that args name, all if none, and prints what came of it.
func drive(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("agents", flag.ContinueOnError)
	runs := flags.Int("measure", 0, "measure the agents in so many lives each, in place of trying what they do")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(catalog(), flags.Args())
	if err != nil {
		return err
	}
	root, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the root of this checkout: %w", err)
	}
	p := places{repo: strings.TrimSpace(string(root))}
	p.cache = filepath.Join(p.repo, ".cache", "agents")
	if *runs > 0 {
		return p.measure(ctx, chosen, *runs, out)
	}
	var reports []report
	failed := false
	for _, a := range chosen {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := p.try(ctx, a)
		r.detail(out)
		reports = append(reports, r)
		failed = failed || len(r.failed()) > 0
	}
	fmt.Fprintln(out)
	table(out, reports)
	if failed {
		return errors.New("not every agent passed; what went over the wire is in " + filepath.Join(p.cache, "wire"))
	}
	return nil
}

// choose picks the agents with the names, all if there are none.
func choose(all []agent, names []string) ([]agent, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []agent
	for _, name := range names {
		i := slices.IndexFunc(all, func(a agent) bool { return a.name == name })
		if i < 0 {
			var known []string
			for _, a := range all {
				known = append(known, a.name)
			}
			return nil, fmt.Errorf("there is no agent %s; the agents are: %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
