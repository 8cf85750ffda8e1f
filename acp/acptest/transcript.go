package acptest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
)

// A Transcript is a conversation as text that can be read, reviewed and compared: a line
// a message, with an arrow ("→" for sent, "←" for received by the side whose Tap it is).
// What differs from run to run is normalised: request ids are numbered, and so are the
// ids of sessions, messages, tool calls and terminals.
//
//	→ initialize #1 {"protocolVersion":1}
//	← #1 {"protocolVersion":1,"agentCapabilities":{}}
//	→ session/new #2 {"cwd":"<dir>","mcpServers":[]}
//	← #2 {"sessionId":"<session-1>"}
//	← session/update {"sessionId":"<session-1>","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}
//
// Messages of one direction are in order; how the two directions mix is as it happened.
// The zero value is ready to use, and its methods may be called concurrently.
type Transcript struct {
	mu       sync.Mutex
	lines    []tappedLine
	replaced [][2]string
}

type tappedLine struct {
	dir  acp.Direction
	text []byte
}

// Tap takes a message in. It is for acp.Options.Tap.
func (t *Transcript) Tap(dir acp.Direction, _ time.Time, message []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, tappedLine{dir, bytes.Clone(message)})
}

// Replace has every occurrence of old within a string shown as with, for example a
// temporary folder as "<dir>".
func (t *Transcript) Replace(old, with string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old != "" {
		t.replaced = append(t.replaced, [2]string{old, with})
		slices.SortStableFunc(t.replaced, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	}
}

// Text returns the conversation so far.
func (t *Transcript) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := normaliser{ids: make(map[string]string), counts: make(map[string]int), replaced: t.replaced}
	var b strings.Builder
	for _, l := range t.lines {
		b.WriteString(n.line(l))
		b.WriteByte('\n')
	}
	return b.String()
}

// Compare compares the conversation with a file, and fails the test with the difference.
// If the test binary has a flag -update that is set, it writes the file instead; a test
// package has one with
//
//	var _ = flag.Bool("update", false, "rewrite the golden files")
func (t *Transcript) Compare(tb testing.TB, file string) {
	tb.Helper()
	got := t.Text()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		tb.Errorf("read the golden file (-update writes it): %v", err)
		return
	}
	text := strings.ReplaceAll(string(want), "\r\n", "\n")
	if text != got {
		tb.Errorf("the conversation differs from %s (-want +got; -update rewrites it):\n%s", file, difference(text, got))
	}
}

// A normaliser turns messages into lines.
type normaliser struct {
	ids      map[string]string // what stands for an id, by the id with its kind in front
	counts   map[string]int    // ids of each kind
	known    [][2]string       // ids that are long enough to be told within a text
	replaced [][2]string
}

// idKinds are the members whose ids are numbered.
func idKind(member string) string {
	switch member {
	case "sessionId":
		return "session"
	case "messageId":
		return "message"
	case "toolCallId":
		return "call"
	case "terminalId":
		return "terminal"
	}
	return ""
}

func (n *normaliser) line(l tappedLine) string {
	arrow, mine, theirs := "→ ", "→", "←"
	if l.dir == acp.Incoming {
		arrow, mine, theirs = "← ", "←", "→"
	}
	m := parseMessage(l.text)
	switch m.kind {
	case aRequest:
		return arrow + m.method + " " + n.request(mine, m.id) + " " + n.value(mine, m.payload)
	case aNotification:
		return arrow + m.method + " " + n.value(mine, m.payload)
	case aResult:
		return arrow + n.request(theirs, m.id) + " " + n.value(mine, m.payload)
	case anError:
		return arrow + n.request(theirs, m.id) + " error " + n.value(mine, m.payload)
	}
	return arrow + "garbage " + quoted(n.text(string(m.text)))
}

// request numbers a request of one direction.
func (n *normaliser) request(direction string, id jsontext.Value) string {
	if string(id) == "null" {
		return "#null"
	}
	return n.numbered("#", direction+string(id), "#%d")
}

func (n *normaliser) numbered(kind, id, format string) string {
	key := kind + " " + id
	stand, ok := n.ids[key]
	if !ok {
		n.counts[kind]++
		stand = fmt.Sprintf(format, n.counts[kind])
		n.ids[key] = stand
		if kind != "#" && len(id) >= 8 {
			n.known = append(n.known, [2]string{id, stand})
		}
	}
	return stand
}

// value normalises the strings of a JSON value.
func (n *normaliser) value(direction string, raw jsontext.Value) string {
	if raw == nil {
		return "(nothing)"
	}
	var out []byte
	copied := 0
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		kind := d.PeekKind()
		if kind == '{' || kind == '}' || kind == '[' || kind == ']' {
			if _, err := d.ReadToken(); err != nil {
				return string(raw)
			}
			continue
		}
		v, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			return string(append(out, raw[copied:]...))
		} else if err != nil {
			return string(raw)
		}
		container, length := d.StackIndex(d.StackDepth())
		isName := container == '{' && length%2 == 1
		member := ""
		if container == '{' {
			member = d.StackPointer().LastToken()
		}
		var stand string
		switch {
		case isName:
			continue
		case member == "requestId":
			stand = n.request(direction, v.Clone())
		case v.Kind() != '"':
			continue
		default:
			s, err := jsontext.AppendUnquote(nil, v)
			if err != nil {
				continue
			}
			if kind := idKind(member); kind != "" {
				stand = n.numbered(kind, string(s), "<"+kind+"-%d>")
			} else if stand = n.text(string(s)); stand == string(s) {
				continue
			}
		}
		end := int(d.InputOffset())
		out = append(append(out, raw[copied:end-len(v)]...), quoted(stand)...)
		copied = end
	}
}

// text replaces what is known within a text.
func (n *normaliser) text(s string) string {
	for _, r := range n.replaced {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	for _, r := range n.known {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// difference shows the lines that differ, with the line before each.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	// common[i][j] is the length of the longest common part of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	show := func(mark, line string) { out.WriteString(mark + line + "\n") }
	same := -1 // the last common line, not shown yet
	before := func() {
		if same >= 0 {
			show("  "+strconv.Itoa(same+1)+": ", a[same])
			same = -1
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			same = i
			i++
			j++
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			before()
			show("- ", a[i])
			i++
		default:
			before()
			show("+ ", b[j])
			j++
		}
	}
	return out.String()
}
