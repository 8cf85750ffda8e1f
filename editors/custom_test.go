//go:build unix

package editors

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// announcedCommands are the names of the session's commands, as the editor shows them.
func announcedCommands(s *acp.Session) (names []string) {
	for _, c := range s.State().Commands() {
		names = append(names, c.Name)
	}
	return names
}

func TestMarkdownFilesAreCommandsTheProjectsOnceItIsTrusted(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, map[string]string{".wherry/commands/fix.md": "Fix the tide table."})
		write := func(name, text string) {
			t.Helper()
			path := filepath.Join(d.home, "commands", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("tide.md", "---\ndescription: When is high water?\nargument-hint: PLACE\n---\nWhen is high water in $ARGUMENTS? [[text: at noon]]")
		s := d.open()
		if d.wire.await(t.Context(), func(f frame) bool { return f.text("sessionUpdate") == "available_commands_update" }) < 0 {
			t.Fatal("no commands were announced")
		}
		_, updates := d.say(s, "/tide Norwich")
		if !strings.Contains(string(d.model.Last().Body), "When is high water in Norwich?") || spoken(updates) != "at noon" {
			t.Errorf("the model got %s and said %q", d.model.Last().Body, spoken(updates))
		}
		i := slices.IndexFunc(s.State().Commands(), func(c acp.AvailableCommand) bool { return c.Name == "tide" })
		if i < 0 {
			t.Fatalf("announced are %q", announcedCommands(s))
		}
		if hint, ok := s.State().Commands()[i].Input.(acp.UnstructuredCommandInput); !ok || hint.Hint != "PLACE" || s.State().Commands()[i].Description != "When is high water?" {
			t.Errorf("announced is %+v", s.State().Commands()[i])
		}
		if slices.Contains(announcedCommands(s), "fix") || !strings.Contains(noticed(s), "wherry setup --trust "+d.folder) {
			t.Errorf("before it is trusted, announced are %q, told is %q", announcedCommands(s), noticed(s))
		}
		d.say(s, "[[anew]] /fix")
		d.say(s, "/fix")
		if body := string(d.model.Last().Body); strings.Contains(body, "tide table") {
			t.Error("the command of a project that is not trusted went to the model")
		}

		trust := exec.Command(wherry, "setup", "--trust", d.folder, "--yes")
		trust.Env = d.environment()
		if out, err := trust.CombinedOutput(); err != nil || !strings.Contains(string(out), ".wherry/commands/fix.md") {
			t.Fatalf("%v: %s", err, out)
		}
		write("ebb.md", "And low water? [[text: at six]]")
		d.say(s, "/fix")
		if body := string(d.model.Last().Body); !strings.Contains(body, "Fix the tide table.") {
			t.Errorf("once it is trusted, the model got %s", body)
		}
		if names := announcedCommands(s); !slices.Contains(names, "fix") || !slices.Contains(names, "ebb") {
			t.Errorf("announced anew are %q", names)
		}
		d.save(".wherry/commands/fix.md", "Break the tide table.") // with any change it is trusted no more
		d.say(s, "/fix")
		if body := string(d.model.Last().Body); strings.Contains(body, "Break the tide table.") || slices.Contains(announcedCommands(s), "fix") {
			t.Errorf("after a change, announced are %q", announcedCommands(s))
		}
	})
}
