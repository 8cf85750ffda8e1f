//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// restAfter is how long an agent is left alone before its memory is looked at.
const restAfter = 500 * time.Millisecond

// figures are what one life of an agent took.
type figures struct {
	first                                time.Duration // session/new in a home that was never used
	initialize, newSession, turn, stream time.Duration // in one that was used once
	rest, after                          float64       // memory in MB of a million bytes, of all its processes
	left                                 int           // processes that were there a second after it was ended
}

// chunks is how many pieces of text the model streams in one turn.
const chunks = 2000

// measure has the agents live so many times, taking turns, each time in a home of its own, and prints the medians. The
// first life warms the disk's cache and does not count.
func (p places) measure(ctx context.Context, agents []agent, runs int, out io.Writer) error {
	all := make([][]figures, len(agents))
	for n := range runs + 1 {
		for i, a := range agents {
			f, err := p.life(ctx, a)
			if err != nil {
				return fmt.Errorf("measure %s: %w", a.name, err)
			}
			if n > 0 {
				all[i] = append(all[i], f)
			}
		}
	}
	fmt.Fprintf(out, "Coding agents with the same double of a model, medians of %d lives taking turns\n\n", runs)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tinitialize\tsession/new\tfirst one\tturn with a call\t2,000 chunks\tat rest\tafter\tleft behind\t")
	fmt.Fprintln(w, "\tms\tms\tms\tms\tms\tMB\tMB\tprocesses\t")
	for i, a := range agents {
		ms := func(of func(figures) time.Duration) string {
			return fmt.Sprintf("%.1f", middle(all[i], func(f figures) float64 { return float64(of(f).Microseconds()) / 1e3 }))
		}
		mb := func(of func(figures) float64) string { return fmt.Sprintf("%.1f", middle(all[i], of)) }
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t\n", a.name,
			ms(func(f figures) time.Duration { return f.initialize }), ms(func(f figures) time.Duration { return f.newSession }),
			ms(func(f figures) time.Duration { return f.first }), ms(func(f figures) time.Duration { return f.turn }), ms(func(f figures) time.Duration { return f.stream }),
			mb(func(f figures) float64 { return f.rest }), mb(func(f figures) float64 { return f.after }),
			middle(all[i], func(f figures) float64 { return float64(f.left) }))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\ninitialize: from the start of the program to its answer. first one: in a home that was never used; the rest in\n"+
		"one that was used once. The turn runs echo after a permission. Memory: the sum of the\n"+
		"proportional set sizes of all its processes, after initialize and session/new, and after both turns.")
	return err
}

// middle is the median of a figure.
func middle(all []figures, of func(figures) float64) float64 {
	var values []float64
	for _, f := range all {
		values = append(values, of(f))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// life starts an agent, opens a session and ends it; and once more, with two turns.
func (p places) life(ctx context.Context, a agent) (f figures, err error) {
	r := &run{agent: a, report: report{name: a.name, survey: look(nil)}}
	if r.line, r.modules, err = p.command(ctx, a); err != nil {
		return f, err
	}
	if err := r.prepare(p); err != nil {
		return f, err
	}
	defer r.cleanUp()
	if err := r.start(ctx); err != nil {
		return f, err
	}
	if err := r.newSession(ctx); err != nil {
		return f, err
	}
	f.first = r.report.newSession
	if err := r.exit(); err != nil {
		return f, fmt.Errorf("after the first session: %w", err)
	}
	began := time.Now()
	if err := r.start(ctx); err != nil {
		return f, err
	}
	f.initialize = time.Since(began)
	if err := r.newSession(ctx); err != nil {
		return f, err
	}
	f.newSession = r.report.newSession
	if f.rest, err = r.memory(ctx); err != nil {
		return f, err
	}
	r.person.answers(true)
	t, err := r.prompt(ctx, `[[anew]] [[tool-shell: echo made by a command > ran.txt]] [[text: that was it]]`, nil)
	if err := errors.Join(err, expect(r.holds("ran.txt") != "" && t.stop == acp.StopEndTurn, "the command did not run; the turn ended with %q", t.stop)); err != nil {
		return f, err
	}
	f.turn = t.took
	t, err = r.prompt(ctx, fmt.Sprintf(`[[anew]] [[chunks %d 16]]`, chunks), nil)
	if err := errors.Join(err, expect(len(t.said) >= chunks*16, "of the text %d bytes arrived", len(t.said))); err != nil {
		return f, err
	}
	f.stream = t.took
	if f.after, err = r.memory(ctx); err != nil {
		return f, err
	}
	if err := r.exit(); err != nil {
		left, err := r.processes()
		if err != nil {
			return f, err
		}
		f.left = len(left)
	}
	return f, nil
}

// memory is what all the processes of the agent take, in MB, some time from now.
func (r *run) memory(ctx context.Context) (float64, error) {
	select {
	case <-time.After(restAfter):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	left, err := r.processes()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, process := range left {
		pid, _, _ := strings.Cut(process, " ")
		data, err := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				if err != nil {
					return 0, fmt.Errorf("read the memory of process %s: %w", pid, err)
				}
				sum += kb * 1024 / 1e6
			}
		}
	}
	return sum, nil
}
