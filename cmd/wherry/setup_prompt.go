package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// prompter asks a person in plain lines, which works over SSH and with a screen reader.
type prompter struct {
	in       io.Reader
	out      io.Writer
	terminal *os.File // in, if it is one that a person sits at; else nil
}

func newPrompter(in io.Reader, out io.Writer) *prompter {
	p := &prompter{in: in, out: out}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) && isTerminal(out) {
		p.terminal = f
	}
	return p
}

// there tells whether somebody can answer.
func (p *prompter) there() bool { return p.terminal != nil }

// line asks for a line; an empty answer is the one by default.
func (p *prompter) line(ctx context.Context, question, byDefault string) (string, error) {
	if byDefault != "" {
		question += " [" + byDefault + "]"
	}
	fmt.Fprint(p.out, safe(question), " ")
	answer, err := p.wait(ctx, p.readLine)
	if answer == "" {
		answer = byDefault
	}
	return answer, err
}

// yes asks a question to be answered with yes or no.
func (p *prompter) yes(ctx context.Context, question string, byDefault bool) (bool, error) {
	word := "no"
	if byDefault {
		word = "yes"
	}
	for {
		answer, err := p.line(ctx, question+" (yes or no)", word)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// secret asks for a line that is not shown.
func (p *prompter) secret(ctx context.Context, question string) (string, error) {
	fd := int(p.terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("hide what is typed: %w", err)
	}
	fmt.Fprint(p.out, safe(question), " ")
	answer, err := p.wait(ctx, func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	})
	if ctx.Err() != nil { // whoever reads it will not put the echo back
		_ = term.Restore(fd, before)
	}
	fmt.Fprintln(p.out)
	return answer, err
}

// wait reads in a goroutine of its own, since nothing ends a read from a terminal. After an interrupt that goroutine ends with
// the program, which is about to end.
func (p *prompter) wait(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, io.EOF) {
			r.err = errNoAnswer
		}
		return strings.TrimSpace(r.text), r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readLine reads no further than the line's end, so that nothing is lost to whoever reads next.
func (p *prompter) readLine() (string, error) {
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := p.in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err
		}
	}
}

// maxStdin is how much is read where a key is expected, in bytes.
const maxStdin = 64 << 10

// all reads what is piped in.
func (p *prompter) all(ctx context.Context) (string, error) {
	return p.wait(ctx, func() (string, error) {
		data, err := io.ReadAll(io.LimitReader(p.in, maxStdin))
		return string(data), err
	})
}
