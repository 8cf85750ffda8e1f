package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// fit leaves out of the messages what the model does not take, and says so in its place. It does not change messages.
func fit(messages []model.Message, info model.Info) []model.Message {
	if info.Images && info.Audio {
		return messages
	}
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
			if !info.Images {
				out[i] = model.Text{Text: "[an image (" + p.MIMEType + ") was left out: this model takes no images]"}
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

// sayDropped tells the person which blocks of the prompt the model will not see.
func (t *turn) sayDropped(ctx context.Context) error {
	info := t.model.Info()
	images, sounds, files := 0, 0, 0
	for _, b := range t.prompt {
		switch {
		case b.Type == session.BlockImage && !info.Images:
			images++
		case b.Type == session.BlockAudio && !info.Audio:
			sounds++
		case b.Type == session.BlockFile && b.Data != nil:
			files++
		}
	}
	var what []string
	for _, left := range []struct {
		count int
		kind  string
	}{{images, "image"}, {sounds, "sound"}, {files, "binary file"}} {
		if left.count > 0 {
			what = append(what, fmt.Sprintf("%d %s(s)", left.count, left.kind))
		}
	}
	if len(what) == 0 {
		return nil
	}
	return t.notice(ctx, "warning", "Left out of the prompt, because the model "+info.ID()+" does not take them: "+strings.Join(what, ", ")+".")
}
