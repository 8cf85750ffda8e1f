package acptest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// A dialog is a client on the wire that takes whatever comes. It is used by one
// goroutine.
type dialog struct {
	t      transport.Transport
	client *acp.Client // of the agent's side
	within time.Duration
	allow  bool

	lastID     int
	answers    map[string]message
	complaints []message // errors without an id
	updates    []acp.SessionNotification
	ended      bool
}

// send sends a request and returns its id.
func (d *dialog) send(ctx context.Context, method string, params any) (string, error) {
	d.lastID++
	id := strconv.Itoa(d.lastID)
	line := `{"jsonrpc":"2.0","id":` + id + `,"method":` + quoted(method)
	raw, err := encode(params)
	if err != nil {
		return "", err
	}
	if raw != nil {
		line += `,"params":` + string(raw)
	}
	return id, d.write(ctx, line+"}")
}

func (d *dialog) write(ctx context.Context, line string) error {
	if err := d.t.Write(ctx, []byte(line)); err != nil {
		return fmt.Errorf("the agent's side takes no more messages: %w", err)
	}
	return nil
}

// notify sends a notification.
func (d *dialog) notify(ctx context.Context, method, params string) error {
	return d.write(ctx, `{"jsonrpc":"2.0","method":`+quoted(method)+`,"params":`+params+`}`)
}

// read takes the next message in, and answers it if it is a request.
func (d *dialog) read(ctx context.Context) error {
	line, err := d.t.Read(ctx)
	if err != nil {
		return fmt.Errorf("the agent's side has ended: %w", err)
	}
	m := parseMessage(line)
	switch m.kind {
	case aResult, anError:
		if string(m.id) == "null" {
			d.complaints = append(d.complaints, m)
			return nil
		}
		if _, twice := d.answers[string(m.id)]; twice {
			return fmt.Errorf("two answers to request %s: %s", m.id, &m)
		}
		d.answers[string(m.id)] = m
	case aNotification:
		if m.method != acp.MethodSessionUpdate {
			return nil
		}
		var n acp.SessionNotification
		if err := json.Unmarshal(m.payload, &n); err != nil {
			return fmt.Errorf("a session update that cannot be read: %w: %s", err, short(m.payload))
		}
		d.updates = append(d.updates, n)
	case aRequest:
		return d.reply(ctx, m)
	default:
		return fmt.Errorf("the agent sent %s", &m)
	}
	return nil
}

// reply answers a request of the agent: a permission is given or refused, and everything
// else has not been offered.
func (d *dialog) reply(ctx context.Context, m message) error {
	if m.method != acp.MethodSessionRequestPermission {
		return d.write(ctx, `{"jsonrpc":"2.0","id":`+string(m.id)+`,"error":{"code":-32601,"message":"Method not found"}}`)
	}
	var req acp.RequestPermissionRequest
	if err := json.Unmarshal(m.payload, &req); err != nil {
		return fmt.Errorf("a permission request that cannot be read: %w: %s", err, short(m.payload))
	}
	kind := acp.PermissionRejectOnce
	if d.allow {
		kind = acp.PermissionAllowOnce
	}
	for _, o := range req.Options {
		if o.Kind == kind {
			return d.write(ctx, `{"jsonrpc":"2.0","id":`+string(m.id)+`,"result":{"outcome":{"outcome":"selected","optionId":`+quoted(string(o.OptionID))+`}}}`)
		}
	}
	return d.write(ctx, `{"jsonrpc":"2.0","id":`+string(m.id)+`,"result":{"outcome":{"outcome":"cancelled"}}}`)
}

// await waits for the answer to a request.
func (d *dialog) await(ctx context.Context, id string) (message, error) {
	for {
		if m, ok := d.answers[id]; ok {
			return m, nil
		}
		if err := d.read(ctx); err != nil {
			return message{}, err
		}
	}
}

// call sends a request and waits for its answer.
func (d *dialog) call(ctx context.Context, method string, params any) (message, error) {
	id, err := d.send(ctx, method, params)
	if err != nil {
		return message{}, err
	}
	m, err := d.await(ctx, id)
	if err != nil {
		return m, fmt.Errorf("wait for the answer to %s: %w", method, err)
	}
	return m, nil
}

// want calls a method whose answer is a result, which it decodes.
func (d *dialog) want(ctx context.Context, method string, params, result any) error {
	m, err := d.call(ctx, method, params)
	if err != nil {
		return err
	}
	return decodeResult(method, m, result)
}

