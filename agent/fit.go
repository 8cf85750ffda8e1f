package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// fit leaves out of the messages what the model does not take, and says so in its place. It does not change messages.
func fit(messages []model.Message, info model.Info) []model.Message {
	out := make([]model.Message, len(messages))
	for i, m := range messages {
		out[i] = model.Message{Role: m.Role, Parts: fitParts(m.Parts, info)}
	}
	return out
}

func fitParts(parts []model.Part, info model.Info) []model.Part {
	out := make([]model.Part, len(parts))
	for i, p := range parts {
		switch p := p.(type) {
		case model.Image:
			if why := refusesImage(p.MIMEType, info); why != "" {
				out[i] = model.Text{Text: "[an image (" + p.MIMEType + ") was left out: " + why + "]"}
				continue
			}
		case model.Audio:
			if !info.Audio {
				out[i] = model.Text{Text: "[a sound (" + p.MIMEType + ") was left out: this model takes no audio]"}
				continue
			}
		case model.ToolResult:
			p.Parts = fitParts(p.Parts, info)
			out[i] = p
			continue
		}
		out[i] = p
	}
	return out
}

// refusesImage tells why a model does not get an image; empty when it does.
func refusesImage(kind string, info model.Info) string {
	if !info.Images {
		return "this model takes no images"
	}
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return ""
	}
	return "models take only PNG, JPEG, GIF and WebP"
}

// TakesAudio tells whether a model that can be chosen now takes audio.
func (a *Agent) TakesAudio() bool {
	return slices.ContainsFunc(a.choices(), func(m ModelChoice) bool { return m.Audio && m.Unavailable == "" })
}

// maxNotes bounds how many lines about one prompt the person gets.
const maxNotes = 10

// takeIn reads what a prompt points at, and tells the person what of the prompt the model will not see, one line a block.
func (t *turn) takeIn(ctx context.Context, message string, prompt []session.Block) error {
	notes := t.dropped(prompt)
	more, err := t.attach(ctx, message, prompt)
	if err != nil {
		return err
	}
	notes = append(notes, more...)
	if rest := len(notes) - maxNotes; rest > 0 {
		notes = append(notes[:maxNotes], fmt.Sprintf("The same holds, in one way or another, for %d more parts of the prompt.", rest))
	}
	for _, note := range notes {
		if err := t.notice(ctx, "warning", note); err != nil {
			return err
		}
	}
	return nil
}

// dropped tells which blocks of a prompt the model will not see.
func (t *turn) dropped(prompt []session.Block) []string {
	info := t.model.Info()
	var notes []string
	for i, b := range prompt {
		kind, why := "", ""
		switch major, _, _ := strings.Cut(b.MIMEType, "/"); {
		case b.Type == session.BlockImage, b.Type == session.BlockFile && len(b.Data) > 0 && major == "image":
			kind, why = "image", refusesImage(b.MIMEType, info)
		case b.Type == session.BlockAudio, b.Type == session.BlockFile && len(b.Data) > 0 && major == "audio":
			kind = "sound"
			if !info.Audio {
				why = "this model takes no audio"
			}
		case b.Type == session.BlockFile && len(b.Data) > 0:
			kind, why = "file", "models do not take binary files"
		}
		if why == "" {
			continue
		}
		name := fmt.Sprintf("number %d of the prompt", i+1)
		if b.URI != "" || b.Name != "" {
			name = title(b)
		}
		about := b.MIMEType
		if about == "" {
			about = "of unknown type"
		}
		notes = append(notes, fmt.Sprintf("The %s %s (%s, %d bytes) was left out for %s: %s.", kind, name, about, len(b.Data), info.ID(), why))
	}
	return notes
}
