package remote_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport/remote"
)

func Example() {
	handler := remote.NewHandler(func(ctx context.Context, conn *remote.Conn) {
		if err := acp.Serve(ctx, conn, tiny{}, nil); err != nil {
			log.Print(err)
		}
	}, nil)
	server := httptest.NewServer(handler) // or http.Handle("/acp", handler)
	defer server.Close()
	defer func() { _ = handler.Shutdown(context.Background()) }()

	conn, err := remote.DialHTTP(server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := acp.Connect(context.Background(), conn, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	session, err := agent.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		log.Fatal(err)
	}
	turn := session.Prompt(context.Background(), acp.Text("say 3"))
	for update := range turn.Updates() {
		if chunk, ok := update.(acp.AgentMessageChunk); ok {
			fmt.Print(acp.PlainText(chunk.Content))
		}
	}
	result, err := turn.Result()
	fmt.Println(result.StopReason, err)
	// Output: 0 1 2 end_turn <nil>
}
