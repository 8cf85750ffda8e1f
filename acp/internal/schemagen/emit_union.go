package main

import (
	"fmt"
	"strings"
)

func (m *model) writeUnions(s *source) {
	for _, d := range m.defs {
		if d.kind == kindUnion {
			m.writeUnion(s, d)
		}
	}
}

func (u *union) all() []*variant {
	if u.fallback == nil {
		return u.variants
	}
	return append(u.variants[:len(u.variants):len(u.variants)], u.fallback)
}

func (m *model) writeUnion(s *source, d *def) {
	u := d.union
	text := typeComments[strings.TrimPrefix(d.goName, "Unstable")]
	if text == "" {
		text = "is a union."
	}
	s.f("// %s %s", d.goName, text)
	s.f("//\n// It is one of these types, as a value:\n//")
	for _, v := range u.all() {
		note := ""
		switch {
		case v.tagValue != "":
			note = fmt.Sprintf(" (%s %q)", u.tag, v.tagValue)
		case v.member != "":
			note = fmt.Sprintf(" (has %q)", v.member)
		case u.tag != "":
			note = fmt.Sprintf(" (no %s)", u.tag)
		}
		s.f("//   - [%s]%s", v.goName, note)
	}
	if u.unknown != "" {
		s.f("//   - [%s], which keeps what this version does not know", u.unknown)
	}
	if d.unstable {
		s.f("//\n// Unstable: it may change or go, and is off until a connection opts in.")
	}
	s.f("//\n//sumtype:decl")
	s.f("type %s interface {\n%s(e *encoder)\n}\n", d.goName, u.method)
	m.writeUnknown(s, d)
	for _, v := range u.all() {
		m.writeVariant(s, d, v)
	}
	switch {
	case u.tag == "":
		m.writeDecodeShape(s, d)
	default:
		m.writeDecodeTagged(s, d)
	}
	if u.flat {
		m.writeHas(s, d)
		return
	}
	s.f("func encode%s(e *encoder, u %s) {", d.goName, d.goName)
	s.f("if u == nil {\ne.fail(%q)\nreturn\n}", d.goName+": required, nil")
	s.f("at := len(e.b)\nu.%s(e)\ne.close(at)\n}\n", u.method)
	s.f("func encode%sItem(e *encoder, u *%s) { encode%s(e, *u) }\n", d.goName, d.goName, d.goName)
	s.f("// Marshal%s returns the JSON form of u, tag and all.", d.goName)
	s.f("func Marshal%s(u %s) ([]byte, error) { return marshalUnion(u, encode%s) }\n", d.goName, d.goName, d.goName)
	s.f("// Unmarshal%s reads one %s. Its errors are those of [Codec.Unmarshal].", d.goName, d.goName)
	s.f("func Unmarshal%s(b []byte) (%s, error) { return unmarshalUnion(b, decode%s) }\n", d.goName, d.goName, d.goName)
}

func (m *model) writeUnknown(s *source, d *def) {
	u := d.union
	if u.unknown == "" {
		return
	}
	raw := "the whole object"
	if u.flat {
		raw = "the members that are not common to all variants, as an object"
	}
	s.f("// %s is a kind of %s that this version does not know.", u.unknown, d.goName)
	s.f("// Raw is %s; it is written back byte for byte, and wins over the other fields.", raw)
	s.f("type %s struct {", u.unknown)
	if u.tag != "" {
		s.f("Tag string // the value of %q", u.tag)
	}
	s.f("Raw jsontext.Value")
	if u.hasErr {
		s.f("// Err says why a variant with a known tag did not decode. It is nil when the tag is unknown.\nErr error")
	}
	s.f("}\n")
	s.f("func (v %s) %s(e *encoder) {\ne.rawMembers(%q, v.Raw)\n}\n", u.unknown, u.method, u.unknown)
	if !u.flat {
		s.f("// MarshalJSON writes Raw.")
		s.f("func (v %s) MarshalJSON() ([]byte, error) { return Marshal%s(v) }\n", u.unknown, d.goName)
	}
}

func (m *model) writeVariant(s *source, d *def, v *variant) {
	u := d.union
	if v.own {
		s.f("// %s is the %s with %s %q.", v.goName, d.goName, u.tag, v.tagValue)
		s.f("type %s %s\n", v.goName, v.payload.goName)
	}
	s.f("func (v %s) %s(e *encoder) {", v.goName, u.method)
	if v.unstable && !d.unstable {
		s.f("e.gate(%q)", v.goName)
	}
	if v.tagValue != "" {
		s.f("e.lit(`,%q:%q`)", u.tag, v.tagValue)
	}
	if v.payload.asField && v.tagValue != "" && !v.own {
		// As a plain field it has no tag, so one that came along was kept as an unknown member.
		s.f("v.unknown = withoutMember(v.unknown, %q)", u.tag)
	}
	if v.own {
		s.f("(*%s)(&v).encodeMembers(e)\n}\n", v.payload.goName)
	} else {
		s.f("v.encodeMembers(e)\n}\n")
	}
}

