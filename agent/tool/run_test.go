//go:build unix

package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
)

// untimed takes the time out of the first line of a result.
func untimed(text string) string {
	return regexp.MustCompile(`\(\d+\.\ds\)`).ReplaceAllString(text, "(0.0s)")
}

func TestRunShowsExactlyWhatWillRunAndGivesExitCodeAndOutput(t *testing.T) {
	b := newBench(t, map[string]string{"sub/x": ""})
	call, err := b.prepare("run", `{"command":" echo out; echo err >&2; exit 3 ","dir":"sub"}`)
	if err != nil {
		t.Fatal(err)
	}
	shown := call.Presentation()
	if shown.Class != approval.ClassExecute || shown.Kind != KindExecute || shown.Title != "echo out; echo err >&2; exit 3" ||
		*shown.Command != (CommandView{Line: "echo out; echo err >&2; exit 3", Dir: b.abs("sub")}) {
		t.Errorf("%+v %+v", shown, shown.Command)
	}
	out := &recorder{}
	result := call.Run(t.Context(), out)
	wantText(t, untimed(result.Text), "exit code 3 (0.0s)\n\nout\nerr")
	if result.Failed {
		t.Error("a command that ended by itself counts as failed")
	}
	wantText(t, out.text.String(), "out\nerr\n")
	wantText(t, untimed(b.call("run", `{"command":"true"}`).Text), "exit code 0 (0.0s)")
}

