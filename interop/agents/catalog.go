//go:build linux

package main

import (
	"fmt"
	"path/filepath"

	"github.com/wherry-acp/wherry/acp"
)

// agent is a program of someone else and how it is run.
type agent struct {
	name    string
	build   string   // the Go package that is built; empty for programs from npm
	pkg     string   // the npm package whose version is told; its lock is locks/NAME
	node    string   // what runs it: "" itself, "node" the one of this machine, "node22" one that is installed for it
	program string   // below node_modules
	args    []string // of the program

	env    func(home, model string) []string          // besides HOME and PATH; model is the URL of the model's double
	config func(home, model string) map[string]string // files by path below home

	// unprivileged agents refuse to run as root.
	unprivileged bool
	// minutes says that the agent names its session files by the minute: a process that loads a session in the minute in
	// which it began writes over it.
	minutes bool
	// mode is set before the first prompt, if it is not empty.
	mode acp.SessionModeID
	// tries is what the agent's own tools can do.
	tries tries
	// refused is how a turn ends whose permission was refused, end_turn if empty.
	refused acp.StopReason
}

// tries says which of the optional parts an agent is tried with.
type tries struct {
	unasked bool // it has no permissions: its commands run unasked
	files   bool // it has a tool that writes a file and asks first
}

// catalog lists the agents. Their options are those that make them ask before each command.
func catalog() []agent {
	claude := func(_, model string) []string {
		return []string{"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=of-nobody", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	}
	return []agent{
		{
			name: "wherry", build: "./cmd/wherry", args: []string{"acp", "--model", "anthropic/fake"}, tries: tries{files: true},
			env: func(_, model string) []string {
				return []string{"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=of-nobody", "WHERRY_KEYRING=off"}
			},
		},
		{
			name: "codex-acp", pkg: "@zed-industries/codex-acp", program: "@zed-industries/codex-acp-linux-x64/bin/codex-acp",
			env:     codexEnv,
			config:  func(home, model string) map[string]string { return codexConfig(home, model, "untrusted") },
			refused: acp.StopCancelled,
		},
		{
			name: "claude-code-acp", pkg: "@zed-industries/claude-code-acp", node: "node",
			program: "@zed-industries/claude-code-acp/dist/index.js", env: claude, unprivileged: true, tries: tries{files: true},
		},
		{
			name: "gemini-cli", pkg: "@google/gemini-cli", node: "node", program: "@google/gemini-cli/bundle/gemini.js", args: []string{"--acp"},
			env: func(_, model string) []string {
				return []string{"GOOGLE_GEMINI_BASE_URL=" + model, "GEMINI_API_KEY=of-nobody"}
			},
			tries: tries{files: true}, minutes: true,
		},
		{
			name: "kimi-code", pkg: "@moonshot-ai/kimi-code", node: "node22", program: "@moonshot-ai/kimi-code/dist/main.mjs", args: []string{"acp"},
			config: func(_, model string) map[string]string {
				return map[string]string{".kimi-code/config.toml": fmt.Sprintf(`default_model = "fake"
[providers.fake]
type = "openai"
base_url = "%s/v1"
api_key = "of-nobody"
[models.fake]
provider = "fake"
model = "fake"
max_context_size = 100000
`, model)}
			},
			tries: tries{files: true},
		},
		{
			name: "opencode", pkg: "opencode-linux-x64", program: "opencode-linux-x64/bin/opencode", args: []string{"acp"},
			config: func(_, model string) map[string]string {
				return map[string]string{".config/opencode/opencode.json": fmt.Sprintf(`{
  "autoupdate": false, "share": "disabled", "model": "fake/fake", "small_model": "fake/fake",
  "permission": {"bash": "ask", "edit": "ask"},
  "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "%s/v1", "apiKey": "of-nobody"},
    "models": {"fake": {"tool_call": true, "limit": {"context": 100000, "output": 8000}}}}}
}`, model)}
			},
			tries: tries{files: true},
		},
		{
			name: "copilot", pkg: "@github/copilot", program: "@github/copilot-linux-x64/copilot", args: []string{"--acp"},
			env: func(_, model string) []string {
				return []string{
					"COPILOT_PROVIDER_BASE_URL=" + model + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=of-nobody",
					"COPILOT_MODEL=fake", "COPILOT_OFFLINE=true",
				}
			},
		},
		{
			name: "qwen-code", pkg: "@qwen-code/qwen-code", node: "node22", program: "@qwen-code/qwen-code/cli-entry.js", args: []string{"--acp"},
			env: func(_, model string) []string {
				return []string{"OPENAI_BASE_URL=" + model + "/v1", "OPENAI_API_KEY=of-nobody", "OPENAI_MODEL=fake"}
			},
			tries: tries{files: true},
		},
		{
			name: "claude-agent-acp", pkg: "@agentclientprotocol/claude-agent-acp", node: "node",
			program: "@agentclientprotocol/claude-agent-acp/dist/index.js", env: claude, unprivileged: true, tries: tries{files: true},
			config: func(_, _ string) map[string]string {
				return map[string]string{".claude/settings.json": `{"permissions": {"ask": ["Bash", "Write"]}}`}
			},
		},
		{
			name: "codex-acp-ts", pkg: "@agentclientprotocol/codex-acp", node: "node22", program: "@agentclientprotocol/codex-acp/dist/index.js",
			env: codexEnv,
			config: func(home, model string) map[string]string {
				files := codexConfig(home, model, "on-request")
				files[".codex/rules/default.rules"] = `prefix_rule(pattern = ["bash"], decision = "prompt")
prefix_rule(pattern = ["echo"], decision = "prompt")
`
				return files
			},
			refused: acp.StopCancelled, mode: "workspace-write", // its first mode has a model review commands, and asks no one
		},
		{
			name: "pi-acp", pkg: "pi-acp", node: "node22", program: "pi-acp/dist/index.js", tries: tries{unasked: true},
			config: func(_, model string) map[string]string {
				return map[string]string{
					".pi/agent/models.json": fmt.Sprintf(`{"providers": {"fake": {"baseUrl": "%s/v1", "api": "openai-completions", "apiKey": "of-nobody",
  "models": [{"id": "fake", "name": "fake", "input": ["text"], "contextWindow": 100000, "maxTokens": 8000, "reasoning": false,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}`, model),
					".pi/agent/settings.json": `{"defaultProvider": "fake", "defaultModel": "fake"}`,
				}
			},
		},
	}
}

func codexEnv(home, _ string) []string {
	return []string{"CODEX_HOME=" + filepath.Join(home, ".codex"), "FAKE_KEY=of-nobody"}
}

// codexConfig has the policy ask before commands. There is no sandbox: it would need a program that not every machine has.
func codexConfig(_, model, policy string) map[string]string {
	return map[string]string{".codex/config.toml": fmt.Sprintf(`model = "fake"
model_provider = "fake"
approval_policy = "%s"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
`, policy, model)}
}
