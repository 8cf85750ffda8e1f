package export

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// page is Markdown in the making: blocks with an empty line between them.
type page struct {
	bytes.Buffer
	roots []string
}

func (p *page) block(format string, args ...any) {
	text := strings.Trim(fmt.Sprintf(format, args...), "\n")
	if text == "" {
		return
	}
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(text)
	p.WriteByte('\n')
}

// folded hides a block behind its summary.
func (p *page) folded(summary, block string) {
	p.block("<details><summary>%s</summary>\n\n%s\n\n</details>", summary, block)
}

// place is a path as the person thinks of it: below the working folder where it is there.
func (p *page) place(path string) string {
	if len(p.roots) > 0 {
		if rel, err := filepath.Rel(p.roots[0], path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

func writeMarkdown(w io.Writer, events iter.Seq2[session.Event, error]) error {
	t, err := newTranscript(events)
	if err != nil {
		return err
	}
	p := &page{roots: t.state.Roots}
	title := t.state.Title
	if title == "" {
		title = "Session " + t.id
	}
	p.block("# %s", title)
	p.block("%s", t.facts())
	for _, e := range t.entries {
		e.write(p)
	}
	_, err = w.Write(p.Bytes())
	return err
}

// facts are the list at the top.
func (t *transcript) facts() string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	quoted := func(values ...string) string {
		if len(values) == 0 || values[0] == "" {
			return ""
		}
		return "`" + strings.Join(values, "`, `") + "`"
	}
	row("session", quoted(t.id))
	row("folder", quoted(t.state.Roots...))
	row("begun", stamp(t.begun))
	row("model", quoted(t.state.Model))
	row("forked from", quoted(t.state.Parent))
	if spent := t.state.Spent; spent.Input+spent.Output > 0 {
		row("tokens", fmt.Sprintf("%d in, %d out", spent.Input, spent.Output))
	}
	return b.String()
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

func (m *prompt) write(p *page) {
	switch {
	case m.number == 0:
		p.block("### Said meanwhile")
	default:
		p.block("## Prompt %d", m.number)
	}
	p.block("*%s*", stamp(m.at))
	for _, b := range m.blocks {
		p.block("%s", blockText(b))
	}
}

// blockText shows a piece of a prompt; what is no text is named.
func blockText(b session.Block) string {
	name := b.URI
	if name == "" {
		name = b.Name
	}
	switch b.Type {
	case session.BlockText:
		return b.Text
	case session.BlockLink:
		return "[" + b.Name + "](<" + b.URI + ">)"
	case session.BlockFile:
		if b.Data == nil {
			return "`" + name + "`\n\n" + fenced("", b.Text)
		}
	}
	return fmt.Sprintf("*[%s: %s, %d bytes]*", b.Type, strings.TrimSpace(name+" "+b.MIMEType), len(b.Data))
}

func (m *message) write(p *page) {
	text := strings.TrimSpace(m.text.String())
	switch {
	case text == "":
	case m.speaker == session.Thinking:
		p.folded("Thought", fenced("text", text))
	default:
		p.block("%s", text)
	}
}

func (c *call) write(p *page) {
	status, title := "not ended", c.tool
	if c.done != nil {
		status = string(c.done.Status)
	}
	if c.presented != nil && c.presented.Title != "" {
		title = c.presented.Title
	}
	p.block("### `%s` %s: %s", c.tool, strings.Join(strings.Fields(title), " "), status)
	if c.answer != nil {
		p.block("%s", permission(*c.answer))
	}
	shown := false
	if v := c.presented; v != nil {
		for _, d := range v.Diffs {
			p.block("%s", fenced("diff", unified(p.place(d.Path), d)))
			shown = true
		}
		if v.Command != nil {
			p.block("%s", fenced("sh", v.Command.Line))
		}
		if v.Request != nil {
			p.block("%s", fenced("json", string(v.Request.Args)))
		}
		if v.Plan != nil {
			p.block("%s", v.Plan.Text)
		}
	} else {
		p.block("%s", fenced("json", string(c.args)))
	}
	if c.done == nil || shown && c.done.Status == session.CallCompleted || c.done.Result.SetsPlan {
		return
	}
	r := c.done.Result
	switch {
	case r.Failed && (c.presented == nil || c.presented.Command == nil):
		p.block("> %s", strings.ReplaceAll(strings.TrimSpace(r.Text), "\n", "\n> "))
	case r.Text != "":
		p.folded("Output", fenced("", r.Text))
	}
	for _, image := range r.Images {
		p.block("*[%s, %d bytes]*", image.MIMEType, len(image.Data))
	}
}

func permission(a session.PermissionAnswered) string {
	text := map[session.PermissionAnswer]string{
		session.Allowed: "Allowed", session.Rejected: "Refused", session.Unanswered: "Not answered",
	}[a.Answer]
	if a.Answer == session.Allowed && a.Scope != "" {
		text += " (" + string(a.Scope) + ")"
	}
	if a.By != "" && a.Answer != session.Unanswered {
		text += " in " + a.By
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return "*" + text + "*"
}

func unified(place string, d tool.Diff) string {
	if d.Old == nil {
		return udiff.Unified("/dev/null", place, "", d.New)
	}
	return udiff.Unified(place, place, *d.Old, d.New)
}

func (l *plan) write(p *page) {
	var b strings.Builder
	for _, e := range l.entries {
		mark, note := " ", ""
		switch e.Status {
		case tool.PlanCompleted:
			mark = "x"
		case tool.PlanInProgress:
			note = " *(in progress)*"
		}
		fmt.Fprintf(&b, "- [%s] %s%s\n", mark, e.Content, note)
	}
	if b.Len() > 0 {
		p.block("**Plan**")
		p.block("%s", b.String())
	}
}

func (n *notice) write(p *page) { p.block("> %s", strings.ReplaceAll(n.text, "\n", "\n> ")) }

func (a *answer) write(p *page) { p.block("%s", a.text) }

func (s *summary) write(p *page) {
	p.folded("The conversation was summarised here", fenced("text", s.text))
}

func (c *change) write(p *page) { p.block("*%s*", c.text) }

func (e *end) write(p *page) {
	if e.Error != "" {
		p.block("> %s", strings.ReplaceAll(e.Error, "\n", "\n> "))
	}
	var facts []string
	if e.Reason != session.StopEndTurn && e.Reason != "" {
		facts = append(facts, "ended: "+strings.ReplaceAll(string(e.Reason), "_", " "))
	}
	if e.Usage.Input+e.Usage.Output > 0 {
		facts = append(facts, fmt.Sprintf("%d tokens in, %d out", e.Usage.Input, e.Usage.Output))
	}
	if len(facts) > 0 {
		p.block("*%s*", strings.Join(facts, "; "))
	}
}

// fenced quotes text as a code block whose fence the text cannot close.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
