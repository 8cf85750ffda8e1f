package customcmd

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
)

func one(t *testing.T, name, text string) (Command, []Problem) {
	t.Helper()
	s := Parse([]File{{name, []byte(text)}}, func(string) bool { return false })
	if len(s.Commands) != 1 {
		t.Fatalf("%q gives %d commands, %v", text, len(s.Commands), s.Problems)
	}
	return s.Commands[0], s.Problems
}

func TestACommandIsAFileWithAHeadAndABody(t *testing.T) {
	for _, tt := range []struct {
		text     string
		want     Command
		problems int
	}{
		{"Look at it.\n", Command{Description: "Look at it.", Body: "Look at it."}, 0},
		{"# Review\n\nLook at $1.\n", Command{Description: "Review", Hint: "ARGUMENTS", Body: "# Review\n\nLook at $1."}, 0},
		{
			"---\ndescription: Review: all of it\nargument-hint: \"[file]\"\nmode: ask\n---\nLook at $ARGUMENTS.\n",
			Command{Description: "Review: all of it", Hint: "[file]", Mode: approval.ModeAsk, Body: "Look at $ARGUMENTS."}, 0,
		},
		{"\ufeff---\r\ndescription: 'Windows'\r\n---\r\nLook.\r\n", Command{Description: "Windows", Body: "Look."}, 0},
		{"---\n---\nLook.", Command{Description: "Look.", Body: "Look."}, 0},
		{"---\nmode: auto\n---\nRun.", Command{Description: "Run.", Mode: approval.ModeOff, Body: "Run."}, 1},
		{"---\nallowed-tools: Bash(git:*)\nnonsense\n# a comment\n---\nRun.", Command{Description: "Run.", Body: "Run."}, 2},
		{"---\ndescription: " + strings.Repeat("é", 300) + "\n---\nRun.", Command{Description: strings.Repeat("é", 199) + "…", Body: "Run."}, 0},
		{"It costs $100, in \\$1 notes.", Command{Description: "It costs $100, in \\$1 notes.", Body: "It costs $100, in \\$1 notes."}, 0},
	} {
		got, problems := one(t, "dir/look.md", tt.text)
		tt.want.Name, tt.want.Path = "look", "dir/look.md"
		if got != tt.want || len(problems) != tt.problems {
			t.Errorf("%q gives\n%+v, expected\n%+v; problems: %v", tt.text, got, tt.want, problems)
		}
	}
}

func TestWhatCannotBeACommandIsToldByItsFile(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"Big.md", "x", "small letters"},
		{"a b.md", "x", "small letters"},
		{"-a.md", "x", "small letters"},
		{".md", "x", "small letters"},
		{strings.Repeat("a", 65) + ".md", "x", "small letters"},
		{"a.md", "", "says nothing"},
		{"a.md", "---\ndescription: x\n---\n \n", "says nothing"},
		{"a.md", "---\ndescription: x\n", "second line"},
		{"a.md", "\xff", "UTF-8"},
		{"a.md", strings.Repeat("x", MaxBytes+1), "larger"},
		{"help.md", "x", "wherry itself"},
	} {
		s := Parse([]File{{"p/" + tt.name, []byte(tt.text)}}, func(name string) bool { return name == "help" })
		if len(s.Commands) != 0 || len(s.Problems) != 1 || !strings.HasPrefix(s.Problems[0].String(), "p/"+tt.name+": ") || !strings.Contains(s.Problems[0].Text, tt.says) {
			t.Errorf("%s: %v, %v", tt.name, s.Commands, s.Problems)
		}
	}
}

func TestOfTwoCommandsWithOneNameTheFirstIsKept(t *testing.T) {
	s := Parse([]File{{"mine/fix.md", []byte("mine")}, {"theirs/fix.md", []byte("theirs")}, {"theirs/a.md", []byte("a")}}, func(string) bool { return false })
	if len(s.Commands) != 2 || s.Commands[0].Name != "a" || s.Commands[1].Body != "mine" || len(s.Problems) != 1 || s.Problems[0].Path != "theirs/fix.md" {
		t.Errorf("%+v", s)
	}
}

