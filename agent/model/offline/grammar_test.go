package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// show writes an instruction in one form, whatever it was written like.
func show(ins instruction) string {
	switch i := ins.(type) {
	case readIns:
		return fmt.Sprintf("read %s %d-%d", i.path, i.from, i.to)
	case listIns:
		return fmt.Sprintf("list %q", i.path)
	case findIns:
		return fmt.Sprintf("find %q in %q", i.pattern, i.path)
	case searchIns:
		return fmt.Sprintf("search %q in %q regex=%v", i.pattern, i.path, i.regex)
	case createIns:
		return fmt.Sprintf("create %s %q over=%v", i.path, i.content, i.overwrite)
	case replaceIns:
		var pairs []string
		for _, p := range i.pairs {
			pairs = append(pairs, fmt.Sprintf("%q->%q", p.old.literal(), p.new.literal()))
		}
		return fmt.Sprintf("replace %s in %s all=%v", strings.Join(pairs, " "), i.path, i.all)
	case appendIns:
		return fmt.Sprintf("append %q to %s", i.text.text(), i.path)
	case runIns:
		return fmt.Sprintf("run %q", i.command)
	case planIns:
		return fmt.Sprintf("plan %q", i.entries)
	case doIns:
		return fmt.Sprintf("do one=%v", i.one)
	case doneIns:
		return fmt.Sprintf("done %v", i.numbers)
	case helpIns:
		return "help"
	case askIns:
		return fmt.Sprintf("ask %q", i.question)
	}
	return fmt.Sprintf("%T", ins)
}

func showAll(p parsed) []string {
	var out []string
	for _, i := range p.list {
		out = append(out, show(i))
	}
	for _, e := range p.problems {
		out = append(out, "problem: expected "+e.want)
	}
	return out
}

