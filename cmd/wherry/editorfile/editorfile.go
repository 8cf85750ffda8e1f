// Package editorfile puts an agent into the settings of an editor, which are JSON with comments, without touching anything else in
// them.
package editorfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// ErrByHand says that a file of settings is not touched.
var ErrByHand = errors.New("paste the lines above by hand")

// Servers is the member of an editor's settings that lists its agents.
const Servers = "agent_servers"

// Agent is how Zed and JetBrains configure an agent.
type Agent struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// WithAgent puts an agent into the settings of an editor, JSON with comments and trailing commas: what is there keeps its
// bytes. An agent of that name that is there already keeps everything but its command and its arguments.
func WithAgent(data []byte, name string, agent Agent) ([]byte, error) {
	text, mark := bytes.CutPrefix(data, []byte("\ufeff"))
	source := bytes.Clone(text)
	if isBlank(text) { // at most comments
		source = append(source, "\n{}\n"...)
		if len(text) == 0 || bytes.HasSuffix(text, []byte("\n")) {
			source = append(bytes.Clone(text), "{}\n"...)
		}
	}
	ended := bytes.HasSuffix(source, []byte("\n"))
	if !ended { // the parser wants it behind a comment
		source = append(source, '\n')
	}
	doc, err := hujson.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON (%w): correct it first, or %w", err, ErrByHand)
	}
	e := jsonEditor{newline: "\n", unit: "  "}
	if bytes.Contains(text, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	root, ok := doc.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("it holds no object: %w", ErrByHand)
	}
	if unit := indentation(root); unit != "" {
		e.unit = unit
	}
	if err := e.put(root, name, agent); err != nil {
		return nil, err
	}
	edited := doc.Pack()
	if !ended {
		edited = bytes.TrimSuffix(edited, []byte("\n"))
	}
	if err := onlyAgentChanged(text, edited, name, agent); err != nil {
		return nil, err
	}
	if mark {
		edited = append([]byte("\ufeff"), edited...)
	}
	return edited, nil
}

// isBlank tells that there is nothing but white space and comments.
func isBlank(text []byte) bool {
	doc, err := hujson.Parse(append(bytes.Clone(text), "\n0"...))
	if err != nil {
		return false
	}
	literal, ok := doc.Value.(hujson.Literal)
	return ok && string(literal) == "0"
}

// jsonEditor writes in the style of a document.
type jsonEditor struct{ newline, unit string }

func (e jsonEditor) put(root *hujson.Object, name string, agent Agent) error {
	servers := member(root, Servers)
	if servers == nil {
		e.insert(root, 0, Servers, map[string]Agent{name: agent})
		return nil
	}
	list, ok := servers.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("its %q is not an object: %w", Servers, ErrByHand)
	}
	there := member(list, name)
	if there == nil {
		e.insert(list, 1, name, agent)
		return nil
	}
	entry, ok := there.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf("its %q is not an object: %w", name, ErrByHand)
	}
	e.replace(entry, "command", agent.Command)
	e.replace(entry, "args", agent.Args)
	return nil
}

// replace sets a member of the agent, if it is not set so already.
func (e jsonEditor) replace(entry *hujson.Object, name string, value any) {
	there := member(entry, name)
	if there == nil {
		e.insert(entry, 2, name, value)
		return
	}
	want, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings always marshal
	}
	old := there.Clone()
	old.Minimize()
	old.BeforeExtra, old.AfterExtra = nil, nil
	if string(old.Pack()) != string(want) {
		there.Value = parsed(want)
	}
}

func parsed(text []byte) hujson.ValueTrimmed {
	v, err := hujson.Parse(text)
	if err != nil {
		panic(err) // json.Marshal made it
	}
	return v.Value
}

// member finds the value of a name. Of several with the same name the last counts, as it does for editors.
func member(o *hujson.Object, name string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if n, ok := o.Members[i].Name.Value.(hujson.Literal); ok && n.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// insert appends a member to an object that stands at a depth, in the style that its members have.
func (e jsonEditor) insert(o *hujson.Object, depth int, name string, value any) {
	indent, closing := strings.Repeat(e.unit, depth+1), strings.Repeat(e.unit, depth)
	if own := indentation(o); own != "" {
		indent = own
	}
	rest := string(o.AfterExtra) // what stands before the closing brace: perhaps a comment on the last member
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
		rest, closing = strings.TrimRight(rest[:i], " \t\r\n"), rest[i+1:]
	} else {
		rest = strings.TrimRight(rest, " \t")
	}
	text, err := json.MarshalIndent(value, indent, e.unit)
	if err != nil {
		panic(err) // strings always marshal
	}
	added := hujson.ObjectMember{
		Name: hujson.Value{BeforeExtra: hujson.Extra(rest + e.newline + indent), Value: hujson.String(name)},
		Value: hujson.Value{
			BeforeExtra: hujson.Extra(" "), Value: parsed(bytes.ReplaceAll(text, []byte("\n"), []byte(e.newline))),
		},
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil { // trailing commas are the style here
		added.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, added)
	o.AfterExtra = hujson.Extra(e.newline + closing)
}

// indentation is what stands before the last member in its line; "" if it has no line of its own.
func indentation(o *hujson.Object) string {
	if len(o.Members) == 0 {
		return ""
	}
	before := string(o.Members[len(o.Members)-1].Name.BeforeExtra)
	i := strings.LastIndexByte(before, '\n')
	if i < 0 || strings.Trim(before[i+1:], " \t") != "" {
		return ""
	}
	return before[i+1:]
}

// onlyAgentChanged makes sure that the edit did what it should, and nothing else.
func onlyAgentChanged(before, after []byte, name string, agent Agent) error {
	now, err := settingsTree(after)
	if err != nil {
		return err
	}
	servers, _ := now[Servers].(map[string]any)
	entry, _ := servers[name].(map[string]any)
	args, _ := entry["args"].([]any)
	if entry["command"] != agent.Command || len(args) != len(agent.Args) {
		return fmt.Errorf("it is written in a way that cannot be edited: %w", ErrByHand)
	}
	old := map[string]any{}
	if !isBlank(before) {
		if old, err = settingsTree(before); err != nil {
			return err
		}
	}
	for _, tree := range []map[string]any{old, now} {
		servers, _ := tree[Servers].(map[string]any)
		if entry, ok := servers[name].(map[string]any); ok {
			for _, own := range []string{"command", "args", "type", "env"} {
				delete(entry, own)
			}
			if len(entry) == 0 {
				delete(servers, name)
			}
		}
		if len(servers) == 0 {
			delete(tree, Servers)
		}
	}
	if !reflect.DeepEqual(old, now) {
		return fmt.Errorf("it is written in a way that cannot be edited: %w", ErrByHand)
	}
	return nil
}

func settingsTree(text []byte) (map[string]any, error) {
	standard, err := hujson.Standardize(append(bytes.Clone(text), '\n'))
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(standard, &tree); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return tree, nil
}
