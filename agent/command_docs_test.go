package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

func TestTheDocumentedCommandsAreThoseThereAre(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented, are []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(/[^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1]+": "+row[2])
	}
	for _, c := range commands() {
		name := "/" + c.Name
		if c.Hint != "" {
			name += " " + c.Hint
		}
		are = append(are, name+": "+c.Description)
	}
	for i := range documented { // a bar within a table is written so
		documented[i] = regexp.MustCompile(`\\\|`).ReplaceAllString(documented[i], "|")
	}
	for _, c := range are {
		if !slices.Contains(documented, c) {
			t.Errorf("docs/commands.md lacks the row of\n%s", c)
		}
	}
	for _, c := range documented {
		if !slices.Contains(are, c) {
			t.Errorf("docs/commands.md has a row of what is no command:\n%s", c)
		}
	}
	if !t.Failed() && !slices.Equal(documented, are) {
		t.Errorf("docs/commands.md has the commands in another order: %q", are)
	}
}
