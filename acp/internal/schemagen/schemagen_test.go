package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// testCache is the project's cache of the schema; it is filled on first use.
func testCache(t *testing.T) string {
	t.Helper()
	cache := filepath.Join("..", "..", "..", ".cache", "schema")
	if err := fetch(t.Context(), cache); err != nil {
		t.Fatalf("the schema is not in %s and could not be fetched; `go run ./acp/internal/schemagen -fetch` does it where npm works: %v", cache, err)
	}
	return cache
}

func testModel(t *testing.T) *model {
	t.Helper()
	cache := testCache(t)
	stable, err := readSchema(cache, "schema.json")
	if err != nil {
		t.Fatal(err)
	}
	unstable, err := readSchema(cache, "schema.unstable.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := build(stable, unstable)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheCommittedFilesAreWhatTheGeneratorWrites(t *testing.T) {
	files, err := generate(testCache(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(files, filepath.Join("..", "..")); err != nil {
		t.Errorf("%v\nrun `go run ./acp/internal/schemagen`", err)
	}
	again, err := generate(testCache(t))
	if err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if !bytes.Equal(files[name], again[name]) {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

func TestCheckNamesTheFileAndLineThatDiffer(t *testing.T) {
	files := map[string][]byte{"a_gen.go": []byte("one\ntwo\n"), "b_gen.go": []byte("b\n")}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a_gen.go", "one\nold\n")
	write("c_gen.go", "")
	err := compare(files, dir)
	if err == nil {
		t.Fatal("differences went unnoticed")
	}
	for _, want := range []string{`a_gen.go is not up to date: line 2 is "old" and would be "two"`, "b_gen.go: no such file", "c_gen.go is no longer generated"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestEverySampleIsValidByTheOfficialSchema(t *testing.T) {
	m := testModel(t)
	path := filepath.Join(schemaFolder(testCache(t)), "schema.unstable.json")
	compiler := jsonschema.NewCompiler()
	valid := map[string]*jsonschema.Schema{}
	checked := 0
	for _, s := range m.samples() {
		if s.def.name == "" || strings.Contains(s.text, "_later") || strings.HasPrefix(s.text, `{ "z"`) {
			continue // flattened parts, and what only a later version has
		}
		schema := valid[s.def.name]
		if schema == nil {
			var err error
			if schema, err = compiler.Compile(path + "#/$defs/" + s.def.name); err != nil {
				t.Fatal(err)
			}
			valid[s.def.name] = schema
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(s.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s, %s: %v\n%s", s.def.goName, s.what, err, s.text)
		}
		checked++
	}
	if checked < 400 {
		t.Errorf("only %d samples were checked", checked)
	}
}

func TestEveryDefinitionOfTheSchemaHasAType(t *testing.T) {
	m := testModel(t)
	for _, c := range []struct {
		file     string
		all      int
		routing  int
		unstable bool
	}{{"schema.json", 178, 6, false}, {"schema.unstable.json", 252, 9, true}} {
		o, err := readSchema(testCache(t), c.file)
		if err != nil {
			t.Fatal(err)
		}
		defs := o.object("$defs")
		if len(defs.names) != c.all {
			t.Errorf("%s has %d definitions, expected %d", c.file, len(defs.names), c.all)
		}
		routing := 0
		for _, name := range defs.names {
			switch d := m.byName[name]; {
			case d != nil:
			case defs.object(name).flag("x-docs-ignore"):
				routing++
			default:
				t.Errorf("%s: %s has no type", c.file, name)
			}
		}
		if routing != c.routing {
			t.Errorf("%s: %d definitions are routing unions, expected %d", c.file, routing, c.routing)
		}
	}
	for _, d := range m.defs {
		if d.unstable != strings.HasPrefix(d.goName, "Unstable") {
			t.Errorf("%s: the name does not tell that unstable is %v", d.goName, d.unstable)
		}
		for _, f := range d.fields {
			if f.unstable != strings.HasPrefix(f.goName, "Unstable") {
				t.Errorf("%s.%s: the name does not tell that unstable is %v", d.goName, f.goName, f.unstable)
			}
		}
	}
}

func TestIrregularCasesStillExistInTheSchema(t *testing.T) {
	m := testModel(t)
	name := func(table, key string) *def {
		d := m.byName[key]
		if d == nil {
			d = m.byGo[key]
		}
		if d == nil {
			t.Errorf("%s: there is no %s", table, key)
		}
		return d
	}
	member := func(table, key string) {
		def, f, _ := strings.Cut(key, ".")
		if d := name(table, def); d != nil {
			for _, x := range d.fields {
				if x.name == f {
					return
				}
			}
			t.Errorf("%s: %s has no %s", table, def, f)
		}
	}
	for k := range renamed {
		name("renamed", k)
	}
	for k := range customDefs {
		name("customDefs", k)
	}
	for k := range flatUnions {
		name("flatUnions", k)
	}
	for k := range shapes {
		name("shapes", k)
	}
	for k := range fallbackTags {
		name("fallbackTags", k)
	}
	for k := range pairTypes {
		name("pairTypes", k)
	}
	for k := range constantPrefix {
		if k != "IdleStopReason" {
			name("constantPrefix", k)
		}
	}
	for _, table := range []map[string]bool{emptyStringMeans, absentOK, orderedMaps} {
		for k := range table {
			member("a table of members", k)
		}
	}
	for k := range alwaysWritten {
		member("alwaysWritten", k)
	}
	for k := range decodeWith {
		member("decodeWith", k)
	}
	for def, fields := range patches {
		for _, f := range fields {
			member("patches", def+"."+f)
		}
	}
	for k := range ownVariants {
		def, tag, _ := strings.Cut(k, "/")
		d := name("ownVariants", def)
		if d == nil {
			continue
		}
		found := false
		for _, v := range d.union.variants {
			found = found || v.tagValue == tag
		}
		if !found {
			t.Errorf("ownVariants: %s has no variant %s", def, tag)
		}
	}
	for tag := range updateGates {
		found := false
		for _, v := range m.byName["SessionUpdate"].union.variants {
			found = found || v.tagValue == tag
		}
		if !found {
			t.Errorf("updateGates: there is no update %s", tag)
		}
	}
}

func TestCommentsAreAboutTypesThatExist(t *testing.T) {
	m := testModel(t)
	known := map[string]bool{}
	for _, d := range m.defs {
		n := strings.TrimPrefix(d.goName, "Unstable")
		known[n] = true
		for _, f := range d.fields {
			known[n+"."+strings.TrimPrefix(f.goName, "Unstable")] = true
		}
		for _, f := range d.flats {
			known[n+"."+f.goName] = true
		}
	}
	for k := range typeComments {
		if !known[k] {
			t.Errorf("there is a comment for %s, which does not exist", k)
		}
	}
	for k := range fieldComments {
		if !known[k] {
			t.Errorf("there is a comment for %s, which does not exist", k)
		}
	}
}

func TestGoNamesFollowGo(t *testing.T) {
	for in, want := range map[string]string{
		"sessionId": "SessionID", "mcpServers": "MCPServers", "url": "URL", "mimeType": "MIMEType", "baseUrl": "BaseURL", "cwd": "Cwd",
		"McpServerHttp": "MCPServerHTTP", "fs/read_text_file": "FSReadTextFile", "$/cancel_request": "CancelRequest", "date-time": "DateTime",
		"oneOf": "OneOf", "ElicitationUrlMode": "ElicitationURLMode", "Method not found": "MethodNotFound",
	} {
		if got := goName(in); got != want {
			t.Errorf("goName(%q) is %s, want %s", in, got, want)
		}
	}
}

func TestASchemaThatNoRuleCoversIsAnErrorThatNamesThePlace(t *testing.T) {
	for in, want := range map[string]string{
		`{"$defs":{"A":{"type":"object","properties":{"x":{"type":"tuple"}}}}}`:                            "A.x",
		`{"$defs":{"A":{"type":"object","properties":{"x":{"$ref":"#/$defs/B"}}}}}`:                        "#/$defs/B",
		`{"$defs":{"A":{"type":"object","required":["x"],"properties":{}}}}`:                               "A requires x",
		`{"$defs":{"A":{"type":"object","oneOf":[{"type":"object"}]}}}`:                                    "A is a struct and a union",
		`{"$defs":{"A":{"oneOf":[{"type":"object","title":"odd"}]}}}`:                                      "odd",
		`{"$defs":{"AB":{"type":"string"},"A_B":{"type":"string"}}}`:                                       "two types would be named AB",
		`{"$defs":{"A":{"type":"object","properties":{"n":{"type":"integer","format":"bignum"}}}}}`:        "bignum",
		`{"$defs":{"ARequest":{"type":"object","x-method":"a/b","x-side":"agent"}}}`:                       "a/b",
		`{"$defs":{"A":{"type":"object","properties":{"x":{"type":["string","null"]}},"required":["x"]}}}`: "A.x: required and nullable",
	} {
		o, err := parseJSON([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		_, err = build(o, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", in, err, want)
		}
	}
}

func TestAnArchiveUnpacksOnlyItsSchemaFiles(t *testing.T) {
	dir := t.TempDir()
	archive := testArchive(t, map[string]string{
		"package/schema/v1/schema.json": "{}", "package/schema/../../evil.json": "x", "package/dist/a.js": "x", "package/schema/README.md": "x",
	})
	if err := unpack(archive, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != "out/v1/schema.json" {
		t.Errorf("unpacked %v", got)
	}
}

func testArchive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAPackageWithAnotherDigestIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for npm is a shell script")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf tampered > sdk.tgz\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	cache := t.TempDir()
	err := fetch(t.Context(), cache)
	if err == nil || !strings.Contains(err.Error(), "pinned digest") {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 0 {
		t.Errorf("the cache holds %v, %v", left, err)
	}
}

func TestWithoutNPMTheErrorSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := fetch(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "Node.js") {
		t.Errorf("got %v", err)
	}
}
