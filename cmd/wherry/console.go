package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	"github.com/wherry-acp/wherry/acp"
)

// console shows a turn in a terminal: the answer on out, everything else on aside. Only one goroutine uses it.
type console struct {
	out, aside io.Writer
	message    acp.MessageID // of the chunk printed last
	midLine    bool          // the answer's last line is not ended
	titles     map[acp.ToolCallID]string
	broken     error // the first failure to write the answer
}

func newConsole(out, aside io.Writer) *console {
	return &console{out: out, aside: aside, titles: map[acp.ToolCallID]string{}}
}

// update shows one update.
func (c *console) update(u acp.SessionUpdate) {
	switch u := u.(type) {
	case acp.AgentMessageChunk:
		text := acp.PlainText(u.Content)
		if text == "" {
			return
		}
		if _, notice := u.Meta.Get("wherry"); notice {
			c.say("%s", strings.TrimSpace(text)) // wherry's own words, not the answer
			return
		}
		if c.message != "" && u.MessageID != c.message {
			c.endLine()
		}
		c.message = u.MessageID
		c.answer(safe(text))
		c.midLine = !strings.HasSuffix(text, "\n")
	case acp.Notice:
		c.say("%s", u.Title)
	case acp.ToolCall:
		c.titles[u.ToolCallID] = u.Title
		c.say("• %s", u.Title)
	case acp.ToolCallUpdate:
		c.toolCall(u)
	case acp.Plan:
		for _, e := range u.Entries {
			c.say("  %s %s", planMark(e.Status), e.Content)
		}
	}
}

// answer writes a piece of the answer.
func (c *console) answer(text string) {
	if _, err := io.WriteString(c.out, text); err != nil && c.broken == nil {
		c.broken = err
	}
}

func (c *console) toolCall(u acp.ToolCallUpdate) {
	if u.Title != "" {
		c.titles[u.ToolCallID] = u.Title
	}
	if u.Status != acp.ToolCallFailed {
		return
	}
	reason := "failed"
	for _, content := range u.Content {
		if block, ok := content.(acp.ToolCallBlock); ok {
			reason = acp.PlainText(block.Content)
		}
	}
	c.say("✗ %s: %s", c.titles[u.ToolCallID], firstLine(reason))
}

func planMark(s acp.PlanEntryStatus) string {
	switch s {
	case acp.PlanCompleted:
		return "[x]"
	case acp.PlanInProgress:
		return "[>]"
	}
	return "[ ]"
}

// say prints a line beside the answer.
func (c *console) say(format string, args ...any) {
	c.endLine()
	fmt.Fprintln(c.aside, safe(fmt.Sprintf(format, args...)))
}

// endLine ends the answer's last line, so that nothing is appended to it.
func (c *console) endLine() {
	if c.midLine {
		c.answer("\n")
		c.midLine = false
	}
}

// question shows what is asked for, exactly.
func (c *console) question(req acp.RequestPermissionRequest) {
	title := req.ToolCall.Title
	if title == "" {
		title = c.titles[req.ToolCall.ToolCallID]
	}
	c.say("\n? %s", title)
	for _, content := range req.ToolCall.Content {
		switch content := content.(type) {
		case acp.ToolCallDiff:
			c.say("%s", unified(content))
		case acp.ToolCallBlock:
			c.say("%s", acp.PlainText(content.Content))
		}
	}
}

func unified(d acp.ToolCallDiff) string {
	old, existed := d.OldText.Get()
	from := d.Path
	if !existed {
		from = "/dev/null"
	}
	return strings.TrimRight(udiff.Unified(from, d.Path, old, d.NewText), "\n")
}

// safe takes out what could move the cursor or rewrite the screen: a file's text must not look like wherry's own words.
func safe(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text)
}

func firstLine(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "```"))
	line, _, more := strings.Cut(text, "\n")
	if more {
		return line + " …"
	}
	return line
}
