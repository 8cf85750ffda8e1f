//go:build unix

package editors

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// shown is the text that a call shows.
func shown(c acp.ToolCall) string {
	var b strings.Builder
	for _, part := range c.Content {
		if block, ok := part.(acp.ToolCallBlock); ok {
			b.WriteString(acp.PlainText(block.Content))
		}
	}
	return b.String()
}

func TestACommandRunsInTheEditorsTerminal(t *testing.T) {
	d := sit(t, zed(), nil)
	s := d.open()
	_, updates := d.say(s, `[[call: run {"command":"echo out && pwd; exit 3"}]] [[result]]`)
	if len(d.started) != 1 {
		t.Fatalf("%d terminals were started", len(d.started))
	}
	if started := d.started[0]; strings.ContainsAny(started.Command, " ;&|") || len(started.Args) == 0 || started.Cwd != d.folder {
		t.Errorf("started was %q with %q in %s", started.Command, started.Args, started.Cwd)
	}
	call := lastCall(t, s)
	if len(call.Content) == 0 {
		t.Fatal("the call shows nothing")
	}
	if _, ok := call.Content[len(call.Content)-1].(acp.ToolCallTerminal); !ok {
		t.Errorf("the call shows %#v", call.Content)
	}
	if text := spoken(updates); !strings.Contains(text, "out\n"+d.folder) || !strings.Contains(text, "3") {
		t.Errorf("the model got %q", text)
	}
	var released bool
	for _, f := range d.wire.fromAgent() {
		released = released || f.Method == "terminal/release"
	}
	if !released {
		t.Error("the terminal was not released")
	}
}

func TestWithoutATerminalACommandRunsHereAndItsOutputIsShownInTheCall(t *testing.T) {
	for _, p := range []profile{jetbrains(), bare()} {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, `[[call: run {"command":"echo out; exit 3"}]] [[text: done]]`)
		call := lastCall(t, s)
		if text := shown(call); !strings.Contains(text, "out") || !strings.Contains(text, "3") {
			t.Errorf("the call shows %q", text)
		}
		for _, f := range d.wire.fromAgent() {
			if strings.HasPrefix(f.Method, "terminal/") {
				t.Errorf("%s was called", f.Method)
			}
		}
	}
}

func TestAnEditorThatOnlyDrawsTerminalsGetsTheOutputAsItComes(t *testing.T) {
	p := zed()
	p.terminal = false // as in a project on another machine
	d := sit(t, p, nil)
	s := d.open()
	_, updates := d.say(s, `[[call: run {"command":"echo out; exit 3"}]] [[text: done]]`)
	var steps []string
	for _, u := range updates {
		var m acp.Meta
		switch u := u.(type) {
		case acp.ToolCall:
			m = u.Meta
		case acp.ToolCallUpdate:
			m = u.Meta
		}
		for _, name := range []string{"terminal_info", "terminal_output", "terminal_exit"} {
			if v, ok := m.Get(name); ok {
				steps = append(steps, name)
				if name == "terminal_output" && !strings.Contains(string(v), "out") || name == "terminal_exit" && !strings.Contains(string(v), `"exit_code":3`) {
					t.Errorf("%s is %s", name, v)
				}
			}
		}
	}
	if got := strings.Join(steps, " "); got != "terminal_info terminal_output terminal_exit" {
		t.Errorf("the steps were %q", got)
	}
	if _, ok := lastCall(t, s).Content[0].(acp.ToolCallTerminal); !ok {
		t.Errorf("the call shows %#v", lastCall(t, s).Content)
	}
}

func TestCancelStopsTheCommandAndTheNextPromptWorks(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		turn := s.Prompt(t.Context(), acp.Text(`[[call: run {"command":"sleep 60; echo never > late.txt"}]] [[text: never]]`))
		begun := time.Time{}
		for u := range turn.Updates() {
			if c, ok := u.(acp.ToolCallUpdate); ok && c.Status == acp.ToolCallInProgress {
				begun = time.Now()
				turn.Cancel()
			}
		}
		result, err := turn.Result()
		if err != nil || result.StopReason != acp.StopCancelled {
			t.Errorf("the turn ended with %q, %v", result.StopReason, err)
		}
		if took := time.Since(begun); took > 10*time.Second { // far from the command's own end
			t.Errorf("the cancel took %v", took)
		}
		if call := lastCall(t, s); call.Status != acp.ToolCallFailed {
			t.Errorf("the call is %s", call.Status)
		}
		if stop, updates := d.say(s, "[[anew]] [[text: still here]]"); stop != acp.StopEndTurn || spoken(updates) != "still here" {
			t.Errorf("the next turn ended with %s and said %q", stop, spoken(updates))
		}
	})
}

func TestCancelWhileTheModelIsSilentEndsTheTurn(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		turn := s.Prompt(t.Context(), acp.Text(`[[stall]]`))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		request, err := d.model.Await(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		turn.Cancel()
		if result, err := turn.Result(); err != nil || result.StopReason != acp.StopCancelled {
			t.Errorf("the turn ended with %q, %v", result.StopReason, err)
		}
		select {
		case <-request.Gone():
		case <-ctx.Done():
			t.Error("the model is still being asked")
		}
		if _, updates := d.say(s, "[[anew]] [[text: still here]]"); spoken(updates) != "still here" {
			t.Errorf("the next turn said %q", spoken(updates))
		}
	})
}
