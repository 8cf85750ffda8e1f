package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/transport"
)

func echo() *funcs {
	return &funcs{request: func(_ context.Context, r *Request) (any, error) {
		if r.Params == nil {
			return nil, nil
		}
		return r.Params, nil
	}}
}

func TestUnusableMessagesAreAnsweredOnceAndTheConnectionLives(t *testing.T) {
	cases := []struct{ name, line, want string }{
		{"not JSON", `hello`, `"id":null,"error":{"code":-32700`},
		{"cut JSON", `{"jsonrpc":"2.0","id":1`, `"id":null,"error":{"code":-32700`},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"m"} {}`, `"id":null,"error":{"code":-32700`},
		{"invalid UTF-8 in the method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"id":1,"error":{"code":-32700`},
		{"invalid UTF-8 in the params", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[\"a\xffb\"]}", `"id":1,"error":{"code":-32700,"message":"Parse error: a string in it is not valid Unicode`},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"m","params":["a\ud83d"]}`, `"id":1,"error":{"code":-32700,"message":"Parse error: a string in it is not valid Unicode`},
		{"half a surrogate pair before the id", `{"jsonrpc":"2.0","method":"m","params":["a\ud83d"],"id":1}`, `"id":1,"error":{"code":-32700`},
		{"invalid UTF-8 in the id", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}", `"id":null,"error":{"code":-32700`},
		{"invalid UTF-8 in what is not JSON", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"", `"id":null,"error":{"code":-32700`},
		{"array", `[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"}]`, `"id":null,"error":{"code":-32600`},
		{"empty array", `[]`, `"id":null,"error":{"code":-32600`},
		{"number", `42`, `"id":null,"error":{"code":-32600`},
		{"string", `"x"`, `"id":null,"error":{"code":-32600`},
		{"null", `null`, `"id":null,"error":{"code":-32600`},
		{"empty object", `{}`, `"id":null,"error":{"code":-32600`},
		{"no version", `{"id":1,"method":"m"}`, `"id":null,"error":{"code":-32600`},
		{"old version", `{"jsonrpc":"1.0","id":1,"method":"m"}`, `"id":null,"error":{"code":-32600`},
		{"method no string", `{"jsonrpc":"2.0","id":1,"method":5}`, `"id":null,"error":{"code":-32600`},
		{"id no scalar", `{"jsonrpc":"2.0","id":[1],"method":"m"}`, `"id":null,"error":{"code":-32600`},
		{"id boolean", `{"jsonrpc":"2.0","id":true,"method":"m"}`, `"id":null,"error":{"code":-32600`},
		{"member twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, `"id":null,"error":{"code":-32600`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, w := raw(t, echo(), nil)
			w.send(tc.line)
			w.want(tc.want)
			w.quiet()
		})
	}
}

func TestWhatLooksLikeAnAnswerAndNotificationsAreNeverAnswered(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		`{"jsonrpc":"2.0","result":7}`,
		`{"result":{},"error":{}}`,
		`{"id":7}`,
		`{"jsonrpc":"2.0","method":"unknown"}`,
		`{"jsonrpc":"2.0","method":"_vendor/x","params":[1]}`,
		`{"jsonrpc":"2.0","method":"$/unknown"}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request"}`,
		``, `   `, "\t",
	} {
		_, w := raw(t, echo(), nil)
		w.send(line)
		w.quiet()
	}
}

func TestIdsAreEchoedExactly(t *testing.T) {
	for _, id := range []string{`null`, `0`, `-1`, `9223372036854775807`, `123456789012345678901234567890`, `1.0`, `1e3`, `""`, `"a\u00e9\n"`, `"é"`, `"` + strings.Repeat("x", 5000) + `"`} {
		_, w := raw(t, echo(), nil)
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`)
		w.want(`"id":` + id + `,"result"`)
	}
}

func TestSeveralRequestsWithANullIdAreEachAnswered(t *testing.T) {
	_, w := raw(t, echo(), nil)
	line := `{"jsonrpc":"2.0","id":null,"method":"m"}`
	w.send(line, line)
	w.want(`"id":null,"result"`)
	w.want(`"id":null,"result"`)
}

func TestEscapedMemberNamesAndMethodsAreUnderstood(t *testing.T) {
	got := make(chan string, 1)
	_, w := raw(t, &funcs{request: func(_ context.Context, r *Request) (any, error) { got <- r.Method; return nil, nil }}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"\u006dethod":"session\/pro\u006dpt"}`)
	if m := <-got; m != "session/prompt" {
		t.Fatalf("method %q", m)
	}
}

