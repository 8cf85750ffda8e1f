package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/config"
)

func TestTheDocumentedSettingsAreValidAndComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```toml\n")
	example, _, _ := strings.Cut(after, "```")
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"WHERRY_CONFIG": path, "HOME": dir, "USERPROFILE": dir}
	s := config.Load(config.Options{
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Providers: providerIDs(),
	})
	for _, p := range s.Problems {
		t.Error(p)
	}
	for _, e := range s.List() {
		if e.Source.Layer != config.Global {
			t.Errorf("%s is not in the example", e.Key)
		}
	}
}
