package main

import (
	"encoding/json"
	"fmt"
	"testing"

	coder "github.com/coder/acp-go-sdk"

	"github.com/wherry-acp/wherry/acp"
)

// samples are the two messages that make up most of a turn, as an agent sends them.
var samples = []struct{ name, params string }{
	{"agent_message_chunk", `{"sessionId":"sess_01JD8Q0V9X5T3M7K2B","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The limit is set in transport/line.go, where "}}}`},
	{"tool_call", `{"sessionId":"sess_01JD8Q0V9X5T3M7K2B","update":{"sessionUpdate":"tool_call","toolCallId":"call_12","title":"Edit transport/line.go","kind":"edit","status":"pending",` +
		`"content":[{"type":"diff","path":"/home/ada/ferry/transport/line.go","oldText":"const limit = 1 << 20\n","newText":"const limit = 32 << 20\n"}],` +
		`"locations":[{"path":"/home/ada/ferry/transport/line.go","line":14}],"rawInput":{"path":"transport/line.go","edits":[{"old":"1 << 20","new":"32 << 20"}]}}}`},
}

// codecTable measures reading and writing the params of a session/update.
func codecTable() (table, error) {
	t := table{
		title: "One session/update, in one goroutine",
		head:  []string{"", "wherry", "coder", "coder/wherry", "wherry", "coder"},
		unit:  []string{"", "ns", "ns", "", "B, allocs", "B, allocs"},
	}
	for _, s := range samples {
		data := []byte(s.params)
		var ours acp.SessionNotification
		if err := (acp.Codec{}).Unmarshal(data, &ours); err != nil {
			return table{}, fmt.Errorf("decode %s with wherry: %w", s.name, err)
		}
		var theirs coder.SessionNotification
		if err := json.Unmarshal(data, &theirs); err != nil {
			return table{}, fmt.Errorf("decode %s with coder: %w", s.name, err)
		}
		t.add("decode "+s.name,
			func() error { var n acp.SessionNotification; return (acp.Codec{}).Unmarshal(data, &n) },
			func() error { var n coder.SessionNotification; return json.Unmarshal(data, &n) })
		t.add("encode "+s.name,
			func() error { _, err := (acp.Codec{}).Append(nil, &ours); return err },
			func() error { _, err := json.Marshal(theirs); return err })
	}
	return t, nil
}

// add measures two ways of doing the same and adds the row.
func (t *table) add(name string, ours, theirs func() error) {
	a, b := measure(ours), measure(theirs)
	t.rows = append(t.rows, []string{
		name, fmt.Sprint(a.NsPerOp()), fmt.Sprint(b.NsPerOp()), ratio(float64(b.NsPerOp()), float64(a.NsPerOp())),
		memory(a), memory(b),
	})
}

func measure(f func() error) testing.BenchmarkResult {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func memory(r testing.BenchmarkResult) string {
	return fmt.Sprintf("%d, %d", r.AllocedBytesPerOp(), r.AllocsPerOp())
}
