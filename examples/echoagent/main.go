// Echoagent is an ACP agent without a model that uses every part of the protocol an agent usually needs: it streams,
// asks, can be cancelled, reads and writes files through the client, runs commands in the client's terminals, plans, has
// modes and commands, and keeps its sessions.
//
// Say something to it and it says it back. Say "help" for what else it does. In an editor, configure it as
//
//	go run github.com/wherry-acp/wherry/examples/echoagent -state DIR
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/wherry-acp/wherry/acp"
)

func main() {
	state := flag.String("state", filepath.Join(os.TempDir(), "echoagent"), "keep sessions in this `folder`")
	flag.Parse()
	agent, err := newAgent(*state)
	if err != nil {
		log.Fatal(err)
	}
	// Standard output belongs to the protocol: the log goes to standard error, as what a stray print writes does.
	opts := &acp.AgentOptions{
		Options: acp.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))},
		Info:    &acp.Implementation{Name: "echoagent", Title: "Echo", Version: "1.0.0"},
	}
	if err := acp.ServeStdio(context.Background(), agent, opts); err != nil {
		log.Fatal(err)
	}
}