func TestAPanicAGoexitAndAnErrorShowThePeerInternalErrorOnly(t *testing.T) {
	var log syncBuffer
	_, w := raw(t, &funcs{request: func(_ context.Context, r *Request) (any, error) {
		switch r.Method {
		case "panic":
			panic("secret token")
		case "exit":
			runtime.Goexit()
		case "encode":
			return jsontext.Value(`{"broken`), nil
		}
		return nil, errors.New("secret token")
	}}, &Options{Logger: logTo(&log), MaxRequests: 1})
	for _, m := range []string{"panic", "exit", "encode", "error"} {
		w.send(`{"jsonrpc":"2.0","id":"` + m + `","method":"` + m + `"}`)
		if got := w.recv(); got != `{"jsonrpc":"2.0","id":"`+m+`","error":{"code":-32603,"message":"Internal error"}}` {
			t.Errorf("%s: %s", m, got)
		}
	}
	if !strings.Contains(log.String(), "secret token") {
		t.Error("the log lacks the error")
	}
}

func TestTypedErrorsTravelAsTheyAre(t *testing.T) {
	_, w := raw(t, &funcs{request: func(context.Context, *Request) (any, error) {
		return nil, fmt.Errorf("wrapped: %w", &Error{Code: -32002, Message: "Resource not found", Data: jsontext.Value(`{"x":1}`)})
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
	w.want(`"error":{"code":-32002,"message":"Resource not found","data":{"x":1}}}`)
}

func TestCancelRequestEndsTheHandlersContextAndIsAnsweredOnce(t *testing.T) {
	causes := make(chan error, 1)
	started := make(chan struct{})
	_, w := raw(t, &funcs{request: func(ctx context.Context, r *Request) (any, error) {
		if r.Method == "probe" {
			return nil, nil
		}
		close(started)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":"\u0061","method":"m"}`)
	<-started
	// The same id, not escaped; the second cancel comes too late.
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}}`)
	w.want(`"error":{"code":-32800`)
	if cause := <-causes; !errors.Is(cause, ErrCancelled) {
		t.Errorf("cause %v", cause)
	}
	w.quiet()
	// The id may be used again, and an old cancel does not hit it.
	w.send(`{"jsonrpc":"2.0","id":"a","method":"probe"}`)
	w.want(`"result"`)
}

func TestARequestCancelledBeforeItsTurnIsAnsweredWithoutItsHandler(t *testing.T) {
	release := make(chan struct{})
	ran := make(chan string, 3)
	_, w := raw(t, &funcs{request: func(_ context.Context, r *Request) (any, error) {
		ran <- r.Method
		<-release
		return nil, nil
	}}, &Options{MaxRequests: 1})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"first"}`, `{"jsonrpc":"2.0","id":2,"method":"second"}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`, `nonsense to wait for`)
	w.want(`-32700`)
	close(release)
	w.want(`"id":1,"result"`)
	w.want(`"id":2,"error":{"code":-32800`)
	if len(ran) != 1 {
		t.Errorf("%d handlers ran", len(ran))
	}
}

func TestMoreRequestsThanHandlersWaitWithoutHoldingUpAnswers(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	c, w := raw(t, &funcs{request: func(ctx context.Context, _ *Request) (any, error) {
		<-ready
		_, err := c.Call(ctx, "ask", nil, nil)
		return nil, err
	}}, &Options{MaxRequests: 2})
	close(ready)
	for i := range 20 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"m"}`, i))
	}
	answers := 0
	for answers < 20 {
		line := w.recv()
		if strings.Contains(line, `"ask"`) {
			id := member1(jsontext.Value(line), "id")
			w.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":null}`)
			continue
		}
		answers++
	}
}

func TestASecondRequestWithAnIdInFlightIsRefused(t *testing.T) {
	release := make(chan struct{})
	_, w := raw(t, &funcs{request: func(context.Context, *Request) (any, error) { <-release; return nil, nil }}, nil)
	w.send(`{"jsonrpc":"2.0","id":5,"method":"m"}`, `{"jsonrpc":"2.0","id":5,"method":"m"}`)
	w.want(`"id":5,"error":{"code":-32600`)
	close(release)
	w.want(`"id":5,"result"`)
}

