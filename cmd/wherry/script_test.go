package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"wherry": main})
}

// TestScripts runs the real command as a person would: testdata/*.txtar. A script gets an empty HOME, no keys, and the
// command "double", which starts a model server and sets the variables that lead to it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "WHERRY_MODEL"} {
				env.Setenv(name, "")
			}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"double": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: double")
				}
				server := modeltest.NewServer()
				ts.Defer(server.Close)
				for name, value := range map[string]string{
					"OPENAI_BASE_URL": server.URL + "/v1", "ANTHROPIC_BASE_URL": server.URL, "GEMINI_BASE_URL": server.URL,
					"OPENAI_API_KEY": "sk-canary-key", "ANTHROPIC_API_KEY": "sk-ant-canary-key", "GEMINI_API_KEY": "canary-key",
				} {
					ts.Setenv(name, value)
				}
			},
		},
		RequireExplicitExec: true,
	})
}
