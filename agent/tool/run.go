package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed run.md
var runDescription string

const (
	runTimeout = 120 * time.Second // when the model does not say
	runQuiet   = 300 * time.Second // likewise
	runKeep    = 32 << 10          // bytes of output for the model
)

type runArgs struct {
	Command string `json:"command" jsonschema:"A line for the shell."`
	Dir     string `json:"dir,omitzero" jsonschema:"The folder to run in; the working folder when left out."`
	Timeout int    `json:"timeout,omitzero" min:"1" max:"3600" jsonschema:"Seconds until the command is ended; 120 when left out."`
	Quiet   int    `json:"quiet,omitzero" min:"1" max:"3600" jsonschema:"Seconds without any output until the command is ended; 300 when left out."`
}

func runTool() Tool {
	return New(Spec{Name: "run", Description: runDescription, Needs: []host.Capability{host.CanRun}}, prepareRun)
}

func prepareRun(ctx context.Context, env Env, args runArgs) (Call, error) {
	line := strings.TrimSpace(args.Command)
	switch {
	case line == "":
		return nil, errors.New(`"command" is empty: give a line for the shell`)
	case strings.ContainsRune(line, 0):
		return nil, errors.New(`"command" has a NUL character, which no shell takes`)
	}
	place, err := resolveFolder(ctx, env.Host, args.Dir)
	if err != nil {
		return nil, err
	}
	timeout := runTimeout
	if args.Timeout > 0 {
		timeout = time.Duration(args.Timeout) * time.Second
	}
	quiet := runQuiet
	if args.Quiet > 0 {
		quiet = time.Duration(args.Quiet) * time.Second
	}
	class := approval.ClassExecute
	if namesSecret(line) || reachesSecret(ctx, env.Host, place.Abs, line) {
		class = approval.ClassSecret
	}
	return &prepared{
		shown: Presentation{Class: class, Title: oneLine(line), Kind: KindExecute,
			Command: &CommandView{Line: line, Dir: place.Abs}},
		run: func(ctx context.Context, out Output) Result {
			cmd := host.Command{Line: line, Dir: place.Abs, Timeout: timeout, Quiet: quiet, KeepBytes: runKeep}
			return runCommand(ctx, env.Host, cmd, out)
		},
	}, nil
}

func runCommand(ctx context.Context, h host.Host, cmd host.Command, out Output) Result {
	cmd.Output = func(chunk []byte) { out.Text(cleanText(string(chunk))) }
	process, err := h.Run(ctx, cmd)
	if err != nil {
		return Failure("run: " + err.Error())
	}
	defer process.Close()
	if id := process.Terminal(); id != "" {
		out.Terminal(id)
	}
	exit, err := process.Wait(ctx)
	result := Result{Ended: &CommandEnd{Code: exit.Code, Signal: exit.Signal}}
	took := exit.Duration.Round(100 * time.Millisecond)
	switch {
	case ctx.Err() != nil:
		result.Failed = true
		result.Text = fmt.Sprintf("stopped after %.1fs, before it had ended", took.Seconds())
	case exit.TimedOut:
		result.Failed = true
		result.Text = fmt.Sprintf("timed out after %ds and was ended; a longer timeout can be given, up to 3600", int(cmd.Timeout.Seconds()))
	case exit.Quieted:
		result.Failed = true
		result.Text = fmt.Sprintf("ended after %.1fs, because it wrote nothing for %ds; it can be given longer with quiet, up to 3600",
			took.Seconds(), int(cmd.Quiet.Seconds()))
	case err != nil:
		result.Failed = true
		result.Text = "run: " + err.Error()
	case exit.Signal != "" && process.Terminal() != "":
		result.Failed = true
		result.Text = fmt.Sprintf("ended by %s in the editor's terminal (%.1fs), most likely stopped by the person there: "+
			"do not run it again without asking", exit.Signal, took.Seconds())
	case exit.Signal != "":
		result.Failed = true
		result.Text = fmt.Sprintf("killed by %s (%.1fs)", exit.Signal, took.Seconds())
	default:
		result.Text = fmt.Sprintf("exit code %d (%.1fs)", exit.Code, took.Seconds())
	}
	if exit.Left && !result.Failed {
		result.Text += "\nProcesses that it left in the background were ended with it: nothing of a command runs on."
	}
	if output := strings.TrimRight(plainOutput(exit.Output), "\n"); output != "" {
		result.Text += "\n\n"
		result.Ended.Output = len(result.Text)
		result.Text += output
	}
	return result
}
