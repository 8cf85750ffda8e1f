package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"time"

	coder "github.com/coder/acp-go-sdk"

	"github.com/wherry-acp/wherry/acp"
)

// A message can be read and written by both SDKs.
type message struct {
	name, text               string
	schema                   string // of the TypeScript SDK
	ourDecode, ourEncode     func() error
	theirDecode, theirEncode func() error
}

// newMessage makes a message of the types that the two SDKs have for it.
func newMessage[O, T any, P interface {
	*O
	acp.Message
}](name, text string) (message, error) {
	data := []byte(text)
	ours, theirs := P(new(O)), new(T)
	if err := (acp.Codec{}).Unmarshal(data, ours); err != nil {
		return message{}, fmt.Errorf("decode %s with wherry: %w", name, err)
	}
	if err := json.Unmarshal(data, theirs); err != nil {
		return message{}, fmt.Errorf("decode %s with coder: %w", name, err)
	}
	return message{
		name: name, text: text, schema: "z" + reflect.TypeFor[T]().Name(),
		ourDecode:   func() error { return (acp.Codec{}).Unmarshal(data, P(new(O))) },
		theirDecode: func() error { return json.Unmarshal(data, new(T)) },
		ourEncode:   func() error { _, err := (acp.Codec{}).Append(nil, ours); return err },
		theirEncode: func() error { _, err := json.Marshal(theirs); return err },
	}, nil
}

const sessionHead = `{"sessionId":"sess_01JD8Q0V9X5T3M7K2B",`

// toolCallBody is what a tool call and a question about it have: an edit with its diff, a text, where it is and the input.
const toolCallBody = `"toolCallId":"call_12","title":"Edit transport/line.go","kind":"edit","status":"pending",` +
	`"content":[{"type":"content","content":{"type":"text","text":"Raise the limit of a line to what the reference implementation has."}},` +
	`{"type":"diff","path":"/home/ada/ferry/transport/line.go","oldText":"const limit = 1 << 20\n","newText":"const limit = 32 << 20\n"}],` +
	`"locations":[{"path":"/home/ada/ferry/transport/line.go","line":14}],"rawInput":{"path":"transport/line.go","edits":[{"old":"1 << 20","new":"32 << 20"}]}`

// messages returns the kinds that a turn is made of, as peers send them.
func messages() ([]message, error) {
	var all []message
	var failed error
	add := func(m message, err error) {
		all = append(all, m)
		if failed == nil {
			failed = err
		}
	}
	add(newMessage[acp.SessionNotification, coder.SessionNotification]("agent_message_chunk",
		sessionHead+`"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The limit is set in transport/line.go, where "}}}`))
	add(newMessage[acp.SessionNotification, coder.SessionNotification]("tool_call",
		sessionHead+`"update":{"sessionUpdate":"tool_call",`+toolCallBody+`}}`))
	add(newMessage[acp.SessionNotification, coder.SessionNotification]("tool_call_update",
		sessionHead+`"update":{"sessionUpdate":"tool_call_update","toolCallId":"call_12","status":"completed",`+
			`"content":[{"type":"content","content":{"type":"text","text":"ok  \tferry/transport\t0.412s\nok  \tferry/wire\t0.120s\n"}}]}}`))
	add(newMessage[acp.SessionNotification, coder.SessionNotification]("plan",
		sessionHead+`"update":{"sessionUpdate":"plan","entries":[{"content":"Find where the limit is set","priority":"high","status":"completed"},`+
			`{"content":"Raise it and say why","priority":"high","status":"in_progress"},{"content":"Run the tests","priority":"medium","status":"pending"}]}}`))
	add(newMessage[acp.RequestPermissionRequest, coder.RequestPermissionRequest]("request_permission",
		sessionHead+`"toolCall":{`+toolCallBody+`},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},`+
			`{"optionId":"always","name":"Always allow","kind":"allow_always"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}`))
	add(newMessage[acp.PromptRequest, coder.PromptRequest]("prompt",
		sessionHead+`"prompt":[{"type":"text","text":"Why does a long line end the connection? See "},`+
			`{"type":"resource_link","uri":"file:///home/ada/ferry/transport/line.go","name":"line.go"},`+
			`{"type":"resource","resource":{"uri":"file:///home/ada/ferry/go.mod","mimeType":"text/plain","text":"module ferry\n\ngo 1.26\n"}}]}`))
	add(newMessage[acp.InitializeRequest, coder.InitializeRequest]("initialize",
		`{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true},"clientInfo":{"name":"zed","title":"Zed","version":"0.220.3"}}`))
	return all, failed
}

