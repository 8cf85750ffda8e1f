// Command crosscheck checks that the module's packages compile for other systems, without generating code: it reads and
// type-checks them and everything they import from source. For a module with large dependencies that takes seconds
// where a cross build with a cold cache takes minutes.
//
//	go run ./scripts/crosscheck windows/amd64 darwin/arm64
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	failed := false
	for _, target := range os.Args[1:] {
		if err := check(target); err != nil {
			fmt.Fprintf(os.Stderr, "crosscheck: %s: %v\n", target, err)
			failed = true
		}
	}
	if failed || len(os.Args) < 2 {
		os.Exit(1)
	}
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	DepOnly    bool // not of this module's packages
	Module     *struct{ GoVersion string }
}

// check type-checks the packages of the current module and their dependencies for goos/goarch.
func check(target string) error {
	goos, goarch, ok := strings.Cut(target, "/")
	if !ok {
		return errors.New("expected GOOS/GOARCH")
	}
	packages, err := list(goos, goarch)
	if err != nil {
		return err
	}
	fset, done := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}
	own := 0
	for _, p := range packages { // dependencies come before what imports them
		if p.ImportPath == "unsafe" {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		config := types.Config{
			Importer:         importer{done, p.ImportMap},
			Sizes:            types.SizesFor("gc", goarch),
			IgnoreFuncBodies: p.DepOnly,
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		if done[p.ImportPath], err = config.Check(p.ImportPath, fset, files, nil); err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		if !p.DepOnly {
			own++
		}
	}
	if own == 0 {
		return errors.New("no package to check")
	}
	fmt.Printf("%s: %d packages, and %d that they import\n", target, own, len(packages)-own)
	return nil
}

func list(goos, goarch string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Module", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		packages = append(packages, p)
	}
}

// importer finds packages among those that are checked already.
type importer struct {
	done    map[string]*types.Package
	renamed map[string]string // vendored packages of the standard library
}

func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.renamed[path]; ok {
		path = to
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed", path)
}
