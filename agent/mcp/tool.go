package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/tool"
)

const (
	maxDescription = 2048 // characters of a tool's description
	maxArgs        = 1 << 20
	maxTitle       = 120 // characters
)

// serverTool is a tool of a server.
type serverTool struct {
	server *server
	name   string // as the server calls it
	spec   tool.Spec
	class  approval.Class
	kind   tool.Kind
}

var _ tool.Tool = (*serverTool)(nil)

// newTool makes a tool of what a server listed. The problem says what could not be taken as it was described.
func (s *server) newTool(t *sdk.Tool) (made *serverTool, problem string) {
	schema, problem := schemaOf(t.InputSchema)
	made = &serverTool{server: s, name: t.Name, class: approval.ClassServer, kind: tool.KindOther}
	if s.cfg.Trust == TrustHints {
		made.class = approval.ClassExecute
	}
	if s.cfg.Trust == TrustHints && t.Annotations != nil && t.Annotations.ReadOnlyHint {
		made.class, made.kind = approval.ClassRead, tool.KindRead
	}
	made.spec = tool.Spec{
		Name:        s.set.names.of(s.cfg.Name, t.Name),
		Description: s.describeTool(t),
		Schema:      schema,
		ReadOnly:    made.class == approval.ClassRead,
	}
	return made, problem
}

// describeTool gives the model the server's words, said to be the server's.
func (s *server) describeTool(t *sdk.Tool) string {
	words := strings.TrimSpace(s.secrets.result(plain(t.Description)))
	if words == "" {
		words = strings.TrimSpace(plain(t.Title))
	}
	head := fmt.Sprintf("The tool %q of the MCP server %q.", clip(plain(t.Name), 100), s.cfg.Name)
	if words == "" {
		return head + " The server does not describe it."
	}
	return head + " The server describes it so:\n" + clip(words, maxDescription)
}

// Spec implements [tool.Tool].
func (t *serverTool) Spec() tool.Spec { return t.spec }

// Prepare implements [tool.Tool]. What the arguments must be is for the server to check: it knows its draft of JSON Schema.
func (t *serverTool) Prepare(_ context.Context, _ tool.Env, raw json.RawMessage) (tool.Call, error) {
	args, err := object(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.spec.Name, err)
	}
	return &call{tool: t, args: args}, nil
}

// object gives the arguments as a JSON object without duplicate names, since which of two would count is for nobody to say.
func object(raw json.RawMessage) (json.RawMessage, error) {
	value := jsontext.Value(strings.TrimSpace(string(raw)))
	if len(value) == 0 || string(value) == "null" {
		return json.RawMessage("{}"), nil
	}
	if len(value) > maxArgs {
		return nil, fmt.Errorf("the arguments are larger than %d KiB", maxArgs>>10)
	}
	if !value.IsValid() || value.Compact() != nil { // only the first is strict about names
		return nil, errors.New("the arguments are not valid JSON, or have a name twice: send them again")
	}
	if value.Kind() != '{' {
		return nil, errors.New("the arguments must be a JSON object")
	}
	return json.RawMessage(value), nil
}

// Presentation implements [tool.Call]. What is presented is, byte for byte, what is sent.
func (c *call) Presentation() tool.Presentation {
	t := c.tool
	title := t.server.cfg.Name + ": " + t.name
	if string(c.args) != "{}" {
		title += " " + string(c.args)
	}
	return tool.Presentation{
		Class: t.class, Kind: t.kind,
		Title:   clip(strings.Join(strings.Fields(plain(title)), " "), maxTitle),
		Request: &tool.RequestView{Server: t.server.cfg.Name, Tool: t.name, Args: c.args},
	}
}

// clip shortens s to at most limit characters, the last of which is then "…".
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
