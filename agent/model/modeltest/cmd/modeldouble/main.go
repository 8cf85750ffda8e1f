// Modeldouble is a double for hosted language models: it speaks OpenAI chat completions, OpenAI responses, Anthropic
// messages and Gemini generateContent, and answers what the directives in the prompt say. It prints its URL and runs until
// it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "modeldouble:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("modeldouble", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "`address` to listen on")
	script := flags.String("script", "", "`file` with replies for prompts without directives")
	models := flags.String("models", "fake", "model `names` to list, separated by commas")
	key := flags.String("key", "", "the only API `key` that is taken (any if empty)")
	fallback := flags.String("default", "ok", "the `reply` when nothing else answers")
	plain := flags.Bool("tools-only", true, "carry out directives only in requests that offer tools")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: modeldouble [flags]\n\nFlags:")
		flags.PrintDefaults()
		fmt.Fprint(flags.Output(), "\nDirectives in a prompt:\n", modeltest.Help, "\n", modeltest.ScriptHelp)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}

	opts := modeltest.Options{Addr: *addr, Default: *fallback, Models: strings.Split(*models, ","), Key: *key, NeedTools: *plain}
	var queue []string
	if *script != "" {
		text, err := os.ReadFile(*script)
		if err != nil {
			return fmt.Errorf("read script: %w", err)
		}
		if opts.Rules, queue, err = modeltest.ParseScript(string(text)); err != nil {
			return fmt.Errorf("script %s: %w", *script, err)
		}
	}
	s, err := modeltest.Listen(opts)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Queue(queue...)
	if _, err := fmt.Fprintln(out, s.URL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
