package acptest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/transport"
)

// An agent whose every message is known: what the client makes of it is what is tested.
var permissionScript = acptest.Script{Steps: []acptest.Step{
	acptest.Handshake(`{"loadSession":true}`),
	acptest.Expect("session/new").With(`{"cwd":"/w"}`).Reply(`{"sessionId":"s"}`),
	acptest.Expect("session/prompt").With(`{"sessionId":"s","prompt":[{"type":"text","text":"$text"}]}`).As("turn"),
	acptest.Say("s", "let me see"),
	acptest.Call("session/request_permission", acp.RequestPermissionRequest{
		SessionID: "s", ToolCall: acp.ToolCallUpdate{ToolCallID: "t"},
		Options: []acp.PermissionOption{{OptionID: "yes", Name: "Yes", Kind: acp.PermissionAllowOnce}},
	}).With(`{"outcome":{"outcome":"selected","optionId":"yes"}}`),
	acptest.Call("fs/read_text_file", `{"sessionId":"s","path":"/f"}`).Fails(acp.CodeMethodNotFound),
	acptest.Update("s", acp.AgentMessageChunk{Content: acp.Text("done")}),
	acptest.Reply("turn", `{"stopReason":"end_turn"}`),
}}

func TestAScriptedAgentHoldsAConversationWithAClient(t *testing.T) {
	allow := acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[0].OptionID}}, nil
	})
	agent := permissionScript.Agent(t, &acp.ClientOptions{Permission: allow})
	if !agent.Can("agentCapabilities.loadSession") {
		t.Error("capabilities were lost")
	}
	s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	turn := s.Prompt(t.Context(), acp.Text("hi"))
	for u := range turn.Updates() {
		said = append(said, acp.PlainText(u.(acp.AgentMessageChunk).Content))
	}
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopEndTurn || fmt.Sprint(said) != "[let me see done]" {
		t.Errorf("%q, %v, %v", said, r.StopReason, err)
	}
}

func TestAScriptedClientHoldsAConversationWithAnAgent(t *testing.T) {
	running := make(chan struct{})
	agent := &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		c := acp.ClientFrom(ctx)
		r, err := c.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/f"})
		if err != nil {
			return acp.PromptResponse{}, err
		}
		for _, part := range strings.SplitAfter(r.Content, " ") {
			if err := c.Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text(part)}); err != nil {
				return acp.PromptResponse{}, err
			}
		}
		close(running)
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}}
	acptest.Script{Name: "editor", Steps: []acptest.Step{
		acptest.Greet(acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}),
		acptest.Call("session/new", `{"cwd":"/w","mcpServers":[]}`).With(`{"sessionId":"$s"}`),
		acptest.Call("session/new", `{"cwd":"/w","mcpServers":[]}`).With(`{"sessionId":"$other"}`),
		acptest.Request("turn", "session/prompt", `{"sessionId":"$s","prompt":[]}`),
		acptest.Expect("fs/read_text_file").With(`{"sessionId":"$s","path":"/f"}`).Reply(`{"content":"what the file says"}`),
		acptest.ExpectText("what the file says"),
		acptest.Await("the turn to run", running),
		acptest.Notify("session/cancel", `{"sessionId":"$s"}`),
		acptest.ExpectAnswer("turn").With(`{"stopReason":"cancelled"}`),
	}}.Client(t, agent, nil)
}

// played returns how a script ends whose peer sends the lines and hangs up.
func played(t *testing.T, s acptest.Script, lines ...string) error {
	t.Helper()
	mine, theirs := transport.Pipe()
	peer := acptest.Peer{Transport: mine}
	if err := peer.Send(t.Context(), lines...); err != nil {
		t.Fatal(err)
	}
	for _, step := range s.Steps {
		if strings.HasPrefix(step.String(), "call") { // the peer must be there for it
			defer mine.Close()
			return s.Serve(t.Context(), theirs)
		}
	}
	if err := mine.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Serve(t.Context(), theirs)
}

