package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// An sdk is what connections are measured of.
type sdk struct {
	name    string
	connect func(ctx context.Context) (pair, error)
	part    int                                        // this part, 1/part, of each load is measured: for the slow ones
	idle    func(ctx context.Context) (float64, error) // the bytes that a connection at rest takes, both ends in memory
	start   agentProgram                               // a small agent
}

// loads are what the pairs are measured by: something done so many times in one go.
var loads = []struct {
	name  string
	times int
	run   func(ctx context.Context, p pair, part int) (time.Duration, error)
}{
	{"updates/s, one session", 20_000, func(ctx context.Context, p pair, part int) (time.Duration, error) {
		return p.turns(ctx, 1, 20_000/part)
	}},
	{"updates/s, 1,000 sessions at a time", 50_000, func(ctx context.Context, p pair, part int) (time.Duration, error) { return p.turns(ctx, 1000, 50/part) }},
	{"requests/s, one at a time", 2_000, func(ctx context.Context, p pair, part int) (time.Duration, error) { return p.trips(ctx, 2_000/part, 1) }},
	{"requests/s, 64 at a time", 20_000, func(ctx context.Context, p pair, part int) (time.Duration, error) {
		return p.trips(ctx, 20_000/part, 64)
	}},
}

// idleConnections is how many connections of the Go SDKs are at rest when their memory is measured.
const idleConnections = 10_000

// connectionTable measures every SDK by every load, as often as runs says, taking turns.
func connectionTable(ctx context.Context, sdks []sdk, runs int) (table, error) {
	t := table{
		title: fmt.Sprintf("An agent and a client of the same SDK, medians of %d runs taking turns", runs),
		head:  []string{""},
		unit:  []string{""},
		note:  "times: how many times better wherry is. Pipes of the operating system; update and answer are typed at both ends. coder's\n  client ends a connection on which 1,024 updates wait, so its agent is held back. The TypeScript SDK has two processes; its\n  connections at rest are a thousand in one process.",
	}
	for i, s := range sdks {
		t.head, t.unit = append(t.head, s.name), append(t.unit, "")
		if i > 0 {
			t.head, t.unit = append(t.head, "times"), append(t.unit, "")
		}
	}
	for _, load := range loads {
		rates := make([][]float64, len(sdks))
		pairs := make([]pair, len(sdks))
		err := func() error {
			for i, s := range sdks {
				p, err := s.connect(ctx)
				if err != nil {
					return fmt.Errorf("connect %s: %w", s.name, err)
				}
				defer p.close()
				pairs[i] = p
			}
			for run := range runs + 1 {
				for i, s := range sdks {
					took, err := load.run(ctx, pairs[i], s.part)
					if err != nil {
						return fmt.Errorf("%s, %s: %w", load.name, s.name, err)
					}
					if run > 0 { // the first one warms up
						rates[i] = append(rates[i], float64(load.times/s.part)/took.Seconds())
					}
				}
			}
			return nil
		}()
		if err != nil {
			return table{}, err
		}
		t.addRow(load.name, "%.0f", true, rates)
	}
	for _, alone := range []struct {
		name  string
		block int
	}{{"the bytes of updates/s, a write each", 0}, {"the bytes of updates/s, in blocks of 64 KiB", 64 << 10}} {
		var rates []float64
		for range runs {
			took, err := bytesAlone(20_000, alone.block)
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", alone.name, err)
			}
			rates = append(rates, 20_000/took.Seconds())
		}
		t.rows = append(t.rows, []string{alone.name, fmt.Sprintf("%.0f", median(rates))})
	}
	sizes := make([][]float64, len(sdks))
	for i, s := range sdks {
		size, err := s.idle(ctx)
		if err != nil {
			return table{}, fmt.Errorf("idle connections of %s: %w", s.name, err)
		}
		sizes[i] = []float64{size / 1e3}
	}
	t.addRow("kB a connection at rest, both ends in memory", "%.1f", false, sizes)
	times, resident := make([][]float64, len(sdks)), make([][]float64, len(sdks))
	for run := range runs + 1 {
		for i, s := range sdks {
			ms, mb, err := start(ctx, s.start)
			if err != nil {
				return table{}, fmt.Errorf("start an agent of %s: %w", s.name, err)
			}
			if run > 0 {
				times[i], resident[i] = append(times[i], ms), append(resident[i], mb)
			}
		}
	}
	t.addRow("ms from start to initialize, a small agent", "%.1f", false, times)
	t.addRow("MB resident, that agent at rest", "%.1f", false, resident)
	return t, nil
}

// addRow adds medians, and how many times better the first is than the others.
func (t *table) addRow(name, format string, moreIsBetter bool, values [][]float64) {
	row := []string{name}
	for i, v := range values {
		if len(v) == 0 {
			row = append(row, "-", "-")
			continue
		}
		row = append(row, fmt.Sprintf(format, median(v)))
		if first := median(values[0]); i > 0 && moreIsBetter {
			row = append(row, ratio(first, median(v)))
		} else if i > 0 {
			row = append(row, ratio(median(v), first))
		}
	}
	t.rows = append(t.rows, row)
}

// idle gives the memory, in bytes, that a connection takes at rest: heap and stacks. open connects two peers through memory.
func idle(open func(context.Context) (close func(), err error)) func(ctx context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		before := memoryInUse()
		var closes []func()
		defer func() {
			for _, c := range closes {
				c()
			}
		}()
		for range idleConnections {
			c, err := open(ctx)
			if err != nil {
				return 0, err
			}
			closes = append(closes, c)
		}
		return float64(memoryInUse()-before) / idleConnections, nil
	}
}

func memoryInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
