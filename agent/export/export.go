// Package export writes a session down for people and for programs: the transcript as Markdown, or every event as JSON lines.
package export

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/agent/session"
)

// Format is a form in which a session is written.
type Format string

// The formats.
const (
	Markdown Format = "md"    // to be read
	JSONL    Format = "jsonl" // every event, complete, a line each
)

// ParseFormat finds the format with this name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(strings.ToLower(name)); f {
	case Markdown, JSONL:
		return f, nil
	case "markdown":
		return Markdown, nil
	}
	return "", fmt.Errorf("there is no format %q: there are md and jsonl", name)
}

// Write writes the events of one session, which must begin with its first, in the format.
func Write(w io.Writer, format Format, events iter.Seq2[session.Event, error]) error {
	if format == JSONL {
		return writeLines(w, events)
	}
	return writeMarkdown(w, events)
}

// Version is that of the JSON lines. A new member does not change it.
const Version = 1

// Header is the first of the JSON lines.
type Header struct {
	Format  string `json:"format"` // "wherry.session"
	Version int    `json:"version"`
	Session string `json:"session"`
}

// Line is each of the further JSON lines: an event.
type Line struct {
	Seq  int64          `json:"seq"`
	Time time.Time      `json:"time"`
	Kind session.Kind   `json:"kind"`
	Data jsontext.Value `json:"data"`
}

var errEmpty = errors.New("the session has no events")

func writeLines(w io.Writer, events iter.Seq2[session.Event, error]) error {
	line := func(v any) error {
		raw, err := json.Marshal(v, jsontext.AllowDuplicateNames(true))
		if err != nil {
			return err
		}
		_, err = w.Write(append(raw, '\n'))
		return err
	}
	begun := false
	for e, err := range events {
		if err != nil {
			return err
		}
		if !begun {
			begun = true
			if err := line(Header{Format: "wherry.session", Version: Version, Session: e.Session}); err != nil {
				return err
			}
		}
		data, err := session.MarshalData(e.Data)
		if err != nil {
			return err
		}
		if err := line(Line{Seq: e.Seq, Time: e.Time, Kind: e.Data.Kind(), Data: data}); err != nil {
			return err
		}
	}
	if !begun {
		return errEmpty
	}
	return nil
}
