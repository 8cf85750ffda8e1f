package main

import (
	"fmt"
	"strings"
)

func (m *model) writeTypes(s *source) {
	for _, d := range m.defs {
		m.docType(s, d)
		switch d.kind {
		case kindString:
			s.f("type %s string\n", d.goName)
		case kindUint:
			s.f("type %s uint%d\n", d.goName, d.bits)
		case kindAlias:
			s.f("type %s = %s\n", d.goName, d.alias)
		case kindAny:
			s.f("type %s = jsontext.Value\n", d.goName)
		case kindStruct:
			s.f("type %s struct {", d.goName)
			for _, f := range d.fields {
				if f.name == "_meta" {
					m.writeFlatFields(s, d)
				}
				m.docField(s, d, f)
				s.f("%s %s", f.goName, f.goType())
			}
			if len(d.fields) == 0 || d.fields[len(d.fields)-1].name != "_meta" {
				m.writeFlatFields(s, d)
			}
			s.f("\nunknown string\n}\n")
		}
	}
}

func (m *model) writeFlatFields(s *source, d *def) {
	for _, f := range d.flats {
		if c := fieldComments[d.goName+"."+f.goName]; c != "" {
			s.f("// %s", c)
		}
		s.f("%s %s", f.goName, f.union.goName)
	}
}

func (m *model) docType(s *source, d *def) {
	if d.kind == kindCustom || d.kind == kindUnion || d.kind == kindEnum || d.kind == kindIntEnum {
		return
	}
	text := typeComments[strings.TrimPrefix(d.goName, "Unstable")]
	if text == "" {
		text = d.fact()
	}
	s.f("// %s %s", d.goName, text)
	for _, p := range m.facts(d) {
		s.f("//\n// %s", p)
	}
}

// fact says what a type is in the protocol when there is nothing more to say.
func (d *def) fact() string {
	switch {
	case strings.HasSuffix(d.name, "Notification") && d.method != "":
		return fmt.Sprintf("holds the parameters of the notification %s.", d.method)
	case strings.HasSuffix(d.name, "Request") && d.method != "":
		return fmt.Sprintf("holds the parameters of %s.", d.method)
	case strings.HasSuffix(d.name, "Response") && d.method != "":
		return fmt.Sprintf("is the result of %s.", d.method)
	case d.kind == kindString && strings.HasSuffix(d.goName, "ID"):
		return "identifies " + article(strings.TrimSuffix(d.name, "Id")) + "."
	case d.capability != "":
		return fmt.Sprintf("is the capability %s. A value that is there offers it, even an empty one.", d.capability)
	case d.name != "":
		return fmt.Sprintf("is the protocol's %s.", d.name)
	}
	return "is a variant that says all by its tag."
}

func article(s string) string {
	ws := words(s)
	for i, w := range ws {
		if _, ok := initialisms[strings.ToLower(w)]; ok {
			ws[i] = strings.ToUpper(w)
			continue
		}
		ws[i] = strings.ToLower(w)
	}
	s = strings.Join(ws, " ")
	if strings.ContainsAny(s[:1], "aeiouAEIOU") {
		return "an " + s
	}
	return "a " + s
}

func (m *model) facts(d *def) []string {
	var ps []string
	for _, v := range d.variants {
		if v.tagValue != "" && v.own {
			ps = append(ps, fmt.Sprintf("It is the content of [%s].", v.goName))
		}
	}
	if d.tag != "" {
		ps = append(ps, fmt.Sprintf("On the wire: %s %q.", d.tag, d.tagValue))
	}
	if g := gates[d.method]; g != "" && d.method != "" && !strings.HasSuffix(d.name, "Response") {
		ps = append(ps, fmt.Sprintf("Capability: %s.", g))
	}
	if d.tag == "sessionUpdate" && updateGates[d.tagValue] != "" {
		ps = append(ps, fmt.Sprintf("Capability: %s.", updateGates[d.tagValue]))
	}
	if d.unstable {
		ps = append(ps, "Unstable: it may change or go, and is off until a connection opts in.")
	}
	return ps
}

func (m *model) docField(s *source, d *def, f *field) {
	text := fieldComments[strings.TrimPrefix(d.goName, "Unstable")+"."+strings.TrimPrefix(f.goName, "Unstable")]
	if f.unstable {
		text = strings.TrimSpace(text + " Unstable: off until a connection opts in.")
	}
	if f.rep == repPatch && f.typ.kind != kindMeta {
		text = strings.TrimSpace(text + " Absent keeps, null clears.")
	}
	if text != "" {
		s.f("// %s", text)
	}
}

func (m *model) writeEnums(s *source) {
	for _, d := range m.defs {
		if d.kind != kindEnum && d.kind != kindIntEnum {
			continue
		}
		text := typeComments[strings.TrimPrefix(d.goName, "Unstable")]
		if text == "" {
			text = fmt.Sprintf("is the protocol's %s.", d.name)
		}
		s.f("// %s %s", d.goName, text)
		s.f("// A value that is not among the constants is kept as it is; see [%s.Known].", d.goName)
		if d.unstable {
			s.f("//\n// Unstable: it may change or go, and is off until a connection opts in.")
		}
		base := "string"
		if d.kind == kindIntEnum {
			base = fmt.Sprintf("int%d", d.bits)
		}
		s.f("type %s %s\n", d.goName, base)
		s.f("// The values of %s that this version of the protocol has.", d.goName)
		s.f("const (")
		for _, v := range d.values {
			if d.kind == kindIntEnum {
				s.f("%s %s = %s", v.goName, d.goName, v.value)
			} else {
				s.f("%s %s = %q", v.goName, d.goName, v.value)
			}
		}
		s.f(")\n")
		s.f("// Known reports whether v is one of the constants.")
		s.f("func (v %s) Known() bool {", d.goName)
		s.f("switch v {\ncase ")
		for i, v := range d.values {
			if i > 0 {
				s.f(",")
			}
			fmt.Fprint(s, v.goName)
		}
		s.f(":\nreturn true\n}\nreturn false\n}\n")
		if d.kind == kindEnum {
			s.f("func decode%s(d *decoder) (%s, error) {", d.goName, d.goName)
			s.f("if d.b[d.i] != '\"' {\nreturn \"\", d.expected(\"string\")\n}")
			s.f("switch s := d.text(); string(s) {")
			for _, v := range d.values {
				s.f("case %q:\nreturn %s, nil", v.value, v.goName)
			}
			s.f("default:\nreturn %s(s), nil\n}\n}\n", d.goName)
		}
	}
}
