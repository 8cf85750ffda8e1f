package tool

import (
	"context"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/wherry-acp/wherry/agent/host"
)

const maxDifference = 4 << 10 // bytes shown of what became different from what was written

// written is the result of a write: the file is read again, because an editor may change what it saves, or have made
// something else of it.
func written(ctx context.Context, h host.Host, place host.Path, text host.Text, version host.Version, done string) Result {
	result := Result{Text: done, Changed: []string{place.Abs}}
	now, err := h.Read(ctx, place.Show)
	switch {
	case err != nil, now.Version.Source != version.Source:
		result.Text += "\nIt could not be read again, so it is not certain that it is there as it was written."
		result.Views = map[string]View{place.Abs: {Version: version}}
		return result
	case now.Content == text.Content:
		result.Views = map[string]View{place.Abs: {Version: now.Version}}
		return result
	}
	const other = "What is there now is not what was written: the editor or another program changed it."
	result.Display = place.Show + ": " + other
	difference := udiff.Unified("written", "now", text.Content, now.Content)
	if len(difference) > maxDifference {
		result.Text += "\n\n" + other + " View it again before anything else is done with it."
		return result
	}
	result.Text += "\n\n" + other + " The difference is:\n" + strings.TrimSuffix(difference, "\n")
	result.Views = map[string]View{place.Abs: {Version: now.Version}}
	return result
}
