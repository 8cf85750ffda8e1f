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

//go:embed edit.md
var editDescription string

const (
	maxEdits     = 200
	contextLines = 3  // shown round each change
	maxShown     = 80 // lines shown of a changed file
)

type editArgs struct {
	Path  string     `json:"path" jsonschema:"The file, relative to the working folder or absolute."`
	Edits []editPair `json:"edits" jsonschema:"The replacements. All are made to the file as it is now, or none."`
}

type editPair struct {
	Old string `json:"old" jsonschema:"The exact text to replace, with its indentation and enough around it to be found only once."`
	New string `json:"new" jsonschema:"The text to put there; empty to remove."`
	All bool   `json:"all,omitzero" jsonschema:"Replace every place where the old text is."`
}

func editTool() Tool {
	return New(Spec{Name: "edit", Description: editDescription, Needs: []host.Capability{host.CanRead, host.CanWrite}}, prepareEdit)
}

func prepareEdit(ctx context.Context, env Env, args editArgs) (Call, error) {
	place, err := env.Host.Resolve(args.Path)
	if err != nil {
		return nil, err
	}
	switch {
	case len(args.Edits) == 0:
		return nil, errors.New(`"edits" is empty: give at least one pair of old and new text`)
	case len(args.Edits) > maxEdits:
		return nil, fmt.Errorf("%d edits in one call: at most %d are allowed", len(args.Edits), maxEdits)
	}
	current, err := env.Host.Read(ctx, place.Show)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, withSimilar(ctx, env.Host, place, err)
	case errors.Is(err, host.ErrBinary), errors.Is(err, host.ErrTooLarge):
		return nil, fmt.Errorf("%w: only text files of moderate size can be edited", err)
	case err != nil:
		return nil, err
	}
	stale, err := staleView(env, place, current.Version)
	if err != nil {
		return nil, err
	}
	next := current
	var changes []change
	next.Content, changes, err = replaceAll(current, args.Edits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place.Show, err)
	}
	shown := Presentation{
		Class: writeClass(place), Title: oneLine("Edit", place.Show), Kind: KindEdit,
		Locations: []Location{{Path: place.Abs, Line: lineAt(current.Content, changes[0].oldStart)}},
		Diffs:     []Diff{{Path: place.Abs, Old: &current.Content, New: next.Content, Base: current.Version}},
		Stale:     stale,
	}
	done := fmt.Sprintf("edited %s (%d replacements)\n%s", place.Show, len(changes), around(next.Content, changes))
	return writeCall(env.Host, "edit", place, shown, next, current.Version, strings.TrimSuffix(done, "\n")), nil
}

// around gives the numbered lines of the new content round each change.
func around(content string, changes []change) string {
	lines := splitLines(content)
	if len(lines) == 0 {
		return "the file is empty now"
	}
	var out strings.Builder
	shown, next := 0, 0 // next is the first line not yet considered, from 0
	for i, c := range changes {
		first := lineAt(content, c.newStart) - 1
		last := lineAt(content, max(c.newStart, c.newEnd-1)) - 1
		from := max(first-contextLines, next)
		to := min(last+contextLines, len(lines)-1)
		if from > next && out.Len() > 0 {
			out.WriteString("     …\n")
		}
		for n := from; n <= to; n++ {
			if shown == maxShown {
				fmt.Fprintf(&out, "… view the file to see the rest of %d changes", len(changes)-i)
				return out.String()
			}
			writeNumbered(&out, n+1, lines[n])
			shown++
		}
		next = max(next, to+1)
	}
	return out.String()
}

// lineAt gives the 1-based line of a byte offset.
func lineAt(content string, offset int) int {
	return strings.Count(content[:offset], "\n") + 1
}
