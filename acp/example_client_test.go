package acp_test

import (
	"context"
	"fmt"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// A client of an agent in the same program; Spawn is used the same way for an agent that
// is a program of its own.
func Example_client() {
	ctx := context.Background()
	mine, theirs := transport.Pipe()
	if _, err := acp.Accept(ctx, theirs, hello{}, nil); err != nil {
		fmt.Println(err)
		return
	}
	agent, err := acp.Connect(ctx, mine, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	session, err := agent.NewSession(ctx, acp.NewSessionRequest{Cwd: "/project"})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn := session.Prompt(ctx, acp.Text("hello"))
	for update := range turn.Updates() {
		if chunk, ok := update.(acp.AgentMessageChunk); ok {
			fmt.Println(acp.PlainText(chunk.Content))
		}
	}
	result, err := turn.Result()
	fmt.Println(result.StopReason, err)
	// Output:
	// Hello from Go!
	// end_turn <nil>
}
