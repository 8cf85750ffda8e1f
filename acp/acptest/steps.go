package acptest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
)

// An Expectation is a step that takes the next message. Its methods refine it and return
// it.
type Expectation struct {
	kind   messageKind
	method string // of a request or notification
	name   string // of the request that it is, or that it answers
	with   any
	checks []func(jsontext.Value) error
	code   acp.ErrorCode

	complaint bool // the error has no id
	then      func(ctx context.Context, s *stage) error
}

// Expect expects a request. It is answered by a [Reply] step with its name, which is the
// method unless As gives another one, or at once by Reply or Fail.
func Expect(method string) *Expectation {
	return &Expectation{kind: aRequest, method: method, name: method}
}

// ExpectNotification expects a notification.
func ExpectNotification(method string) *Expectation {
	return &Expectation{kind: aNotification, method: method}
}

// ExpectUpdate expects a session update; update is JSON that it contains, nil for any.
func ExpectUpdate(update any) *Expectation {
	e := ExpectNotification(acp.MethodSessionUpdate)
	if update != nil {
		e.with = inObject{"update", update}
	}
	return e
}

// ExpectAnswer expects the result of a request that the script has sent under the name.
func ExpectAnswer(name string) *Expectation { return &Expectation{kind: aResult, name: name} }

// ExpectError expects an error with the code for a request that the script has sent under
// the name.
func ExpectError(name string, code acp.ErrorCode) *Expectation {
	return &Expectation{kind: anError, name: name, code: code}
}

// ExpectComplaint expects an error with the code for a message that was not understood, such
// as garbage: its id is null.
func ExpectComplaint(code acp.ErrorCode) *Expectation {
	return &Expectation{kind: anError, code: code, complaint: true}
}

// inObject is an object of one member.
type inObject struct {
	name  string
	value any
}

// With expects that the params, or the result, contain the JSON: members that it does not
// name may be there, arrays are compared as a whole.
func (e *Expectation) With(part any) *Expectation {
	e.with = part
	return e
}

// Check has f look at the params, or the result; its error fails the script.
func (e *Expectation) Check(f func(jsontext.Value) error) *Expectation {
	e.checks = append(e.checks, f)
	return e
}

// As names the request, so that it can be answered later.
func (e *Expectation) As(name string) *Expectation {
	e.name = name
	return e
}

// Reply answers the request at once.
func (e *Expectation) Reply(result any) *Expectation {
	e.then = func(ctx context.Context, s *stage) error { return s.answer(ctx, e.name, result, nil) }
	return e
}

// Fail answers the request at once with an error.
func (e *Expectation) Fail(err *acp.RequestError) *Expectation {
	e.then = func(ctx context.Context, s *stage) error { return s.answer(ctx, e.name, nil, err) }
	return e
}

// String says what is expected.
func (e *Expectation) String() string {
	what := ""
	switch e.kind {
	case aRequest:
		what = "expect the request " + e.method
	case aNotification:
		what = "expect the notification " + e.method
	case aResult:
		what = "expect the answer to " + e.name
	case anError:
		what = fmt.Sprintf("expect error %d to %s", e.code, e.name)
		if e.complaint {
			what = fmt.Sprintf("expect error %d to what was not understood", e.code)
		}
	}
	if want, err := e.want(); err == nil && want != nil {
		what += " with " + short(want)
	}
	return what
}

// want returns the JSON of With.
func (e *Expectation) want() (jsontext.Value, error) {
	in, nested := e.with.(inObject)
	if !nested {
		return encode(e.with)
	}
	raw, err := encode(in.value)
	if err != nil {
		return nil, err
	}
	return jsontext.Value(`{"` + in.name + `":` + string(raw) + `}`), nil
}

func (e *Expectation) play(ctx context.Context, s *stage) error {
	m, err := s.next(ctx)
	if err != nil {
		return err
	}
	if err := e.accept(s, &m); err != nil {
		s.got = &m
		return err
	}
	if e.then != nil {
		return e.then(ctx, s)
	}
	return nil
}