func TestACommandThatIsKilledTimedOutOrCannotRunHasFailed(t *testing.T) {
	b := newBench(t, nil)
	result := b.call("run", `{"command":"echo begun; kill -9 $$"}`)
	wantText(t, untimed(result.Text), "killed by SIGKILL (0.0s)\n\nbegun")
	if !result.Failed {
		t.Error("killed, but not failed")
	}
	result = b.call("run", `{"command":"echo begun; sleep 50","timeout":1}`)
	wantText(t, result.Text, "timed out after 1s and was ended; a longer timeout can be given, up to 3600\n\nbegun")
	if !result.Failed {
		t.Error("timed out, but not failed")
	}
	result = b.call("run", `{"command":"echo begun; sleep 50","quiet":1}`)
	text := regexp.MustCompile(`after \d+\.\ds`).ReplaceAllString(result.Text, "after 1.0s")
	wantText(t, text, "ended after 1.0s, because it wrote nothing for 1s; it can be given longer with quiet, up to 3600\n\nbegun")
	if !result.Failed {
		t.Error("ended for its silence, but not failed")
	}
	call, err := b.prepare("run", `{"command":"true"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	result = call.Run(t.Context(), &recorder{})
	if !result.Failed || !strings.HasPrefix(result.Text, "run: the command was not run: ") {
		t.Errorf("%+v", result)
	}
}

func TestAStoppedCommandIsGoneAndItsOutputIsKept(t *testing.T) {
	b := newBench(t, nil)
	call, err := b.prepare("run", `{"command":"echo begun; sleep 100"}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &recorder{onText: cancel}
	result := call.Run(ctx, out)
	if !result.Failed || !regexp.MustCompile(`^stopped after \d+\.\ds, before it had ended\n\nbegun$`).MatchString(result.Text) {
		t.Errorf("%+v", result)
	}
}

func TestRunRefusesWhatItCannotRun(t *testing.T) {
	b := newBench(t, map[string]string{"f": ""})
	wantText(t, b.refused("run", `{"command":"  "}`), `run: "command" is empty: give a line for the shell`)
	wantText(t, b.refused("run", `{"command":"true","dir":"f"}`), "run: f: is a file, not a folder")
	wantText(t, b.refused("run", `{"command":"true","dir":"missing"}`), "run: missing: does not exist")
	wantText(t, b.refused("run", `{"command":"true","timeout":3601}`), `run: "timeout" must be a whole number from 1 to 3600, not 3601`)
}

func TestLongOutputKeepsItsBothEnds(t *testing.T) {
	b := newBench(t, nil)
	result := b.call("run", `{"command":"echo first; yes 0123456789 | head -c 5000000; echo; echo last"}`)
	text := result.Text
	if len(text) > runKeep+200 || !strings.Contains(text, "\n\nfirst\n") || !strings.HasSuffix(text, "\nlast") || !strings.Contains(text, "bytes left out …") {
		t.Errorf("%d bytes", len(text))
	}
	if end := result.Ended; end == nil || end.Code != 0 || !strings.HasPrefix(text[end.Output:], "first\n") {
		t.Errorf("ended as %+v", end)
	}
}

func TestOutputIsShownAsAPersonWouldSeeIt(t *testing.T) {
	for raw, want := range map[string]string{
		"\x1b[31mred\x1b[0m\n":                 "red\n",
		"\x1b]0;title\x07text":                 "text",
		"10%\r50%\r100%\nnext\r\n":             "100%\nnext\n",
		"a\x00b\x07c\td":                       "abc\td",
		"bad \xff byte":                        "bad \uFFFD byte",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\a": "link",
		"\x1b(Bplain\x1b=":                     "plain",
	} {
		if got := plainOutput(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// editorHost runs commands as an editor's terminal does: the output is not ours to show.
type editorHost struct {
	host.Host
	closed chan struct{}
}

type editorProcess struct {
	once   sync.Once
	closed chan struct{}
}

func (h *editorHost) Run(context.Context, host.Command) (host.Process, error) {
	return &editorProcess{closed: h.closed}, nil
}

func (p *editorProcess) Terminal() string { return "term-1" }

func (p *editorProcess) Wait(context.Context) (host.Exit, error) {
	return host.Exit{Code: -1}, errors.New("the terminal is gone")
}

func (p *editorProcess) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func TestACommandInAnEditorsTerminalIsEmbeddedAndReleased(t *testing.T) {
	b := newBench(t, nil)
	h := &editorHost{Host: b.env.Host, closed: make(chan struct{})}
	b.env.Host = h
	call, err := b.prepare("run", `{"command":"true"}`)
	if err != nil {
		t.Fatal(err)
	}
	out := &recorder{}
	result := call.Run(t.Context(), out)
	if out.terminal != "term-1" || !result.Failed || result.Text != "run: the terminal is gone" {
		t.Errorf("%q %+v", out.terminal, result)
	}
	<-h.closed
}

func TestViewOfANamedPipeOrAMissingFileDoesNotHang(t *testing.T) {
	b := newBench(t, map[string]string{"x": ""})
	if result := b.call("run", `{"command":"mkfifo pipe"}`); result.Failed {
		t.Skip(result.Text)
	}
	result := b.call("view", map[string]any{"path": filepath.Join(b.dir, "pipe")})
	if !result.Failed || !strings.HasSuffix(result.Text, "is not a regular file (a named pipe)") {
		t.Errorf("%+v", result)
	}
}

func TestEveryCommandThatOnlyLooksHarmlessIsAskedFor(t *testing.T) {
	b := newBench(t, map[string]string{"f": "x\n"})
	for _, line := range []string{
		"ls", "cat f", "cat $HOME/x", "cat ~/.ssh/id", "rg --pre=./x.sh x", "LD_PRELOAD=./x.so cat f", "sed -n w f", "sed -n 'w out' f", "find . -exec rm {} ;",
		"cat <<E\nx\nE", "sort -o out f", "git -c core.pager=./x.sh log", "tar --to-command=./x.sh -xf a.tar", "awk 'BEGIN{system(\"id\")}'",
		"cat f > out", "echo $(id)", "echo `id`", "cat f; rm f", "cat f & rm f", "cat f | sh",
	} {
		call, err := b.prepare("run", map[string]any{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		p := call.Presentation()
		if p.Command == nil || p.Command.Line != line {
			t.Errorf("%s: shown is %+v", line, p.Command)
		}
		for _, mode := range []approval.Mode{approval.ModeAsk, approval.ModeEdits} {
			policy := approval.Policy{Mode: mode, SessionEdits: true, Commands: []approval.Command{{Line: line + " ", Dir: b.dir}, {Line: line, Dir: b.abs("sub")}}}
			d := policy.Decide(approval.Subject{Tool: "run", Class: p.Class, Command: approval.Command{Line: line, Dir: b.dir}})
			if d.Verdict != approval.Ask {
				t.Errorf("%s: in mode %s the verdict is %v", line, mode, d)
			}
		}
	}
}
