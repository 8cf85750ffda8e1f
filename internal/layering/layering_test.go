// Package layering holds the test that keeps imports pointing one way. It has no code.
package layering

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/wherry-acp/wherry"

// mayImport says, for each top folder, which top folders of this module its packages may import. A folder that is not
// here fails the test: whoever adds one says where it stands.
var mayImport = map[string][]string{
	"acp":         {"acp"},
	"agent":       {"agent"},
	"bridge":      {"bridge", "agent", "acp"},
	"server":      {"server", "bridge", "agent", "acp"},
	"conformance": {"conformance", "acp"},
	"cmd":         {"cmd", "server", "bridge", "agent", "acp", "conformance"},
	"internal":    {"internal"},
	"scripts":     {},
	"docs":        {"acp", "agent", "bridge", "server"},
	"examples":    {"examples", "acp"},
	"interop":     {"interop", "acp", "agent"},
	"editors":     {"acp", "agent"},
}

// sdkLibraries are the modules that the SDK may use, and where; everything else it uses is the standard library.
var sdkLibraries = map[string]string{
	"github.com/go-json-experiment/json": "acp",
	"github.com/coder/websocket":         "acp/transport",
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range goFiles(t) {
		top, _, _ := strings.Cut(f.dir, "/")
		allowed, known := mayImport[top]
		if !known {
			t.Errorf("%s: the folder %s has no place in the import order; give it one in this test", f.path, top)
			continue
		}
		for _, imp := range f.imports {
			ours, ok := strings.CutPrefix(imp, module+"/")
			if !ok {
				continue
			}
			target, _, _ := strings.Cut(ours, "/")
			if !slices.Contains(allowed, target) {
				t.Errorf("%s imports %s: packages in %s may import only %v", f.path, imp, top, allowed)
			}
		}
	}
}

func TestTheSDKUsesTheStandardLibraryAndItsTwoLibraries(t *testing.T) {
	for _, f := range goFiles(t) {
		if !under(f.dir, "acp") || strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, imp := range f.imports {
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") || under(imp, module) {
				continue
			}
			if !sdkMayUse(imp, f.dir) {
				t.Errorf("%s imports %s: whoever uses the SDK would get that dependency too", f.path, imp)
			}
		}
	}
}

func sdkMayUse(imp, dir string) bool {
	for library, where := range sdkLibraries {
		if under(imp, library) && under(dir, where) {
			return true
		}
	}
	return false
}

func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

type goFile struct {
	path    string // slash-separated, from the module's root
	dir     string
	imports []string
}

// goFiles lists the module's Go files below its root; nested modules, ignored folders and test data are left out.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("find the module's root: %v", err)
	}
	var files []goFile
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "bin", "bench"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Dir(p) == "." || !strings.HasSuffix(p, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(p)), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		f := goFile{path: p, dir: path.Dir(p)}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imp)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatalf("read the imports of the module: %v", err)
	}
	if len(files) == 0 {
		t.Fatal("found no Go file at all")
	}
	return files
}