func TestInstructionsAreUnderstoodHoweverTheyAreWritten(t *testing.T) {
	for _, c := range []struct {
		prompt string
		want   []string
	}{
		// Reading.
		{"read README.md", []string{"read README.md 0-0"}},
		{"Read README.md.", []string{"read README.md 0-0"}},
		{"Please read `a b.txt`", []string{"read a b.txt 0-0"}},
		{"could you please show me the file?", nil},
		{"Can you show me main.go?", []string{"read main.go 0-0"}},
		{"read main.go 10-20", []string{"read main.go 10-20"}},
		{"show main.go lines 10 to 20", []string{"read main.go 10-20"}},
		{"read main.go line 7", []string{"read main.go 7-7"}},
		{"read main.go 10-", []string{"read main.go 10-0"}},
		{"read main.go#L5-L9", []string{"read main.go 5-9"}},
		{"read main.go:5-9", []string{"read main.go 5-9"}},
		{`read C:\x\main.go`, []string{`read C:\x\main.go 0-0`}},
		{"cat ./a/b.txt", []string{"read ./a/b.txt 0-0"}},
		{"read .env", []string{"read .env 0-0"}},
		{"read main.go 20-10", []string{"problem: expected " + formRead}},
		{"read", []string{"problem: expected " + formRead}},
		{"read a.go b.go", []string{"problem: expected " + formRead}},
		{"read main.go and tell me what it does", nil},
		{"open the door", nil},
		// Listing and finding.
		{"list", []string{`list ""`}},
		{"ls src/", []string{`list "src/"`}},
		{"list the files in src", []string{`list "src"`}},
		{"list files", []string{`list ""`}},
		{"list all functions that parse", nil},
		{"find *.go", []string{`find "*.go" in ""`}},
		{"find limits.go in internal", []string{`find "limits.go" in "internal"`}},
		{"find", []string{"problem: expected " + formFind}},
		{"find where the limit is set", nil},
		{"find usages of Foo", nil},
		// Searching.
		{"search foo", []string{`search "foo" in "" regex=false`}},
		{"search for foo bar", []string{`search "foo bar" in "" regex=false`}},
		{`search "max size" in internal/`, []string{`search "max size" in "internal/" regex=false`}},
		{"search TODO in main.go", []string{`search "TODO" in "main.go" regex=false`}},
		{"search errors in parsing", []string{`search "errors in parsing" in "" regex=false`}},
		{"search regex `func \\w+`", []string{`search "func \\w+" in "" regex=true`}},
		{"search “naïve” in docs/a.md", []string{`search "naïve" in "docs/a.md" regex=false`}},
		{`search "it\"s"`, []string{`search "it\"s" in "" regex=false`}},
		{`search "a" b`, []string{"problem: expected " + formSearch}},
		{"search", []string{"problem: expected " + formSearch}},
		// Creating.
		{"create a.txt: hello", []string{`create a.txt "hello\n" over=false`}},
		{"Create a.txt: hello.", []string{`create a.txt "hello.\n" over=false`}},
		{"create a new file called a.txt: hello", []string{`create a.txt "hello\n" over=false`}},
		{"create a.txt:", []string{`create a.txt "" over=false`}},
		{"create a.txt:\none\n\ntwo\n", []string{`create a.txt "one\n\ntwo\n" over=false`}},
		{"create a.txt:\nread b.txt", []string{`create a.txt "read b.txt\n" over=false`}},
		{"create a.txt: one\ntwo\nread b.txt", []string{`create a.txt "one\ntwo\n" over=false`, "read b.txt 0-0"}},
		{"create a.go:\n```go\npackage a\n```\nread a.go", []string{`create a.go "package a\n" over=false`, "read a.go 0-0"}},
		{"create a.md:\n````\n```\nx\n```\n````", []string{"create a.md \"```\\nx\\n```\\n\" over=false"}},
		{`create a.txt with "one\ntwo"`, []string{`create a.txt "one\ntwo\n" over=false`}},
		{"overwrite a.txt: x", []string{`create a.txt "x\n" over=true`}},
		{`create C:\a.txt: x`, []string{`create C:\a.txt "x\n" over=false`}},
		{"create a.txt", []string{"problem: expected " + formCreate}},
		{"create a parser for dates", nil},
		{"write a function that sorts: it must be fast", nil},
		// Replacing.
		{`replace "a" with "b" in F.txt`, []string{`replace "a"->"b" in F.txt all=false`}},
		{"Replace 'a' with `b` in F.txt.", []string{`replace "a"->"b" in F.txt all=false`}},
		{`replace “a” with “b” in F.txt`, []string{`replace "a"->"b" in F.txt all=false`}},
		{`replace "a" with "b" and "c" with "d" in F.txt`, []string{`replace "a"->"b" "c"->"d" in F.txt all=false`}},
		{`replace "a" with "b", "c" with "d" in F.txt`, []string{`replace "a"->"b" "c"->"d" in F.txt all=false`}},
		{`replace all "a" with "b" in F.txt`, []string{`replace "a"->"b" in F.txt all=true`}},
		{`replace "a" with "" in F.txt`, []string{`replace "a"->"" in F.txt all=false`}},
		{"replace foo with bar in main.go", []string{`replace "foo"->"bar" in main.go all=false`}},
		{"replace \"one\ntwo\" with \"1\n2\" in F.txt\nread F.txt", []string{`replace "one\ntwo"->"1\n2" in F.txt all=false`, "read F.txt 0-0"}},
		{`change "say \"hi\"" to "hey" in F.txt`, []string{`replace "say \"hi\""->"hey" in F.txt all=false`}},
		{`replace "a" with "b"`, []string{"problem: expected " + formReplace}},
		{`replace "" with "b" in F`, []string{"problem: expected " + formReplace}},
		{`replace "a" in F`, []string{"problem: expected " + formReplace}},
		{"change the colour of the button", nil},
		{`append "x" to F.txt`, []string{`append "x" to F.txt`}},
		{`add "x\ny" to the end of F.txt`, []string{`append "x\ny" to F.txt`}},
		{"append x to F.txt", []string{"problem: expected " + formAppend}},
		{"add a test for it", nil},
		// Running.
		{"run go test ./...", []string{`run "go test ./..."`}},
		{"run `go test ./...`.", []string{`run "go test ./..."`}},
		{"$ echo hi", []string{`run "echo hi"`}},
		{"run go test.", []string{`run "go test"`}},
		{"run git add .", []string{`run "git add ."`}},
		{`run echo "a" 'b'`, []string{`run "echo \"a\" 'b'"`}},
		{"run if true; then echo hi; fi", []string{`run "if true; then echo hi; fi"`}},
		{"run", []string{"problem: expected " + formRun}},
		{"run the tests", nil},
		{"git status", []string{"problem: expected `run git status` for a command"}},
		{"ls -la", []string{"problem: expected `run ls -la` for a command"}},
		{"delete a.txt", []string{"problem: expected a command for that: `run rm FILE`"}},
		// Plans.
		{"plan: a; b; c", []string{`plan ["a" "b" "c"]`}},
		{"Plan: read a.txt, then read b.txt; run ls", []string{`plan ["read a.txt, then read b.txt" "run ls"]`}},
		{"plan:\n- a\n- b\nread a.txt", []string{`plan ["a" "b"]`, "read a.txt 0-0"}},
		{"plan", []string{"plan []"}},
		{"next", []string{"do one=true"}},
		{"do", []string{"do one=false"}},
		{"go on", []string{"do one=false"}},
		{"done 2", []string{"done [2]"}},
		{"done 1, 2 and 3", []string{"done [1 2 3]"}},
		{"done x", []string{"problem: expected " + formDone}},
		{"help", []string{"help"}},
		{"Help!", []string{"help"}},
		{"help me understand the parser", nil},
		// Lists.
		{"read a.txt then read b.txt", []string{"read a.txt 0-0", "read b.txt 0-0"}},
		{"read a.txt, and then run ls, then read b.txt", []string{"read a.txt 0-0", `run "ls"`, "read b.txt 0-0"}},
		{`replace "a" with "b" in F.txt then run make`, []string{`replace "a"->"b" in F.txt all=false`, `run "make"`}},
		{`search "now then read on"`, []string{`search "now then read on" in "" regex=false`}},
		{"search for now and then", []string{`search "now and then" in "" regex=false`}},
		{"- read a.txt\n- read b.txt", []string{"read a.txt 0-0", "read b.txt 0-0"}},
		{"1. read a.txt\n2) run ls", []string{"read a.txt 0-0", `run "ls"`}},
		{"Please do this:\nread a.txt\nThanks!", []string{"read a.txt 0-0"}},
		{"read a.txt\nwhat does Foo do?", []string{"read a.txt 0-0", `ask "what does Foo do?"`}},
		{"read a.txt\nfrobnicate", []string{"read a.txt 0-0", "problem: expected an instruction (`help` lists them)"}},
		// Questions.
		{"where is the limit set?", nil},
		{"why do I get this error:\nrun failed", nil},
		{"", nil},
	} {
		if got := showAll(parse(t.Context(), c.prompt)); !slices.Equal(got, c.want) {
			t.Errorf("%q\n got %q\nwant %q", c.prompt, got, c.want)
		}
	}
}

