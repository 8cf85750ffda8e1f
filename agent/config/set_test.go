package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wherry-acp/wherry/agent/config"
)

func TestSetChangesOneValueAndNothingElse(t *testing.T) {
	for _, test := range []struct{ name, file, key, value, want string }{
		{"in no file", "", "model", "openai/x", "model = \"openai/x\"\n"},
		{"over a value", "# a\nmodel  =  'a/b' # why\nmode = \"ask\"", "model", "c/d", "# a\nmodel  =  \"c/d\" # why\nmode = \"ask\""},
		{"behind the last one", "mode = \"ask\" # m\n\n# b\n[budget]\nsteps = 1\n", "model", "c/d", "mode = \"ask\" # m\nmodel = \"c/d\"\n\n# b\n[budget]\nsteps = 1\n"},
		{"behind a line without an end", "mode = \"ask\"", "model", "c/d", "mode = \"ask\"\nmodel = \"c/d\"\n"},
		{"behind a list", "roots = [\n  \"/a\", # x\n]\n[budget]\n", "model", "c/d", "roots = [\n  \"/a\", # x\n]\nmodel = \"c/d\"\n[budget]\n"},
		{"before the first table", "# top\n\n# of b\n[budget]\nsteps = 1\n", "model", "c/d", "# top\n\nmodel = \"c/d\"\n\n# of b\n[budget]\nsteps = 1\n"},
		{"with comments alone", "# top", "model", "c/d", "# top\nmodel = \"c/d\"\n"},
		{"in its table", "[budget]\nsteps = 1\n\n[mcp.x]\ncommand = \"c\"\n", "budget.tokens", "5", "[budget]\nsteps = 1\ntokens = 5\n\n[mcp.x]\ncommand = \"c\"\n"},
		{"in an empty table", "[budget]\n", "budget.cost", "5", "[budget]\ncost = 5.0\n"},
		{"over a number", "[budget]\nsteps=1#x\n", "budget.steps", "22", "[budget]\nsteps=22#x\n"},
		{"in a dotted key", "budget.steps = 1\n", "budget.steps", "2", "budget.steps = 2\n"},
		{"in a new table", "mode = \"ask\"\n", "providers.openai.base_url", "http://h/v1", "mode = \"ask\"\n\n[providers.openai]\nbase_url = \"http://h/v1\"\n"},
		{"with the line ends of the file", "mode = \"ask\"\r\n", "model", "c/d", "mode = \"ask\"\r\nmodel = \"c/d\"\r\n"},
		{"with quotes in it", "", "model", `a/"\`, "model = \"a/\\\"\\\\\"\n"},
		{"the same again", "model = \"a/b\"\n", "model", "a/b", "model = \"a/b\"\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "wherry", "config.toml")
			if test.file != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := config.Set(path, test.key, test.value); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("permissions %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestSetRefusesWhatItCannotDo(t *testing.T) {
	for _, test := range []struct{ name, file, key, value, want string }{
		{"a wrong value", "", "mode", "edit", "did you mean"},
		{"an unknown key", "", "modle", "a/b", "cannot be set"},
		{"a list", "", "roots", "/", "cannot be set"},
		{"a broken file", "mode = \n", "model", "a/b", "correct the file first"},
		{"a file with an unknown key", "x = 1\n", "model", "a/b", "correct the file first"},
		{"an inline table", "budget = { tokens = 1 }\n", "budget.steps", "2", "edit it by hand"},
		{"no address", "", "providers.openai.base_url", "h", "not an address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			err := config.Set(path, test.key, test.value)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if got, _ := os.ReadFile(path); string(got) != test.file {
				t.Errorf("the file is now %q", got)
			}
		})
	}
}

// Whatever valid file there is: after Set the value is in force, and all the rest is as it was.
func TestSetIsReadBack(t *testing.T) {
	h := newHome(t)
	rapid.Check(t, func(rt *rapid.T) {
		blank := rapid.SampledFrom([]string{"", "\n", "# note\n", "\n# note\n\n"})
		lines := func(all ...string) string {
			text := ""
			for _, line := range rapid.Permutation(all).Draw(rt, "order")[:rapid.IntRange(0, len(all)).Draw(rt, "n")] {
				text += blank.Draw(rt, "blank") + line + rapid.SampledFrom([]string{"\n", " # x\n"}).Draw(rt, "end")
			}
			return text + blank.Draw(rt, "blank")
		}
		text := lines(`model = "a/b"`, `mode='edits'`, `pii_names = ["x",`+"\n"+` "y"]`, `log = """/log"""`)
		for _, table := range rapid.Permutation([]string{"[budget]\n", "[providers.openai]\n", "[mcp.x]\ncommand = \"c\"\n"}).Draw(rt, "tables") {
			if rapid.Bool().Draw(rt, "there") {
				text += table
				switch table {
				case "[budget]\n":
					text += lines("steps = 5", "cost = 1.5")
				case "[providers.openai]\n":
					text += lines(`models = ["m"]`, `base_url = "http://old"`)
				}
			}
		}
		h.global(text)
		before := h.load()
		if len(before.Problems) > 0 {
			rt.Fatalf("%v in\n%s", before.Problems, text)
		}
		set := rapid.SampledFrom([][2]string{
			{"model", "new/model"}, {"mode", "auto"}, {"budget.steps", "77"}, {"budget.tokens", "88"},
			{"providers.openai.base_url", "http://new"}, {"log", "/new"},
		}).Draw(rt, "set")
		if err := config.Set(h.path, set[0], set[1]); err != nil {
			rt.Fatalf("%v in\n%s", err, text)
		}
		after := h.load()
		if len(after.Problems) > 0 {
			rt.Fatalf("%v", after.Problems)
		}
		now := map[string]string{}
		for _, e := range after.List() {
			now[e.Key] = e.Value
		}
		if now[set[0]] != set[1] {
			rt.Fatalf("%s is %q after setting it to %q", set[0], now[set[0]], set[1])
		}
		for _, e := range before.List() {
			if e.Key != set[0] && now[e.Key] != e.Value {
				rt.Fatalf("%s changed from %q to %q", e.Key, e.Value, now[e.Key])
			}
		}
	})
}