// accept takes the message if it is the one.
func (e *Expectation) accept(s *stage, m *message) error {
	if e.kind != m.kind || e.method != m.method {
		return errors.New("another message came")
	}
	switch {
	case e.complaint && string(m.id) != "null":
		return errors.New("the error is one to a request")
	case !e.complaint && (e.kind == aResult || e.kind == anError):
		id, sent := s.calls[e.name]
		switch {
		case !sent:
			return fmt.Errorf("the script has sent no request %q", e.name)
		case id != string(m.id):
			return fmt.Errorf("the answer is not to %s, whose id is %s", e.name, id)
		}
	}
	if e.kind == anError && e.code != 0 {
		var got struct {
			Code acp.ErrorCode `json:"code"`
		}
		if err := json.Unmarshal(m.payload, &got); err != nil || got.Code != e.code {
			return errors.New("the error has another code")
		}
	}
	want, err := e.want()
	if err != nil {
		return err
	}
	bound := make(variables)
	if want != nil {
		what := "params"
		if e.kind == aResult {
			what = "result"
		} else if e.kind == anError {
			what = "error"
		}
		if err := s.vars.match(want, m.payload, what, bound); err != nil {
			return err
		}
	}
	for _, check := range e.checks {
		if err := check(m.payload); err != nil {
			return err
		}
	}
	for name, value := range bound {
		s.vars[name] = value
	}
	switch e.kind {
	case aRequest:
		if _, ok := s.open[e.name]; ok {
			return fmt.Errorf("the request %q before it is not answered yet: name one of them with As", e.name)
		}
		s.open[e.name] = m.id
	case aResult, anError:
		delete(s.calls, e.name)
	}
	return nil
}

// step is a Step that is a function.
type step struct {
	what string
	do   func(ctx context.Context, s *stage) error
}

func (s step) String() string                            { return s.what }
func (s step) play(ctx context.Context, st *stage) error { return s.do(ctx, st) }

// InAnyOrder expects messages that may come in any order.
func InAnyOrder(all ...*Expectation) Step {
	what := "in any order"
	for _, e := range all {
		what += "; " + e.String()
	}
	return step{what, func(ctx context.Context, s *stage) error {
		open := append([]*Expectation(nil), all...)
		for len(open) > 0 {
			m, err := s.next(ctx)
			if err != nil {
				return err
			}
			took := -1
			var why []error
			for i, e := range open {
				err := e.accept(s, &m)
				if err == nil {
					took = i
					break
				}
				why = append(why, fmt.Errorf("no %s: %w", e, err))
			}
			if took < 0 {
				s.got = &m
				return errors.Join(why...)
			}
			if then := open[took].then; then != nil {
				if err := then(ctx, s); err != nil {
					return err
				}
			}
			open = append(open[:took], open[took+1:]...)
		}
		return nil
	}}
}

// ExpectText takes message chunks of the agent until their text adds up to text. Nothing
// else may come in between.
func ExpectText(text string) Step {
	return step{"expect the agent's text " + quoted(text), func(ctx context.Context, s *stage) error {
		var said string
		for said != text {
			m, err := s.next(ctx)
			if err != nil {
				return err
			}
			var n acp.SessionNotification
			if m.kind == aNotification && m.method == acp.MethodSessionUpdate {
				err = json.Unmarshal(m.payload, &n)
			}
			chunk, ok := n.Update.(acp.AgentMessageChunk)
			if err != nil || !ok {
				s.got = &m
				return fmt.Errorf("after the text %q another message came", said)
			}
			said += acp.PlainText(chunk.Content)
			if len(said) > len(text) || text[:len(said)] != said {
				s.got = &m
				return fmt.Errorf("the text is %q", said)
			}
		}
		return nil
	}}
}

// ExpectEnd expects that the peer ends the connection.
func ExpectEnd() Step {
	return step{"expect the end of the connection", func(ctx context.Context, s *stage) error {
		m, err := s.next(ctx)
		switch {
		case err == nil:
			s.got = &m
			return errors.New("another message came")
		case !errors.Is(err, errEnded):
			return err
		case errors.Is(s.end(), io.EOF):
			return nil
		}
		return s.end()
	}}
}

// Reply answers the request that was expected under the name. A nil result is {}.
func Reply(name string, result any) Step {
	return step{"reply to " + name, func(ctx context.Context, s *stage) error { return s.answer(ctx, name, result, nil) }}
}

// ReplyError answers the request that was expected under the name with an error.
func ReplyError(name string, err *acp.RequestError) Step {
	return step{"reply to " + name + " with an error", func(ctx context.Context, s *stage) error { return s.answer(ctx, name, nil, err) }}
}

