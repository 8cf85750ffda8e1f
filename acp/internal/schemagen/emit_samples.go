package main

import (
	"fmt"
	"strings"
)

// sample is a JSON value for a type, in the very form that the type's encoder writes.
type sample struct {
	def   *def
	what  string
	text  string
	fresh string // the Go expression of a function that decodes and encodes the type
}

// samples makes values for every struct and every variant of every union: with the required members only, and with all of them.
func (m *model) samples() []sample {
	var out []sample
	add := func(d *def, trip, what string, texts ...string) {
		for i, t := range texts {
			w := what
			if len(texts) > 1 {
				w = fmt.Sprintf("%s %d", what, i+1)
			}
			out = append(out, sample{d, w, t, trip})
		}
	}
	for _, d := range m.defs {
		switch d.kind {
		case kindStruct:
			trip := fmt.Sprintf("structTrip[%s]", d.goName)
			add(d, trip, "required members", m.sampleStruct(d, d.ownTag(), false)...)
			add(d, trip, "all members", m.sampleStruct(d, d.ownTag(), true)...)
			for _, f := range d.fields {
				if f.rep == repPatch {
					add(d, trip, f.name+" cleared", m.sampleCleared(d, f))
				}
			}
		case kindUnion:
			if d.union.flat {
				continue
			}
			trip := fmt.Sprintf("unionTrip(decode%s, encode%s)", d.goName, d.goName)
			for _, v := range d.union.all() {
				tag := ""
				if v.tagValue != "" {
					tag = fmt.Sprintf("%q:%q", d.union.tag, v.tagValue)
				}
				add(d, trip, v.goName+", required members", m.sampleStruct(v.payload, tag, false)...)
				add(d, trip, v.goName+", all members", m.sampleStruct(v.payload, tag, true)...)
			}
			if d.union.unknown != "" && d.union.tag != "" {
				add(d, trip, d.union.unknown, fmt.Sprintf(`{ "z" : 1,"%s":"_later", "a":{"b":"\u00e9"} }`, d.union.tag))
			} else if d.union.unknown != "" {
				add(d, trip, d.union.unknown, `{ "z" : 1, "a":{"b":"\u00e9"} }`)
			}
		}
	}
	return out
}

// ownTag is the tag that a struct carries when it is encoded on its own.
func (d *def) ownTag() string {
	if d.tag == "" || d.asField {
		return ""
	}
	return fmt.Sprintf("%q:%q", d.tag, d.tagValue)
}

// sampleStruct returns a value for each variant of the unions flattened into the struct, or one value.
func (m *model) sampleStruct(d *def, tag string, full bool) []string {
	var out []string
	for _, inner := range m.sampleFlats(d, full) {
		var members []string
		if tag != "" {
			members = append(members, tag)
		}
		placed := false
		place := func() {
			if !placed && inner != "" {
				members = append(members, inner)
			}
			placed = true
		}
		excluded := false
		for _, f := range d.fields {
			if f.name == "_meta" {
				place()
			}
			isOne := len(d.oneOf) > 0 && (f.name == d.oneOf[0] || f.name == d.oneOf[1])
			switch {
			case isOne && excluded:
				continue
			case isOne:
				excluded = true
			case !full && !f.required && f.always == "":
				continue
			case !full && f.always != "":
				members = append(members, fmt.Sprintf("%q:%s", f.name, f.always))
				continue
			}
			members = append(members, fmt.Sprintf("%q:%s", f.name, m.sampleValue(f.typ, full)))
		}
		place()
		out = append(out, "{"+strings.Join(members, ",")+"}")
	}
	return out
}

