package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wherry-acp/wherry/agent/config"
)

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	for _, run := range []struct{ name, file string }{
		{"without a file", ""},
		{"with a file", "model = \"openai/x\"\nmode = \"edits\"\n[budget]\nsteps = 5\n[mcp.x]\ncommand = \"y\"\n[providers.openai]\nmodels = [\"a\", \"b\"]\n"},
	} {
		b.Run(run.name, func(b *testing.B) {
			path := filepath.Join(dir, "none.toml")
			if run.file != "" {
				path = filepath.Join(dir, "config.toml")
				if err := os.WriteFile(path, []byte(run.file), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			env := map[string]string{"HOME": dir, "WHERRY_CONFIG": path}
			for b.Loop() {
				s := config.Load(config.Options{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
				if len(s.Problems) > 0 {
					b.Fatal(s.Problems[0])
				}
			}
		})
	}
}
