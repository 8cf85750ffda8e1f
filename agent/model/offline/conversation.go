package offline

import (
	"encoding/json"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
)

// conversation is what the messages say about the task at hand.
type conversation struct {
	text  string     // the person's own words
	files []attached // files that came with them
	links []mention  // files they point at
	past  []exchange // calls and results since
	calls int        // calls in all the messages
	plan  []task     // the plan as last set
	blind bool       // there is something in the prompt that is no text
}

// attached is a file whose text is in the prompt. It is data: no line of it is ever an instruction.
type attached struct {
	path string
	text string
}

// mention points at a file, or at lines of it.
type mention struct {
	path     string
	from, to int // 1-based lines, 0 for all
}

func readConversation(messages []model.Message) conversation {
	var c conversation
	last := -1
	for i, m := range messages {
		if m.Role == model.RoleUser {
			last = i
		}
	}
	results := map[string]reply{} // of the completion at hand: ids are unique only within it
	var open []model.ToolCall
	var all []exchange
	settle := func(ofTask bool) {
		for _, call := range open {
			r, ok := results[call.ID]
			if !ok {
				r = reply{failed: true, text: "there is no result"}
			}
			if ofTask {
				all = append(all, exchange{call.Name, r})
			}
			if call.Name == "plan" && !r.failed {
				if tasks, ok := readPlan(call.Args); ok && !ofTask {
					c.plan = tasks
				}
			}
		}
		open = nil
		clear(results)
	}
	for i, m := range messages {
		switch m.Role {
		case model.RoleAssistant:
			settle(i > last && last >= 0)
			for _, p := range m.Parts {
				if call, ok := p.(model.ToolCall); ok {
					open = append(open, call)
					c.calls++
				}
			}
		case model.RoleTool:
			for _, p := range m.Parts {
				if r, ok := p.(model.ToolResult); ok {
					results[r.CallID] = reply{text: joinText(r.Parts), failed: r.Failed}
				}
			}
		case model.RoleUser:
			settle(false)
		}
	}
	settle(last >= 0)
	c.past = all
	if last >= 0 {
		c.readPrompt(messages[last].Parts)
	}
	return c
}

