package acp

import "slices"

// Side says who handles a method.
type Side uint8

// The sides of a connection.
const (
	AgentSide  Side = iota // the agent handles it, the client calls it
	ClientSide             // the client handles it, the agent calls it
	BothSides              // either may call it
	ProxySide              // a proxy between the two handles it
)

// Method describes one method or notification of the protocol.
type Method struct {
	Name         string // the wire name
	Side         Side   // who handles it
	Notification bool
	Gate         string // the path of the capability it needs, from initialize's params or result; empty for none
	Unstable     bool   // off until a connection opts in
	ParamsName   string // the Go type of its params
	ResultName   string // the Go type of its result; empty for notifications

	params, result func() Message
}

// NewParams returns a new value of the method's params, or nil when they are any JSON.
func (m Method) NewParams() Message { return m.new(m.params) }

// NewResult returns a new value of the method's result, or nil when it is any JSON or the method is a notification.
func (m Method) NewResult() Message { return m.new(m.result) }

func (m Method) new(f func() Message) Message {
	if f == nil {
		return nil
	}
	return f()
}

// Methods returns every method and notification of the protocol, the unstable ones too, ordered by name.
func Methods() []Method { return slices.Clone(methods[:]) }

// LookupMethod returns the request or the notification with the wire name.
func LookupMethod(name string, notification bool) (Method, bool) {
	for i := range methods {
		if methods[i].Name == name && methods[i].Notification == notification {
			return methods[i], true
		}
	}
	return Method{}, false
}

// promptGate returns the path of the agent capability that a content block of a prompt needs, or "" when it needs none.
func promptGate(b ContentBlock) string {
	switch b.(type) {
	case ImageContent, *ImageContent:
		return "agentCapabilities.promptCapabilities.image"
	case AudioContent, *AudioContent:
		return "agentCapabilities.promptCapabilities.audio"
	case EmbeddedResource, *EmbeddedResource:
		return "agentCapabilities.promptCapabilities.embeddedContext"
	default:
		return ""
	}
}

// mcpServerGate returns the path of the agent capability that an MCP server needs, or "" when it needs none.
func mcpServerGate(s MCPServer) string {
	switch s.(type) {
	case MCPServerHTTP, *MCPServerHTTP:
		return "agentCapabilities.mcpCapabilities.http"
	case MCPServerSSE, *MCPServerSSE:
		return "agentCapabilities.mcpCapabilities.sse"
	case UnstableMCPServerACP, *UnstableMCPServerACP:
		return "agentCapabilities.mcpCapabilities.acp"
	default:
		return ""
	}
}
