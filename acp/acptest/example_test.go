package acptest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/transport"
)

// An agent that is played from a script, and a client that talks to it. In a test
// Script.Agent does the connecting.
func ExampleScript() {
	script := acptest.Script{Name: "greeter", Steps: []acptest.Step{
		acptest.Handshake(nil),
		acptest.Expect("session/new").With(`{"cwd":"/project"}`).Reply(`{"sessionId":"s1"}`),
		acptest.Expect("session/prompt").With(`{"prompt":[{"type":"text","text":"hi"}]}`).As("turn"),
		acptest.Say("s1", "hello"),
		acptest.Reply("turn", `{"stopReason":"end_turn"}`),
	}}
	mine, theirs := transport.Pipe()
	played := make(chan error)
	go func() { played <- script.Serve(context.Background(), theirs) }()

	agent, err := acp.Connect(context.Background(), mine, &acp.ClientOptions{Info: &acp.Implementation{Name: "ed", Version: "1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := agent.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/project"})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn := session.Prompt(context.Background(), acp.Text("good morning"))
	if _, err := turn.Result(); err != nil {
		fmt.Println("the turn failed")
	}
	fmt.Println(<-played)
	_ = agent.Close()
	// Output:
	// the turn failed
	// greeter, step 3 of 5 (expect the request session/prompt with {"prompt":[{"type":"text","text":"hi"}]}): params.prompt[0].text: want "hi", got "good morning"
	// 	got     request session/prompt {"sessionId":"s1","prompt":[{"type":"text","text":"good morning"}]}
	// 	before  ← {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"ed","version":"1"}}}
	// 	before  → {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}
	// 	before  ← {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/project","mcpServers":[]}}
	// 	before  → {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}
}

// A whole client in a script, for the test of an agent. "$s" takes the id that the agent
// has chosen.
func ExampleScript_Client() {
	test := func(t *testing.T) {
		acptest.Script{Steps: []acptest.Step{
			acptest.Greet(nil),
			acptest.Call("session/new", `{"cwd":"/project","mcpServers":[]}`).With(`{"sessionId":"$s"}`),
			acptest.Request("turn", "session/prompt", `{"sessionId":"$s","prompt":[{"type":"text","text":"hi"}]}`),
			acptest.ExpectText("Hello from Go!"),
			acptest.ExpectAnswer("turn").With(`{"stopReason":"end_turn"}`),
		}}.Client(t, hello{}, nil)
	}
	fmt.Println(testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "TestHello", F: test}}))
	// Output: true
}

func ExampleTestAgent() {
	// In a test file of the agent:
	test := func(t *testing.T) {
		acptest.TestAgent(t, func() acp.Agent { return hello{} }, &acptest.TestOptions{Minimal: true})
	}
	_ = test
}