func joinText(parts []model.Part) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.(model.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// readPrompt takes the parts of the person's message apart. A file or link in the middle of a sentence leaves its path
// there: `replace "a" with "b" in ` and then a link is one instruction.
//
// A prompt that was never answered is in the same message as the one after it. Its instructions were not meant to wait
// for another prompt, so of texts that do not go on from one to the next, only the last is the task.
func (c *conversation) readPrompt(parts []model.Part) {
	var own strings.Builder
	add := func(text string, inline bool) {
		if own.Len() > 0 && !inline {
			own.WriteByte('\n')
		}
		own.WriteString(text)
	}
	midway := func() bool {
		s := own.String()
		return s != "" && strings.TrimRight(s, " \t") != s
	}
	goesOn := func(next string) bool {
		return midway() || strings.TrimLeft(next, " \t\n,.;:!?)") != next
	}
	afterName := false // the last part left a path in the sentence
	for _, p := range parts {
		t, ok := p.(model.Text)
		if !ok {
			c.blind = true
			continue
		}
		text := strings.ReplaceAll(strings.ToValidUTF8(t.Text, "\uFFFD"), "\r\n", "\n")
		if text == emptyPrompt {
			continue
		}
		if leftOut().MatchString(text) {
			c.blind = true
			continue
		}
		if f, ok := wholeFile(text); ok {
			c.files = append(c.files, f)
			if afterName = midway(); afterName {
				add(quotePath(f.path), true)
			}
			continue
		}
		if at := wholeLink(text); at.path != "" {
			c.links = append(c.links, at)
			if afterName = midway(); afterName {
				add(quotePath(at.path), true)
			}
			continue
		}
		rest := c.takeLinks(c.takeFiles(text))
		if own.Len() > 0 && !afterName && !goesOn(rest) {
			own.Reset()
		}
		add(rest, afterName || own.Len() > 0 && goesOn(rest))
		afterName = false
	}
	c.text = strings.TrimSpace(own.String())
}

// emptyPrompt is how a prompt without content is given to models.
const emptyPrompt = "(empty prompt)"

var (
	// leftOut is what stands in the place of what this model does not take. A path in it may hold anything.
	leftOut   = lazy(`(?s)^\[(?:an? (?:image|sound) \([^)]*\) was left out: this model takes no (?:images|audio)|.*: a binary file \(.*\) that cannot be shown)\]$`)
	fileOpen  = lazy(`(?m)^<(file(?:-\d+)?)\s+(?:path|uri|name)=("(?:[^"\\\n]|\\.)*")[^>\n]*>\n?`)
	fileClose = lazy(`\n?</file(?:-\d+)?>`)
)

// wholeFile reads a part that is an embedded file and nothing else. Its tag is one that the text does not close.
func wholeFile(part string) (attached, bool) {
	if !strings.HasPrefix(part, "<file") {
		return attached{}, false
	}
	open := fileOpen().FindStringSubmatchIndex(part)
	if open == nil || open[0] != 0 {
		return attached{}, false
	}
	closing := "</" + part[open[2]:open[3]] + ">"
	body, ok := strings.CutSuffix(part[open[1]:], closing)
	if !ok || strings.Contains(body, closing) {
		return attached{}, false
	}
	return attached{path: tagPath(part[open[4]:open[5]]), text: body}, true
}

// tagPath reads the quoted path of a file's tag.
func tagPath(q string) string {
	name, err := strconv.Unquote(q)
	if err != nil {
		name = strings.Trim(q, `"`)
	}
	return readURI(name).path
}

// takeFiles removes embedded files from text that has more in it. Everything between the first opening and the last
// closing mark is taken as file text, so that a file which holds a closing mark itself cannot smuggle instructions into
// the person's words.
func (c *conversation) takeFiles(part string) string {
	if !strings.Contains(part, "<file") {
		return part
	}
	open := fileOpen().FindStringSubmatchIndex(part)
	if open == nil {
		return part
	}
	closing := fileClose().FindAllStringIndex(part, -1)
	if len(closing) == 0 || closing[len(closing)-1][1] < open[1] {
		return part[:open[0]] // never closed: all of it is file
	}
	end := closing[len(closing)-1]
	name, body := tagPath(part[open[4]:open[5]]), part[open[1]:max(end[0], open[1])]
	for {
		next := fileOpen().FindStringSubmatchIndex(body)
		if next == nil {
			break
		}
		before := fileClose().ReplaceAllString(strings.TrimRight(body[:next[0]], "\n"), "")
		c.files = append(c.files, attached{path: name, text: before})
		name, body = tagPath(body[next[4]:next[5]]), body[next[1]:]
	}
	c.files = append(c.files, attached{path: name, text: body})
	return part[:open[0]] + "\n" + part[end[1]:]
}

// wholeLink reads a part that is a link and nothing else.
func wholeLink(part string) mention {
	uri, ok := strings.CutPrefix(strings.TrimSpace(part), "@")
	if !ok || uri == "" || strings.Contains(uri, "\n") || strings.Contains(uri, "://") && !strings.HasPrefix(uri, "file://") {
		return mention{}
	}
	if !strings.HasPrefix(uri, "file://") && strings.ContainsAny(uri, " \t") {
		return mention{}
	}
	return readURI(uri)
}

// link matches @uri, a bare file URI, and the Markdown form of a mention.
var link = lazy(`\[@?([^\]\n]*)\]\((file://[^)\s]+)\)|@?(file://[^\s)>\]"'` + "`" + `]+)|(?:^|\s)@([\w./~+-]*[\w/](?:#L\d+(?:[:-]L?\d+)?)?)`)

// takeLinks notes what the text points at and leaves the words; a link that stands for a word is replaced by its path.
func (c *conversation) takeLinks(text string) string {
	if !strings.Contains(text, "@") && !strings.Contains(text, "file://") {
		return text
	}
	return link().ReplaceAllStringFunc(text, func(found string) string {
		m := link().FindStringSubmatch(found)
		uri := m[2]
		if uri == "" {
			uri = m[3]
		}
		if uri == "" && strings.ContainsAny(m[4], "./#") { // not a decorator or a person
			uri = m[4]
		}
		at := readURI(uri)
		if at.path == "" {
			return found
		}
		c.links = append(c.links, at)
		lead := ""
		if strings.TrimLeft(found, " \t\n") != found {
			lead = found[:1]
		}
		return lead + quotePath(at.path)
	})
}

var lineRange = lazy(`^L?(\d+)(?:[:-]L?(\d+))?$`)

// readURI reads a path or file URI with an optional line range: #L5, #L5:9, #L5-L9, ?symbol=x#L5:9.
func readURI(uri string) mention {
	var m mention
	place, fragment, _ := strings.Cut(uri, "#")
	if strings.HasPrefix(place, "file://") {
		u, err := url.Parse(place)
		if err != nil {
			return m
		}
		place = u.Path
		if len(place) > 2 && place[0] == '/' && place[2] == ':' { // file:///C:/x
			place = place[1:]
		}
	}
	m.path = strings.TrimSuffix(place, ".") // the end of a sentence, not of a name
	if m.path == "" || m.path == "/" {
		return mention{}
	}
	if r := lineRange().FindStringSubmatch(fragment); r != nil {
		m.from, _ = strconv.Atoi(r[1])
		m.to = m.from
		if r[2] != "" {
			m.to, _ = strconv.Atoi(r[2])
		}
		if m.to < m.from {
			m.from, m.to = m.to, m.from
		}
	}
	return m
}

// quotePath writes a path as a word of an instruction.
func quotePath(p string) string {
	if strings.ContainsAny(p, " \t") {
		return "`" + p + "`"
	}
	return p
}

// base is the last element of a path of either kind.
func base(p string) string { return path.Base(strings.ReplaceAll(p, `\`, "/")) }

// readPlan reads the arguments of a plan call.
func readPlan(args json.RawMessage) ([]task, bool) {
	var plan planArgs
	if err := json.Unmarshal(args, &plan); err != nil {
		return nil, false
	}
	return plan.Entries, true
}
