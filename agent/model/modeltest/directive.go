package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// step is one thing a reply does.
type step struct {
	op     string // the directive's name
	text   string // TEXT, COMMAND, arguments
	name   string // tool name or path
	n      int    // count or HTTP status
	size   int    // bytes a chunk, or seconds of Retry-After (-1: none)
	wait   time.Duration
	counts [4]int
}

// parse reads the directives in s, in order. Text outside of them is ignored.
func parse(s string) ([]step, error) {
	var steps []step
	for {
		_, rest, found := strings.Cut(s, "[[")
		if !found {
			return steps, nil
		}
		st, after, err := parseOne(rest)
		if errors.Is(err, errNotDirective) {
			s = rest
			continue
		}
		if err != nil {
			return steps, err
		}
		steps = append(steps, st)
		s = after
	}
}

var errNotDirective = errors.New("not a directive")

// parseOne reads one directive whose opening brackets are already gone.
func parseOne(s string) (step, string, error) {
	end := strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' })
	if end <= 0 {
		return step{}, "", errNotDirective
	}
	st := step{op: s[:end], size: -1}
	if !known(st.op) {
		return step{}, "", errNotDirective
	}
	s = s[end:]
	if st.op == "call" {
		return parseCall(st, s)
	}
	arg, rest, found := strings.Cut(s, "]]")
	if !found {
		return step{}, "", fmt.Errorf("directive [[%s: no closing ]]", st.op)
	}
	arg = strings.TrimPrefix(arg, ":")
	arg = strings.TrimPrefix(arg, " ")
	if err := st.argument(arg); err != nil {
		return step{}, "", fmt.Errorf("directive [[%s]]: %w", st.op, err)
	}
	return st, rest, nil
}

func known(op string) bool {
	switch op {
	case "text", "thought", "call", "call-raw", "tool-shell", "tool-write", "tool-read", "anew", "next", "chunks", "result", "seen",
		"slow", "pause", "stall", "cut", "end", "garbage", "html", "status", "error", "usage", "length", "refuse",
		"no-ids", "same-ids", "restart-ids":
		return true
	}
	return false
}

// parseCall reads ": NAME {JSON}]]". The JSON may hold closing brackets of its own.
func parseCall(st step, s string) (step, string, error) {
	s = strings.TrimLeft(strings.TrimPrefix(s, ":"), " ")
	end := strings.IndexAny(s, " ]\n")
	if end <= 0 {
		return step{}, "", errors.New("directive [[call]]: no tool name")
	}
	st.name, s = s[:end], strings.TrimLeft(s[end:], " \n")
	if rest, ok := strings.CutPrefix(s, "]]"); ok {
		st.text = "{}"
		return st, rest, nil
	}
	dec := json.NewDecoder(strings.NewReader(s))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the arguments end early")
		}
		return step{}, "", fmt.Errorf("directive [[call: %s]]: %w", st.name, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return step{}, "", fmt.Errorf("directive [[call: %s]]: %w", st.name, err)
	}
	st.text = compact.String()
	rest, ok := strings.CutPrefix(strings.TrimLeft(s[dec.InputOffset():], " \n"), "]]")
	if !ok {
		return step{}, "", fmt.Errorf("directive [[call: %s]]: no closing ]] after the arguments", st.name)
	}
	return st, rest, nil
}

// argument fills the step from what stands after the directive's name.
func (st *step) argument(arg string) error {
	fields := strings.Fields(arg)
	switch st.op {
	case "text", "thought", "error", "tool-shell", "tool-read":
		st.text = arg
	case "call-raw":
		st.name, st.text, _ = strings.Cut(arg, " ")
	case "tool-write":
		var ok bool
		if st.name, st.text, ok = strings.Cut(arg, ": "); !ok {
			return errors.New("want PATH: TEXT")
		}
	case "slow", "pause":
		d, err := time.ParseDuration(strings.TrimSpace(arg))
		if err != nil {
			return err
		}
		st.wait = d
	case "chunks":
		st.n, st.size = 1, 16
		return numbers(fields, &st.n, &st.size)
	case "usage":
		c := &st.counts
		return numbers(fields, &c[0], &c[1], &c[2], &c[3])
	case "status":
		return st.status(fields)
	}
	return nil
}

// status reads "CODE WAIT KIND", the last two in any order or absent.
func (st *step) status(fields []string) error {
	if len(fields) == 0 {
		return errors.New("want an HTTP status")
	}
	if err := numbers(fields[:1], &st.n); err != nil {
		return err
	}
	if st.n < 300 || st.n > 599 {
		return fmt.Errorf("%d is not the status of a failure", st.n)
	}
	for _, f := range fields[1:] {
		if n, err := strconv.Atoi(f); err == nil {
			st.size = n
			continue
		}
		switch f {
		case "quota", "context":
			st.text = f
		case "always":
			st.name = f
		default:
			return fmt.Errorf("%q is not a number, quota, context or always", f)
		}
	}
	return nil
}

func numbers(fields []string, into ...*int) error {
	for i, f := range fields {
		if i == len(into) {
			return fmt.Errorf("too many numbers: %q", f)
		}
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a number", f)
		}
		*into[i] = n
	}
	return nil
}

func (st step) isCall() bool {
	switch st.op {
	case "call", "call-raw", "tool-shell", "tool-write", "tool-read":
		return true
	}
	return false
}

// completions splits steps into what each request gets: a completion ends after a run of calls, or at [[next]].
func completions(steps []step) [][]step {
	var all [][]step
	var cur []step
	called := false
	for _, st := range steps {
		if st.op == "next" || called && !st.isCall() {
			all = append(all, cur)
			cur, called = nil, false
		}
		if st.op == "next" {
			continue
		}
		cur = append(cur, st)
		called = called || st.isCall()
	}
	return append(all, cur)
}
