package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/bridge"
)

type acpCommand struct {
	settings
	// Login is how editors run the setup: they add what an auth method says to the command that starts the agent.
	Login string `arg:"" name:"setup" optional:"" enum:",setup" default:"" help:"With the word setup it is \"wherry setup\": what an editor runs in a terminal to log in."`
}

// Run serves one editor until it closes stdin.
func (c *acpCommand) Run(env *environment) (err error) {
	if c.Login != "" {
		return (&setupCommand{}).Run(env)
	}
	if isTerminal(env.stdin) {
		fmt.Fprintln(env.stderr, "wherry: waiting for an editor to speak the Agent Client Protocol on stdin. This command is for an editor to start: see \"wherry acp --help\". "+
			"To ask something here: wherry run \"…\"")
	}
	built, err := c.build("wherry acp", env.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, built.close()) }()
	defer warm(env.ctx, built.agent)()
	b := bridge.New(built.agent, host.LocalOptions{})
	options := b.Options(built.protocol, implementation("wherry", "wherry"))
	err = acp.ServeStdio(env.ctx, b, options)
	if env.ctx.Err() != nil {
		err = nil // ended as it was told to
	}
	return errors.Join(err, closeSessions(env.ctx, b))
}

// warm opens the session store while the editor and wherry introduce themselves, so that the first session need not wait for
// it. What is wrong with the store is told when it is needed. The function that is returned waits for the end.
func warm(ctx context.Context, a *agent.Agent) (wait func()) {
	var opening sync.WaitGroup
	opening.Go(func() { _, _ = a.List(ctx, session.Filter{Limit: 1}) })
	return opening.Wait
}

// closeWait bounds how long ending takes when the client is gone.
const closeWait = 5 * time.Second

// closeSessions ends what the sessions of a connection have started.
func closeSessions(ctx context.Context, b *bridge.Bridge) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
	defer cancel()
	return b.Close(ctx)
}
