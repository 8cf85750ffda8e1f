package bridge

import (
	"fmt"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/mcp"
)

// serversIn gives the MCP servers that a client brings. What cannot be one is an error that names the entry; a server that
// cannot be reached is told in the conversation, and harms nothing else.
func serversIn(brought []acp.MCPServer) ([]mcp.Server, error) {
	out := make([]mcp.Server, 0, len(brought))
	for i, b := range brought {
		var s mcp.Server
		switch b := b.(type) {
		case acp.MCPServerStdio:
			s = mcp.Server{Name: b.Name, Transport: mcp.TransportStdio, Command: b.Command, Args: b.Args, Env: map[string]string{}}
			for _, v := range b.Env {
				s.Env[v.Name] = v.Value
			}
		case acp.MCPServerHTTP:
			s = mcp.Server{Name: b.Name, Transport: mcp.TransportHTTP, URL: b.URL, Headers: headers(b.Headers)}
		case acp.MCPServerSSE:
			s = mcp.Server{Name: b.Name, Transport: mcp.TransportSSE, URL: b.URL, Headers: headers(b.Headers)}
		default:
			return nil, badParams(fmt.Sprintf("mcpServers[%d]", i), "a server of type stdio, http or sse", "another one")
		}
		if err := s.Validate(); err != nil {
			return nil, badParams(fmt.Sprintf("mcpServers[%d]", i), "a server that can be reached", err.Error())
		}
		out = append(out, s)
	}
	return out, nil
}

func headers(all []acp.HTTPHeader) map[string]string {
	out := map[string]string{}
	for _, h := range all {
		out[h.Name] = h.Value
	}
	return out
}
