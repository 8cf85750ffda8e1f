package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/export"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// exportConversation writes the conversation before the command into a new file below the session's folders. The person
// named it, so nobody is asked; but a place that would ask for more than an edit is refused, and so is all in the mode
// that writes nothing.
func exportConversation(ctx context.Context, t *turn, args string) (string, error) {
	s := t.s
	decided := t.policy().Decide(approval.Subject{Tool: "export", Class: approval.ClassEdit})
	if decided.Verdict == approval.Refuse {
		return "", fmt.Errorf("the conversation is not written into a file (%s). In a terminal: wherry sessions export %s", decided.Reason, s.id)
	}
	format, path, err := exportTarget(s.id, args)
	if err != nil {
		return "", err
	}
	h := s.hostNow()
	if !h.Can(host.CanWrite) {
		return "", errors.New("files cannot be written here. In a terminal: wherry sessions export " + s.id)
	}
	place, err := h.Resolve(path)
	if err != nil {
		return "", err
	}
	if class := tool.WriteClass(place); class != approval.ClassEdit {
		return "", fmt.Errorf("%s: a conversation is not written there, because such files hold secrets or change what programs do. Name another file", place.Show)
	}
	var content bytes.Buffer
	if err := export.Write(&content, format, t.before()); err != nil {
		return "", err
	}
	_, err = h.Write(ctx, place.Show, host.DecodeString(content.String(), ""), host.Absent)
	if errors.Is(err, host.ErrChanged) {
		return "", fmt.Errorf("%s: is there already and is left as it is. Name another file", place.Show)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("This conversation is in `%s` now. It holds what files and commands showed, too: look before you pass it on.", place.Abs), nil
}

// exportTarget reads "[md|jsonl] [FILE]". The file's ending tells the format when nothing else does.
func exportTarget(id, args string) (export.Format, string, error) {
	word, rest, _ := strings.Cut(args, " ")
	format, err := export.ParseFormat(word)
	path := strings.TrimSpace(rest)
	if err != nil {
		path = args
		if format, err = export.ParseFormat(strings.TrimPrefix(filepath.Ext(path), ".")); err != nil {
			format = export.Markdown
			if filepath.Ext(path) != "" {
				return "", "", fmt.Errorf("%s: say the format, md or jsonl, before the file", path)
			}
		}
	}
	if path == "" {
		path = id + "." + string(format)
	}
	return format, path, nil
}

// before gives the events before the turn.
func (t *turn) before() iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		for _, e := range t.s.snapshot() {
			if d, ok := e.Data.(session.TurnStarted); ok && d.Turn == t.id {
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
