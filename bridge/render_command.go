package bridge

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/session"
)

// What a client without terminals gets of a command's output while it runs: the end of it, again and again. All of that
// together stays below a fixed size and twice the output, apart from what is new each time.
const (
	tailBytes  = 4 << 10
	tailBudget = 64 << 10
)

// liveOutput is what the client has been shown of a running command's output.
type liveOutput struct {
	tail    []byte
	printed int // bytes of output in all
	sent    int // bytes of it sent, again and again counted
	began   bool
}

// outputs tells how a client shows the output of a command that runs here.
type outputs int

const (
	outputAsText outputs = iota
	// outputAsMeta is a terminal that the client only draws: what it shows comes in the _meta of the call's updates, under
	// terminal_info, terminal_output and terminal_exit. Clients that have it say terminal_output in the _meta of their
	// capabilities.
	outputAsMeta
)

// outputsOf tells how a client wants output: one with terminals of its own runs the commands, and is the rare case that
// it declines one.
func outputsOf(caps acp.ClientCapabilities) outputs {
	var yes bool
	if raw, ok := caps.Meta.Get("terminal_output"); ok && !caps.Terminal && json.Unmarshal(raw, &yes) == nil && yes {
		return outputAsMeta
	}
	return outputAsText
}

// drawn tells whether the call's output goes to a terminal that the client only draws.
func (r *renderer) drawn(c *shownCall) bool {
	return r.client.outputs == outputAsMeta && c.p.Command != nil
}

// output shows what a running command has written, or the client's terminal that it runs in.
func (r *renderer) output(d session.CallOutput) []acp.SessionUpdate {
	c := r.call(d.Call)
	id := acp.ToolCallID(d.Call)
	switch {
	case d.Terminal != "":
		c.terminal = d.Terminal
		return []acp.SessionUpdate{acp.ToolCallUpdate{
			ToolCallID: id, Content: []acp.ToolCallContent{acp.ToolCallTerminal{TerminalID: acp.TerminalID(d.Terminal)}},
		}}
	case c.terminal != "":
		return nil
	case r.drawn(c):
		c.live.began = true
		return []acp.SessionUpdate{acp.ToolCallUpdate{ToolCallID: id, Meta: terminalOutput(d.Call, d.Text)}}
	}
	return []acp.SessionUpdate{acp.ToolCallUpdate{
		ToolCallID: id, Content: []acp.ToolCallContent{acp.ToolText(fenced("", c.live.add(d.Text)))},
	}}
}

// add takes a new piece of output and gives the end of all of it that is to be shown now.
func (l *liveOutput) add(text string) string {
	l.printed += len(text)
	l.tail = append(l.tail, text...)
	l.tail = lastBytes(l.tail, tailBytes)
	shown := lastBytes(l.tail, max(len(text), tailBudget+2*l.printed-l.sent))
	l.sent += len(shown)
	if len(shown) < l.printed {
		return "…\n" + string(shown)
	}
	return string(shown)
}

// lastBytes gives the end of b, at most n bytes and not from the middle of a character.
func lastBytes(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	b = b[len(b)-n:]
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

// terminalInfo announces a terminal that the client only draws.
func terminalInfo(call, dir string) acp.Meta {
	return acp.Meta(object(map[string]any{"terminal_info": map[string]string{"terminal_id": call, "cwd": dir}}))
}

func terminalOutput(call, text string) acp.Meta {
	return acp.Meta(object(map[string]any{"terminal_output": map[string]string{"terminal_id": call, "data": text}}))
}

// terminalEnd ends a terminal that the client only draws. In a replay it brings the output as well.
func terminalEnd(c *shownCall, d session.CallDone) acp.Meta {
	exit := map[string]any{"terminal_id": d.Call, "exit_code": nil, "signal": nil}
	members := map[string]any{"terminal_exit": exit}
	if end := d.Result.Ended; end != nil {
		if end.Signal != "" {
			exit["signal"] = end.Signal
		} else if end.Code >= 0 {
			exit["exit_code"] = end.Code
		}
		if end.Output > 0 && end.Output <= len(d.Result.Text) && !c.live.began {
			members["terminal_output"] = map[string]string{"terminal_id": d.Call, "data": d.Result.Text[end.Output:] + "\n"}
		}
	}
	return acp.Meta(object(members))
}
