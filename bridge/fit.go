package bridge

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
)

const (
	// longestUpdate bounds an update, in bytes on the wire: with what goes round it a line stays below 8 MiB, which
	// clients take. What is longer is cut where it is shown; the session holds all of it.
	longestUpdate = 8<<20 - 64<<10
	// longestInput bounds the arguments shown with a call that is too long.
	longestInput = 256 << 10
)

// longestEscape is how many bytes one byte of a text can take on the wire.
const longestEscape = 6

// fitAll cuts those of the updates that no client could be expected to take.
func fitAll(updates []acp.SessionUpdate) []acp.SessionUpdate {
	for i, u := range updates {
		if weight(u) > longestUpdate/(2*longestEscape) && sizeOf(u) > longestUpdate { // few are worth measuring
			updates[i] = fit(u)
		}
	}
	return updates
}

// weight is about how many bytes of text and data an update holds.
func weight(u acp.SessionUpdate) int {
	switch u := u.(type) {
	case acp.UserMessageChunk:
		return blockWeight(u.Content)
	case acp.AgentMessageChunk:
		return blockWeight(u.Content)
	case acp.AgentThoughtChunk:
		return blockWeight(u.Content)
	case acp.ToolCall:
		return callWeight(u.RawInput, u.Content)
	case acp.ToolCallUpdate:
		return callWeight(u.RawInput, u.Content)
	}
	return 0 // what fit does not cut
}

func callWeight(input jsontext.Value, content []acp.ToolCallContent) int {
	n := len(input)
	for _, c := range content {
		switch c := c.(type) {
		case acp.ToolCallBlock:
			n += blockWeight(c.Content)
		case acp.ToolCallDiff:
			n += len(c.OldText.Or("")) + len(c.NewText)
		}
	}
	return n
}

func blockWeight(b acp.ContentBlock) int {
	switch b := b.(type) {
	case acp.TextContent:
		return len(b.Text)
	case acp.ImageContent:
		return len(b.Data)
	case acp.AudioContent:
		return len(b.Data)
	case acp.EmbeddedResource:
		switch r := b.Resource.(type) {
		case acp.TextResourceContents:
			return len(r.Text)
		case acp.BlobResourceContents:
			return len(r.Blob)
		}
	}
	return 0
}

// sizeOf is the length of the update on the wire. One that cannot be written is nobody's to cut.
func sizeOf(u acp.SessionUpdate) int {
	raw, err := acp.MarshalSessionUpdate(u)
	if err != nil {
		return 0
	}
	return len(raw)
}

func fit(u acp.SessionUpdate) acp.SessionUpdate {
	switch u := u.(type) {
	case acp.UserMessageChunk:
		u.Content = fitBlock(u.Content, longestUpdate)
		return u
	case acp.AgentMessageChunk:
		u.Content = fitBlock(u.Content, longestUpdate)
		return u
	case acp.AgentThoughtChunk:
		u.Content = fitBlock(u.Content, longestUpdate)
		return u
	case acp.ToolCall:
		u.RawInput, u.Content = fitCall(u.RawInput, u.Content)
		return u
	case acp.ToolCallUpdate:
		u.RawInput, u.Content = fitCall(u.RawInput, u.Content)
		return u
	}
	return u
}

// fitCall shares the room between the parts of a call: what a part does not need is left for those after it.
func fitCall(input jsontext.Value, content []acp.ToolCallContent) (jsontext.Value, []acp.ToolCallContent) {
	room := longestUpdate - len(input)
	if len(input) > longestInput {
		input, room = nil, longestUpdate
	}
	out := make([]acp.ToolCallContent, 0, len(content))
	for i, c := range content {
		size := contentSize(c)
		if share := room / (len(content) - i); size > share {
			c = cutContent(c, share)
			size = contentSize(c)
		}
		out = append(out, c)
		room -= size
	}
	return input, out
}

func contentSize(c acp.ToolCallContent) int {
	return sizeOf(acp.ToolCallUpdate{Content: []acp.ToolCallContent{c}})
}

func cutContent(c acp.ToolCallContent, room int) acp.ToolCallContent {
	switch c := c.(type) {
	case acp.ToolCallBlock:
		c.Content = fitBlock(c.Content, room)
		return c
	case acp.ToolCallDiff:
		before := "a new file"
		if old, ok := c.OldText.Get(); ok {
			before = fmt.Sprintf("%d bytes before", len(old))
		}
		return acp.ToolText(fmt.Sprintf("The change of %s is too large to be shown here: %s, %d bytes after.", c.Path, before, len(c.NewText)))
	}
	return c
}

// fitBlock cuts a text in the middle, and says what stands for anything else.
func fitBlock(b acp.ContentBlock, room int) acp.ContentBlock {
	size := func(b acp.ContentBlock) int { return sizeOf(acp.AgentMessageChunk{Content: b}) }
	if size(b) <= room {
		return b
	}
	switch b := b.(type) {
	case acp.TextContent:
		whole := b.Text
		for keep := min(room, len(whole)); ; keep /= 2 {
			b.Text = cutText(whole, keep)
			if size(b) <= room || keep == 0 {
				return b
			}
		}
	case acp.ImageContent:
		return tooLarge(b.MIMEType, len(b.Data))
	case acp.AudioContent:
		return tooLarge(b.MIMEType, len(b.Data))
	case acp.EmbeddedResource:
		switch r := b.Resource.(type) {
		case acp.TextResourceContents:
			return fitBlock(acp.Text(r.URI+"\n\n"+fenced("", r.Text)), room)
		case acp.BlobResourceContents:
			return tooLarge(strings.TrimSpace(r.URI+" "+r.MIMEType), len(r.Blob))
		}
	}
	return b
}

func tooLarge(what string, encoded int) acp.ContentBlock {
	return acp.Text(fmt.Sprintf("[%s, %d bytes: too large to be shown again. The session holds it.]", what, encoded/4*3))
}

// cutText keeps so many bytes of a text, half of them from its beginning and half from its end.
func cutText(text string, keep int) string {
	head, tail := text[:keep/2], text[len(text)-keep/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n\n[… %d bytes are left out here. The session holds them. …]\n\n", len(text)-2*(keep/2)) +
		strings.ToValidUTF8(tail, "")
}
