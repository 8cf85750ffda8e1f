package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// byHand is the real program with its pipes.
type byHand struct {
	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	exit   chan error
}

func (w *world) byHand(t *testing.T) *byHand {
	t.Helper()
	cmd := w.command("acp")
	p := &byHand{t: t, exit: make(chan error, 1)}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr, p.out = out, &p.stderr, bufio.NewReader(r)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	go func() { p.exit <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		r.Close()
	})
	return p
}

func (p *byHand) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
}

// until reads on to a line that contains text.
func (p *byHand) until(text string) string {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("before %q: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// ended closes stdin and waits for the end, which must be in time and in order.
func (p *byHand) ended() {
	p.t.Helper()
	since := time.Now()
	p.in.Close()
	go io.Copy(io.Discard, p.out)
	select {
	case err := <-p.exit:
		if d := time.Since(since); err != nil || d > 2*time.Second {
			p.t.Errorf("ended with %v after %v: %s", err, d, p.stderr.String())
		}
	case <-time.After(20 * time.Second):
		p.t.Fatal("it goes on")
	}
}

func TestTheEndOfStdinEndsTheProgramInEveryPhase(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of this test is for a Unix shell")
	}
	for _, tt := range []struct{ name, prompt, until string }{
		{"idle", "", ""},
		{"in a question", `[[call: ask {\"questions\":[{\"question\":\"Which?\",\"options\":[{\"label\":\"a\"},{\"label\":\"b\"}]}]}]]`, "elicitation/create"},
		{"in a read that the editor does not answer", `[[call: view {\"path\":\"a.txt\"}]]`, "fs/read_text_file"},
		{"in a terminal of the editor", `[[call: run {\"command\":\"true\"}]]`, "terminal/wait_for_exit"},
		{"in a summary", "/compact [[stall]]", `"in_progress"`},
		{"in the middle of the answer", "[[text: well]][[stall]]", `"well"`},
		{"in a permission", `[[call: create {\"path\":\"a.txt\",\"content\":\"x\"}]]`, "session/request_permission"},
		{"in a command", `[[call: run {\"command\":\"echo $$ > pid; sleep 60 & echo begun; sleep 60\"}]]`, "begun"},
		{"in the wait for another try", "[[status 429 40 always]]", "Trying again in 40 s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := modeltest.NewServer()
			defer server.Close()
			w := newWorld(t, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=sk-ant-key", "WHERRY_MODEL=anthropic/x", "WHERRY_TITLES=prompt")
			offers := "{}"
			switch tt.name {
			case "in a command":
				w.more = append(w.more, "WHERRY_MODE=auto")
			case "in a terminal of the editor":
				w.more = append(w.more, "WHERRY_MODE=auto")
				offers = `{"terminal":true}`
			case "in a question":
				offers = `{"elicitation":{"form":{}}}`
			case "in a read that the editor does not answer":
				offers = `{"fs":{"readTextFile":true}}`
			}
			p := w.byHand(t)
			p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":%s}}`, offers)
			p.until(`"id":1`)
			p.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, w.folder)
			_, id, _ := strings.Cut(p.until(`"id":2`), `"sessionId":"`)
			id, _, _ = strings.Cut(id, `"`)
			say := func(number int, text string) {
				p.send(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"%s"}]}}`, number, id, text)
			}
			switch {
			case tt.name == "in a summary": // of something
				say(3, "[[text: one]]")
				p.until(`"id":3`)
				say(4, tt.prompt)
				p.until(tt.until)
				if _, err := server.Await(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
			case tt.name == "in a terminal of the editor":
				say(3, tt.prompt)
				_, ask, _ := strings.Cut(p.until("terminal/create"), `"id":`)
				ask, _, _ = strings.Cut(ask, ",")
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"terminalId":"t1"}}`, ask)
				p.until(tt.until)
			case tt.prompt != "":
				say(3, tt.prompt)
				p.until(tt.until)
			}
			p.ended()
			if tt.name == "in a command" {
				left(t, filepath.Join(w.folder, "pid"))
			}
		})
	}
}

// left fails when the process whose id is in the file, or its children, are still there. Those that have ended and that
// nobody has waited for do not count.
func left(t *testing.T, path string) {
	t.Helper()
	var id int
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(data), &id); err != nil {
		t.Fatal(err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // state, parent, group
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == fmt.Sprint(id) {
			t.Errorf("%s is still there", stat)
		}
	}
}

func TestEachVersionThatIsAskedForHasItsAnswer(t *testing.T) {
	for version, want := range map[string]string{
		`0`: `"protocolVersion":1`, `1`: `"protocolVersion":1`, `2`: `"protocolVersion":1`, `999`: `"protocolVersion":1`, `"1"`: `"code":-32602`, `null`: `"code":-32602`, `1.5`: `"code":-32602`,
	} {
		p := newWorld(t).byHand(t)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s}}`, version)
		if line := p.until(`"id":1`); !strings.Contains(line, want) {
			t.Errorf("%s: %s", version, line)
		}
		p.ended()
	}
}

func TestTheHandshakeNeedsNoHomeAndNoKey(t *testing.T) {
	w := newWorld(t)
	w.home = ""
	cmd := w.command("acp")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot")}
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"id":1,"result":{"protocolVersion":1`) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestHeadersBeforeMessagesAreAnsweredWithAnError(t *testing.T) {
	p := newWorld(t).byHand(t)
	message := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`
	p.send("Content-Length: %d\r\n\r\n%s", len(message), message)
	if line := p.until("error"); !strings.Contains(line, `-32700`) {
		t.Errorf("%s", line)
	}
	select {
	case err := <-p.exit:
		if err == nil {
			t.Error("it ended as if nothing was wrong")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for more")
	}
	if text := p.stderr.String(); !strings.Contains(text, "newline-delimited JSON expected") {
		t.Errorf("stderr says %q", text)
	}
}
