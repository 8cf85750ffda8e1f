package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// What is read of the files and folders that a prompt points at. The model can view the rest.
const (
	maxAttached   = 20
	fileBytes     = 64 << 10
	attachedBytes = 256 << 10 // of all together
	maxEntries    = 200       // of a folder
)

// attach reads what the links of a prompt point at, for the model, and tells the person what of it is not read. Only text
// below the session's folders is, through the host, so that an unsaved buffer counts; what usually holds secrets is not.
// The rest stay the names that they are: to read them, the model has its tools, which ask.
func (t *turn) attach(ctx context.Context, message string, prompt []session.Block) ([]string, error) {
	a := attaching{host: t.host, room: attachedBytes, known: map[string]bool{}}
	for _, b := range prompt {
		if b.Type == session.BlockLink {
			a.link(ctx, b)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(a.blocks) == 0 {
		return a.notes, nil
	}
	return a.notes, t.s.record(ctx, session.Attached{Message: message, Blocks: a.blocks, Views: a.views})
}

// attaching collects what is attached to one prompt.
type attaching struct {
	host   host.Host
	room   int             // bytes left
	known  map[string]bool // the links so far
	blocks []session.Block
	views  map[string]tool.View
	notes  []string // for the person, one a link at most
}

// link reads one link, or notes why not.
func (a *attaching) link(ctx context.Context, b session.Block) {
	if a.known[b.URI] || ctx.Err() != nil {
		return
	}
	a.known[b.URI] = true
	ref, ok := session.ParseFileURI(b.URI)
	if !ok {
		a.note(b, "was not opened, because it is no file of this machine; the model gets its address alone")
		return
	}
	place, err := a.host.Resolve(ref.Path)
	var outside *host.OutsideError
	switch {
	case errors.As(err, &outside):
		a.note(b, "was not read, because it is outside the session's folders; the model gets its name alone")
		return
	case err != nil:
		a.note(b, "was not read: "+err.Error())
		return
	case tool.SecretPath(place.Abs):
		a.note(b, "was not read, because such files usually hold secrets; the model gets its name alone, and asks before it reads it")
		return
	case len(a.blocks) == maxAttached:
		a.note(b, fmt.Sprintf("was not read, because %d files are read for one prompt; the model can view it", maxAttached))
		return
	case a.room <= 0:
		a.note(b, fmt.Sprintf("was not read, because %d KiB are read for one prompt; the model can view it", attachedBytes>>10))
		return
	}
	if info, err := a.host.Stat(ctx, place.Abs); err == nil && info.Dir {
		a.folder(ctx, b, place)
		return
	}
	a.file(ctx, b, ref, place)
}

// file reads a text file, or the lines of it that the link names.
func (a *attaching) file(ctx context.Context, b session.Block, ref session.FileRef, place host.Path) {
	text, err := a.host.Read(ctx, place.Abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.note(b, "does not exist")
		return
	case errors.Is(err, host.ErrBinary):
		a.note(b, "was not read, because it is not text; the model gets its name alone")
		return
	case errors.Is(err, host.ErrTooLarge):
		a.note(b, "was not read, because it is too large; the model can search it")
		return
	case err != nil:
		a.note(b, "was not read: "+err.Error())
		return
	}
	lines := strings.SplitAfter(text.Content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from, to := 1, len(lines)
	if ref.From > 0 {
		if ref.From > len(lines) {
			a.note(b, fmt.Sprintf("was not read: it has only %d lines", len(lines)))
			return
		}
		from, to = ref.From, min(ref.To, len(lines))
	}
	body, last := fill(lines[from-1:to], min(fileBytes, a.room))
	last += from - 1
	block := session.Block{Type: session.BlockFile, URI: b.URI, Name: b.Name, Text: body}
	if from > 1 || last < len(lines) {
		block.Lines = fmt.Sprintf("%d-%d of %d", from, last, len(lines))
	}
	if last < to {
		a.note(b, fmt.Sprintf("was read only to line %d of %d; the model can view the rest", last, len(lines)))
	}
	a.add(block)
	if a.views == nil {
		a.views = map[string]tool.View{}
	}
	a.views[place.Abs] = tool.View{Version: text.Version}
}

// fill joins as many lines as fit into limit bytes, and tells how many they are. There is at least one, of which the
// beginning has to do.
func fill(lines []string, limit int) (string, int) {
	var body strings.Builder
	for i, line := range lines {
		if body.Len()+len(line) > limit {
			if i > 0 {
				return body.String(), i
			}
			for limit > 0 && !utf8.RuneStart(line[limit]) {
				limit--
			}
			return line[:limit], 1
		}
		body.WriteString(line)
	}
	return body.String(), len(lines)
}

// folder lists a folder.
func (a *attaching) folder(ctx context.Context, b session.Block, place host.Path) {
	entries, err := a.host.List(ctx, place.Abs)
	if err != nil {
		a.note(b, "was not listed: "+err.Error())
		return
	}
	var body strings.Builder
	shown := 0
	for _, e := range entries {
		name := filepath.Base(filepath.FromSlash(e.Path.Rel))
		if e.Dir {
			name += "/"
		}
		if shown == maxEntries || body.Len()+len(name) >= min(fileBytes, a.room) {
			break
		}
		body.WriteString(name + "\n")
		shown++
	}
	if rest := len(entries) - shown; rest > 0 {
		fmt.Fprintf(&body, "… %d more entries\n", rest)
		a.note(b, fmt.Sprintf("was listed only in part (%d of %d entries); the model can list the rest", shown, len(entries)))
	}
	uri := b.URI
	if !strings.HasSuffix(uri, "/") {
		uri += "/"
	}
	a.add(session.Block{Type: session.BlockFile, URI: uri, Name: b.Name, Text: body.String()})
}

func (a *attaching) add(b session.Block) {
	a.room -= len(b.Text)
	a.blocks = append(a.blocks, b)
}

// note tells of a link what became of it.
func (a *attaching) note(b session.Block, what string) {
	a.notes = append(a.notes, fmt.Sprintf("The link %s %s.", title(b), strings.TrimSuffix(what, ".")))
}

// title names a block as the person knows it.
func title(b session.Block) string {
	switch name := strings.TrimPrefix(b.Name, "@"); {
	case name == "" || name == b.URI:
		return clip(b.URI, 200)
	case b.URI == "":
		return clip(name, 200)
	default:
		return clip(name, 100) + " (" + clip(b.URI, 200) + ")"
	}
}
