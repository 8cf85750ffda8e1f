package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

func TestACallSaysHowFarItCame(t *testing.T) {
	connect := func(a acp.Agent) (*acp.RemoteAgent, *acp.Session) {
		agent, end, err := acptest.Connect(t.Context(), a, nil, &acp.ClientOptions{CancelGrace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		return agent, session
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	want := func(what string, err error, outcome acp.Outcome) {
		t.Helper()
		if err == nil || acp.OutcomeOf(err) != outcome {
			t.Errorf("%s: %v is %v, want %v", what, err, acp.OutcomeOf(err), outcome)
		}
	}

	refuses := &scripted{prompt: func(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
		return acp.PromptResponse{}, acp.AuthRequired()
	}}
	agent, session := connect(refuses)
	_, err := session.Prompt(t.Context(), acp.Text("hi")).Result()
	want("an error answer", err, acp.Answered)
	_, err = session.Prompt(ended, acp.Text("hi")).Result()
	want("a context that had ended", err, acp.NotSent)
	_, err = session.Prompt(t.Context(), acp.Image("image/png", nil)).Result()
	want("a block that is not offered", err, acp.NotSent)
	want("a method that is not offered", agent.Logout(t.Context()), acp.NotSent)
	_ = agent.Close()
	_, err = session.Prompt(t.Context(), acp.Text("hi")).Result()
	want("a closed connection", err, acp.NotSent)

	began := make(chan struct{})
	hangs := &scripted{prompt: func(ctx context.Context, _ acp.PromptRequest) (acp.PromptResponse, error) {
		close(began)
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}}
	agent, session = connect(hangs)
	turn := session.Prompt(t.Context(), acp.Text("hi"))
	<-began
	_, err = session.Prompt(t.Context(), acp.Text("hi")).Result()
	want("a second prompt", err, acp.NotSent)
	if !errors.Is(err, acp.ErrTurnInProgress) {
		t.Errorf("a second prompt: %v", err)
	}
	_ = agent.Close()
	_, err = turn.Result()
	want("a connection that was lost meanwhile", err, acp.MaybeSent)

	if got := acp.OutcomeOf(nil); got != acp.Answered {
		t.Errorf("no error is %v", got)
	}
	if got := acp.OutcomeOf(errors.New("something else")); got != acp.MaybeSent {
		t.Errorf("a foreign error is %v", got)
	}
}

func TestTheReasonThatAnAgentPutsIntoTheDataIsInTheErrorsText(t *testing.T) {
	for data, want := range map[string]string{
		`{"details":"no  such\nproject"}`:    "Internal error: no such project (code -32603)",
		`"quota"`:                            "Internal error: quota (code -32603)",
		`{"error":7,"reason":"late"}`:        "Internal error: late (code -32603)",
		`{"details":"Internal"}`:             "Internal error (code -32603)",
		`{"path":"cwd"}`:                     "Internal error (code -32603)",
		`[1]`:                                "Internal error (code -32603)",
		`null`:                               "Internal error (code -32603)",
		``:                                   "Internal error (code -32603)",
		`"` + strings.Repeat("é", 200) + `"`: "Internal error: " + strings.Repeat("é", 150) + "… (code -32603)",
	} {
		err := &acp.RequestError{Code: acp.CodeInternalError, Message: "Internal error", Data: []byte(data)}
		if err.Error() != want {
			t.Errorf("%s: %s", data, err)
		}
	}
}
