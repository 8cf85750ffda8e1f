package bridge

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/session"
)

// promptIn turns the content blocks of a prompt into what the agent takes; audio tells whether it was offered. An error says
// which block it is about.
func promptIn(blocks []acp.ContentBlock, audio bool) ([]session.Block, error) {
	if len(blocks) == 0 {
		return nil, badParams("prompt", "at least one content block", "none")
	}
	out := make([]session.Block, 0, len(blocks))
	for i, b := range blocks {
		block, err := blockIn(b, fmt.Sprintf("prompt[%d]", i), audio)
		if err != nil {
			return nil, err
		}
		out = append(out, block)
	}
	return out, nil
}

func blockIn(b acp.ContentBlock, path string, audio bool) (session.Block, error) {
	switch b := b.(type) {
	case acp.TextContent:
		return session.Block{Type: session.BlockText, Text: b.Text}, nil
	case acp.ImageContent:
		if !strings.HasPrefix(b.MIMEType, "image/") {
			return session.Block{}, badParams(path+".mimeType", "a type of images, such as image/png", fmt.Sprintf("%q", b.MIMEType))
		}
		data, err := b.Bytes()
		if err != nil {
			return session.Block{}, badParams(path+".data", "base64", "something else")
		}
		return session.Block{Type: session.BlockImage, MIMEType: b.MIMEType, Data: data, URI: b.URI}, nil
	case acp.ResourceLink:
		return session.Block{Type: session.BlockLink, URI: b.URI, Name: b.Name, MIMEType: b.MIMEType}, nil
	case acp.EmbeddedResource:
		switch r := b.Resource.(type) {
		case acp.TextResourceContents:
			return session.Block{Type: session.BlockFile, URI: r.URI, MIMEType: r.MIMEType, Text: r.Text}, nil
		case acp.BlobResourceContents:
			data, err := r.Bytes()
			if err != nil {
				return session.Block{}, badParams(path+".resource.blob", "base64", "something else")
			}
			return session.Block{Type: session.BlockFile, URI: r.URI, MIMEType: r.MIMEType, Data: data}, nil
		}
		return session.Block{}, badParams(path+".resource", "a text or blob resource", "something else")
	case acp.AudioContent:
		if !audio {
			return session.Block{}, badParams(path, "text, image, resource or resource_link, as advertised", "audio")
		}
		data, err := b.Bytes()
		if err != nil {
			return session.Block{}, badParams(path+".data", "base64", "something else")
		}
		return session.Block{Type: session.BlockAudio, MIMEType: b.MIMEType, Data: data}, nil
	}
	return session.Block{}, badParams(path+".type", "text, image, resource or resource_link, as advertised", "another type")
}

// promptOut is the inverse of promptIn, for the replay.
func promptOut(blocks []session.Block) []acp.ContentBlock {
	out := make([]acp.ContentBlock, 0, len(blocks))
	for _, b := range blocks {
		switch b.Type {
		case session.BlockText:
			out = append(out, acp.Text(b.Text))
		case session.BlockImage:
			image := acp.Image(b.MIMEType, b.Data)
			image.URI = b.URI
			out = append(out, image)
		case session.BlockAudio:
			out = append(out, acp.Audio(b.MIMEType, b.Data))
		case session.BlockLink:
			out = append(out, acp.ResourceLink{URI: b.URI, Name: b.Name, MIMEType: b.MIMEType})
		case session.BlockFile:
			if b.Data != nil {
				out = append(out, acp.EmbeddedResource{Resource: acp.BlobResourceContents{URI: b.URI, MIMEType: b.MIMEType, Blob: base64.StdEncoding.EncodeToString(b.Data)}})
			} else {
				out = append(out, acp.EmbeddedResource{Resource: acp.TextResourceContents{URI: b.URI, MIMEType: b.MIMEType, Text: b.Text}})
			}
		}
	}
	return out
}