func (m *model) sampleCleared(d *def, cleared *field) string {
	var members []string
	if t := d.ownTag(); t != "" {
		members = append(members, t)
	}
	for _, f := range d.fields {
		switch {
		case f == cleared:
			members = append(members, fmt.Sprintf("%q:null", f.name))
		case f.required:
			members = append(members, fmt.Sprintf("%q:%s", f.name, m.sampleValue(f.typ, false)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (m *model) sampleFlats(d *def, full bool) []string {
	if len(d.flats) == 0 {
		return []string{""}
	}
	u := d.flats[0].union
	if u.kind == kindCustom {
		return customSamples[u.goName]
	}
	var out []string
	for _, v := range u.union.variants {
		tag := ""
		if v.tagValue != "" {
			tag = fmt.Sprintf("%q:%q", u.union.tag, v.tagValue)
		}
		for _, s := range m.sampleStruct(v.payload, tag, full) {
			out = append(out, s[1:len(s)-1])
		}
	}
	if u.union.unknown != "" && d.name != "CreateElicitationRequest" {
		out = append(out, fmt.Sprintf("%q:%q,\"later\":[1]", u.union.tag, "_later"))
	} else if u.union.unknown != "" {
		out = append(out, fmt.Sprintf("%q:%q,\"sessionId\":\"s\",\"later\":[1]", u.union.tag, "_later"))
	}
	return out
}

// customSamples are values for the types that are written by hand. Of flattened unions they are members.
var customSamples = map[string][]string{
	"RequestID":                  {"7", `"r"`, "null"},
	"ElicitationContentValue":    {`"s"`, "3", "2.5", "true", `["a","b"]`},
	"SessionConfigSelectOptions": {`[{"value":"v","name":"V"}]`, `[{"group":"g","name":"G","options":[{"value":"v","name":"V"}]}]`, "[]"},
	"SessionConfigOptionValue":   {`"value":"v"`, `"type":"boolean","value":true`},
}

func (m *model) sampleValue(t *typ, full bool) string {
	switch t.kind {
	case kindString:
		return `"s"`
	case kindBool:
		return "true"
	case kindUint:
		if t.width() == 64 {
			return "18446744073709551615"
		}
		return "1"
	case kindInt:
		if t.width() == 64 {
			return "-9223372036854775808"
		}
		return "-1"
	case kindFloat:
		return "0.5"
	case kindAny:
		return `{"k":[1, null,"\u00e9"]}`
	case kindObject, kindMeta:
		return `{"k":"v"}`
	case kindEnum:
		return fmt.Sprintf("%q", t.def.values[0].value)
	case kindIntEnum:
		return t.def.values[0].value
	case kindStruct:
		return m.sampleStruct(t.def, "", full)[0]
	case kindUnion:
		v := t.def.union.variants[0]
		tag := ""
		if v.tagValue != "" {
			tag = fmt.Sprintf("%q:%q", t.def.union.tag, v.tagValue)
		}
		return m.sampleStruct(v.payload, tag, full)[0]
	case kindCustom:
		return customSamples[t.def.goName][0]
	case kindSlice, kindPairs:
		if t.elem.kind == kindCustom {
			return "[" + strings.Join(customSamples[t.elem.def.goName], ",") + "]"
		}
		return "[" + m.sampleValue(t.elem, full) + "]"
	case kindMap, kindOrdered:
		if t.elem.kind == kindCustom {
			var ms []string
			for i, s := range customSamples[t.elem.def.goName] {
				ms = append(ms, fmt.Sprintf(`"k%d":%s`, i, s))
			}
			return "{" + strings.Join(ms, ",") + "}"
		}
		if t.kind == kindOrdered {
			return `{"z":` + m.sampleValue(t.elem, full) + `,"a":` + m.sampleValue(t.elem, full) + "}"
		}
		return `{"k":` + m.sampleValue(t.elem, full) + "}"
	}
	panic(schemaError{fmt.Errorf("no sample for %s", t.goType())})
}

// writeSamples writes the samples as test data.
func (m *model) writeSamples(s *source) {
	s.f("// samples are values for every type and variant, in the form the encoder writes.")
	s.f("func samples() []sample {\nreturn []sample{")
	for _, x := range m.samples() {
		name := x.def.goName
		s.f("{%q, %q, %s, %s},", name, x.what, "`"+x.text+"`", x.fresh)
	}
	s.f("}\n}\n")
}
