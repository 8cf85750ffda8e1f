package modeltest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDirectivesAreReadInOrderAndOtherTextIsNot(t *testing.T) {
	got, err := parse(`Please [[x]] do [[1,2]] [[text: a: b]] [[ text: no]] [[call: run {"a":[[1],[2]],"s":"]]"}]][[call: view]]
		[[call-raw: run {bad]] [[tool-write: /a/b.txt: one: two]] [[status 429 2 always]] [[chunks 3]] [[usage 1 2 3 4]] [[pause 20ms]] [[stall]] [[text]]`)
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{op: "text", text: "a: b", size: -1},
		{op: "call", name: "run", text: `{"a":[[1],[2]],"s":"]]"}`, size: -1},
		{op: "call", name: "view", text: "{}", size: -1},
		{op: "call-raw", name: "run", text: "{bad", size: -1},
		{op: "tool-write", name: "/a/b.txt", text: "one: two", size: -1},
		{op: "status", n: 429, size: 2, name: "always"},
		{op: "chunks", n: 3, size: 16},
		{op: "usage", counts: [4]int{1, 2, 3, 4}, size: -1},
		{op: "pause", wait: 20 * time.Millisecond, size: -1},
		{op: "stall", size: -1},
		{op: "text", size: -1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestMalformedDirectivesAreErrors(t *testing.T) {
	for _, s := range []string{"[[text: no end", "[[status]]", "[[status 200]]", "[[status x]]", "[[status 429 soon]]", "[[slow x]]", "[[chunks -1]]", "[[chunks 1 2 3]]",
		"[[call: ]]", `[[call: run {"a":]]`, `[[call: run {} ]`, "[[tool-write: path]]", "[[usage 1 2 3 4 5]]"} {
		if steps, err := parse(s); err == nil {
			t.Errorf("%s: no error, but %+v", s, steps)
		}
	}
}

func TestEveryDirectiveOfTheHelpIsKnown(t *testing.T) {
	n := 0
	for line := range strings.Lines(Help) {
		for _, d := range strings.Split(line, "[[")[1:] {
			name := d[:strings.IndexAny(d, ": ]")]
			if n++; !known(name) {
				t.Errorf("%s is not known", name)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d directives found in the help", n)
	}
}

func TestACompletionEndsWithItsCalls(t *testing.T) {
	steps, err := parse(`[[text: a]] [[call: x]] [[call: y]] [[text: b]] [[next]] [[text: c]] [[call: z]] [[next]] [[call: z]]`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range completions(steps) {
		s := ""
		for _, st := range c {
			s += st.text + st.name
		}
		got = append(got, s)
	}
	if want := []string{"a{}x{}y", "b", "c{}z", "{}z"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAToolForAJobIsFoundAndItsSchemaFilled(t *testing.T) {
	spec := func(name, schema string) ToolSpec { return ToolSpec{Name: name, Schema: json.RawMessage(schema)} }
	tests := []struct {
		tools []ToolSpec
		st    step
		name  string
		args  string
	}{
		{[]ToolSpec{spec("Read", `{"properties":{"file_path":{"type":"string"}}}`), spec("Bash", `{"properties":{"command":{"type":"string"},"description":{"type":"string"},"background":{"type":"boolean"},"timeout":{"type":"integer"}},"required":["command","description","timeout","background"]}`)},
			step{op: "tool-shell", text: "ls"}, "Bash", `{"background":false,"command":"ls","description":"as asked","timeout":1}`},
		{[]ToolSpec{spec("shell", `{"properties":{"command":{"type":"array","items":{"type":"string"}}}}`)}, step{op: "tool-shell", text: "ls -l"}, "shell", `{"command":["bash","-c","ls -l"]}`},
		{[]ToolSpec{spec("mcp__fs__write_file", `{"properties":{"path":{},"content":{},"mode":{"enum":["w","a"]}},"required":["path","content","mode"]}`)},
			step{op: "tool-write", name: "/a", text: "x"}, "mcp__fs__write_file", `{"content":"x","mode":"w","path":"/a"}`},
		{[]ToolSpec{spec("read_lots", `{"properties":{"paths":{"type":"array"}}}`)}, step{op: "tool-read", text: "/a"}, "read_lots", `{"paths":["/a"]}`},
		{[]ToolSpec{spec("read", `{"properties":{"url":{}}}`)}, step{op: "tool-read", text: "/a"}, "", ""},
	}
	for _, tt := range tests {
		name, args, ok := fit(tt.tools, tt.st)
		if name != tt.name || args != tt.args || ok != (tt.name != "") {
			t.Errorf("%s: got %s %s, want %s %s", tt.st.op, name, args, tt.name, tt.args)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{Help, `[[call: run {"a":[[1]]}]] [[text: x]]`, "[[status 429 2 quota]]", "[[[[text: x]]]]", "[[call:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		steps, err := parse(s)
		if err != nil {
			return
		}
		n := 0
		for _, c := range completions(steps) {
			n += len(c)
		}
		for _, st := range steps {
			if st.op == "next" {
				n++
			}
			if st.op == "call" && !json.Valid([]byte(st.text)) {
				t.Errorf("the arguments %q are not JSON", st.text)
			}
		}
		if n != len(steps) {
			t.Errorf("%d steps became %d", len(steps), n)
		}
	})
}
