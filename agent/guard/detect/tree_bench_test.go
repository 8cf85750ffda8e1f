package detect

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// tree reads the texts below a folder: the one in the variable TREE, or the source of Go.
func tree(b *testing.B) []string {
	b.Helper()
	root := os.Getenv("TREE")
	if root == "" {
		out, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
		if err != nil {
			b.Skipf("find the source of Go: %v", err)
		}
		root = filepath.Join(strings.TrimSpace(string(out)), "src")
	}
	var all []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		if err == nil && len(text) < 2<<20 && utf8.Valid(text) {
			all = append(all, string(text))
		}
		return err
	})
	if err != nil || len(all) == 0 {
		b.Skipf("read the texts below %s: %v (%d found)", root, err, len(all))
	}
	return all
}

// BenchmarkTree measures how fast a tree of source is scanned, and how often something is found in it.
func BenchmarkTree(b *testing.B) {
	all := tree(b)
	for name, o := range map[string]Options{"secrets": {Secrets: true}, "personal": {Personal: true}} {
		b.Run(name, func(b *testing.B) {
			s := scanner(b, o)
			bytes, spans, files := 0, 0, 0
			start := time.Now()
			for b.Loop() {
				for _, text := range all {
					n := len(s.Scan(text))
					bytes, spans = bytes+len(text), spans+n
					files += min(n, 1)
				}
			}
			megabytes := float64(bytes) / 1e6
			b.ReportMetric(megabytes/time.Since(start).Seconds(), "MB/s")
			b.ReportMetric(float64(spans)/megabytes, "spans/MB")
			b.ReportMetric(100*float64(files)/float64(b.N*len(all)), "%files")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	if _, err := New(Options{Secrets: true}); err != nil { // the rules are read once a process
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := New(Options{Secrets: true}); err != nil {
			b.Fatal(err)
		}
	}
}
