package acp

import "github.com/go-json-experiment/json/jsontext"

// SessionConfigSelectOptions are the values that a selection offers.
//
// It is one of these types, as a value:
//
//   - [SessionConfigSelectFlat] (the items have "value"; an empty array is this one)
//   - [SessionConfigSelectGroups] (the items have "group")
//   - [UnknownSessionConfigSelectOptions], which keeps what this version does not know
//
//sumtype:decl
type SessionConfigSelectOptions interface {
	sessionConfigSelectOptions(e *encoder)
}

// SessionConfigSelectFlat are options without groups.
type SessionConfigSelectFlat []SessionConfigSelectOption

// SessionConfigSelectGroups are options in groups.
type SessionConfigSelectGroups []SessionConfigSelectGroup

// UnknownSessionConfigSelectOptions are options of a form that this version does not know.
type UnknownSessionConfigSelectOptions struct {
	Raw jsontext.Value
}

// MarshalJSON writes Raw.
func (v UnknownSessionConfigSelectOptions) MarshalJSON() ([]byte, error) {
	return marshalUnion(SessionConfigSelectOptions(v), encodeSessionConfigSelectOptions)
}

func (v SessionConfigSelectFlat) sessionConfigSelectOptions(e *encoder) {
	encodeSlice(e, v, func(e *encoder, v *SessionConfigSelectOption) { v.encodeWire(e) })
}

func (v SessionConfigSelectGroups) sessionConfigSelectOptions(e *encoder) {
	encodeSlice(e, v, func(e *encoder, v *SessionConfigSelectGroup) { v.encodeWire(e) })
}

func (v UnknownSessionConfigSelectOptions) sessionConfigSelectOptions(e *encoder) { e.raw(v.Raw) }

func decodeSessionConfigSelectOptions(d *decoder) (SessionConfigSelectOptions, error) {
	start := d.i
	if err := d.openArray(); err != nil {
		return nil, err
	}
	if !d.more() {
		return SessionConfigSelectFlat{}, nil
	}
	if d.b[d.i] != '{' {
		return nil, d.expected("object")
	}
	value, group := d.find("value"), d.find("group")
	d.i = start
	switch {
	case value >= 0:
		s, err := decodeStructs[SessionConfigSelectOption](d, false)
		return SessionConfigSelectFlat(s), err
	case group >= 0:
		s, err := decodeStructs[SessionConfigSelectGroup](d, false)
		return SessionConfigSelectGroups(s), err
	}
	raw, err := d.raw()
	return UnknownSessionConfigSelectOptions{raw}, err
}

func encodeSessionConfigSelectOptions(e *encoder, v SessionConfigSelectOptions) {
	if v == nil {
		e.lit("[]")
		return
	}
	v.sessionConfigSelectOptions(e)
}

// SessionConfigOptionValue is the value that session/set_config_option sets.
//
// It is one of these types, as a value:
//
//   - [SessionConfigValueID], for a selection
//   - [SessionConfigValueBool] (type "boolean")
//
//sumtype:decl
type SessionConfigOptionValue interface {
	sessionConfigOptionValue(e *encoder)
}

// SessionConfigValueBool is the value of a boolean configuration option.
type SessionConfigValueBool bool

func (v SessionConfigValueID) sessionConfigOptionValue(e *encoder) {
	e.lit(`,"value":`)
	e.str(string(v))
}

func (v SessionConfigValueBool) sessionConfigOptionValue(e *encoder) {
	e.lit(`,"type":"boolean","value":`)
	e.bool(bool(v))
}

// decodeSessionConfigOptionValue reads the value of the object at hand. A type that is absent or unknown goes with the id of a value.
func decodeSessionConfigOptionValue(d *decoder) (SessionConfigOptionValue, error) {
	start := d.i
	tag, err := d.tag("type")
	if err != nil {
		return nil, err
	}
	isBool := string(tag) == "boolean"
	at := d.find("value")
	if at < 0 {
		return nil, d.missing(start, 0, "value")
	}
	d.i = at
	if isBool {
		b, err := d.bool()
		return SessionConfigValueBool(b), err
	}
	return decodeString[SessionConfigValueID](d)
}

func hasSessionConfigOptionValue(v SessionConfigOptionValue, name []byte) bool {
	_, isBool := v.(SessionConfigValueBool)
	return string(name) == "value" || isBool && string(name) == "type"
}
