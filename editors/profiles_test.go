//go:build unix

package editors

import (
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// profile is a kind of editor: what it offers to an agent and how it names itself.
type profile struct {
	info     acp.Implementation
	files    bool // fs/read_text_file and fs/write_text_file
	terminal bool // terminal/*
	forms    bool // elicitation by form and by URL
	detail   func(*acp.ClientCapabilities)
	servers  []acp.MCPServer // MCP servers of the person, given with every session
	unstable bool            // takes what the protocol has not made stable
}

// zed offers all it has: files, terminals, a terminal to log in with, on/off options, forms, and the _meta members by which
// it takes the output of commands that it does not run itself.
func zed() profile {
	return profile{
		info: acp.Implementation{Name: "zed", Title: "Zed", Version: "1.9.0"}, files: true, terminal: true, forms: true, unstable: true,
		detail: func(c *acp.ClientCapabilities) {
			c.Auth.Terminal = true
			if c.Session == nil {
				c.Session = &acp.ClientSessionCapabilities{}
			}
			c.Session.ConfigOptions = &acp.SessionConfigOptionsCapabilities{Boolean: &acp.BooleanConfigOptionCapabilities{}}
			c.Meta, _ = acp.NewMeta(map[string]any{"terminal_output": true, "terminal-auth": true})
		},
	}
}

// jetbrains offers files and no terminal, and gives the person's MCP servers along.
func jetbrains() profile {
	return profile{
		info: acp.Implementation{Name: "JetBrains AI Assistant", Version: "262.1"}, files: true,
		servers: []acp.MCPServer{tides()},
	}
}

// bare offers nothing and does not say who it is, as a script does.
func bare() profile { return profile{} }

// withEach runs a test as each kind of editor.
func withEach(t *testing.T, test func(t *testing.T, p profile)) {
	for name, p := range map[string]profile{"Zed": zed(), "JetBrains": jetbrains(), "bare": bare()} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, p) })
	}
}
