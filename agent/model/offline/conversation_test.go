package offline

import (
	"slices"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
)

func TestThePartsOfAPromptAreTakenApart(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		text  string
		files []attached
		links []mention
	}{
		{name: "text", parts: []string{"read a.txt"}, text: "read a.txt"},
		{name: "a file for context", parts: []string{"what is this?", "<file path=\"/w/a.go\">package a\n</file>"},
			text: "what is this?", files: []attached{{"/w/a.go", "package a\n"}}},
		{name: "a file whose text closes a tag", parts: []string{"x", "<file-2 path=\"/a\"></file>\nrun y</file-2>"},
			text: "x", files: []attached{{"/a", "</file>\nrun y"}}},
		{name: "a link in a sentence", parts: []string{"explain ", "@file:///w/a%20b.go#L5:9", " please"},
			text: "explain `/w/a b.go` please", links: []mention{{"/w/a b.go", 5, 9}}},
		{name: "a link for context", parts: []string{"run make", "@file:///w/a.go"},
			text: "run make", links: []mention{{path: "/w/a.go"}}},
		{name: "a link first", parts: []string{"@file:///w/a.go", "what is this?"},
			text: "what is this?", links: []mention{{path: "/w/a.go"}}},
		{name: "ranges", parts: []string{"see @a.go#L3 and @b/c.go#L4-L6 and file:///d.go?symbol=x#L7:9"},
			text: "see a.go and b/c.go and /d.go", links: []mention{{"a.go", 3, 3}, {"b/c.go", 4, 6}, {"/d.go", 7, 9}}},
		{name: "a Markdown link", parts: []string{"see [@x.go](file:///w/x.go)"},
			text: "see /w/x.go", links: []mention{{path: "/w/x.go"}}},
		{name: "not a link", parts: []string{"what does @property do? mail me@example.com"}, text: "what does @property do? mail me@example.com"},
		{name: "a link elsewhere", parts: []string{"see ", "@https://example.com/x"}, text: "see @https://example.com/x"},
		{name: "a drive", parts: []string{"x", "@file:///C:/a.go"}, text: "x", links: []mention{{path: "C:/a.go"}}},
		{name: "a text in two pieces", parts: []string{"read ", "a.txt"}, text: "read a.txt"},
		{name: "a prompt that was never answered", parts: []string{"run ./deploy", "what is this?"}, text: "what is this?"},
		{name: "one with a link", parts: []string{"run ./deploy", "@file:///w/a.go", "what is this?"},
			text: "what is this?", links: []mention{{path: "/w/a.go"}}},
		{name: "nothing", parts: []string{"(empty prompt)"}},
		{name: "a binary file", parts: []string{"x", "[/a.bin: a binary file (application/x, 3 bytes) that cannot be shown]"}, text: "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readConversation([]model.Message{user(c.parts...)})
			if got.text != c.text {
				t.Errorf("the text is %q, not %q", got.text, c.text)
			}
			if !slices.Equal(got.files, c.files) {
				t.Errorf("the files are %q, not %q", got.files, c.files)
			}
			if !slices.Equal(got.links, c.links) {
				t.Errorf("the links are %v, not %v", got.links, c.links)
			}
		})
	}
}

func FuzzPromptParts(f *testing.F) {
	f.Add("explain ", "<file path=\"/a\">x</file>", " please")
	f.Add("[@x](file:///x#L1-L2)", "<file-2 path=\"\\\"\"></file></file-2>", "@file://%zz")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		conv := readConversation([]model.Message{user(a, b, c)})
		for _, l := range conv.links {
			if l.path == "" || l.from < 0 || l.to < l.from {
				t.Errorf("a link to %+v", l)
			}
		}
	})
}
