package guard

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/guard/detect"
	"github.com/wherry-acp/wherry/agent/model"
)

// pass is one walk through a request.
type pass struct {
	guard   *Guard
	scanner *detect.Scanner // nil if nothing is looked for
	report  Report
	refused []Found
}

// place says where in a request a text stands.
type place struct {
	what    string // "the prompt", "the result of"
	tool    string
	message int // counted from 1; 0 for none
}

// messages checks messages. It gives them as they are unless something in them is replaced.
func (p *pass) messages(ctx context.Context, messages []model.Message) []model.Message {
	out := messages
	for i, m := range messages {
		if i%16 == 0 && ctx.Err() != nil {
			return nil
		}
		parts, changed := p.parts(m.Parts, place{what: speaker(m.Role), message: i + 1})
		if !changed {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i] = model.Message{Role: m.Role, Parts: parts}
	}
	return out
}

func speaker(r model.Role) string {
	switch r {
	case model.RoleUser:
		return "the prompt"
	case model.RoleAssistant:
		return "an answer"
	}
	return "a result"
}

func (p *pass) parts(parts []model.Part, at place) (out []model.Part, changed bool) {
	out = parts
	for i, part := range parts {
		replaced, differs := p.part(part, at)
		if !differs {
			continue
		}
		if !changed {
			out, changed = slices.Clone(parts), true
		}
		out[i] = replaced
	}
	return out, changed
}

// part checks one part. differs tells whether the result is another than part.
func (p *pass) part(part model.Part, at place) (out model.Part, differs bool) {
	switch v := part.(type) {
	case model.Text:
		if text := p.text(v.Text, at); text != v.Text {
			return model.Text{Text: text}, true
		}
	case model.Thought:
		if len(v.Opaque) > 0 {
			return part, false
		}
		if text := p.text(v.Text, at); text != v.Text {
			v.Text = text
			return v, true
		}
	case model.ToolCall:
		at.what, at.tool = "the arguments of", v.Name
		if args, differs := p.arguments(v.Args, at, true); differs {
			v.Args = args
			return v, true
		}
	case model.ToolResult:
		at.what, at.tool = "the result of", v.Name
		if parts, differs := p.parts(v.Parts, at); differs {
			v.Parts = parts
			return v, true
		}
	case model.Image:
		p.report.Images++
	case model.Audio:
		p.report.Sounds++
	}
	return part, false
}

// tools checks what tools say of themselves: servers of others write it.
func (p *pass) tools(tools []model.ToolSpec) []model.ToolSpec {
	out := tools
	for i, t := range tools {
		description := p.text(t.Description, place{what: "the description of", tool: t.Name})
		schema, differs := p.arguments(t.Schema, place{what: "the description of", tool: t.Name}, false)
		if !differs && description == t.Description {
			continue
		}
		if &out[0] == &tools[0] {
			out = slices.Clone(tools)
		}
		out[i].Description, out[i].Schema = description, schema
	}
	return out
}

// text checks a text and gives it as it may be sent.
func (p *pass) text(text string, at place) string {
	g := p.guard
	if text == "" || p.scanner == nil {
		return text
	}
	key := g.seen.text(text)
	c, ok := g.seen.get(key)
	if !ok {
		c = p.check(text)
		g.seen.put(key, c)
	}
	p.count(&c, at)
	if c.clean {
		return text
	}
	return c.text
}

// arguments checks JSON. It stays valid if it is.
func (p *pass) arguments(args json.RawMessage, at place, named bool) (out json.RawMessage, differs bool) {
	g := p.guard
	if len(args) == 0 || p.scanner == nil {
		return args, false
	}
	key := g.seen.json(args, named)
	c, ok := g.seen.get(key)
	if !ok {
		c = p.checkJSON(args, named)
		g.seen.put(key, c)
	}
	p.count(&c, at)
	if c.clean {
		return args, false
	}
	return json.RawMessage(c.text), true
}

// count enters a checked text into the report.
func (p *pass) count(c *checked, at place) {
	refuses := p.guard.policy.PII == PIIRefuse
	var found Counts
	for _, f := range c.found {
		if refuses && f.kind.Personal() {
			if found == nil {
				found = Counts{}
			}
			found[f.kind] += f.places
			continue
		}
		p.report.Places[f.kind] += f.places
		p.report.Replaced[f.kind] += f.fresh
	}
	if found != nil {
		p.refused = append(p.refused, Found{What: strings.TrimSpace(at.what + " " + at.tool), Tool: at.tool, Message: at.message, Counts: found})
	}
}

// check looks at a text that was not seen before.
func (p *pass) check(text string) checked {
	g := p.guard
	g.ledger.reserve(text)
	redacted, found, changed := g.replace(text, p.scanner.Scan(text), g.replaces)
	if !changed {
		return checked{clean: true, found: found}
	}
	return checked{text: redacted, found: found}
}

// replaces tells whether spans of a kind are replaced; others have the request refused.
func (g *Guard) replaces(k detect.Kind) bool { return g.policy.PII != PIIRefuse || !k.Personal() }

// replace puts placeholders in place of the spans of a text.
func (g *Guard) replace(text string, spans []detect.Span, replaces func(detect.Kind) bool) (out string, found []finding, changed bool) {
	if len(spans) == 0 {
		return text, nil, false
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		f := findingOf(&found, s.Kind)
		f.places++
		if !replaces(s.Kind) {
			continue
		}
		holder, fresh := g.ledger.holder(s.Kind, text[s.Start:s.End])
		if fresh {
			f.fresh++
		}
		b.WriteString(text[at:s.Start])
		b.WriteString(holder)
		at, changed = s.End, true
	}
	b.WriteString(text[at:])
	return b.String(), found, changed
}

func findingOf(found *[]finding, kind detect.Kind) *finding {
	for i := range *found {
		if (*found)[i].kind == kind {
			return &(*found)[i]
		}
	}
	*found = append(*found, finding{kind: kind})
	return &(*found)[len(*found)-1]
}
