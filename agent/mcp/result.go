package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/agent/tool"
)

const (
	maxText   = 64 << 10 // bytes of text of a result
	maxImage  = 1 << 20  // bytes of a picture, decoded
	maxImages = 8
)

// result makes the agent's result of a server's.
func (s *server) result(r *sdk.CallToolResult) tool.Result {
	var parts []string
	var images []tool.Image
	say := func(text string) {
		if text = s.secrets.result(plain(text)); strings.TrimSpace(text) != "" {
			parts = append(parts, strings.TrimRight(text, "\n"))
		}
	}
	picture := func(kind string, data []byte) {
		image, problem := pictureOf(kind, data)
		if problem == "" && len(images) == maxImages {
			problem = fmt.Sprintf("only %d pictures are taken", maxImages)
		}
		if problem != "" {
			say(fmt.Sprintf("[a picture, %s, %d bytes, was left out: %s]", orUnknown(kind), len(data), problem))
			return
		}
		images = append(images, image)
	}
	structured := r.StructuredContent
	for _, content := range r.Content {
		switch c := content.(type) {
		case *sdk.TextContent:
			if structured != nil && sameJSON(c.Text, structured) {
				structured = nil // the protocol asks servers to give it as text too
			}
			say(c.Text)
		case *sdk.ImageContent:
			picture(c.MIMEType, c.Data)
		case *sdk.AudioContent:
			say(fmt.Sprintf("[sound, %s, %d bytes, was left out]", orUnknown(c.MIMEType), len(c.Data)))
		case *sdk.ResourceLink:
			say(link(c))
		case *sdk.EmbeddedResource:
			embedded(c.Resource, say, picture)
		default:
			say("[something of a kind that is not known here was left out]")
		}
	}
	if structured != nil {
		if data, err := json.Marshal(structured); err == nil {
			say(string(data))
		}
	}
	text := clipLines(strings.Join(parts, "\n\n"), maxText)
	if text == "" && len(images) == 0 {
		text = "The tool answered without any content."
	}
	return tool.Result{Text: text, Images: images, Failed: r.IsError}
}

func orUnknown(kind string) string {
	if kind == "" {
		return "of no named type"
	}
	return clip(plain(kind), 60)
}

// pictureOf takes a picture of a type and size that models take, by what it is and not by what it is said to be.
func pictureOf(kind string, data []byte) (image tool.Image, problem string) {
	if len(data) > maxImage {
		return tool.Image{}, fmt.Sprintf("it is larger than %d KiB", maxImage>>10)
	}
	switch real := http.DetectContentType(data); real {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return tool.Image{MIMEType: real, Data: data}, ""
	}
	return tool.Image{}, "it is not a PNG, JPEG, GIF or WebP"
}

func link(c *sdk.ResourceLink) string {
	text := "[a resource: " + c.URI
	for _, more := range []string{c.Title, c.Name, c.Description, c.MIMEType} {
		if more != "" {
			text += "; " + more
		}
	}
	if c.Size != nil {
		text += fmt.Sprintf("; %d bytes", *c.Size)
	}
	return text + "]"
}

func embedded(r *sdk.ResourceContents, say func(string), picture func(string, []byte)) {
	switch {
	case r == nil:
	case r.Blob == nil:
		say("From " + r.URI + ":\n" + r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		say("From " + r.URI + ":")
		picture(r.MIMEType, r.Blob)
	default:
		say(fmt.Sprintf("[%s, %s, %d bytes, was left out: it is not text]", r.URI, orUnknown(r.MIMEType), len(r.Blob)))
	}
}

// sameJSON tells whether text is the JSON of value.
func sameJSON(text string, value any) bool {
	var other any
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	if decoder.Decode(&other) != nil || decoder.More() {
		return false
	}
	return reflect.DeepEqual(other, value)
}

// clipLines shortens text to at most limit bytes, on a line where there is one, and says what was left out.
func clipLines(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := strings.ToValidUTF8(text[:limit], "")
	if i := strings.LastIndexByte(head, '\n'); i >= limit/2 {
		head = head[:i]
	}
	rest := text[len(head):]
	lines := strings.Count(strings.Trim(rest, "\n"), "\n") + 1
	return fmt.Sprintf("%s\n… %d more lines (%d bytes) were left out; ask the tool for less at a time", head, lines, len(rest))
}