func TestAFailedScriptSaysWhatWasExpectedAndWhatCameInstead(t *testing.T) {
	const (
		ping = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1,{"b":"x"}],"c":null}}`
		note = `{"jsonrpc":"2.0","method":"note","params":{"n":1.0}}`
	)
	for _, tc := range []struct {
		name  string
		steps []acptest.Step
		lines []string
		want  []string // nothing means that it succeeds
	}{
		{"the right message", []acptest.Step{acptest.Expect("ping").With(`{"a":[1.0,{"b":"$_"}]}`), acptest.ExpectNotification("note").With(`{"n":1}`), acptest.ExpectEnd()}, []string{ping, note}, nil},
		{"another method", []acptest.Step{acptest.Expect("pong")}, []string{ping, note}, []string{"s, step 1 of 1 (expect the request pong): another message came", `got     request ping {"a":[1`, `queued  notification note {"n":1.0}`}},
		{"a notification for a request", []acptest.Step{acptest.Expect("note")}, []string{note}, []string{"another message came", "got     notification note"}},
		{"another value", []acptest.Step{acptest.Expect("ping").With(`{"a":[1,{"b":"y"}]}`)}, []string{ping}, []string{`params.a[1].b: want "y", got "x"`}},
		{"a missing member", []acptest.Step{acptest.Expect("ping").With(`{"z":null}`)}, []string{ping}, []string{`params.z: want null, got nothing`}},
		{"an array of another length", []acptest.Step{acptest.Expect("ping").With(`{"a":[1]}`)}, []string{ping}, []string{`params.a: want 1 elements, got 2`}},
		{"a variable that changes", []acptest.Step{acptest.Expect("ping").With(`{"a":["$v","$_"]}`), acptest.ExpectNotification("note").With(`{"n":"$v"}`), acptest.Expect("ping").With(`{"c":"$v"}`).As("again")}, []string{ping, note, ping}, []string{"step 3 of 3", "params.c: want 1, got null"}},
		{"a variable without a value", []acptest.Step{acptest.Notify("x", `{"v":"$v"}`)}, nil, []string{"$v before an expectation"}},
		{"a check", []acptest.Step{acptest.Expect("ping").Check(func(jsontext.Value) error { return errors.New("checked") })}, []string{ping}, []string{": checked", "got     request ping"}},
		{"the end instead", []acptest.Step{acptest.ExpectNotification("note"), acptest.Expect("ping")}, []string{note}, []string{"step 2 of 2", "the peer has ended the connection", "before  ← " + note}},
		{"a message instead of the end", []acptest.Step{acptest.ExpectEnd()}, []string{note}, []string{"another message came"}},
		{"a message after the last step", []acptest.Step{acptest.ExpectNotification("note")}, []string{note, ping}, []string{"s, after its last step: a message that nothing expects", "got     request ping"}},
		{"garbage", []acptest.Step{acptest.Expect("ping")}, []string{"npm WARN"}, []string{"got     no JSON-RPC message: npm WARN"}},
		{"an answer to nothing", []acptest.Step{acptest.ExpectAnswer("x")}, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, []string{`sent no request "x"`}},
		{"a reply to nothing", []acptest.Step{acptest.Reply("ping", nil)}, nil, []string{`no request "ping" to answer`}},
		{"an error where a result is expected", []acptest.Step{acptest.Call("x", nil)}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`}, []string{"(call x): another message came", "got     error to 1"}},
		{"an error with another code", []acptest.Step{acptest.Call("x", nil).Fails(-32600)}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`}, []string{"another code"}},
		{"bytes where there is no stream", []acptest.Step{acptest.RawBytes("half")}, nil, []string{"whole messages only"}},
		{"JSON that is none", []acptest.Step{acptest.Notify("x", `{`)}, nil, []string{"the script's JSON {"}},
		{"any order", []acptest.Step{acptest.InAnyOrder(acptest.ExpectNotification("note"), acptest.Expect("ping")), acptest.ExpectEnd()}, []string{ping, note}, nil},
		{"any order, but not twice", []acptest.Step{acptest.InAnyOrder(acptest.ExpectNotification("note"), acptest.Expect("ping"))}, []string{note, note}, []string{"no expect the request ping: another", "got     notification note"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := played(t, acptest.Script{Name: "s", Steps: tc.steps}, tc.lines...)
			if len(tc.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if _, ok := errors.AsType[*acptest.ScriptError](err); !ok {
				t.Fatalf("error %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in\n%v", part, err)
				}
			}
		})
	}
}

func TestAScriptDoesNotHangUpOnAMessageThatItHasNotExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := played(t, acptest.Script{Steps: []acptest.Step{
			acptest.ExpectNotification("note"),
			acptest.Do("let everything arrive", func(context.Context) error { synctest.Wait(); return nil }),
			acptest.HangUp(),
		}}, `{"jsonrpc":"2.0","method":"note"}`, `{"jsonrpc":"2.0","method":"note"}`)
		if err == nil || !strings.Contains(err.Error(), "step 3 of 3 (hang up): the script hangs up, but a message has not been expected\n\tgot     notification note") {
			t.Error(err)
		}
	})
}

func TestAStepThatNothingComesForTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := transport.Pipe()
		start := time.Now()
		err := acptest.Script{Steps: []acptest.Step{
			acptest.Notify("hello", nil),
			acptest.Expect("session/prompt").With(`{"sessionId":"s"}`),
		}, StepTimeout: 3 * time.Second}.Serve(t.Context(), theirs)
		if at := time.Since(start); at < 3*time.Second || at > 3100*time.Millisecond { // and a moment for what is on its way
			t.Errorf("after %v", at)
		}
		for _, part := range []string{`step 2 of 2 (expect the request session/prompt with {"sessionId":"s"}): nothing came within 3s`, `before  → {"jsonrpc":"2.0","method":"hello"}`} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("no %q in %v", part, err)
			}
		}
		if line, err := (acptest.Peer{Transport: mine}).Receive(t.Context()); err != nil || !strings.Contains(line, "hello") {
			t.Errorf("%q, %v", line, err)
		}
		if _, err := (acptest.Peer{Transport: mine}).Receive(t.Context()); err == nil {
			t.Error("the connection is still open")
		}
	})
}

func TestARequestIsAnsweredOnce(t *testing.T) {
	mine, theirs := transport.Pipe()
	if err := (acptest.Peer{Transport: mine}).Send(t.Context(), `{"jsonrpc":"2.0","id":"p","method":"ping"}`); err != nil {
		t.Fatal(err)
	}
	err := acptest.Script{Steps: []acptest.Step{acptest.Expect("ping").Reply(`{"n":1}`), acptest.ReplyError("ping", acp.InternalError("twice"))}}.Serve(t.Context(), theirs)
	if err == nil || !strings.Contains(err.Error(), `step 2 of 2 (reply to ping with an error): there is no request "ping" to answer`) {
		t.Error(err)
	}
	if line, err := (acptest.Peer{Transport: mine}).Receive(t.Context()); err != nil || line != `{"jsonrpc":"2.0","id":"p","result":{"n":1}}` {
		t.Errorf("%s, %v", line, err)
	}
}

func TestNotificationsToIgnoreMayComeAnyNumberOfTimes(t *testing.T) {
	note := `{"jsonrpc":"2.0","method":"note"}`
	err := played(t, acptest.Script{Ignore: []string{"note"}, Steps: []acptest.Step{acptest.Expect("ping").Reply(`true`), acptest.ExpectEnd()}},
		note, note, `{"jsonrpc":"2.0","id":"p","method":"ping"}`, note)
	if err != nil && !strings.Contains(err.Error(), "send") { // the peer has hung up before the reply
		t.Error(err)
	}
}

// A testing.TB that only notes what fails.
type failures struct {
	testing.TB
	text chan string
}

func (f failures) Error(args ...any) { f.text <- fmt.Sprint(args...) }

func (f failures) Errorf(format string, args ...any) { f.text <- fmt.Sprintf(format, args...) }

func TestAScriptThatIsNotPlayedToItsEndFailsTheTest(t *testing.T) {
	f := failures{t, make(chan string, 1)}
	t.Run("inner", func(t *testing.T) {
		f.TB = t
		acptest.Script{Steps: []acptest.Step{acptest.Handshake(nil), acptest.Expect("session/new")}}.Agent(f, nil)
	})
	if got := <-f.text; !strings.Contains(got, "step 2 of 2 (expect the request session/new): the peer has ended the connection") {
		t.Error(got)
	}
	acptest.Script{Steps: []acptest.Step{acptest.Greet(nil), acptest.Call("session/list", nil)}}.Client(f, &acptest.Agent{}, nil)
	if got := <-f.text; !strings.Contains(got, "step 2 of 3 (call session/list): another message came") {
		t.Error(got)
	}
}

func TestAScriptThatStillTalksByItselfIsNotCutShortByTheEndOfTheTest(t *testing.T) {
	asked := 0
	t.Run("inner", func(t *testing.T) {
		agent := acptest.Script{Steps: []acptest.Step{
			acptest.Handshake(nil),
			acptest.Expect("session/new").Reply(`{"sessionId":"s"}`),
			acptest.Await("a moment", closedWhen(20*time.Millisecond)),
			acptest.Call("_ask", nil).With("1"),
			acptest.Call("_ask", nil).With("2"),
		}}.Agent(t, &acp.ClientOptions{Extensions: map[string]acp.Extension{"_ask": acp.ExtensionRequest(func(context.Context, any) (int, error) {
			asked++
			return asked, nil
		})}})
		if _, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
	})
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// closedWhen returns a channel that is closed after d.
func closedWhen(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// childScript is what a child process of the tests plays.
var childScript = acptest.Script{Name: "child", Steps: []acptest.Step{
	acptest.RawBytes("a banner\n"),
	acptest.InAnyOrder(acptest.Handshake(nil), acptest.ExpectComplaint(acp.CodeParseError)),
	acptest.RawBytes(`{"jsonrpc":"2.0",`),
	acptest.Expect("session/new"), // in the middle of a line
	acptest.RawBytes(`"method":"_note"}` + "\n"),
	acptest.Reply("session/new", `{"sessionId":"s"}`),
	acptest.Expect("session/prompt").With(`{"prompt":[{"type":"text","text":"good"}]}`).Reply(`{"stopReason":"end_turn"}`),
}}

func TestASpawnedScriptIsAnAgentOfItsOwn(t *testing.T) {
	for text, wantErr := range map[string]bool{"good": false, "bad": true} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ACPTEST_SCRIPT=1")
		var garbage []string
		agent, err := acp.Spawn(t.Context(), cmd, &acp.ClientOptions{Options: acp.Options{Garbage: func(m []byte, _ string) { garbage = append(garbage, string(m)) }}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Prompt(t.Context(), acp.Text(text)).Result()
		if wantErr {
			exit, ok := errors.AsType[*acp.ExitError](err)
			if !ok || exit.Code != 1 || !strings.Contains(exit.Stderr, `params.prompt[0].text: want "good", got "bad"`) {
				t.Errorf("%v", err)
			}
		} else if err != nil {
			t.Error(err)
		}
		if err := agent.Close(); err != nil {
			t.Error(err)
		}
		_ = agent.Wait()
		if fmt.Sprint(garbage) != "[a banner]" {
			t.Errorf("garbage %q", garbage)
		}
	}
}
