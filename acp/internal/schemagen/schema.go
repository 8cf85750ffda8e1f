package main

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value whose objects keep the order of their members. It is one of *object, []node, string, bool, jsontext.Value
// (a number) or nil.
type node = any

type object struct {
	names  []string
	values map[string]node
}

func (o *object) get(name string) node {
	if o == nil {
		return nil
	}
	return o.values[name]
}

func (o *object) has(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.values[name]
	return ok
}

func (o *object) object(name string) *object { v, _ := o.get(name).(*object); return v }
func (o *object) list(name string) []node    { v, _ := o.get(name).([]node); return v }
func (o *object) text(name string) string    { v, _ := o.get(name).(string); return v }
func (o *object) flag(name string) bool      { v, _ := o.get(name).(bool); return v }

func (o *object) requires(name string) bool {
	for _, r := range o.list("required") {
		if r == name {
			return true
		}
	}
	return false
}

func parseJSON(b []byte) (*object, error) {
	n, err := parseNode(jsontext.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return nil, err
	}
	o, ok := n.(*object)
	if !ok {
		return nil, fmt.Errorf("not a JSON object")
	}
	return o, nil
}

func parseNode(d *jsontext.Decoder) (node, error) {
	switch d.PeekKind() {
	case '{':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		o := &object{values: map[string]node{}}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			v, err := parseNode(d)
			if err != nil {
				return nil, err
			}
			o.names = append(o.names, key)
			o.values[key] = v
		}
		_, err := d.ReadToken()
		return o, err
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		list := []node{}
		for d.PeekKind() != ']' {
			v, err := parseNode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.ReadToken()
		return list, err
	}
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	switch v.Kind() {
	case '"':
		var s string
		err := json.Unmarshal(v, &s)
		return s, err
	case 't', 'f':
		return v.Kind() == 't', nil
	case 'n':
		return nil, nil
	}
	return v.Clone(), nil
}