func TestAMalformedAnswerFailsItsCallOnly(t *testing.T) {
	for _, answer := range []string{
		`"result":1,"error":{"code":1,"message":"m"}`,
		`"error":"text"`, `"error":{"code":"x","message":"m"}`, `"error":{"code":1}`, `"error":{"message":"m"}`, `"other":1`, `"error":null`,
	} {
		c, w := raw(t, echo(), nil)
		failed := make(chan error, 1)
		go func() { _, err := c.Call(t.Context(), "ask", nil, nil); failed <- err }()
		w.want(`"ask"`)
		w.send(`{"jsonrpc":"2.0","id":1,` + answer + `}`)
		if err := <-failed; !errors.Is(err, ErrInvalidResponse) {
			t.Errorf("%s: %v", answer, err)
		}
		w.quiet()
	}
}

func TestAnAnswersErrorIsTheCallersTypedError(t *testing.T) {
	c, w := raw(t, echo(), nil)
	failed := make(chan error, 1)
	go func() { _, err := c.Call(t.Context(), "ask", nil, nil); failed <- err }()
	w.want(`"ask"`)
	w.send(`{"jsonrpc":"2.0","id":1.0,"error":{"code":-32002,"message":"gone","data":[1]}}`)
	rpc, ok := errors.AsType[*Error](<-failed)
	if !ok || rpc.Code != -32002 || rpc.Message != "gone" || string(rpc.Data) != "[1]" {
		t.Errorf("error %+v", rpc)
	}
}

