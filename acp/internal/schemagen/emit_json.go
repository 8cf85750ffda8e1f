package main

import "fmt"

// writeJSON writes the methods by which encoding/json and its successor read and write the types.
func (m *model) writeJSON(s *source) {
	type named struct {
		goName, target string
		tag, tagValue  string
	}
	var all []named
	for _, d := range m.defs {
		if d.kind != kindStruct {
			continue
		}
		n := named{goName: d.goName}
		if !d.asField {
			n.tag, n.tagValue = d.tag, d.tagValue
		}
		all = append(all, n)
		for _, v := range d.variants {
			if v.own {
				all = append(all, named{v.goName, d.goName, "sessionUpdate", v.tagValue})
			}
		}
	}
	for _, n := range all {
		self := "v"
		if n.target != "" {
			self = "(*" + n.target + ")(v)"
		}
		s.f("func (v *%s) decodeWire(d *decoder) error { return %s.decodeMembers(d, %q) }\n", n.goName, self, n.tag)
		s.f("func (v *%s) encodeWire(e *encoder) {\nat := len(e.b)", n.goName)
		if n.tag != "" {
			s.f("e.lit(%s)", "`"+fmt.Sprintf(",%q:%q", n.tag, n.tagValue)+"`")
		}
		s.f("%s.encodeMembers(e)\ne.close(at)\n}\n", self)
		s.f("// MarshalJSONTo writes v. See [Codec.Append].")
		s.f("func (v %s) MarshalJSONTo(e *jsontext.Encoder) error { return marshalJSONTo(e, &v) }\n", n.goName)
		s.f("// UnmarshalJSONFrom reads v. See [Codec.Unmarshal].")
		s.f("func (v *%s) UnmarshalJSONFrom(d *jsontext.Decoder) error { return unmarshalJSONFrom(d, v) }\n", n.goName)
		s.f("// MarshalJSON writes v. See [Codec.Append].")
		s.f("func (v %s) MarshalJSON() ([]byte, error) { return marshalJSON(&v) }\n", n.goName)
		s.f("// UnmarshalJSON reads v. See [Codec.Unmarshal].")
		s.f("func (v *%s) UnmarshalJSON(b []byte) error { return unmarshalJSON(b, v) }\n", n.goName)
	}
}
