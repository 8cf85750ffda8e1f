package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/host"
)

// change is one replacement, as byte offsets into the content before and after.
type change struct {
	oldStart, oldEnd int
	newStart, newEnd int
	text             string // the new text
	pair             int    // which edit it comes from
}

// replaceAll makes all edits to a text at once and gives the new content, with the changes in their order. If one cannot be
// made, none is.
func replaceAll(text host.Text, pairs []editPair) (string, []change, error) {
	var changes []change
	for i, pair := range pairs {
		found, err := locate(text, pair)
		if err != nil {
			if len(pairs) > 1 {
				err = fmt.Errorf("edit %d of %d: %w; none of the edits was made", i+1, len(pairs), err)
			}
			return "", nil, err
		}
		for _, c := range found {
			c.pair = i
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return a.oldStart - b.oldStart })
	for i := 1; i < len(changes); i++ {
		if a, b := changes[i-1], changes[i]; b.oldStart < a.oldEnd {
			return "", nil, fmt.Errorf("edits %d and %d overlap at line %d: join them into one; none of the edits was made",
				min(a.pair, b.pair)+1, max(a.pair, b.pair)+1, lineAt(text.Content, b.oldStart))
		}
	}
	var out strings.Builder
	at := 0
	for i := range changes {
		c := &changes[i]
		out.WriteString(text.Content[at:c.oldStart])
		c.newStart = out.Len()
		out.WriteString(c.text)
		c.newEnd = out.Len()
		at = c.oldEnd
	}
	out.WriteString(text.Content[at:])
	return out.String(), changes, nil
}

// locate finds where a pair applies.
func locate(text host.Text, pair editPair) ([]change, error) {
	oldText, newText := fitLines(pair.Old, text.Format), fitLines(pair.New, text.Format)
	switch {
	case oldText == "":
		return nil, errors.New("the old text is empty: give the text to replace; to add text, replace a line by itself and the addition")
	case oldText == newText:
		return nil, errors.New("the old and the new text are the same: there is nothing to do")
	}
	content := text.Content
	places := occurrences(content, oldText)
	if len(places) == 0 && strings.Contains(content, "\r\n") && !strings.Contains(oldText, "\r") {
		// The file mixes line endings, which view does not show: the old text may have those of this place.
		windows := strings.ReplaceAll(oldText, "\n", "\r\n")
		if found := occurrences(content, windows); windows != oldText && len(found) > 0 {
			places, oldText, newText = found, windows, strings.ReplaceAll(strings.ReplaceAll(newText, "\r\n", "\n"), "\n", "\r\n")
		}
	}
	if len(places) == 0 {
		return nil, errors.New(explainNoMatch(content, oldText, newText))
	}
	if pair.All {
		places = disjoint(places, len(oldText))
	} else if len(places) > 1 {
		return nil, fmt.Errorf("the old text is there %d times (%s): add the lines around it, or set all to true to replace each",
			len(places), lineNumbers(content, places))
	}
	changes := make([]change, len(places))
	for i, at := range places {
		changes[i] = change{oldStart: at, oldEnd: at + len(oldText), text: newText}
	}
	return changes, nil
}

// occurrences gives the offsets of every occurrence, those that overlap included.
func occurrences(content, old string) []int {
	var out []int
	for at := 0; ; {
		i := strings.Index(content[at:], old)
		if i < 0 {
			return out
		}
		out = append(out, at+i)
		at += i + 1
	}
}

// disjoint leaves out occurrences that overlap one before them.
func disjoint(places []int, length int) []int {
	out := places[:0:0]
	for _, at := range places {
		if len(out) == 0 || at >= out[len(out)-1]+length {
			out = append(out, at)
		}
	}
	return out
}

func lineNumbers(content string, places []int) string {
	const shown = 8
	var numbers []string
	for i, at := range places {
		if i == shown {
			numbers = append(numbers, "…")
			break
		}
		numbers = append(numbers, fmt.Sprint(lineAt(content, at)))
	}
	if len(places) == 1 {
		return "line " + numbers[0]
	}
	return "lines " + strings.Join(numbers, ", ")
}
