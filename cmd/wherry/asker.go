package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/wherry-acp/wherry/acp"
)

// errNoTerminal says why nobody can be asked.
var errNoTerminal = errors.New("there is no terminal to ask on")

// errNoAnswer says that the terminal was closed, or Ctrl-D pressed.
var errNoAnswer = errors.New("the question was left without an answer")

// isTerminal tells whether what is written to w is seen by a person.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// asker asks a person on the terminal. Its lines are read by one goroutine, which ends when the terminal is closed.
type asker struct {
	tty   *os.File
	out   io.Writer
	lines chan string
	done  chan struct{}
}

// openAsker opens the controlling terminal; questions are written to out. It fails with errNoTerminal when there is none.
func openAsker(out io.Writer) (*asker, error) {
	tty, err := os.Open(terminalPath)
	if err != nil {
		return nil, errNoTerminal
	}
	a := &asker{tty: tty, out: out, lines: make(chan string), done: make(chan struct{})}
	go func() {
		defer close(a.lines)
		in := bufio.NewScanner(tty)
		for in.Scan() {
			select {
			case a.lines <- in.Text():
			case <-a.done:
				return
			}
		}
	}()
	return a, nil
}

func (a *asker) close() {
	close(a.done)
	a.tty.Close()
}

// givesReasons tells the agent that a rejection comes with its reason, so that it need not ask for one.
func givesReasons(c *acp.ClientCapabilities) {
	c.Meta = acp.Meta(`{"wherry":{"reasons":true}}`)
}

// choice is what a person chose.
type choice struct {
	option acp.PermissionOptionID
	reason string
}

// ask offers the options until one is chosen.
func (a *asker) ask(ctx context.Context, options []acp.PermissionOption) (choice, error) {
	for {
		line, err := a.line(ctx, prompt(options))
		if err != nil {
			return choice{}, err
		}
		if c, ok := choose(options, line); ok {
			return c, nil
		}
	}
}

// line shows the prompt and waits for a line.
func (a *asker) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(a.out, prompt)
	select {
	case line, open := <-a.lines:
		if !open {
			return "", errNoAnswer
		}
		return line, nil
	case <-ctx.Done():
		fmt.Fprintln(a.out)
		return "", context.Cause(ctx)
	}
}

func prompt(options []acp.PermissionOption) string {
	var b strings.Builder
	for _, o := range options {
		fmt.Fprintf(&b, "  [%s] %s", key(o.Kind), o.Name)
	}
	b.WriteString("  (after a no you can say why)\n> ")
	return b.String()
}

// key is the letter for a kind of option.
func key(kind acp.PermissionOptionKind) string {
	switch kind {
	case acp.PermissionAllowOnce:
		return "y"
	case acp.PermissionAllowAlways:
		return "a"
	case acp.PermissionRejectAlways:
		return "x"
	}
	return "n"
}

// choose reads a line: the letter of an option, and after a no perhaps the reason.
func choose(options []acp.PermissionOption, line string) (choice, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	word = strings.ToLower(strings.TrimRight(word, ",.:;"))
	switch word {
	case "yes":
		word = "y"
	case "no":
		word = "n"
	case "always":
		word = "a"
	}
	for _, o := range options {
		if key(o.Kind) == word {
			return choice{option: o.OptionID, reason: strings.TrimSpace(rest)}, true
		}
	}
	return choice{}, false
}
