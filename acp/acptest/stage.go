package acptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

var (
	errEnded  = errors.New("the connection has ended")
	errHungUp = errors.New("the script has hung up")
)

// A stage is where a script is played: one goroutine reads, another one plays.
type stage struct {
	script *Script
	t      acp.Transport
	raw    io.Writer // the stream below t, if it is one
	inbox  chan message

	mu     sync.Mutex
	change *sync.Cond
	ending error // of the reader
	paused bool  // the player waits for the peer to do something by itself, or has ended

	// Of the player.
	vars   variables
	open   map[string]jsontext.Value // ids of the requests that are expected and not answered, by name
	calls  map[string]string         // ids of the requests that are sent and not answered, by name
	lastID int
	got    *message // what the step has taken and did not like
	before []string
}

func newStage(s *Script, t acp.Transport) *stage {
	st := &stage{
		script: s, t: t, inbox: make(chan message, 1024), vars: make(variables),
		open: make(map[string]jsontext.Value), calls: make(map[string]string),
	}
	st.change = sync.NewCond(&st.mu)
	return st
}

// pause notes whether the player waits for the peer to do something by itself.
func (st *stage) pause(paused bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.paused = paused
	st.change.Broadcast()
}

// rest waits until the script can do nothing more by itself. Each step is bounded, and so
// is this.
func (st *stage) rest() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for !st.paused {
		st.change.Wait()
	}
}

// read is the reader.
func (st *stage) read(ctx context.Context) {
	defer close(st.inbox)
	for {
		line, err := st.t.Read(ctx)
		if _, large := errors.AsType[*transport.MessageTooLargeError](err); err != nil && !large {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.ending = err
			return
		}
		select {
		case st.inbox <- parseMessage(line):
		case <-ctx.Done():
			return
		}
	}
}

// end returns why the reader has ended.
func (st *stage) end() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if errors.Is(st.ending, io.EOF) {
		return fmt.Errorf("the peer has ended the connection: %w", st.ending)
	}
	return st.ending
}

// next takes the next message that is not to be ignored.
func (st *stage) next(ctx context.Context) (message, error) {
	for {
		m, ok, err := st.take(ctx)
		switch {
		case err != nil:
			return m, err
		case !ok:
			return m, errEnded
		case st.ignored(&m):
			continue
		}
		st.note("← ", m.text)
		return m, nil
	}
}

// take takes the next message; ok is false when there will be no more.
func (st *stage) take(ctx context.Context) (m message, ok bool, err error) {
	select {
	case m, ok = <-st.inbox:
		return m, ok, nil
	default:
	}
	st.pause(len(st.calls) == 0)
	defer st.pause(false)
	select {
	case m, ok = <-st.inbox:
		return m, ok, nil
	case <-ctx.Done():
		return m, false, ctx.Err()
	}
}

// left returns a message that has come and has not been taken.
func (st *stage) left() (*message, bool) {
	for {
		select {
		case m, ok := <-st.inbox:
			if ok && st.ignored(&m) {
				continue
			}
			return &m, ok
		default:
			return nil, false
		}
	}
}

func (st *stage) ignored(m *message) bool {
	return m.kind == aNotification && slices.Contains(st.script.Ignore, m.method)
}

func (st *stage) note(arrow string, text []byte) {
	const most = 10
	st.before = append(st.before, arrow+short(text))
	if n := len(st.before); n > most {
		st.before = st.before[n-most:]
	}
}

// send writes one message.
func (st *stage) send(ctx context.Context, text []byte) error {
	st.note("→ ", text)
	if err := st.t.Write(ctx, text); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// envelope writes a message of the given members; a nil value is left out.
func (st *stage) envelope(ctx context.Context, members ...any) error {
	b := []byte(`{"jsonrpc":"2.0"`)
	for i := 0; i < len(members); i += 2 {
		raw, err := encode(members[i+1])
		if err != nil {
			return err
		}
		if raw == nil {
			continue
		}
		if raw, err = st.vars.fill(raw); err != nil {
			return err
		}
		b = append(b, `,"`+members[i].(string)+`":`...)
		b = append(b, raw...)
	}
	return st.send(ctx, append(b, '}'))
}

// request sends a request under a name.
func (st *stage) request(ctx context.Context, name, method string, params any) error {
	if _, ok := st.calls[name]; ok {
		return fmt.Errorf("the request %q is sent again before its answer was expected", name)
	}
	st.lastID++
	id := strconv.Itoa(st.lastID)
	st.calls[name] = id
	return st.envelope(ctx, "id", id, "method", quoted(method), "params", params)
}

// answer sends the answer to an expected request.
func (st *stage) answer(ctx context.Context, name string, result any, failure *acp.RequestError) error {
	id, ok := st.open[name]
	if !ok {
		return fmt.Errorf("there is no request %q to answer", name)
	}
	delete(st.open, name)
	if failure == nil {
		if result == nil {
			result = "{}"
		}
		return st.envelope(ctx, "id", id, "result", result)
	}
	e := `{"code":` + strconv.Itoa(int(failure.Code)) + `,"message":` + quoted(failure.Message)
	if failure.Data != nil {
		e += `,"data":` + string(failure.Data)
	}
	return st.envelope(ctx, "id", id, "error", e+"}")
}

// quoted returns s as JSON.
func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // an error means that invalid UTF-8 was replaced
	return string(b)
}

type messageKind uint8

const (
	garbage messageKind = iota
	aRequest
	aNotification
	aResult
	anError
)

// A message is what came over the wire.
type message struct {
	kind    messageKind
	text    []byte
	id      jsontext.Value
	method  string
	payload jsontext.Value // params, result or error
}

func parseMessage(line []byte) message {
	m := message{text: append([]byte(nil), line...)}
	var e struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  *string        `json:"method"`
		Params  jsontext.Value `json:"params"`
		Result  jsontext.Value `json:"result"`
		Error   jsontext.Value `json:"error"`
	}
	if err := json.Unmarshal(m.text, &e); err != nil || e.JSONRPC != "2.0" {
		return m
	}
	m.id = e.ID
	switch {
	case e.Method != nil && e.ID != nil:
		m.kind, m.method, m.payload = aRequest, *e.Method, e.Params
	case e.Method != nil:
		m.kind, m.method, m.payload = aNotification, *e.Method, e.Params
	case e.ID != nil && e.Error != nil:
		m.kind, m.payload = anError, e.Error
	case e.ID != nil && e.Result != nil:
		m.kind, m.payload = aResult, e.Result
	}
	return m
}

func (m *message) String() string {
	switch m.kind {
	case aRequest:
		return "request " + m.method + " " + short(m.payload)
	case aNotification:
		return "notification " + m.method + " " + short(m.payload)
	case aResult:
		return "answer to " + string(m.id) + " " + short(m.payload)
	case anError:
		return "error to " + string(m.id) + " " + short(m.payload)
	}
	return "no JSON-RPC message: " + short(m.text)
}