func TestACallThatEndsEarlySendsCancelRequestAndDropsTheLateAnswer(t *testing.T) {
	var bad []string
	c, w := raw(t, echo(), &Options{Garbage: func(_ []byte, problem string) { bad = append(bad, problem) }})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { _, err := c.Call(ctx, "ask", nil, nil); failed <- err }()
	w.want(`"id":1,"method":"ask"`)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || !errors.Is(err, ErrMaybeSent) {
		t.Errorf("call: %v", err)
	}
	w.want(`"method":"$/cancel_request","params":{"requestId":1}`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	w.quiet()
	w.send(`{"jsonrpc":"2.0","id":44,"result":{}}`)
	w.quiet()
	end(t, c)
	if len(bad) != 1 || !strings.Contains(bad[0], "never sent") {
		t.Errorf("garbage hook saw %q", bad)
	}
}

func TestACallWithParamsThatCannotBeEncodedIsNotSent(t *testing.T) {
	c, w := raw(t, echo(), nil)
	if _, err := c.Call(t.Context(), "ask", jsontext.Value(`{`), nil); !errors.Is(err, ErrNotSent) {
		t.Errorf("call: %v", err)
	}
	if err := c.Notify(t.Context(), "", "tell", make(chan int)); !errors.Is(err, ErrNotSent) {
		t.Errorf("notify: %v", err)
	}
	w.quiet()
}

func lines(t *testing.T, input string, opts *Options, limit int) string {
	t.Helper()
	var out syncBuffer
	c := New(transport.NewLine(strings.NewReader(input), &out, &transport.LineOptions{MaxMessageBytes: limit}), echo(), opts)
	c.Start(t.Context())
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestALineOverTheLimitIsReportedAndCostsOnlyItself(t *testing.T) {
	big := strings.Repeat("x", 300_000)
	out := lines(t, big+"\n"+`{"jsonrpc":"2.0","id":7,"method":"m","params":{"t":"`+big+`"}}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n", nil, 1000)
	for _, want := range []string{
		`"id":null,"error":{"code":-32600,"message":"Invalid request: message of 300000 bytes is larger than the limit of 1000 bytes"`,
		`"id":7,"error":{"code":-32600`,
		`"id":1,"result"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

func TestAnAnswerOverTheLimitFailsItsCall(t *testing.T) {
	ta, tb := transport.Pipe()
	c := New(&limited{ta}, &funcs{}, nil)
	c.Start(t.Context())
	defer end(t, c)
	w := &wire{t, tb}
	failed := make(chan error, 1)
	go func() { _, err := c.Call(t.Context(), "ask", nil, nil); failed <- err }()
	w.want(`"ask"`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 5000) + `"}`)
	err := <-failed
	if large, ok := errors.AsType[*transport.MessageTooLargeError](err); !ok || large.Size < 5000 || !strings.Contains(err.Error(), "ask") {
		t.Errorf("call: %v", err)
	}
}

func TestAnAnswerThatIsNotUnicodeFailsItsCallAtOnce(t *testing.T) {
	ta, tb := transport.Pipe()
	c := New(ta, &funcs{}, nil)
	c.Start(t.Context())
	defer end(t, c)
	w := &wire{t, tb}
	failed := make(chan error, 1)
	go func() { _, err := c.Call(t.Context(), "ask", nil, nil); failed <- err }()
	w.want(`"ask"`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":{"content":"one\ud800"}}`)
	if err := <-failed; !errors.Is(err, ErrInvalidResponse) || !strings.Contains(err.Error(), "not valid Unicode") {
		t.Errorf("call: %v", err)
	}
}

// limited refuses messages over 1,000 bytes.
type limited struct{ transport.Transport }

func (l *limited) Read(ctx context.Context) ([]byte, error) {
	msg, err := l.Transport.Read(ctx)
	if len(msg) > 1000 {
		return nil, &transport.MessageTooLargeError{Size: int64(len(msg)), Limit: 1000, Head: msg[:1000]}
	}
	return msg, err
}

func TestContentLengthFramingGetsOneClearErrorAndEndsTheConnection(t *testing.T) {
	var out, log syncBuffer
	body := `{"jsonrpc":"2.0","id":1,"method":"m"}`
	input := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	c := New(transport.NewLine(strings.NewReader(input), &out, nil), echo(), &Options{Logger: logTo(&log)})
	c.Start(t.Context())
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(c.Err(), ErrHeaderFraming) {
		t.Errorf("err %v", c.Err())
	}
	if n := strings.Count(out.String(), "\n"); n != 1 || !strings.Contains(out.String(), "newline-delimited JSON expected") {
		t.Errorf("answered %s", out.String())
	}
	if !strings.Contains(log.String(), "newline-delimited JSON expected") {
		t.Errorf("log %s", log.String())
	}
}

func TestANameThatIsThereTwiceCostsItsMessageOnly(t *testing.T) {
	notified := make(chan string, 4)
	c, w := raw(t, &funcs{
		request:      func(context.Context, *Request) (any, error) { return nil, nil },
		notification: func(_ context.Context, method string, _ jsontext.Value) { notified <- method },
	}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"b":1,"b":2}}}`)
	w.want(`"id":1,"error":{"code":-32602,"message":"Invalid params: read JSON: `)
	w.send(`{"jsonrpc":"2.0","method":"first","params":{"a":1,"\u0061":2}}`, `{"jsonrpc":"2.0","method":"second","params":{"a":1,"b":{"a":2}}}`)
	w.quiet()
	if m := <-notified; m != "second" {
		t.Errorf("the notification %q was handled", m)
	}
	failed := make(chan error, 1)
	go func() { _, err := c.Call(t.Context(), "ask", nil, nil); failed <- err }()
	w.want(`"ask"`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":[{"a":1,"a":2}]}`)
	if err := <-failed; !errors.Is(err, ErrInvalidResponse) {
		t.Errorf("call: %v", err)
	}
}

func TestTheTapSeesEveryMessageAndTheLogNone(t *testing.T) {
	var log, tap syncBuffer
	out := lines(t, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"secret":"hunter2"}}`+"\n"+`hunter2 garbage`+"\n", &Options{
		Logger: logTo(&log),
		Tap: func(dir Direction, _ time.Time, message []byte) {
			fmt.Fprintf(&tap, "%d %s\n", dir, message)
		},
	}, 0)
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log shows a message: %s", log.String())
	}
	for _, want := range []string{`0 {"jsonrpc":"2.0","id":1,"method":"m"`, `1 {"jsonrpc":"2.0","id":1,"result"`, `0 hunter2 garbage`} {
		if !strings.Contains(tap.String(), want) {
			t.Errorf("tap lacks %s: %s\n%s", want, tap.String(), out)
		}
	}
}
