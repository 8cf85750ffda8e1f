package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryRowOnEditorsHasItsTest compares the table in docs/editors.md with the tests in the folder editors: what the
// document says is tested, and what is tested is said.
func TestEveryRowOnEditorsHasItsTest(t *testing.T) {
	var tested []string
	files, err := filepath.Glob(filepath.Join(root, "editors", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				tested = append(tested, f.Name.Name)
			}
		}
	}
	if len(tested) == 0 {
		t.Fatal("there is no test of editors")
	}
	rows := regexp.MustCompile(`(?m)^\|[^|\n]+\|[^|\n]+\|([^|\n]+)\|$`).FindAllStringSubmatch(read(t, "docs/editors.md"), -1)
	var said []string
	for _, row := range rows[2:] { // below the head
		name := strings.TrimSpace(row[1])
		if !slices.Contains(tested, name) {
			t.Errorf("docs/editors.md names %q, which is no test in editors", name)
		}
		if slices.Contains(said, name) {
			t.Errorf("docs/editors.md names %s twice", name)
		}
		said = append(said, name)
	}
	for _, name := range tested {
		if !slices.Contains(said, name) {
			t.Errorf("docs/editors.md does not say what %s tests", name)
		}
	}
}
