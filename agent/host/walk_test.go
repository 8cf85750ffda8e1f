package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func git(t testing.TB, dir string, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: nothing is ignored
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

func TestAWalkVisitsFilesInTheOrderOfTheirPathsWithoutWhatIsIgnored(t *testing.T) {
	dir := tempRoot(t)
	for _, name := range []string{
		"b.go", "a/x.go", "a.go", "a/deep/y.go", "a-b/z.go", ".hidden", ".git/config", "node_modules/m/index.js",
		"build/out.o", "keep/build/out.o", "x.log", "logs/important.log", "sub/x.tmp", "sub/y.tmp", "sub/inner/x.tmp",
	} {
		put(t, dir+"/"+name, "")
	}
	put(t, dir+"/.gitignore", "\xEF\xBB\xBF# comment\n\n/build/\r\n*.log\n!important.log\n")
	put(t, dir+"/sub/.gitignore", "*.tmp\n!/y.tmp\n")
	put(t, dir+"/.git/info/exclude", "a-b\n")
	symlink(t, "a", dir+"/linked")
	symlink(t, "b.go", dir+"/link.go")
	want := ".gitignore .hidden a.go a/deep/y.go a/x.go b.go keep/build/out.o logs/important.log sub/.gitignore sub/y.tmp"
	if got := names(t, newLocal(t, dir), "."); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := names(t, newLocal(t, dir), "a"); got != "a/deep/y.go a/x.go" {
		t.Errorf("below a: %s", got)
	}
	if got := names(t, newLocal(t, dir), "b.go"); got != "b.go" {
		t.Errorf("a file: %s", got)
	}
}

func TestLaterKindsOfIgnoreFilesOverrideEarlierOnes(t *testing.T) {
	dir := tempRoot(t)
	for _, name := range []string{"gen/a.go", "data/x.csv", "notes.md", "private/key.txt", "node_modules/m.js"} {
		put(t, dir+"/"+name, "")
	}
	put(t, dir+"/.gitignore", "gen/\nnotes.md\n")
	put(t, dir+"/.ignore", "data\n!gen/\n!node_modules\n")
	put(t, dir+"/.aiignore", "private/\n!notes.md\n")
	want := ".aiignore .gitignore .ignore gen/a.go node_modules/m.js notes.md"
	if got := names(t, newLocal(t, dir), "."); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnIgnoredFolderThatIsAskedForByNameIsWalkedButNotOneHiddenFromTheAgent(t *testing.T) {
	dir := tempRoot(t)
	for _, name := range []string{"build/a.o", "build/x/b.o", "build/x/skip.me", "private/p.txt", "build/private/q.txt"} {
		put(t, dir+"/"+name, "")
	}
	put(t, dir+"/.gitignore", "build\n*.o\n")
	put(t, dir+"/build/x/.gitignore", "skip.*\n")
	put(t, dir+"/.aiignore", "private\n")
	l := newLocal(t, dir)
	if got := names(t, l, "build"); got != "build/a.o build/x/.gitignore build/x/b.o" {
		t.Errorf("build: %s", got)
	}
	if got := names(t, l, "private"); got != "" {
		t.Errorf("private: %s", got)
	}
	if got := names(t, l, "private/p.txt"); got != "" {
		t.Errorf("private/p.txt: %s", got)
	}
}

func TestARootInsideARepositoryHasTheRepositorysRules(t *testing.T) {
	repo := tempRoot(t)
	for _, name := range []string{".git/HEAD", "pkg/app/main.go", "pkg/app/out.bin", "pkg/app/gen/x.go", "pkg/app/tmp/y"} {
		put(t, repo+"/"+name, "")
	}
	put(t, repo+"/.git/info/exclude", "tmp\n")
	put(t, repo+"/.gitignore", "*.bin\n")
	put(t, repo+"/pkg/.gitignore", "/app/gen\n")
	if got := names(t, newLocal(t, repo+"/pkg/app"), "."); got != "main.go" {
		t.Errorf("got %s", got)
	}
}

func TestARootThatItsRepositoryIgnoresIsNotEmpty(t *testing.T) {
	repo := tempRoot(t)
	for name, text := range map[string]string{
		".git/HEAD": "", ".gitignore": "/versions/*\n*.log\n",
		"versions/one/a.txt": "", "versions/one/b.log": "", "versions/one/sub/.gitignore": "c.txt\n", "versions/one/sub/c.txt": "",
	} {
		put(t, repo+"/"+name, text)
	}
	if got := names(t, newLocal(t, repo+"/versions/one"), "."); got != "a.txt b.log sub/.gitignore" {
		t.Errorf("got %s", got)
	}
}

func TestAWalkStopsWhenItsVisitorOrItsContextSaysSo(t *testing.T) {
	dir := tempRoot(t)
	for i := range 5 {
		put(t, fmt.Sprintf("%s/%d/f", dir, i), "")
	}
	l := newLocal(t, dir)
	count := 0
	if err := l.Walk(t.Context(), ".", func(Info) error { count++; return fs.SkipAll }); err != nil || count != 1 {
		t.Errorf("%d files, %v", count, err)
	}
	stop := errors.New("stop")
	if err := l.Walk(t.Context(), ".", func(Info) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	count = 0
	err := l.Walk(ctx, ".", func(Info) error { count++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || count != 1 {
		t.Errorf("%d files, %v", count, err)
	}
	err = l.Walk(t.Context(), "missing", func(Info) error { return nil })
	wantSentence(t, err, "missing: does not exist")
}

// Rules drawn at random are compared with what git itself says of each path.
func TestIgnoreRulesAgreeWithGit(t *testing.T) {
	needGit(t)
	names := []string{"a", "b", "ab", "a.o", "b.txt", "foo", "foo bar"}
	rule := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "*.o", "*", "**", "foo", "a*", "?", "[ab]", "[!a]", "*.txt", `\a`, "foo bar"}), 1, 3).Draw(t, "parts")
		text := strings.Join(parts, "/")
		if rapid.IntRange(0, 3).Draw(t, "anchor") == 0 {
			text = "/" + text
		}
		if rapid.IntRange(0, 3).Draw(t, "folder") == 0 {
			text += "/"
		}
		if rapid.IntRange(0, 2).Draw(t, "negate") == 0 {
			text = "!" + text
		}
		return text + rapid.SampledFrom([]string{"", "", "", " ", "\r"}).Draw(t, "end")
	})
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "ignore")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		for _, sub := range []string{"objects", "refs"} { // the least that git takes for a repository
			if err := os.MkdirAll(dir+"/.git/"+sub, 0o755); err != nil {
				rt.Fatal(err)
			}
		}
		put(t, dir+"/.git/HEAD", "ref: refs/heads/main\n")
		var rules []string
		write := func(where string) {
			lines := rapid.SliceOfN(rule, 0, 4).Draw(rt, "rules "+where)
			rules = append(rules, fmt.Sprintf("%s: %q", where, lines))
			put(t, dir+"/"+where, strings.Join(lines, "\n")+"\n")
		}
		write(".git/info/exclude")
		write(".gitignore")
		write("a/.gitignore")
		for range 12 {
			path := strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(rt, "path"), "/")
			if info, err := os.Stat(dir + "/" + path); err == nil && info.IsDir() {
				continue
			}
			if os.MkdirAll(dir+"/"+path[:max(strings.LastIndex(path, "/"), 0)], 0o755) == nil {
				_ = os.WriteFile(dir+"/"+path, nil, 0o644)
			}
		}
		var all []string
		err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if path == ".git" {
				return fs.SkipDir
			}
			if !d.IsDir() {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			rt.Fatal(err)
		}
		ignored := strings.Split(git(t, dir, strings.Join(all, "\x00"), "check-ignore", "-z", "--stdin", "--no-index"), "\x00")
		var want, got []string
		for _, path := range all {
			if !slices.Contains(ignored, path) {
				want = append(want, path)
			}
		}
		if err := newLocal(t, dir).Walk(context.Background(), ".", func(info Info) error {
			got = append(got, info.Path.Rel)
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Fatalf("rules %s\nwalked %q\ngit    %q", strings.Join(rules, "; "), got, want)
		}
	})
}

func BenchmarkWalkTenThousandFiles(b *testing.B) {
	dir := tempRoot(b)
	for i := range 10000 {
		put(b, fmt.Sprintf("%s/pkg%d/sub%d/file%d.go", dir, i%20, i%200, i), "")
	}
	put(b, dir+"/.gitignore", strings.Repeat("*.o\n/build/\nvendor/**/x\n", 20))
	l := newLocal(b, dir)
	b.ResetTimer()
	for range b.N {
		count := 0
		if err := l.Walk(b.Context(), ".", func(Info) error { count++; return nil }); err != nil || count != 10001 {
			b.Fatal(count, err)
		}
	}
}
