package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/wherry-acp/wherry/agent/config"
)

// flagGroups are the headings over the flags that every face of the agent has, in the order of the help.
func flagGroups() []kong.Group {
	return []kong.Group{
		{Key: "model", Title: "Who answers:"},
		{Key: "limits", Title: "What it may see and do:"},
		{Key: "places", Title: "Where things are:"},
		{Key: "logs", Title: "Logs:"},
	}
}

// describeFlag is a flag's help with what does the same: its environment variable, and its key in the settings.
func describeFlag(value *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(value)
	switch key, variable := value.Tag.Get("key"), value.Tag.Get("variable"); {
	case key != "":
		return fmt.Sprintf("%s [%s, or the key %s]", text, config.Variable(key), key)
	case variable != "":
		return fmt.Sprintf("%s [%s]", text, variable)
	}
	return text
}

// Help is the manual of the command.
func (*acpCommand) Help() string {
	return `This is the command that an editor starts. It speaks the Agent Client Protocol, one JSON message a line, on stdin and
stdout, serves all sessions of that editor, and ends when the editor closes stdin. On stderr is only what a person has
to know. Nothing has to be set for it to answer: without a key the embedded offline model does.

How an editor starts it ("wherry setup" writes it for you):

    Zed, settings.json, and JetBrains, ~/.jetbrains/acp.json:
        "agent_servers": {"wherry": {"command": "wherry", "args": ["acp"]}}
    Neovim and Emacs: "wherry setup --editor neovim", "wherry setup --editor emacs" print it
    acpx:   acpx --agent "wherry acp" exec "…"
    toad:   toad acp "wherry acp" FOLDER

What a flag says counts before its environment variable, that before the project's settings, and those before yours.

Environment:

    ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY
                      keys of the providers; "wherry setup" can store them instead
    ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL, OLLAMA_HOST, LMSTUDIO_BASE_URL
                      where a provider is reached, if not at its usual address
    WHERRY_KEYRING    off: stored keys are in a file, and not in the system's keyring
    WHERRY_THOUGHT, WHERRY_TITLES, WHERRY_PII_NAMES, WHERRY_SECRETS, WHERRY_COMMANDS, WHERRY_ASK_TIMEOUT,
    WHERRY_BUDGET_STEPS, WHERRY_BUDGET_TOKENS, WHERRY_BUDGET_COST
                      keys of the settings without a flag
    HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE
                      as everywhere

Files:

    config.toml       your settings, in the folder for configuration: ~/.config/wherry, on macOS
                      ~/Library/Application Support/wherry, on Windows %AppData%\wherry
    commands/*.md     beside it: slash commands of your own
    .wherry/          in a session's folder: config.toml and commands of the project; in force once you
                      have trusted them, with "wherry setup --trust FOLDER"
    sessions.db       the sessions, in the folder for state: ~/.local/state/wherry, on macOS
                      ~/Library/Application Support/wherry, on Windows %LocalAppData%\wherry
    keys.json, trust.json
                      beside it: stored keys where there is no keyring, and the projects you trust

Exit codes:

    0    the editor closed stdin, or wherry was told to end
    1    it could not start or go on: the reason is on stderr
    2    wrong usage
    130  told to end a second time, while it was ending what it had started`
}
