package main

import (
	"errors"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/bridge"
)

type acpCommand struct {
	settings
}

// Run serves one editor until it closes stdin.
func (c *acpCommand) Run(env *environment) (err error) {
	built, err := c.build("wherry acp", "", env.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, built.close()) }()
	options := bridge.Options(built.protocol, implementation("wherry", "wherry"))
	err = acp.ServeStdio(env.ctx, bridge.New(built.agent, host.LocalOptions{}), options)
	if env.ctx.Err() != nil {
		return nil // ended as it was told to
	}
	return err
}
