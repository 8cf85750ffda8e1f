// Command wherry is a coding agent behind the Agent Client Protocol: in an editor, and in the terminal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// commands are the subcommands; one file each.
type commands struct {
	ACP      acpCommand      `cmd:"" name:"acp" help:"Serve an editor: the Agent Client Protocol on stdin and stdout."`
	Run      runCommand      `cmd:"" help:"Run one prompt in this folder and print the answer."`
	Setup    setupCommand    `cmd:"" help:"Choose a model, store its key, and connect an editor."`
	Sessions sessionsCommand `cmd:"" help:"List, read, search and delete conversations."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// environment is what a command has from the outside.
type environment struct {
	ctx            context.Context // ends at the first interrupt
	stdin          io.Reader
	stdout, stderr io.Writer
}

// Exit codes, beside those of run.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2

	exitInterrupted = 130
)

// exitStatus is an exit code that has been explained already.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() { // ends with the program
		<-signals
		cancel()
		// The program is ending what it started. Only when that takes too long does a further interrupt end it at once.
		time.Sleep(patience)
		<-signals
		os.Exit(exitInterrupted)
	}()
	code := run(&environment{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, os.Args[1:])
	os.Exit(code)
}

// patience is how long the program may take to end what it started before an interrupt can end it at once.
const patience = 2 * time.Second

// run runs a command line and gives the exit code.
func run(env *environment, args []string) int {
	var cmds commands
	exited := -1
	parser, err := kong.New(&cmds,
		kong.Name("wherry"),
		kong.Description("A coding agent for your editor and terminal: the Agent Client Protocol for Go."),
		kong.UsageOnError(),
		kong.ExplicitGroups(flagGroups()),
		kong.ValueFormatter(describeFlag),
		kong.Writers(env.stdout, env.stderr),
		kong.Exit(func(code int) { exited = code }),
	)
	if err != nil {
		fmt.Fprintln(env.stderr, "wherry:", err)
		return exitError
	}
	kctx, err := parser.Parse(args)
	if exited >= 0 { // help was asked for
		return exited
	}
	if err != nil {
		fmt.Fprintf(env.stderr, "wherry: %v\nSay \"wherry --help\" for the commands.\n", err)
		return exitUsage
	}
	var status exitStatus
	switch err := kctx.Run(env); {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	default:
		fmt.Fprintln(env.stderr, "wherry:", err)
		return exitError
	}
}