func decodeResult(method string, m message, result any) error {
	if m.kind != aResult {
		return fmt.Errorf("%s is answered with an error: %s", method, short(m.payload))
	}
	if err := json.Unmarshal(m.payload, result); err != nil {
		return fmt.Errorf("the answer to %s cannot be read: %w: %s", method, err, short(m.payload))
	}
	return nil
}

// refused calls a method whose answer is an error with one of the codes, or with any.
func (d *dialog) refused(ctx context.Context, method string, params any, codes ...acp.ErrorCode) error {
	m, err := d.call(ctx, method, params)
	if err != nil {
		return err
	}
	if m.kind != anError {
		return fmt.Errorf("%s is answered with a result: %s", method, short(m.payload))
	}
	code, err := errorCode(m)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for _, c := range codes {
		if c == code {
			return nil
		}
	}
	if len(codes) > 0 {
		return fmt.Errorf("%s is answered with error %d, want %d: %s", method, code, codes[0], short(m.payload))
	}
	return nil
}

func errorCode(m message) (acp.ErrorCode, error) {
	var e struct {
		Code    *acp.ErrorCode `json:"code"`
		Message *string        `json:"message"`
	}
	if err := json.Unmarshal(m.payload, &e); err != nil {
		return 0, fmt.Errorf("an error that cannot be read: %w: %s", err, short(m.payload))
	}
	if e.Code == nil || e.Message == nil {
		return 0, fmt.Errorf("an error without a code or a message: %s", short(m.payload))
	}
	return *e.Code, nil
}

// greet shakes hands.
func (d *dialog) greet(ctx context.Context) error {
	var r acp.InitializeResponse
	return d.want(ctx, acp.MethodInitialize, acp.InitializeRequest{ProtocolVersion: acp.Version1}, &r)
}

// newSession starts a session.
func (d *dialog) newSession(ctx context.Context, cwd string) (acp.SessionID, error) {
	var r acp.NewSessionResponse
	if err := d.want(ctx, acp.MethodSessionNew, acp.NewSessionRequest{Cwd: cwd}, &r); err != nil {
		return "", err
	}
	if r.SessionID == "" {
		return "", errors.New("session/new is answered without a session id")
	}
	return r.SessionID, nil
}

// startPrompt sends a prompt and returns its request's id.
func (d *dialog) startPrompt(ctx context.Context, id acp.SessionID, blocks []acp.ContentBlock) (string, error) {
	return d.send(ctx, acp.MethodSessionPrompt, acp.PromptRequest{SessionID: id, Prompt: blocks})
}

// endPrompt waits for the answer to a prompt.
func (d *dialog) endPrompt(ctx context.Context, request string) (acp.StopReason, error) {
	m, err := d.await(ctx, request)
	if err != nil {
		return "", fmt.Errorf("wait for the answer to the prompt: %w", err)
	}
	var r acp.PromptResponse
	if err := decodeResult(acp.MethodSessionPrompt, m, &r); err != nil {
		return "", err
	}
	if !r.StopReason.Known() {
		return "", fmt.Errorf("the stop reason is %q, which the protocol does not have", r.StopReason)
	}
	return r.StopReason, nil
}

// runPrompt prompts and waits for the end of the turn.
func (d *dialog) runPrompt(ctx context.Context, id acp.SessionID, blocks []acp.ContentBlock) (acp.StopReason, error) {
	request, err := d.startPrompt(ctx, id, blocks)
	if err != nil {
		return "", err
	}
	return d.endPrompt(ctx, request)
}

// ping has everything that the agent has sent so far taken in, and checks that it still
// answers.
func (d *dialog) ping(ctx context.Context) error {
	return d.refused(ctx, "_acptest/ping", nil, acp.CodeMethodNotFound)
}

// end hangs up, as an editor that closes the agent's standard input, and waits for the
// agent's side.
func (d *dialog) end() error {
	if d.ended {
		return nil
	}
	d.ended = true
	_ = d.t.Close()
	done := make(chan error, 1)
	go func() { done <- d.client.Wait() }() // ends by itself: Wait is bounded
	t := time.NewTimer(d.within)
	defer t.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("the agent's side ended with: %w", err)
		}
		return nil
	case <-t.C:
		return fmt.Errorf("the agent's side has not ended %v after its input has", d.within)
	}
}
