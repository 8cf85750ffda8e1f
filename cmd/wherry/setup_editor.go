package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/wherry-acp/wherry/agent/atomicfile"
	"github.com/wherry-acp/wherry/cmd/wherry/editorfile"
)

// editor is one that can start wherry.
type editor struct {
	id, title string
	// file is where it keeps its agents; "" if it is not a file that can be edited here.
	file func(get func(string) string) string
	// agent is the entry in that file.
	agent func(command string) editorfile.Agent
	// settings are what to put where, for an editor without such a file.
	settings []setting
}

// setting is a piece of configuration to paste.
type setting struct {
	where string // "init.lua, with CodeCompanion"
	text  string // with COMMAND for the path of this program, quoted
}

func editors() []editor {
	return []editor{
		{
			id: "zed", title: "Zed", file: zedFile,
			agent: func(command string) editorfile.Agent {
				return editorfile.Agent{Type: "custom", Command: command, Args: []string{"acp"}, Env: map[string]string{}}
			},
		},
		{
			id: "jetbrains", title: "JetBrains", file: jetbrainsFile,
			agent: func(command string) editorfile.Agent {
				return editorfile.Agent{Command: command, Args: []string{"acp"}, Env: map[string]string{}}
			},
		},
		{id: "neovim", title: "Neovim", settings: []setting{
			{where: "with CodeCompanion", text: codeCompanion},
			{where: "with avante.nvim", text: avante},
		}},
		{id: "emacs", title: "Emacs", settings: []setting{{where: "with agent-shell", text: agentShell}}},
	}
}

func findEditor(id string) (editor, bool) {
	for _, e := range editors() {
		if e.id == id {
			return e, true
		}
	}
	return editor{}, false
}

const codeCompanion = `require("codecompanion").setup({
  adapters = {
    acp = {
      wherry = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "wherry",
          formatted_name = "wherry",
          commands = { default = { COMMAND, "acp" } },
        })
      end,
    },
  },
})
`

const avante = `require("avante").setup({
  provider = "wherry",
  acp_providers = {
    wherry = { command = COMMAND, args = { "acp" } },
  },
})
`

const agentShell = `(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'wherry
                :mode-line-name "wherry"
                :buffer-name "wherry"
                :shell-prompt "wherry> "
                :shell-prompt-regexp "wherry> "
                :client-maker (lambda (buffer)
                                (acp-make-client :command COMMAND
                                                 :command-params '("acp")
                                                 :context-buffer buffer)))))
`

// snippets are the settings to paste, each with where it goes.
func (e editor) snippets(command string, get func(string) string) ([]setting, error) {
	if e.agent != nil {
		text, err := json.MarshalIndent(map[string]any{editorfile.Servers: map[string]editorfile.Agent{"wherry": e.agent(command)}}, "", "  ")
		return []setting{{where: e.file(get), text: string(text) + "\n"}}, err
	}
	var out []setting
	for _, s := range e.settings {
		out = append(out, setting{where: s.where, text: strings.ReplaceAll(s.text, "COMMAND", quote(command))})
	}
	return out, nil
}

// quote writes a string as Lua and Emacs Lisp both read it.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}

// zedFile is Zed's settings.json.
func zedFile(get func(string) string) string {
	switch {
	case runtime.GOOS == "windows" && get("APPDATA") != "":
		return filepath.Join(get("APPDATA"), "Zed", "settings.json")
	case runtime.GOOS != "darwin" && filepath.IsAbs(get("XDG_CONFIG_HOME")):
		return filepath.Join(get("XDG_CONFIG_HOME"), "zed", "settings.json")
	}
	return inHome(get, ".config", "zed", "settings.json")
}

func jetbrainsFile(get func(string) string) string { return inHome(get, ".jetbrains", "acp.json") }

// inHome is a path in the person's home; "" if that is not known.
func inHome(get func(string) string, parts ...string) string {
	home := get("HOME")
	if runtime.GOOS == "windows" {
		home = get("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// change is an edit of an editor's file that was worked out and not made yet.
type change struct {
	path        string
	old, edited []byte
	existed     bool
}

// change works out the edit of the editor's file. It is nil when the file is as it should be.
func (e editor) change(command string, get func(string) string) (*change, error) {
	c := &change{path: e.file(get)}
	if c.path == "" {
		return nil, fmt.Errorf("it is not known where %s keeps its settings, because HOME is not set: %w", e.title, editorfile.ErrByHand)
	}
	var err error
	if c.old, c.existed, err = readSettings(c.path); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	if c.edited, err = editorfile.WithAgent(c.old, "wherry", e.agent(command)); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	if bytes.Equal(c.old, c.edited) {
		return nil, nil
	}
	return c, nil
}

// readSettings reads a file of settings, which need not be there.
func readSettings(path string) (data []byte, existed bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, errors.New("it is not a regular file")
	case info.Size() > 8<<20:
		return nil, false, errors.New("it is too large to be settings")
	}
	data, err = os.ReadFile(path)
	return data, true, err
}

// diff shows the edit.
func (c *change) diff() string {
	from := c.path
	if !c.existed {
		from = "/dev/null"
	}
	return strings.TrimRight(udiff.Unified(from, c.path, string(c.old), string(c.edited)), "\n")
}

// write makes the edit that was shown, if the file is still what it was then. What was there is kept beside it; backup is
// its path, "" if there was no file.
func (c *change) write() (backup string, err error) {
	now, existed, err := readSettings(c.path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.path, err)
	}
	if existed != c.existed || !bytes.Equal(now, c.old) {
		return "", fmt.Errorf("%s was changed in the meantime and is left alone: run `wherry setup` again", c.path)
	}
	if c.existed {
		if backup, err = keepCopy(c.path, c.old); err != nil {
			return "", err
		}
	}
	return backup, atomicfile.Write(c.path, c.edited, 0o600)
}

// keepCopy writes the backup of a file, under a name that is free.
func keepCopy(path string, data []byte) (string, error) {
	for n := 1; ; n++ {
		name := path + ".before-wherry"
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keep a copy of %s: %w", path, err)
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("keep a copy of %s: %w", path, err)
		}
		return name, nil
	}
}

// programPath is where this program is for an editor, which may know no PATH: the name in PATH if it leads here, because
// that stays through upgrades, else the file itself.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if named, err := exec.LookPath("wherry"); err == nil && sameFile(named, self) {
		if abs, err := filepath.Abs(named); err == nil {
			return abs, nil
		}
	}
	return self, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
