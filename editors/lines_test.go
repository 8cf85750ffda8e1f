//go:build unix

package editors

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// lines is a client of lines and nothing else: what the agent's answers are made of is seen as it is.
type lines struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr strings.Builder
	got    []string
}

// speak starts wherry and leaves the talking to the test.
func speak(t *testing.T) (*lines, *desk) {
	t.Helper()
	return speakWith(t, (*desk).environment)
}

// speakWith is speak with another environment.
func speakWith(t *testing.T, environment func(*desk) []string) (*lines, *desk) {
	t.Helper()
	model, err := modeltest.Listen(modeltest.Options{NeedTools: true, Key: apiKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	d := &desk{t: t, folder: realFolder(t), home: realFolder(t), model: model, key: apiKey, titles: "prompt"}
	l := &lines{t: t, cmd: exec.Command(wherry, "acp")}
	l.cmd.Dir, l.cmd.Env, l.cmd.Stderr = d.home, environment(d), &l.stderr
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.out = bufio.NewScanner(out)
	l.out.Buffer(nil, 16<<20)
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	t.Cleanup(func() {
		once.Do(func() {
			l.in.Close()
			_ = l.cmd.Process.Kill()
			_ = l.cmd.Wait()
		})
	})
	return l, d
}

func (l *lines) write(text string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, text+"\n"); err != nil {
		l.t.Fatal(err)
	}
}

// until reads lines until one passes, and gives it.
func (l *lines) until(pass func(m map[string]any) bool) map[string]any {
	l.t.Helper()
	for l.out.Scan() {
		l.got = append(l.got, l.out.Text())
		var m map[string]any
		if err := json.Unmarshal(l.out.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
			l.t.Fatalf("on stdout was %q, which is no message", l.out.Text())
		}
		if pass(m) {
			return m
		}
	}
	l.t.Fatalf("stdout ended (%v); stderr: %s", l.out.Err(), l.stderr.String())
	return nil
}

func answers(id float64) func(map[string]any) bool {
	return func(m map[string]any) bool { return m["method"] == nil && m["id"] == id }
}

// begin shakes hands and opens a session, and gives its id.
func (l *lines) begin(folder string) string {
	l.t.Helper()
	l.write(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	l.until(answers(0))
	l.write(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":` + quoted(folder) + `,"mcpServers":[]}}`)
	m := l.until(answers(1))
	result, _ := m["result"].(map[string]any)
	id, _ := result["sessionId"].(string)
	if id == "" {
		l.t.Fatalf("session/new was answered %v", m)
	}
	return id
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always marshals
	return string(b)
}

func prompt(id, session, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/prompt","params":{"sessionId":` + quoted(session) + `,"prompt":[{"type":"text","text":` + quoted(text) + `}]}}`
}

func TestStdoutHoldsMessagesAndNothingElse(t *testing.T) {
	l, d := speak(t)
	s := l.begin(d.folder)
	l.write(`this is no message`)
	l.write(`{"jsonrpc":"2.0","method":"_vendor/unheard_of","params":{}}`)
	l.write(`{"jsonrpc":"2.0","id":2,"method":"unheard/of","params":{}}`)
	m := l.until(answers(2))
	if failure, _ := m["error"].(map[string]any); failure["code"] != float64(-32601) {
		t.Errorf("an unknown method was answered %v", m)
	}
	l.write(`{"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":` + quoted(s) + `,"modeId":"auto"}}`)
	l.write(prompt("4", s, `[[call: run {"command":"echo to stdout; echo to stderr >&2"}]] [[text: done]]`))
	l.until(answers(4))
	l.in.Close()
	for l.out.Scan() {
		t.Errorf("after the end of its input it wrote %q", l.out.Text())
	}
	if err := l.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, l.stderr.String())
	}
}

func TestACancelIsNeverAnswered(t *testing.T) {
	l, d := speak(t)
	s := l.begin(d.folder)
	cancel := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":` + quoted(s) + `}}`
	l.write(cancel) // while nothing runs
	l.write(prompt("2", s, "[[stall]]"))
	if _, err := d.model.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	l.write(cancel)
	m := l.until(answers(2))
	if result, _ := m["result"].(map[string]any); result["stopReason"] != "cancelled" {
		t.Errorf("the prompt was answered %v", m)
	}
	l.write(prompt("3", s, "[[anew]] [[text: still here]]"))
	l.until(answers(3))
	for _, line := range l.got {
		if strings.Contains(line, `"id":null`) || strings.Contains(line, `"error"`) {
			t.Errorf("it said %s", line)
		}
	}
}

func TestAPromptWhileAnotherIsAnsweredWaitsForIt(t *testing.T) {
	l, d := speak(t)
	s := l.begin(d.folder)
	l.write(prompt("2", s, "[[slow 5ms]] [[chunks 20 8]] [[text: first]]"))
	if _, err := d.model.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	l.write(prompt("3", s, "[[anew]] [[text: second]]"))
	order := []string{}
	l.until(func(m map[string]any) bool {
		if m["method"] == nil {
			order = append(order, string(quotedNumber(m["id"])))
		}
		return m["id"] == float64(3)
	})
	if strings.Join(order, " ") != "2 3" {
		t.Errorf("the answers came as %v", order)
	}
	said := strings.Join(l.got, "\n")
	if strings.Index(said, "second") < strings.Index(said, `"id":2`) {
		t.Error("the second prompt was answered before the first had ended")
	}
}

func TestAPromptWhileAnotherIsAnsweredIsTakenIntoItWhenThatIsChosen(t *testing.T) {
	l, d := speak(t)
	s := l.begin(d.folder)
	l.write(`{"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":` + quoted(s) + `,"configId":"busy","value":"steer"}}`)
	l.until(answers(2))
	l.write(prompt("3", s, `[[slow 5ms]] [[chunks 20 8]] [[call: list {}]] [[text: first]]`))
	if _, err := d.model.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	l.write(prompt("4", s, "Mind the gap."))
	first, second := l.until(answers(3)), map[string]any{}
	for _, line := range l.got {
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) == nil && m["id"] == float64(4) {
			second = m
		}
	}
	if len(second) == 0 {
		second = l.until(answers(4))
	}
	for _, m := range []map[string]any{first, second} {
		if result, _ := m["result"].(map[string]any); result["stopReason"] != "end_turn" {
			t.Errorf("answered was %v", m)
		}
	}
	if !strings.Contains(string(d.model.Last().Body), "Mind the gap.") {
		t.Error("the model was not told in the same turn")
	}
}

func quotedNumber(v any) []byte {
	b, _ := json.Marshal(v) // a number always marshals
	return b
}

func TestHeadersInPlaceOfLinesAreRefusedAtOnce(t *testing.T) {
	l, _ := speak(t)
	l.write("Content-Length: 75\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	m := l.until(func(m map[string]any) bool { return m["error"] != nil })
	if failure, _ := m["error"].(map[string]any); failure["code"] != float64(-32700) || !strings.Contains(fmt.Sprint(failure["message"]), "newline-delimited JSON expected") {
		t.Errorf("answered was %v", m)
	}
	for l.out.Scan() {
		t.Errorf("then it said %s", l.out.Text())
	}
	if err := l.cmd.Wait(); err == nil || !strings.Contains(l.stderr.String(), "newline-delimited JSON expected") {
		t.Errorf("it ended with %v and said on stderr: %s", err, l.stderr.String())
	}
}
