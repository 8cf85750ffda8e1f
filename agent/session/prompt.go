package session

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
)

// promptParts turns a prompt into the parts of a user's message. There is always at least one.
func promptParts(prompt []Block) []model.Part {
	var parts []model.Part
	for _, b := range prompt {
		if part := b.part(); part != nil {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, model.Text{Text: "(empty prompt)"})
	}
	return parts
}

func (b Block) part() model.Part {
	switch b.Type {
	case BlockImage:
		return model.Image{MIMEType: b.MIMEType, Data: b.Data}
	case BlockAudio:
		return model.Audio{MIMEType: b.MIMEType, Data: b.Data}
	case BlockLink:
		return model.Text{Text: "@" + b.URI}
	case BlockFile:
		return b.file()
	}
	if strings.TrimSpace(b.Text) == "" {
		return nil
	}
	return model.Text{Text: b.Text}
}

// file shows an embedded file: as text in a tag, as a picture or sound, or by a line that says what it is.
func (b Block) file() model.Part {
	if len(b.Data) == 0 {
		tag := "file" // one that the text cannot close
		for n := 2; strings.Contains(b.Text, "</"+tag+">"); n++ {
			tag = fmt.Sprintf("file-%d", n)
		}
		return model.Text{Text: fmt.Sprintf("<%s path=%q%s>%s</%s>", tag, b.place(), b.about(), b.Text, tag)}
	}
	switch major, _, _ := strings.Cut(b.MIMEType, "/"); major {
	case "image":
		return model.Image{MIMEType: b.MIMEType, Data: b.Data}
	case "audio":
		return model.Audio{MIMEType: b.MIMEType, Data: b.Data}
	}
	kind := b.MIMEType
	if kind == "" {
		kind = "unknown type"
	}
	return model.Text{Text: fmt.Sprintf("[%s: a binary file (%s, %d bytes) that cannot be shown]", b.place(), kind, len(b.Data))}
}

// about tells which part of a file the text is, as attributes of its tag.
func (b Block) about() string {
	ref, _ := ParseFileURI(b.URI)
	lines := b.Lines
	if lines == "" && ref.From > 0 {
		lines = fmt.Sprintf("%d-%d", ref.From, ref.To)
	}
	var out string
	if lines != "" {
		out += fmt.Sprintf(" lines=%q", lines)
	}
	if ref.Symbol != "" {
		out += fmt.Sprintf(" symbol=%q", ref.Symbol)
	}
	return out
}

// place is the path of a file URI, else the URI, else the name.
func (b Block) place() string {
	if b.URI == "" {
		return b.Name
	}
	if ref, ok := ParseFileURI(b.URI); ok {
		return filepath.ToSlash(ref.Path)
	}
	return b.URI
}

// base is the last element of the place, for a title.
func (b Block) base() string {
	if b.Name != "" {
		return b.Name
	}
	if base := path.Base(b.place()); base != "." && base != "/" {
		return base
	}
	return ""
}
