package agent

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"text/template"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/tool"
)

//go:embed system.md
var systemText string

// environment is what the system prompt's template knows.
type environment struct {
	Folder   string
	More     string
	Platform string
	tools    map[string]bool
}

// Has tells whether a tool is offered: rules about others are left out.
func (e environment) Has(name string) bool { return e.tools[name] }

// systemPrompt tells the model where it is and how to work, by the tools it has.
func systemPrompt(h host.Host, tools []tool.Tool) (string, error) {
	roots := h.Roots()
	env := environment{
		Folder: roots[0], More: strings.Join(roots[1:], ", "), Platform: runtime.GOOS, tools: map[string]bool{},
	}
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
