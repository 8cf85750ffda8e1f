//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// report is what came of one agent.
type report struct {
	name, version                        string
	checks                               []check
	initialize, newSession, turn, cancel time.Duration
	survey                               survey
	problems                             []string // updates that were lost or changed
}

// check is a step and how it ended: nil, errNotOffered or why it failed.
type check struct {
	name string
	err  error
}

func (r report) failed() []check {
	var failed []check
	for _, c := range r.checks {
		if c.err != nil && !errors.Is(c.err, errNotOffered) {
			failed = append(failed, c)
		}
	}
	return failed
}

// passed lists the steps that went well, and names those that the agent does not offer.
func (r report) passed() string {
	n, missing := 0, []string{}
	for _, c := range r.checks {
		switch {
		case c.err == nil:
			n++
		case errors.Is(c.err, errNotOffered):
			missing = append(missing, c.name)
		}
	}
	text := fmt.Sprintf("%d/%d", n, len(r.checks)-len(missing))
	if len(missing) > 0 {
		text += " (no " + strings.Join(missing, ", ") + ")"
	}
	return text
}

// detail tells what the table has no room for.
func (r report) detail(w io.Writer) {
	fmt.Fprintf(w, "%s %s\n", r.name, r.version)
	for _, c := range r.failed() {
		fmt.Fprintf(w, "  FAILED %s: %s\n", c.name, strings.ReplaceAll(c.err.Error(), "\n", "\n    "))
	}
	for i, p := range r.problems {
		if i == 10 {
			fmt.Fprintf(w, "  … and %d more\n", len(r.problems)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", p)
	}
	for _, part := range []struct{ name, text string }{
		{"requests", counted(r.survey.calls)}, {"updates", counted(r.survey.kinds)}, {"odd", counted(r.survey.odd)},
	} {
		if part.text != "" {
			fmt.Fprintf(w, "  %s: %s\n", part.name, part.text)
		}
	}
}

// table prints a line for each agent, and the sum.
func table(out io.Writer, reports []report) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "agent\tversion\tresult\tpassed\tinitialize ms\tsession/new ms\tturn ms\tcancel ms\tfiles and terminals\todd traffic")
	failed := 0
	for _, r := range reports {
		result := "ok"
		if len(r.failed()) > 0 {
			result = "FAILED"
			failed++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, or(r.version, "?"), result, r.passed(),
			ms(r.initialize), ms(r.newSession), ms(r.turn), ms(r.cancel), or(r.survey.clientCalls(), "-"), or(counted(r.survey.odd), "-"))
	}
	_ = w.Flush()
	fmt.Fprintf(out, "\n%d agents, %d failed\n", len(reports), failed)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func ms(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprint(d.Milliseconds())
}
