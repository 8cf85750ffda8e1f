package clienthost_test

import (
	"context"
	"fmt"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

// A client that lets the agent read, asks about everything else, and does not ask twice
// about the same thing once the answer was "always".
func ExamplePermissions() {
	ctx := context.Background()
	permissions := &clienthost.Permissions{
		Policy: clienthost.AllowReads,
		Audit: func(r clienthost.PermissionRecord) {
			fmt.Println(r.ToolKind, r.Decision, r.How)
		},
	}
	defer permissions.Close(ctx)
	permissions.Listen("window", func(_ context.Context, req acp.RequestPermissionRequest) (clienthost.Answer, error) {
		fmt.Println("May it", req.ToolCall.Title+"?")
		return clienthost.Answer{Decision: clienthost.AllowAlways}, nil // what the person clicked
	})

	agent, end, err := acptest.Connect(ctx, &acptest.Agent{OnPrompt: work}, nil, &acp.ClientOptions{Permission: permissions})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()
	session, err := agent.NewSession(ctx, acp.NewSessionRequest{Cwd: "/project"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := session.Prompt(ctx, acp.Text("test it")).Result(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(permissions.List(session.ID())), "remembered")
	// Output:
	// read allow_once policy
	// May it run the tests?
	// execute allow_always asked
	// execute allow_always remembered
	// 1 remembered
}

// work is an agent's turn that asks for three permissions.
func work(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	test := acp.ToolCallUpdate{ToolCallID: "2", Title: "run the tests", Kind: acp.ToolKindExecute, RawInput: []byte(`{"command":"go test"}`)}
	for _, call := range []acp.ToolCallUpdate{{ToolCallID: "1", Title: "read main.go", Kind: acp.ToolKindRead}, test, test} {
		question := acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: call, Options: []acp.PermissionOption{
			{OptionID: "a", Name: "Allow", Kind: acp.PermissionAllowOnce}, {OptionID: "b", Name: "Reject", Kind: acp.PermissionRejectOnce},
		}}
		answer, err := acp.ClientFrom(ctx).RequestPermission(ctx, question)
		if err != nil {
			return acp.PromptResponse{}, err
		}
		if allowed, _ := acp.PermissionDecision(question, answer); !allowed {
			return acp.PromptResponse{StopReason: acp.StopRefusal}, nil
		}
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}
