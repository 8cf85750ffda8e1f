package acp

import (
	"strings"
	"testing"
)

// TestALongTextFullOfEscapesIsReadInOnePass would not end in time if each escape cost a search to the end of the text, as a
// file of many lines has it.
func TestALongTextFullOfEscapesIsReadInOnePass(t *testing.T) {
	for _, piece := range []string{"line one\n", `say "hi" \ and \\" so on `, "\n", `"`, `\`, "a\x01\u2028é\U0001F600", strings.Repeat("x", 300) + "\n", strings.Repeat("y", 5000) + `"`} {
		want := ReadTextFileResponse{Content: strings.Repeat(piece, 1<<20/len(piece)), Meta: Meta(`{"after":1}`)}
		data, err := Codec{}.Append(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		var got ReadTextFileResponse
		if err := (Codec{}).Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got.Content != want.Content || string(got.Meta) != `{"after":1}` {
			t.Errorf("a text of %q came back as another one", piece)
		}
	}
}