// Request sends a request under a name; its answer is an [ExpectAnswer] or [ExpectError]
// step.
func Request(name, method string, params any) Step {
	return step{"send the request " + method, func(ctx context.Context, s *stage) error { return s.request(ctx, name, method, params) }}
}

// Call sends a request and expects that its result is what comes next. The returned
// expectation can be refined.
func Call(method string, params any) *CallStep {
	return &CallStep{Expectation: Expectation{kind: aResult, name: "call " + method}, call: method, params: params}
}

// A CallStep is the step of [Call].
type CallStep struct {
	Expectation
	call   string
	params any
}

// String says what is called.
func (c *CallStep) String() string { return "call " + c.call }

// With is as that of an [Expectation].
func (c *CallStep) With(part any) *CallStep {
	c.Expectation.With(part)
	return c
}

// Check is as that of an [Expectation].
func (c *CallStep) Check(f func(jsontext.Value) error) *CallStep {
	c.Expectation.Check(f)
	return c
}

// Fails expects an error with the code instead of a result.
func (c *CallStep) Fails(code acp.ErrorCode) *CallStep {
	c.kind, c.code = anError, code
	return c
}

func (c *CallStep) play(ctx context.Context, s *stage) error {
	if err := s.request(ctx, c.name, c.call, c.params); err != nil {
		return err
	}
	return c.Expectation.play(ctx, s)
}

// Notify sends a notification.
func Notify(method string, params any) Step {
	return step{"notify " + method, func(ctx context.Context, s *stage) error {
		return s.envelope(ctx, "method", quoted(method), "params", params)
	}}
}

// Update sends a session update, as an agent. session may be a variable, such as "$s".
func Update(session acp.SessionID, update acp.SessionUpdate) Step {
	return Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: session, Update: update})
}

// Say sends text as a message chunk of the agent.
func Say(session acp.SessionID, text string) Step {
	return Update(session, acp.AgentMessageChunk{Content: acp.Text(text)})
}

// Raw sends a line as it is, whatever it holds.
func Raw(line string) Step {
	return step{"send the line " + short(line), func(ctx context.Context, s *stage) error { return s.send(ctx, []byte(line)) }}
}

// RawBytes writes bytes as they are, without a line end. Only [Script.ServeStdio] can: the
// other transports carry whole messages.
func RawBytes(b string) Step {
	return step{"write the bytes " + short(b), func(_ context.Context, s *stage) error {
		if s.raw == nil {
			return errors.New("this transport carries whole messages only")
		}
		s.note("→ ", []byte(b))
		_, err := io.WriteString(s.raw, b)
		return err
	}}
}

// Await waits for a signal of the test; what names it.
func Await(what string, signal <-chan struct{}) Step {
	return step{"wait for " + what, func(ctx context.Context, _ *stage) error {
		select {
		case <-signal:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}}
}

// Do calls f, for example to signal the test.
func Do(what string, f func(ctx context.Context) error) Step {
	return step{what, func(ctx context.Context, _ *stage) error { return f(ctx) }}
}

// HangUp ends the script and the connection. Nothing that has come may be unexpected.
func HangUp() Step {
	return step{"hang up", func(context.Context, *stage) error { return errHungUp }}
}

// Handshake expects initialize, as an agent, and advertises the capabilities: JSON, or an
// acp.AgentCapabilities; nil advertises none.
func Handshake(capabilities any) *Expectation {
	e := Expect(acp.MethodInitialize)
	e.then = func(ctx context.Context, s *stage) error {
		caps, err := encode(capabilities)
		if err != nil {
			return err
		}
		if caps == nil {
			caps = jsontext.Value("{}")
		}
		return s.answer(ctx, e.name, `{"protocolVersion":1,"agentCapabilities":`+string(caps)+`,"authMethods":[]}`, nil)
	}
	return e
}

// Greet calls initialize, as a client, and offers the capabilities: JSON, or an
// acp.ClientCapabilities; nil offers none.
func Greet(capabilities any) Step {
	return step{"greet the agent", func(ctx context.Context, s *stage) error {
		caps, err := encode(capabilities)
		if err != nil {
			return err
		}
		if caps == nil {
			caps = jsontext.Value("{}")
		}
		return Call(acp.MethodInitialize, `{"protocolVersion":1,"clientCapabilities":`+string(caps)+`}`).With(`{"protocolVersion":1}`).play(ctx, s)
	}}
}
