// Schemagen writes the protocol types of package acp from the protocol's JSON schema.
//
//	go run ./acp/internal/schemagen            writes acp/*_gen.go and the test data acp/samples_gen_test.go
//	go run ./acp/internal/schemagen -check     fails if they are not what it would write
//	go run ./acp/internal/schemagen -fetch     only fetches the schema
//
// The schema comes from a pinned npm package, checked by its digest and kept in .cache/schema. It is run from the module's root.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "compare with the files that are there instead of writing them")
	fetchOnly := flag.Bool("fetch", false, "fetch the schema and stop")
	dir := flag.String("dir", "acp", "the folder to write to")
	cache := flag.String("cache", filepath.Join(".cache", "schema"), "the folder that keeps the fetched schema")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *cache, *dir, *check, *fetchOnly); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, cache, dir string, check, fetchOnly bool) error {
	if err := fetch(ctx, cache); err != nil || fetchOnly {
		return err
	}
	files, err := generate(cache)
	if err != nil {
		return err
	}
	if check {
		return compare(files, dir)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the generated files by name.
func generate(cache string) (map[string][]byte, error) {
	stable, err := readSchema(cache, "schema.json")
	if err != nil {
		return nil, err
	}
	unstable, err := readSchema(cache, "schema.unstable.json")
	if err != nil {
		return nil, err
	}
	m, err := build(stable, unstable)
	if err != nil {
		return nil, err
	}
	return m.files()
}

func readSchema(cache, name string) (*object, error) {
	path := filepath.Join(schemaFolder(cache), name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o, err := parseJSON(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return o, nil
}

// compare says which files in dir differ from the generated ones, and where.
func compare(files map[string][]byte, dir string) error {
	var errs []error
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !bytes.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s is not up to date: %s", name, firstDifference(got, want)))
		}
	}
	old, err := filepath.Glob(filepath.Join(dir, "*_gen*.go"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := files[filepath.Base(path)]; !ok {
			errs = append(errs, fmt.Errorf("%s is no longer generated", path))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return bytes.Compare([]byte(a.Error()), []byte(b.Error())) })
	return errors.Join(errs...)
}

func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("line %d is %q and would be %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("it has %d lines and would have %d", len(g), len(w))
}
