package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/wherry-acp/wherry/agent/host"
)

//go:embed view.md
var viewDescription string

// What one view shows at most.
const (
	maxViewLines = 2000
	maxViewBytes = 64 << 10
)

type viewArgs struct {
	Path  string `json:"path" jsonschema:"The file, relative to the working folder or absolute."`
	From  int    `json:"from,omitzero" min:"1" jsonschema:"The first line to show, counted from 1."`
	Lines int    `json:"lines,omitzero" min:"1" jsonschema:"How many lines to show."`
}

func viewTool() Tool {
	return New(Spec{Name: "view", Description: viewDescription, Needs: []host.Capability{host.CanRead}, ReadOnly: true}, prepareView)
}

func prepareView(ctx context.Context, env Env, args viewArgs) (Call, error) {
	place, err := env.Host.Resolve(args.Path)
	if err != nil {
		return nil, err
	}
	info, err := env.Host.Stat(ctx, args.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, readErr := env.Host.Read(ctx, args.Path); readErr == nil {
			break // not on the disk yet, but in the editor
		}
		return nil, withSimilar(ctx, env.Host, place, err)
	case err != nil:
		return nil, err
	case info.Dir:
		return nil, fmt.Errorf("%s: is a folder: list shows what is in it", args.Path)
	}
	title := oneLine("View", place.Show)
	if args.From > 0 || args.Lines > 0 {
		from := max(args.From, 1)
		title = oneLine("View", place.Show, fmt.Sprintf("from line %d", from))
		if args.Lines > 0 {
			title = oneLine("View", place.Show, fmt.Sprintf("(lines %d-%d)", from, from+args.Lines-1))
		}
	}
	return &prepared{
		shown: Presentation{Class: readClass(place), Title: title, Kind: KindRead,
			Locations: []Location{{Path: place.Abs, Line: args.From}}},
		run: func(ctx context.Context, _ Output) Result { return runView(ctx, env.Host, place, args) },
	}, nil
}

func runView(ctx context.Context, h host.Host, place host.Path, args viewArgs) Result {
	if err := samePlace(h, place); err != nil {
		return Failure("view: " + err.Error())
	}
	text, err := h.Read(ctx, place.Show)
	if errors.Is(err, host.ErrBinary) || errors.Is(err, host.ErrTooLarge) {
		image, shown, imageErr := readImage(ctx, h, place)
		switch {
		case imageErr != nil:
			return Failure("view: " + imageErr.Error())
		case shown != "":
			return Result{Text: shown, Images: []Image{image}}
		case errors.Is(err, host.ErrBinary):
			return Failure(fmt.Sprintf("view: %s: is not a text file and not a picture that can be shown (PNG, JPEG, GIF, WebP)", place.Show))
		default:
			return Failure(fmt.Sprintf("view: %s: is too large to view; search finds lines in it, and run can show a part", place.Show))
		}
	}
	if err != nil {
		return Failure("view: " + err.Error())
	}
	shown, err := render(place.Show, text.Content, args)
	if err != nil {
		return Failure("view: " + err.Error())
	}
	return Result{Text: shown, Views: map[string]View{place.Abs: {Version: text.Version}}}
}

// render gives the lines asked for, numbered, and says how to go on when there are more.
func render(show, content string, args viewArgs) (string, error) {
	lines := splitLines(content)
	total := len(lines)
	from := max(args.From, 1)
	if total == 0 {
		return show + " (lines 0-0 of 0)", nil
	}
	if from > total {
		return "", fmt.Errorf("%s: has %d lines, so there is no line %d", show, total, from)
	}
	end := total
	if args.Lines > 0 {
		end = min(end, from-1+args.Lines)
	}
	end = min(end, from-1+maxViewLines)
	var body strings.Builder
	last := from - 1
	for last < end && (body.Len() < maxViewBytes || last == from-1) {
		writeNumbered(&body, last+1, lines[last])
		last++
	}
	out := fmt.Sprintf("%s (lines %d-%d of %d)\n%s", show, from, last, total, body.String())
	if last < total {
		out += fmt.Sprintf("… %d more lines; view again with from=%d", total-last, last+1)
	}
	return strings.TrimSuffix(out, "\n"), nil
}

// withSimilar adds to an error about a missing file which file of the same folder may be meant.
func withSimilar(ctx context.Context, h host.Host, place host.Path, err error) error {
	entries, listErr := h.List(ctx, path.Dir(strings.ReplaceAll(place.Abs, `\`, "/")))
	if listErr != nil {
		return fmt.Errorf("%w; find looks for files by name", err)
	}
	want := path.Base(place.Rel)
	best, score := "", 0.6
	for _, entry := range entries {
		name := path.Base(entry.Path.Rel)
		if s := similarity(strings.ToLower(name), strings.ToLower(want)); s > score && !entry.Dir {
			best, score = entry.Path.Show, s
		}
	}
	if best == "" {
		return fmt.Errorf("%w; find looks for files by name", err)
	}
	return fmt.Errorf("%w; did you mean %s?", err, best)
}
