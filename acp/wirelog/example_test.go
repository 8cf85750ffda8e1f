package wirelog_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/wirelog"
)

// A connection is recorded, and what went over it is read back.
func Example() {
	var file bytes.Buffer
	log := wirelog.NewWriter(&file, &wirelog.WriterOptions{Side: wirelog.Client, Program: "example 1.0"})
	agent, end, err := acptest.Connect(context.Background(), &acptest.Agent{}, nil, &acp.ClientOptions{
		Options: acp.Options{Tap: log.Tap, Garbage: log.Garbage},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := agent.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/project"}); err != nil {
		fmt.Println(err)
	}
	end()
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}

	for record, err := range wirelog.NewReader(&file).All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		var frame struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		if err := json.Unmarshal(record.Msg, &frame); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%v %d %q\n", record.Dir == acp.Outgoing, frame.ID, frame.Method)
	}
	// Output:
	// true 1 "initialize"
	// false 1 ""
	// true 2 "session/new"
	// false 2 ""
}