func (m *model) writeDecodeVariant(s *source, d *def, v *variant) {
	tag := fmt.Sprintf("%q", d.union.tag)
	if d.union.flat {
		tag = "flattened"
	} else if v == d.union.fallback {
		tag = `""`
	}
	s.f("var v %s", v.goName)
	if v.own {
		s.f("if err := (*%s)(&v).decodeMembers(d, %s); err != nil {\nreturn nil, err\n}", v.payload.goName, tag)
	} else {
		s.f("if err := v.decodeMembers(d, %s); err != nil {\nreturn nil, err\n}", tag)
	}
	s.f("return v, nil")
}

func (m *model) writeDecodeTagged(s *source, d *def) {
	u := d.union
	params := ""
	if u.flat && u.unknown != "" {
		params = ", common ...string"
	}
	s.f("func decode%s(d *decoder%s) (%s, error) {", d.goName, params, d.goName)
	s.f("tag, err := d.tag(%q)\nif err != nil {\nreturn nil, err\n}", u.tag)
	if u.fallback == nil {
		s.f("if tag == nil {\nreturn nil, d.missingTag(%q)\n}", u.tag)
	}
	s.f("switch string(tag) {")
	for _, v := range u.variants {
		s.f("case %q:", v.tagValue)
		if v.unstable && !d.unstable {
			s.f("if !d.unstable {\nbreak\n}")
		}
		m.writeDecodeVariant(s, d, v)
	}
	for _, t := range u.fallbackFor {
		s.f("case %q:", t)
		m.writeDecodeVariant(s, d, u.fallback)
	}
	s.f("}")
	if u.fallback != nil {
		if !u.fallbackAll {
			s.f("if tag == nil {")
			m.writeDecodeVariant(s, d, u.fallback)
			s.f("}")
		} else {
			m.writeDecodeVariant(s, d, u.fallback)
			s.f("}\n")
			return
		}
	}
	if u.flat {
		s.f("name := string(tag)\nreturn %s{Tag: name, Raw: d.rest(common...)}, nil\n}\n", u.unknown)
	} else {
		s.f("name := string(tag)\nraw, err := d.raw()\nreturn %s{Tag: name, Raw: raw}, err\n}\n", u.unknown)
	}
}

func (m *model) writeDecodeShape(s *source, d *def) {
	u := d.union
	s.f("func decode%s(d *decoder) (%s, error) {", d.goName, d.goName)
	s.f("if d.b[d.i] != '{' {\nreturn nil, d.expected(\"object\")\n}")
	for _, v := range u.variants {
		s.f("if d.find(%q) >= 0 {", v.member)
		m.writeDecodeVariant(s, d, v)
		s.f("}")
	}
	if u.unknown == "" {
		s.f("return nil, d.missing(d.i, 0, %q)\n}\n", u.variants[0].member)
		return
	}
	s.f("raw, err := d.raw()\nreturn %s{Raw: raw}, err\n}\n", u.unknown)
}

// writeHas writes which of an object's members belong to the union that is flattened into it.
func (m *model) writeHas(s *source, d *def) {
	u := d.union
	s.f("func has%s(u %s, name []byte) bool {", d.goName, d.goName)
	if u.tag != "" {
		s.f("if string(name) == %q {\nreturn true\n}", u.tag)
	}
	bind := "u :="
	nested := false
	for _, v := range u.variants {
		nested = nested || len(v.payload.flats) > 0
	}
	if !nested {
		bind = ""
	}
	s.f("switch %s u.(type) {", bind)
	for _, v := range u.variants {
		if len(v.payload.fields) == 0 {
			continue
		}
		s.f("case %s:\nswitch string(name) {\ncase ", v.goName)
		for i, f := range v.payload.fields {
			if i > 0 {
				s.f(",")
			}
			fmt.Fprintf(s, "%q", f.name)
		}
		s.f(":\nreturn true\n}")
		for _, f := range v.payload.flats {
			s.f("return has%s(u.%s, name)", f.union.goName, f.goName)
		}
	}
	if u.unknown != "" {
		s.f("case %s:\nreturn true", u.unknown)
	}
	s.f("default: // has no members\n}\nreturn false\n}\n")
}