func TestEveryFormInHelpIsUnderstood(t *testing.T) {
	fill := strings.NewReplacer("FILE", "a.txt", "FOLDER", "src", "PATTERN", "x", "TEXT", "x", "PATH", "src", "COMMAND", "ls", `"RE"`, `"x+"`)
	n := 0
	for _, line := range strings.Split(helpText, "\n") {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			form := fill.Replace(m[1])
			if strings.Contains(form, "…") || strings.HasPrefix(form, "**") {
				continue
			}
			n++
			if p := parse(t.Context(), form); len(p.list) != 1 || len(p.problems) > 0 {
				t.Errorf("help has %q, which is read as %q", form, showAll(p))
			}
		}
	}
	if n < 18 {
		t.Fatalf("only %d forms in help", n)
	}
	for _, form := range []string{formRead, formList, formFind, formSearch, formCreate, formReplace, formAppend, formRun, formPlan, formDone} {
		m := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(form)
		if p := parse(t.Context(), fill.Replace(m[1])); len(p.list) != 1 || len(p.problems) > 0 {
			t.Errorf("the form %s is not understood itself: %q", form, showAll(p))
		}
	}
}

func TestWhatIsQuotedArrivesAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9 .,;:(){}<>=+*/_'-]{1,40}`).Draw(t, "text")
		path := rapid.StringMatching(`[a-z]{1,8}(/[a-z]{1,8}){0,2}\.(go|txt|md)`).Draw(t, "path")
		p := parse(t.Context(), fmt.Sprintf("replace \"%s\" with `%s` in %s", text, text, path))
		if len(p.list) != 1 {
			t.Fatalf("%q", showAll(p))
		}
		ins := p.list[0].(replaceIns)
		if ins.path != path || ins.pairs[0].old.literal() != text || ins.pairs[0].new.literal() != text {
			t.Fatalf("got %s", show(ins))
		}
		body := rapid.StringMatching(`([a-zA-Z ():=]{0,20}\n){1,6}`).Draw(t, "body")
		p = parse(t.Context(), "create "+path+":\n```\n"+body+"```\nread "+path)
		if want := fmt.Sprintf("create %s %q over=false", path, body); len(p.list) != 2 || show(p.list[0]) != want {
			t.Fatalf("got %q, want %s", showAll(p), want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"read a.go 1-2", "create a.txt:\n```\nx\n```", `replace "a" with "b" and "c" with "d" in F then run x`, "plan:\n- a\n- b",
		"run `x` then read y", "search “x” in y/", "1. read a\n2. done 1, 2", "append 'x\\n' to y", "create x: a\nb\nrun c", "“", "```", ": :", "\\\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		p := parse(t.Context(), prompt)
		for _, i := range p.list {
			switch i := i.(type) {
			case runIns:
				if strings.TrimSpace(i.command) == "" {
					t.Errorf("%q runs an empty command", prompt)
				}
			case createIns:
				if i.path == "" {
					t.Errorf("%q creates a file without a name", prompt)
				}
			case replaceIns:
				if i.path == "" || len(i.pairs) == 0 || i.pairs[0].old.raw == "" {
					t.Errorf("%q replaces nothing: %s", prompt, show(i))
				}
			}
			if i.title() == "" {
				t.Errorf("%T has no title", i)
			}
		}
		for _, e := range p.problems {
			if e.want == "" {
				t.Errorf("%q: no form is named", prompt)
			}
		}
		readQuestion(prompt)
	})
}

func TestALongPromptIsReadInTime(t *testing.T) {
	for _, prompt := range []string{
		strings.Repeat("search x then ", 60) + "frob",
		strings.Repeat("read a.txt then ", 60) + "frob",
		strings.Repeat("create a.txt: x\n", 2000),
		strings.Repeat("replace \"x\" with \"", 500),
		strings.Repeat("plan: a then read b\n", 300),
		strings.Repeat("what `", 3000),
	} {
		p := parse(t.Context(), prompt) // takes forever if the cases of a line are all tried
		readQuestion(prompt)
		if len(p.list) > 2000 {
			t.Errorf("%d instructions", len(p.list))
		}
	}
}
