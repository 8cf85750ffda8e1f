package session_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/session"
)

func textBlocks(texts ...string) []session.Block {
	var blocks []session.Block
	for _, t := range texts {
		blocks = append(blocks, session.Block{Type: session.BlockText, Text: t})
	}
	return blocks
}

func TestTitle(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, test := range []struct {
		name   string
		prompt []session.Block
		want   string
	}{
		{"a line is its own title", textBlocks("Fix the build"), "Fix the build"},
		{"the first line with words counts", textBlocks("\n \n---\n\n  Fix the build  \nplease"), "Fix the build"},
		{"a later block counts when the first is blank", textBlocks(" ", "Fix"), "Fix"},
		{"space is one", textBlocks("Fix\tthe \u00a0 build\r\n"), "Fix the build"},
		{"a heading", textBlocks("## Fix the build"), "Fix the build"},
		{"a list", textBlocks("> - 1. Fix the build"), "Fix the build"},
		{"emphasis and code", textBlocks("Fix **the** *big* `build` ~~now~~"), "Fix the big build now"},
		{"names are no emphasis", textBlocks("Rename __init__ to snake_case_name"), "Rename __init__ to snake_case_name"},
		{"a product is no emphasis", textBlocks("what is 2 * 3 * 4"), "what is 2 * 3 * 4"},
		{"a comparison is no tag", textBlocks("why is x<y && y>z"), "why is x<y && y>z"},
		{"a link", textBlocks("Read [the manual](https://example.com/x) and ![a](b.png)"), "Read the manual and a"},
		{"HTML", textBlocks(`<p class="x">Fix <b>the</b> build<br/></p>`), "Fix the build"},
		{"a fence", textBlocks("```go\nfunc main() {}\n```"), "func main() {}"},
		{"control and direction characters", textBlocks("Fix\x1b[31m \u202ethe\u200b \x00build\xff"), "Fix[31m the build"},
		{"a command", textBlocks("/plan the release"), "/plan the release"},
		{"a long line is cut at a word", textBlocks(long), strings.TrimSpace(strings.Repeat("word ", 16)) + "…"},
		{"a long word is cut", textBlocks(strings.Repeat("é", 100)), strings.Repeat("é", 79) + "…"},
		{"eighty characters fit", textBlocks(strings.Repeat("é", 80)), strings.Repeat("é", 80)},
		{"a link block", []session.Block{{Type: session.BlockLink, URI: "file:///project/a%20b.go"}}, "a b.go"},
		{"a named file", []session.Block{{Type: session.BlockFile, Name: "notes.md", URI: "zed://1"}}, "notes.md"},
		{"an image", []session.Block{{Type: session.BlockImage, Data: []byte{1}}}, "Image"},
		{"a recording", []session.Block{{Type: session.BlockAudio, Data: []byte{1}}}, "Recording"},
		{"nothing", textBlocks(""), ""},
		{"no blocks", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := session.Title(test.prompt); got != test.want {
				t.Errorf("title is %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzTitle(f *testing.F) {
	for _, seed := range []string{"# a\nb", "**", "<a href='x'>b", "[a](b", strings.Repeat("x ", 100), "\xff\u2028", "```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		title := session.Title(textBlocks(text))
		if n := utf8.RuneCountInString(title); n > 80 || !utf8.ValidString(title) || title != strings.TrimSpace(title) {
			t.Errorf("title %q has %d characters", title, n)
		}
		if i := strings.IndexFunc(title, unicode.IsControl); i >= 0 || strings.ContainsAny(title, "\u2028\u2029") {
			t.Errorf("title %q is not one line", title)
		}
	})
}