func TestArgumentsAreFilledIn(t *testing.T) {
	for _, tt := range []struct{ body, args, want string }{
		{"Look at $ARGUMENTS.", " a  b ", "Look at a  b."},
		{"Look at $ARGUMENTS.", "", "Look at ."},
		{"$1 and $2 and $3", `one "two words"`, "one and two words and "},
		{"$1", `it's one`, "it's"},
		{"$1|$2", `'a b' "c`, `a b|"c`},
		{"$2$1", "$1 $2", "$2$1"}, // what was filled in is not filled in again
		{"No place.", "more", "No place.\n\nmore"},
		{"No place.", "", "No place."},
		{`Pay $100 or $0, \$1, \$ARGUMENTS`, "x", "Pay $100 or $0, $1, $ARGUMENTS\n\nx"},
		{"$ARGUMENTSX", "x", "$ARGUMENTSX\n\nx"},
		{"$1", "a\nb", "a"},
	} {
		if got := (Command{Body: tt.body}).Expand(tt.args); got != tt.want {
			t.Errorf("%q with %q is %q, expected %q", tt.body, tt.args, got, tt.want)
		}
	}
}

func TestAFolderIsReadWithoutLeavingIt(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "secret.md"), "secret")
	write(filepath.Join(dir, "b.md"), "b")
	write(filepath.Join(dir, "a.md"), "a")
	write(filepath.Join(dir, "notes.txt"), "no command")
	write(filepath.Join(dir, "deeper", "c.md"), "c")
	write(filepath.Join(dir, "big.md"), strings.Repeat("x", MaxBytes+5))
	links := runtime.GOOS != "windows"
	if links {
		for name, to := range map[string]string{"out.md": filepath.Join(outside, "secret.md"), "in.md": "a.md", "gone.md": "nowhere"} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, problems := Read(dir)
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path))
		if len(f.Data) > MaxBytes+1 {
			t.Errorf("%d bytes of %s were read", len(f.Data), f.Path)
		}
	}
	if !slices.Equal(names, []string{"a.md", "b.md", "big.md"}) || links && len(problems) != 3 {
		t.Errorf("read were %v; problems: %v", names, problems)
	}
	if files, problems := Read(filepath.Join(dir, "absent")); files != nil || problems != nil {
		t.Errorf("a folder that is not there gives %v, %v", files, problems)
	}
	if _, problems := Read(filepath.Join(dir, "a.md")); len(problems) != 1 {
		t.Errorf("a file in place of the folder gives %v", problems)
	}
}

func TestAFolderOfTooManyFilesIsReadInPart(t *testing.T) {
	dir := t.TempDir()
	for i := range MaxFiles + 2 {
		if err := os.WriteFile(filepath.Join(dir, "c"+strings.Repeat("x", i%50)+string(rune('a'+i/50))+".md"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, problems := Read(dir); len(files) != MaxFiles || len(problems) != 1 {
		t.Errorf("%d files, %v", len(files), problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\ndescription: x\nmode: ask\n---\nDo $1 with $ARGUMENTS", "a 'b c'")
	f.Add("---\n---", "")
	f.Add("$9$10\\$1", "\"")
	f.Fuzz(func(t *testing.T, text, args string) {
		s := Parse([]File{{"f.md", []byte(text)}}, func(string) bool { return false })
		if len(s.Commands) == 0 && len(s.Problems) == 0 {
			t.Fatal("neither a command nor a problem")
		}
		for _, c := range s.Commands {
			if strings.ContainsAny(c.Description+c.Hint, "\n\r\x00\x1b") || c.Mode != "" && c.Mode != approval.ModeOff && c.Mode != approval.ModeAsk {
				t.Errorf("%+v", c)
			}
			c.Expand(args)
		}
	})
}
