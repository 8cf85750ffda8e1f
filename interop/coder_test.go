//go:build unix

package interop

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTheExampleClientOfAnotherGoSDKCompletesATurn(t *testing.T) {
	for name, tt := range map[string]struct {
		agent []string
		says  string
	}{
		"with wherry":              {[]string{installed.wherry, "acp"}, "Hello"},
		"with an agent of our SDK": {[]string{installed.self, agentCommand}, "Hello, \n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"README.md": "# Ferry\n\nHello, agents of the world.\n"})
			log := filepath.Join(t.TempDir(), "wire.jsonl")
			// It reads the choice at each permission from its input; the first option is taken every time.
			out := string(runProgram(t, dir, agentEnv(t.TempDir()), strings.Repeat("1\n", 100),
				installed.coderClient, append([]string{installed.self, teeCommand, log}, tt.agent...)...))
			for _, want := range []string{"Connected to agent (protocol v1)", "Created session: ", tt.says, "Agent completed"} {
				if !strings.Contains(out, want) {
					t.Errorf("the client did not print %q:\n%s", want, out)
				}
			}
			for _, problem := range officialSchema(t).check(readWire(t, log)) {
				t.Errorf("against the official schema: %s", problem)
			}
		})
	}
}
