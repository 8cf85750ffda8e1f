package acp

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
)

// Text returns a text block.
func Text(text string) TextContent { return TextContent{Text: text} }

// Image returns an image block. The type is a MIME type such as "image/png".
func Image(mimeType string, data []byte) ImageContent {
	return ImageContent{MIMEType: mimeType, Data: base64.StdEncoding.EncodeToString(data)}
}

// Audio returns an audio block. The type is a MIME type such as "audio/wav".
func Audio(mimeType string, data []byte) AudioContent {
	return AudioContent{MIMEType: mimeType, Data: base64.StdEncoding.EncodeToString(data)}
}

// Bytes decodes the image.
func (c ImageContent) Bytes() ([]byte, error) { return decodeBase64("image data", c.Data) }

// Bytes decodes the audio.
func (c AudioContent) Bytes() ([]byte, error) { return decodeBase64("audio data", c.Data) }

// Bytes decodes the resource.
func (c BlobResourceContents) Bytes() ([]byte, error) { return decodeBase64("resource blob", c.Blob) }

func decodeBase64(what, s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	return b, nil
}

// PlainText returns the text of the blocks, one after the other. Blocks without text, such as images, add nothing; a text resource
// that is embedded adds its text.
func PlainText(blocks ...ContentBlock) string {
	var out strings.Builder
	for _, b := range blocks {
		switch b := variant(b).(type) {
		case TextContent:
			out.WriteString(b.Text)
		case EmbeddedResource:
			if t, ok := variant(b.Resource).(TextResourceContents); ok {
				out.WriteString(t.Text)
			}
		default: // no text
		}
	}
	return out.String()
}

// ToolText returns a text block as content of a tool call.
func ToolText(text string) ToolCallBlock { return ToolCallBlock{Content: Text(text)} }

// NewSessionID returns a new random session id that cannot be guessed.
func NewSessionID() SessionID { return SessionID(rand.Text()) }

// NewMessageID returns a new random message id.
func NewMessageID() MessageID { return MessageID(rand.Text()) }

// NewToolCallID returns a new random tool call id.
func NewToolCallID() ToolCallID { return ToolCallID(rand.Text()) }

// ToolDiff returns a changed file as content of a tool call. The path is absolute; the texts are the whole file's.
func ToolDiff(path, oldText, newText string) ToolCallDiff {
	return ToolCallDiff{Path: path, OldText: Some(oldText), NewText: newText}
}

// ToolNewFile returns a new file as content of a tool call. The path is absolute.
func ToolNewFile(path, text string) ToolCallDiff { return ToolCallDiff{Path: path, NewText: text} }
