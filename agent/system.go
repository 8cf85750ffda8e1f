package agent

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"text/template"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/tool"
)

//go:embed system.md
var systemText string

// environment is what the system prompt's template knows.
type environment struct {
	Folder   string
	More     string
	Platform string
	Down     string // MCP servers that cannot be used
	Privacy  string // what placeholders are
	Planning bool   // the session is in mode plan
	tools    map[string]bool
}

// Has tells whether a tool is offered: rules about others are left out.
func (e environment) Has(name string) bool { return e.tools[name] }

// offer is what a request to the model has beside the conversation. MCP servers come and go, so it is made for each.
type offer struct {
	tools  []tool.Tool
	specs  []model.ToolSpec
	system string
	size   int // of specs and system, in tokens, about
}

func (t *turn) offer() (offer, error) {
	o := offer{tools: t.s.tools()}
	env := environment{Down: strings.Join(t.s.downServers(), ", "), Planning: t.s.Mode() == approval.ModePlan}
	if !t.model.Info().Offline {
		env.Privacy = t.s.guard.Instructions()
	}
	var err error
	if o.system, err = systemPrompt(t.host, o.tools, env); err != nil {
		return offer{}, err
	}
	for _, tl := range o.tools {
		spec := tl.Spec()
		o.specs = append(o.specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	o.size = overhead(o.system, o.specs)
	return o, nil
}

// systemPrompt tells the model where it is and how to work, by the tools it has.
func systemPrompt(h host.Host, tools []tool.Tool, env environment) (string, error) {
	roots := h.Roots()
	env.Folder, env.More, env.Platform, env.tools = roots[0], strings.Join(roots[1:], ", "), runtime.GOOS, map[string]bool{}
	for _, tl := range tools {
		env.tools[tl.Spec().Name] = true
	}
	t, err := template.New("system").Parse(systemText)
	if err != nil {
		return "", fmt.Errorf("parse the system prompt: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, env); err != nil {
		return "", fmt.Errorf("write the system prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}
