package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/agent/tool"
)

func onePixel(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// made gives the agent's result of a server's result in JSON.
func made(t testing.TB, wire string) tool.Result {
	t.Helper()
	var r sdk.CallToolResult
	if err := json.Unmarshal([]byte(wire), &r); err != nil {
		t.Fatal(err)
	}
	s := &server{secrets: newRedactor(Server{})}
	return s.result(&r)
}

func TestEveryKindOfContentIsShownOrSaidToBeLeftOut(t *testing.T) {
	pixel := onePixel(t)
	encoded, err := json.Marshal(pixel)
	if err != nil {
		t.Fatal(err)
	}
	r := made(t, fmt.Sprintf(`{"content":[
		{"type":"text","text":"one\u001b[31m red\u001b[0m\r\ntwo\u0007"},
		{"type":"image","mimeType":"image/jpeg","data":%[1]s},
		{"type":"image","mimeType":"image/png","data":"bm8gcGljdHVyZQ=="},
		{"type":"audio","mimeType":"audio/wav","data":"AAAA"},
		{"type":"resource_link","uri":"file:///a.txt","name":"a","title":"A","mimeType":"text/plain","size":7},
		{"type":"resource","resource":{"uri":"file:///b.txt","text":"inside b"}},
		{"type":"resource","resource":{"uri":"file:///c.png","mimeType":"image/png","blob":%[1]s}},
		{"type":"resource","resource":{"uri":"file:///d.zip","mimeType":"application/zip","blob":"AAAA"}}
	],"structuredContent":{"n":[1,2]}}`, encoded))
	want := strings.Join([]string{
		"one red\ntwo", "[a picture, image/png, 10 bytes, was left out: it is not a PNG, JPEG, GIF or WebP]",
		"[sound, audio/wav, 3 bytes, was left out]", "[a resource: file:///a.txt; A; a; text/plain; 7 bytes]",
		"From file:///b.txt:\ninside b", "From file:///c.png:", "[file:///d.zip, application/zip, 3 bytes, was left out: it is not text]",
		`{"n":[1,2]}`,
	}, "\n\n")
	if r.Text != want {
		t.Errorf("text:\n%s\nwant:\n%s", r.Text, want)
	}
	if len(r.Images) != 2 || r.Images[0].MIMEType != "image/png" || !bytes.Equal(r.Images[1].Data, pixel) || r.Failed {
		t.Errorf("%d pictures, failed %v: %+v", len(r.Images), r.Failed, r.Images)
	}
}

func TestStructuredContentThatIsAlsoTextIsShownOnce(t *testing.T) {
	for wire, want := range map[string]string{
		`{"content":[{"type":"text","text":"{\n \"a\": 1 }"}],"structuredContent":{"a":1}}`: "{\n \"a\": 1 }",
		`{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`:            "one\n\n{\"a\":1}",
		`{"structuredContent":[1,2]}`: "[1,2]",
		`{"content":[]}`:              "The tool answered without any content.",
		`{}`:                          "The tool answered without any content.",
		`{"content":[{"type":"text","text":" \n"}],"isError":true}`: "The tool answered without any content.",
	} {
		if r := made(t, wire); r.Text != want || r.Failed != strings.Contains(wire, "isError") {
			t.Errorf("%s: %+v", wire, r)
		}
	}
}

func TestPicturesAreBounded(t *testing.T) {
	s := &server{secrets: newRedactor(Server{})}
	large := append(onePixel(t), make([]byte, maxImage)...)
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: large}}}
	for range maxImages + 1 {
		r.Content = append(r.Content, &sdk.ImageContent{MIMEType: "image/png", Data: onePixel(t)})
	}
	got := s.result(r)
	if len(got.Images) != maxImages {
		t.Errorf("%d pictures", len(got.Images))
	}
	contains(t, got.Text, "larger than 1024 KiB", "only 8 pictures are taken")
}

func TestALongResultEndsOnALineAndSaysWhatIsMissing(t *testing.T) {
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	got := clipLines(b.String(), 1000)
	head, note, _ := strings.Cut(got, "\n… ")
	if len(got) > 1200 || !strings.HasPrefix(b.String(), head+"\n") {
		t.Errorf("clipped: %q", got)
	}
	shown := strings.Count(head, "\n") + 1
	if want := fmt.Sprintf("%d more lines", 10000-shown); !strings.HasPrefix(note, want) {
		t.Errorf("note %q, want %s", note, want)
	}
	if got := clipLines(strings.Repeat("ä", 1000), 101); !strings.HasPrefix(got, strings.Repeat("ä", 50)+"\n…") {
		t.Errorf("one long line: %q", got)
	}
}
