package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Role says whose an [Item] is.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // a tool's result
)

// Item is one entry of a request's conversation, whatever the format it came in.
type Item struct {
	Role   Role
	Text   string
	CallID string  // for Tool: the call that it answers
	Calls  []Call  // for Assistant
	Images []Image // pictures in it
}

// Call is a tool call in the history of a request.
type Call struct {
	ID, Name string
	Args     string // JSON
}

// Image is a picture in a request.
type Image struct {
	MIMEType string
	Bytes    int // its size, decoded
}

// ToolSpec is a tool that a request offers.
type ToolSpec struct {
	Name   string
	Schema json.RawMessage // JSON Schema of its arguments
}

// Conversation is what a request asks, whatever the format it came in.
type Conversation struct {
	Model  string
	System string
	Stream bool
	Tools  []ToolSpec
	Items  []Item
	Schema json.RawMessage // the answer must be JSON of this schema; nil if not, null if of any

	answer string // names the answer; clients take two with one name for parts of one
}

// tail is the part after the last assistant item: the user's texts, and the tools' results.
func (c *Conversation) tail() (users []string, results []Item) {
	for i := len(c.Items) - 1; i >= 0; i-- {
		switch it := c.Items[i]; it.Role {
		case Assistant:
			return users, results
		case User:
			users = append([]string{it.Text}, users...)
		case Tool:
			results = append([]Item{it}, results...)
		}
	}
	return users, results
}

// script finds the directives that this request answers to and how many completions of them were already given.
// expand turns a user's text into steps, none if it holds no directive.
func (c *Conversation) script(expand func(string) ([]step, error)) (steps []step, done int, err error) {
	users, results := c.tail()
	for _, text := range users {
		more, err := expand(text)
		if err != nil {
			return nil, 0, err
		}
		steps = append(steps, more...)
	}
	if len(steps) > 0 || len(results) == 0 {
		return anew(steps), 0, nil
	}
	// The results of earlier calls: walk back to the prompt that began this. Each run of results is one completion.
	inRun := false
	for i := len(c.Items) - 1; i >= 0; i-- {
		it := c.Items[i]
		if it.Role == Tool && !inRun {
			done++
		}
		if it.Role != User {
			inRun = it.Role == Tool
			continue
		}
		if steps, err = expand(it.Text); err != nil || len(steps) > 0 {
			// Directives may be spread over several user items next to each other.
			for j := i - 1; err == nil && j >= 0 && c.Items[j].Role == User; j-- {
				var more []step
				more, err = expand(c.Items[j].Text)
				steps = append(more, steps...)
			}
			return anew(steps), done, err
		}
	}
	return nil, 0, nil
}

// anew leaves out what [[anew]] makes forgotten.
func anew(steps []step) []step {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].op == "anew" {
			return steps[i+1:]
		}
	}
	return steps
}

// seen describes the request in one line.
func (c *Conversation) seen() string {
	var names, images []string
	for _, t := range c.Tools {
		names = append(names, t.Name)
	}
	roles := map[Role]int{}
	for _, it := range c.Items {
		roles[it.Role]++
		for _, im := range it.Images {
			images = append(images, fmt.Sprintf("%s %s %d bytes", it.Role, im.MIMEType, im.Bytes))
		}
	}
	return fmt.Sprintf("model %s; %d user, %d assistant, %d tool items; tools: %s; images: %s", c.Model,
		roles[User], roles[Assistant], roles[Tool], strings.Join(names, " "), strings.Join(images, ", "))
}
