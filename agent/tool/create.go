package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed create.md
var createDescription string

type createArgs struct {
	Path      string `json:"path" jsonschema:"The new file, relative to the working folder or absolute."`
	Content   string `json:"content" jsonschema:"Its whole content; may be empty."`
	Overwrite bool   `json:"overwrite,omitzero" jsonschema:"Replace the file if it exists and you have viewed it."`
}

func createTool() Tool {
	return New(Spec{Name: "create", Description: createDescription, Needs: []host.Capability{host.CanRead, host.CanWrite}}, prepareCreate)
}

func prepareCreate(ctx context.Context, env Env, args createArgs) (Call, error) {
	place, err := env.Host.Resolve(args.Path)
	if err != nil {
		return nil, err
	}
	if place.Rel == "." {
		return nil, fmt.Errorf("%q: is a folder: give the path of a file", args.Path)
	}
	current, err := env.Host.Read(ctx, place.Show)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return prepareNew(env, place, args.Content), nil
	case errors.Is(err, host.ErrBinary), errors.Is(err, host.ErrTooLarge):
		return nil, fmt.Errorf("%s: exists and is not a text file that can be viewed, so it is not replaced: use another path", place.Show)
	case err != nil:
		return nil, err
	case !args.Overwrite:
		return nil, fmt.Errorf("%s: exists already: change it with edit, or view it and create with overwrite set to true", place.Show)
	}
	stale, err := staleView(env, place, current.Version)
	if err != nil {
		return nil, err
	}
	next := current
	next.Content = fitLines(args.Content, current.Format)
	if next.Content == current.Content {
		return nil, fmt.Errorf("%s: has exactly this content already: there is nothing to do", place.Show)
	}
	shown := Presentation{
		Class: writeClass(place), Title: oneLine("Overwrite", place.Show), Kind: KindEdit,
		Locations: []Location{{Path: place.Abs}},
		Diffs:     []Diff{{Path: place.Abs, Old: &current.Content, New: next.Content, Base: current.Version}},
		Stale:     stale,
	}
	return writeCall(env.Host, "create", place, shown, next, current.Version, createdText(place, args.Content)), nil
}

func prepareNew(env Env, place host.Path, content string) Call {
	text := host.DecodeString(content, "")
	shown := Presentation{
		Class: writeClass(place), Title: oneLine("Create", place.Show), Kind: KindEdit,
		Diffs: []Diff{{Path: place.Abs, New: text.Content, Base: host.Absent}},
	}
	return writeCall(env.Host, "create", place, shown, text, host.Absent, createdText(place, content))
}

func createdText(place host.Path, content string) string {
	return fmt.Sprintf("created %s (%d lines)", place.Show, countLines(content))
}

// writeCall is the call that writes exactly text over base, and nothing when base is not what is there any more.
func writeCall(h host.Host, name string, place host.Path, shown Presentation, text host.Text, base host.Version, done string) Call {
	return &prepared{shown: shown, run: func(ctx context.Context, _ Output) Result {
		var version host.Version
		err := samePlace(h, place)
		if err == nil {
			version, err = h.Write(ctx, place.Show, text, base)
		}
		if errors.Is(err, host.ErrChanged) {
			result := Failure(fmt.Sprintf("%s: %s: the file changed meanwhile, so nothing was written: view it again", name, place.Show))
			result.ChangedBase = true
			return result
		}
		if err != nil {
			return Failure(name + ": " + err.Error())
		}
		return written(ctx, h, place, text, version, done)
	}}
}

// samePlace makes sure that a path still leads where it led when the call was prepared: a person agreed to that place.
func samePlace(h host.Host, place host.Path) error {
	now, err := h.Resolve(place.Show)
	if err != nil {
		return err
	}
	if now.Abs != place.Abs {
		return fmt.Errorf("%s: leads elsewhere by now: %w", place.Show, host.ErrChanged)
	}
	return nil
}

// staleView tells whether the file is another one than the model last saw in this session. It is an error when the model
// has not seen it, or saw it on the disk because the editor did not answer and the editor now has another text: then
// nobody has ever seen what would be changed.
func staleView(env Env, place host.Path, current host.Version) (bool, error) {
	var seen host.Version
	ok := false
	if env.Views != nil {
		seen, ok = env.Views.Seen(place.Abs)
	}
	switch {
	case !ok:
		return false, fmt.Errorf("%s: has not been viewed in this session: view it first, so that the change is made to what is there", place.Show)
	case seen.Digest == current.Digest:
		return false, nil
	case seen.Source == host.FromDisk && current.Source == host.FromEditor:
		return false, fmt.Errorf("%s: was viewed on the disk, and the editor has another text: view it again before changing it", place.Show)
	}
	return true, nil
}

// fitLines gives new text the line endings of the file's content as it is kept in memory.
func fitLines(text string, format host.Format) string {
	if format.CRLF {
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	return text
}
