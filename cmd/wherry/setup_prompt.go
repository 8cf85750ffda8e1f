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

// errInterrupted says that Ctrl-C was typed where the terminal does not make a signal of it.
var errInterrupted = errors.New("interrupted")

// secret asks for a line that is not shown, until check takes it. The terminal stops showing what is typed before the question
// is there, so that what is pasted at once does not show either.
func (p *prompter) secret(ctx context.Context, question string, check func(string) (string, error)) (answer string, err error) {
	fd := int(p.terminal.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("hide what is typed: %w", err)
	}
	defer func() {
		if undo := term.Restore(fd, before); undo != nil && err == nil {
			err = fmt.Errorf("show again what is typed: %w", undo)
		}
		fmt.Fprintln(p.out)
	}()
	for {
		fmt.Fprint(p.out, safe(question), " ")
		text, err := p.wait(ctx, p.readHidden)
		if err != nil {
			return "", err
		}
		if answer, err = check(text); err == nil {
			return answer, nil
		}
		fmt.Fprintf(p.out, "\r\n%s.\r\n", safe(err.Error()))
	}
}

// readHidden reads a line from a terminal that leaves editing and interrupts to us.
func (p *prompter) readHidden() (string, error) {
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := p.in.Read(one)
		if n == 0 {
			if err != nil {
				return "", err
			}
			continue
		}
		switch one[0] {
		case '\r', '\n':
			return string(line), nil
		case 0x03: // Ctrl-C
			return "", errInterrupted
		case 0x04: // Ctrl-D
			return "", io.EOF
		case 0x15: // Ctrl-U
			line = line[:0]
		case 0x08, 0x7f: // backspace
			line = line[:max(len(line)-1, 0)]
		default:
			line = append(line, one[0])
		}
	}
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
