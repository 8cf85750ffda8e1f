package adapt

import (
	"bytes"
	"encoding/json"

	"github.com/wherry-acp/wherry/agent/model"
)

// Calls collects the tool calls of one completion while they arrive in pieces, and gives each an id of its own.
// The zero value is ready. It is not safe for concurrent use.
type Calls struct {
	list []*call
}

type call struct {
	index  int
	id     string
	name   string
	args   bytes.Buffer
	opaque json.RawMessage
}

// Piece adds a piece of a call. index tells the calls apart, except that an id which differs from the one that was given
// for the same index begins a new call: some servers number all calls 0. A negative index means the latest call, or a new
// one if there is an id or a name for one.
func (c *Calls) Piece(index int, id, name, args string, opaque json.RawMessage) {
	cur := c.find(index, id, name)
	if cur == nil {
		cur = &call{index: index}
		c.list = append(c.list, cur)
	}
	if cur.id == "" {
		cur.id = id
	}
	if cur.name == "" {
		cur.name = name
	}
	if opaque != nil {
		cur.opaque = opaque
	}
	cur.args.WriteString(args)
}

func (c *Calls) find(index int, id, name string) *call {
	for i := len(c.list) - 1; i >= 0; i-- {
		cur := c.list[i]
		if index >= 0 && cur.index != index {
			continue
		}
		switch {
		case id != "" && cur.id != "" && id != cur.id:
			return nil
		case index < 0 && cur.name != "" && name != "" && id != cur.id:
			return nil
		case index < 0 && id == "" && name != "" && cur.args.Len() > 0:
			return nil
		}
		return cur
	}
	return nil
}

// Len is how many calls there are.
func (c *Calls) Len() int { return len(c.list) }

// Done gives the calls in the order in which they began. With whole, calls whose arguments are not whole JSON are left
// out: the output limit cut them off.
func (c *Calls) Done(provider string, whole bool) []model.ToolCall {
	used := map[string]bool{}
	var done []model.ToolCall
	for _, cur := range c.list {
		args := bytes.TrimSpace(cur.args.Bytes())
		if whole && !json.Valid(args) {
			continue
		}
		if len(args) == 0 {
			args = []byte("{}")
		}
		done = append(done, model.ToolCall{ID: Unused(cur.id, used), Name: cur.name, Args: args, Provider: provider, Opaque: cur.opaque})
	}
	return done
}
