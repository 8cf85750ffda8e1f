package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// TestSetupScripts runs setup as a person would: testdata/setup/*.txtar. A script gets an empty HOME, no keys, no keyring, and
// the command "provider KEY [NAME…]", which starts a model server that takes this key alone and has these models, and sets
// the variables with its address.
func TestSetupScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "setup"),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			for name, value := range map[string]string{
				"HOME": home, "USERPROFILE": home, "APPDATA": filepath.Join(home, "appdata"), "LOCALAPPDATA": filepath.Join(home, "local"),
				"XDG_CONFIG_HOME": filepath.Join(home, "conf"), "WHERRY_STATE": filepath.Join(home, "state"),
				"WHERRY_CONFIG": filepath.Join(home, "conf", "wherry", "config.toml"), "WHERRY_KEYRING": "off",
				// nothing listens there, whatever runs on the machine of the test
				"OLLAMA_HOST": "http://127.0.0.1:1", "LMSTUDIO_BASE_URL": "http://127.0.0.1:1",
			} {
				env.Setenv(name, value)
			}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"provider": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) == 0 {
					ts.Fatalf("usage: provider KEY [NAME…]")
				}
				server, err := modeltest.Listen(modeltest.Options{Key: args[0], Models: args[1:], Default: "[[text: ready]]"})
				ts.Check(err)
				ts.Defer(server.Close)
				for name, value := range map[string]string{
					"OPENAI_BASE_URL": server.URL + "/v1", "ANTHROPIC_BASE_URL": server.URL, "GEMINI_BASE_URL": server.URL, "SERVER": server.URL,
				} {
					ts.Setenv(name, value)
				}
			},
			"private": func(ts *testscript.TestScript, neg bool, args []string) {
				info, err := os.Stat(ts.MkAbs(args[0]))
				ts.Check(err)
				if private := info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows"; private == neg {
					ts.Fatalf("%s has the permissions %v", args[0], info.Mode())
				}
			},
		},
		RequireExplicitExec: true,
	})
}

func TestTheSettingsForEditorsAreThoseOfTheDocuments(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "editors.md"))
	if err != nil {
		t.Fatal(err)
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, e := range editors() {
		snippets, err := e.snippets("wherry", func(string) string { return "/h" })
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snippets {
			if !strings.Contains(squeeze(string(document)), squeeze(s.text)) {
				t.Errorf("%s, %s: docs/editors.md does not hold\n%s", e.title, s.where, s.text)
			}
		}
	}
}

func TestPathsAreQuotedAsTheEditorsLanguageDoes(t *testing.T) {
	for _, id := range []string{"zed", "neovim", "emacs"} {
		e, ok := findEditor(id)
		if !ok {
			t.Fatal(id)
		}
		snippets, err := e.snippets(`C:\My "Apps"\wherry.exe`, func(string) string { return "/h" })
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snippets {
			if !strings.Contains(s.text, `"C:\\My \"Apps\"\\wherry.exe"`) {
				t.Errorf("%s:\n%s", id, s.text)
			}
		}
	}
}
