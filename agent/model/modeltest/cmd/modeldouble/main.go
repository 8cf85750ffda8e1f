// Modeldouble is a double for hosted language models: it speaks OpenAI chat completions, OpenAI responses, Anthropic
// messages and Gemini generateContent, and answers what the directives in the prompt say. It prints its URL and runs until
// it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "modeldouble:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "`address` to listen on")
	script := flag.String("script", "", "`file` with replies for prompts without directives")
	models := flag.String("models", "fake", "model `names` to list, separated by commas")
	key := flag.String("key", "", "the only API `key` that is taken (any if empty)")
	fallback := flag.String("default", "ok", "the `reply` when nothing else answers")
	plain := flag.Bool("tools-only", true, "carry out directives only in requests that offer tools")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: modeldouble [flags]\n\nFlags:")
		flag.PrintDefaults()
		fmt.Fprint(flag.CommandLine.Output(), "\nDirectives in a prompt:\n", modeltest.Help, "\n", modeltest.ScriptHelp)
	}
	flag.Parse()

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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := modeltest.Listen(opts)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Queue(queue...)
	fmt.Println(s.URL)
	<-ctx.Done()
	return nil
}
