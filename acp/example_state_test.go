package acp_test

import (
	"context"
	"fmt"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// A view of a session that draws again only what has changed.
func ExampleSession_Changes() {
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

	lines := map[int]string{} // what is on the screen
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		for change, state := range session.Changes(ctx) {
			if change.All {
				clear(lines)
			}
			for _, i := range change.Entries {
				switch e := state.Entry(i).(type) {
				case acp.MessageEntry:
					lines[i] = fmt.Sprintf("%s: %s", e.Role, e.Text())
				case acp.ToolCallEntry:
					lines[i] = fmt.Sprintf("%s (%s)", e.Call.Title, e.Call.Status)
				}
			}
			if turn := state.Turn(); turn.Number > 0 && !turn.Running {
				return // one turn is enough here
			}
		}
	}()
	if _, err := session.Prompt(ctx, acp.Text("hello")).Result(); err != nil {
		fmt.Println(err)
	}
	<-drawn
	fmt.Println(lines[0])
	fmt.Println(lines[1])
	fmt.Println(session.State().Turn().Result.StopReason)
	// Output:
	// user: hello
	// agent: Hello from Go!
	// end_turn
}

// Updates from elsewhere, such as a log, add up in the same way.
func ExampleStateBuilder() {
	var builder acp.StateBuilder
	for _, update := range []acp.SessionUpdate{
		acp.AgentMessageChunk{Content: acp.Text("I look at ")},
		acp.AgentMessageChunk{Content: acp.Text("the file.")},
		acp.ToolCall{ToolCallID: "1", Title: "Read main.go", Kind: acp.ToolKindRead},
	} {
		builder.Apply(update)
	}
	before := builder.State()
	builder.Apply(acp.ToolCallUpdate{ToolCallID: "1", Status: acp.ToolCallCompleted})

	for _, state := range []*acp.SessionState{before, builder.State()} {
		call, _, _ := state.ToolCall("1")
		fmt.Println(state.Entry(0).(acp.MessageEntry).Text(), call.Call.Title, call.Call.Status)
	}
	// Output:
	// I look at the file. Read main.go pending
	// I look at the file. Read main.go completed
}