// codecTable measures reading and writing messages' params. script measures the TypeScript SDK, in a process of its own.
func codecTable(ctx context.Context, script func(ctx context.Context) (*nodeProgram, error), runs int) (table, error) {
	t := table{
		title: fmt.Sprintf("Reading and writing params, in one thread, medians of %d runs taking turns", runs),
		head:  []string{"", "wherry", "coder", "times", "TypeScript", "times", "wherry", "coder", "times", "wherry", "coder", "times"},
		unit:  []string{"", "ns", "ns", "", "ns", "", "allocs", "allocs", "", "B", "B", ""},
		note: "times: how many times as much it takes as wherry. TypeScript: JSON.parse of the bytes and the SDK's own check (zod), and\n" +
			"  JSON.stringify, which checks nothing, to bytes. A JavaScript program cannot count its allocations.",
	}
	all, err := messages()
	if err != nil {
		return table{}, err
	}
	ts, err := script(ctx)
	if err != nil {
		return table{}, fmt.Errorf("start the TypeScript SDK: %w", err)
	}
	defer ts.close()
	for _, m := range all {
		asked := func(what string) func() (cost, error) {
			return func() (cost, error) {
				ns, err := ts.ask(what, m.schema, m.text)
				return cost{ns: ns}, err
			}
		}
		name := fmt.Sprintf("decode %s, %d B", m.name, len(m.text))
		if err := t.compare(name, runs, counted(m.ourDecode), counted(m.theirDecode), asked("decode")); err != nil {
			return table{}, err
		}
		if err := t.compare("encode "+m.name, runs, counted(m.ourEncode), counted(m.theirEncode), asked("encode")); err != nil {
			return table{}, err
		}
	}
	return t, nil
}

// cost is what one call takes.
type cost struct{ ns, allocs, bytes float64 }

// counted measures calls of f.
func counted(f func() error) func() (cost, error) { return func() (cost, error) { return measure(f) } }

// compare measures three ways of doing the same, the last by time alone, and adds the row.
func (t *table) compare(name string, runs int, ways ...func() (cost, error)) error {
	times, last := make([][]float64, len(ways)), make([]cost, len(ways))
	for run := range runs + 1 {
		for i, way := range ways {
			c, err := way()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if run > 0 { // the first one warms up
				times[i] = append(times[i], c.ns)
			}
			last[i] = c
		}
	}
	row := []string{name, fmt.Sprintf("%.0f", median(times[0]))}
	for _, other := range times[1:] {
		row = append(row, fmt.Sprintf("%.0f", median(other)), ratio(median(other), median(times[0])))
	}
	for _, v := range [][2]float64{{last[0].allocs, last[1].allocs}, {last[0].bytes, last[1].bytes}} {
		row = append(row, fmt.Sprintf("%.0f", v[0]), fmt.Sprintf("%.0f", v[1]), ratio(v[1], v[0]))
	}
	t.rows = append(t.rows, row)
	return nil
}

// measureFor is how long one way is measured before it is the other one's turn.
const measureFor = 20 * time.Millisecond

// measure gives the nanoseconds, allocations and bytes of one call of f.
func measure(f func() error) (cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	n := 0
	for time.Since(begin) < measureFor {
		for range 100 {
			if err := f(); err != nil {
				return cost{}, err
			}
		}
		n += 100
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	per := func(v uint64) float64 { return float64(v) / float64(n) }
	return cost{
		ns: float64(took.Nanoseconds()) / float64(n), allocs: per(after.Mallocs - before.Mallocs), bytes: per(after.TotalAlloc - before.TotalAlloc),
	}, nil
}
