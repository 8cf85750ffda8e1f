//go:build unix

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// answerTimeout is how long a raw client waits for anything. It is far beyond what any answer takes: it is there so that
// a hang is told as one.
const answerTimeout = 20 * time.Second

// rawClient is a client of its own making: JSON-RPC lines over the agent's standard input and output, and nothing that is
// shared with package acp. It can therefore do what a proper client would not.
type rawClient struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *lockedBuffer
	handle map[string]handler // requests of the agent, by method; anything else is answered -32601
	ended  chan struct{}      // closed when the agent's output ended and it was waited for

	write sync.Mutex
	stdin io.WriteCloser

	mu      sync.Mutex
	next    int
	pending map[string]chan message
	updates map[string][]update
	wire    []wireLine
}

// handler answers a request of the agent. It runs in a goroutine of its own.
type handler func(params json.RawMessage) (any, *rpcError)

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// startWherry starts `wherry acp` and initializes it. When the test ends, so does the agent, and all it sent is checked
// against the official schema. env is added to its environment.
func startWherry(t *testing.T, home string, handle map[string]handler, env ...string) *rawClient {
	t.Helper()
	c := &rawClient{
		t: t, cmd: exec.Command(installed.wherry, "acp"), stderr: &lockedBuffer{}, handle: handle,
		ended: make(chan struct{}), pending: map[string]chan message{}, updates: map[string][]update{},
	}
	c.cmd.Env, c.cmd.Stderr = append(agentEnv(home), env...), c.stderr
	c.cmd.Dir = home
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("start wherry: %v", err)
	}
	go c.read(stdout)
	t.Cleanup(c.stop)
	_, reads := handle["fs/read_text_file"]
	_, writes := handle["fs/write_text_file"]
	_, terminals := handle["terminal/create"]
	c.call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": reads, "writeTextFile": writes}, "terminal": terminals},
	})
	return c
}

// stop ends the agent as an editor does, and checks what it had sent.
func (c *rawClient) stop() {
	_ = c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(answerTimeout):
		c.t.Errorf("wherry did not end within %v after its input had ended", answerTimeout)
		c.kill()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, problem := range officialSchema(c.t).check(c.wire) {
		c.t.Errorf("against the official schema: %s", problem)
	}
	if c.t.Failed() {
		c.t.Logf("wherry's standard error:\n%s", c.stderr.String())
	}
}

// kill ends the agent as a crash does: SIGKILL, to it alone.
func (c *rawClient) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

func (c *rawClient) read(stdout io.Reader) {
	defer close(c.ended)
	in := bufio.NewReader(stdout)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			_ = c.cmd.Wait()
			return
		}
	}
}

func (c *rawClient) take(line []byte) {
	var m message
	err := json.Unmarshal(line, &m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = append(c.wire, wireLine{Time: time.Now(), From: "agent", Line: string(line)})
	switch {
	case err != nil: // the check of the wire reports it
	case m.Method == "session/update":
		var n struct {
			SessionID string `json:"sessionId"`
			Update    update `json:"update"`
		}
		if json.Unmarshal(m.Params, &n) == nil {
			c.updates[n.SessionID] = append(c.updates[n.SessionID], n.Update)
		}
	case m.Method != "" && m.ID != nil:
		go c.answer(m)
	case m.Method == "":
		if waiter := c.pending[string(m.ID)]; waiter != nil {
			delete(c.pending, string(m.ID))
			waiter <- m
		}
	}
}

func (c *rawClient) answer(m message) {
	reply := message{JSONRPC: "2.0", ID: m.ID}
	h, ok := c.handle[m.Method]
	var result any
	failure := &rpcError{Code: -32601, Message: "Method not found"}
	if ok {
		result, failure = h(m.Params)
	}
	var err error
	if failure != nil {
		reply.Error, err = json.Marshal(failure)
	} else {
		reply.Result, err = json.Marshal(result)
	}
	if err != nil {
		c.t.Errorf("encode the answer to %s: %v", m.Method, err)
		return
	}
	_ = c.send(reply) // the agent may be gone by now
}

func (c *rawClient) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.wire = append(c.wire, wireLine{Time: time.Now(), From: "client", Line: string(line)})
	c.mu.Unlock()
	c.write.Lock()
	defer c.write.Unlock()
	_, err = c.stdin.Write(append(line, '\n'))
	return err
}

// notify sends a notification.
func (c *rawClient) notify(method string, params any) {
	c.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.send(message{JSONRPC: "2.0", Method: method, Params: raw}); err != nil {
		c.t.Errorf("send %s: %v", method, err)
	}
}

// begin sends a request and gives the function that waits for its answer.
func (c *rawClient) begin(method string, params any) func() (json.RawMessage, *rpcError) {
	c.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	waiter := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := fmt.Sprint(c.next)
	c.pending[id] = waiter
	c.mu.Unlock()
	if err := c.send(message{JSONRPC: "2.0", ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		c.t.Fatalf("send %s: %v\nwherry's standard error:\n%s", method, err, c.stderr)
	}
	return func() (json.RawMessage, *rpcError) {
		c.t.Helper()
		select {
		case m := <-waiter:
			return m.Result, c.failure(m)
		case <-c.ended:
			select {
			case m := <-waiter: // its last word
				return m.Result, c.failure(m)
			default:
			}
			c.t.Fatalf("wherry ended before it answered %s\nits standard error:\n%s", method, c.stderr)
		case <-time.After(answerTimeout):
			c.t.Fatalf("no answer to %s within %v\nwherry's standard error:\n%s", method, answerTimeout, c.stderr)
		}
		return nil, nil
	}
}

func (c *rawClient) failure(m message) *rpcError {
	if m.Error == nil {
		return nil
	}
	var e rpcError
	if err := json.Unmarshal(m.Error, &e); err != nil {
		c.t.Fatalf("read an error answer: %v: %s", err, m.Error)
	}
	return &e
}

// call sends a request whose answer must be a result.
func (c *rawClient) call(method string, params any) json.RawMessage {
	c.t.Helper()
	result, failure := c.begin(method, params)()
	if failure != nil {
		c.t.Fatalf("%s failed: %d %s %s", method, failure.Code, failure.Message, failure.Data)
	}
	return result
}

func (c *rawClient) newSession(cwd string) string {
	c.t.Helper()
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(c.call("session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}), &r); err != nil || r.SessionID == "" {
		c.t.Fatalf("session/new gave no session id (%v)", err)
	}
	return r.SessionID
}

func promptParams(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]string{"type": "text", "text": text}}}
}

// beginPrompt sends a prompt and gives the function that waits for its end: the stop reason and the turn's updates.
func (c *rawClient) beginPrompt(session, text string) func() (string, []update) {
	c.t.Helper()
	before := len(c.updatesOf(session))
	wait := c.begin("session/prompt", promptParams(session, text))
	return func() (string, []update) {
		c.t.Helper()
		result, failure := wait()
		if failure != nil {
			c.t.Fatalf("the prompt %q failed: %d %s %s", text, failure.Code, failure.Message, failure.Data)
		}
		return stepResult{Response: result}.stopReason(), c.updatesOf(session)[before:]
	}
}

func (c *rawClient) prompt(session, text string) (string, []update) {
	c.t.Helper()
	return c.beginPrompt(session, text)()
}

func (c *rawClient) updatesOf(session string) []update {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]update(nil), c.updates[session]...)
}

// eventually waits for something that only looking can tell, such as a process that is gone.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		<-tick.C
	}
}
