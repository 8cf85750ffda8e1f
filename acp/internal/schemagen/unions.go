package main

import (
	"slices"
	"strings"
)

// union reads the branches of a union: with a tag, each branch a constant on the same property; else told apart by shape. The key is the
// name under which the irregular cases are listed.
func (b *builder) union(d *def, key string, branches []node) {
	d.kind = kindUnion
	u := &union{method: lowerFirst(d.goName), fallbackFor: fallbackTags[key], fallbackAll: fallbackAll[key]}
	d.union = u
	if !u.fallbackAll {
		u.unknown = "Unknown" + d.goName
		if d.unstable {
			u.unknown = "UnstableUnknown" + strings.TrimPrefix(d.goName, "Unstable")
		}
		if n, ok := unknownNames[key]; ok {
			u.unknown = n
		}
	}
	u.hasErr = key == "SessionUpdate"
	if shape, ok := shapes[key]; ok {
		for _, n := range branches {
			p := b.payload(n)
			u.variants = append(u.variants, &variant{member: shape[p.name], goName: p.goName, payload: p, unstable: p.unstable})
		}
		return
	}
	for _, n := range branches {
		o := n.(*object)
		tag, value := constant(o)
		switch {
		case tag != "":
			if u.tag != "" && u.tag != tag {
				b.failf("%s: tags %s and %s", key, u.tag, tag)
			}
			u.tag = tag
			u.variants = append(u.variants, b.variant(d, key, o, value))
		case o.has("not"):
			// An open union. Closed ones keep unknown variants too, for peers that are ahead.
		case len(o.list("allOf")) == 1 && u.fallback == nil:
			p := b.payload(o)
			u.fallback = &variant{goName: p.goName, payload: p, unstable: p.unstable}
		default:
			b.failf("%s: no rule for the branch titled %q", key, o.text("title"))
		}
	}
}

func (b *builder) payload(n node) *def {
	all := n.(*object).list("allOf")
	if len(all) != 1 {
		b.failf("a branch of a union has no payload")
	}
	return b.ref(all[0])
}

// constant returns the property of a branch that has a constant, and the constant.
func constant(o *object) (string, string) {
	props := o.object("properties")
	if props == nil {
		return "", ""
	}
	for _, name := range props.names {
		if p := props.object(name); p.has("const") {
			return name, p.text("const")
		}
	}
	return "", ""
}

func (b *builder) variant(d *def, key string, o *object, value string) *variant {
	v := &variant{tagValue: value}
	own := ownVariants[key+"/"+value]
	if len(o.list("allOf")) == 0 {
		if own == "" {
			b.failf("%s: variant %s has no payload and no name", key, value)
		}
		v.goName, v.empty = own, true
		v.payload = b.add(&def{goName: own, kind: kindStruct, synthetic: true})
		return v
	}
	v.payload = b.payload(o)
	v.unstable = v.payload.unstable
	v.goName = v.payload.goName
	if own != "" {
		v.goName, v.own = own, true
	}
	return v
}

// flatUnion handles an object that has members of its own and a union beside them.
func (b *builder) flatUnion(d *def, branches []node) {
	spec, ok := flatUnions[d.name]
	if !ok {
		b.failf("%s is a struct and a union, and has no name for the union", d.name)
	}
	f := &flat{goName: spec.field}
	for _, x := range d.fields {
		f.common = append(f.common, x.name)
	}
	d.flats = append(d.flats, f)
	if spec.custom != "" {
		f.union = b.byGo[spec.custom]
		if f.union == nil {
			f.union = b.add(&def{goName: spec.custom, kind: kindCustom, synthetic: true})
		}
		return
	}
	f.union = b.byGo[spec.union]
	if f.union != nil {
		return
	}
	f.union = b.add(&def{goName: spec.union, synthetic: true})
	b.union(f.union, spec.union, branches)
	f.union.union.flat = true
	if _, ok := shapes[spec.union]; ok {
		f.union.union.unknown = "" // one of the members is required
	}
}

// uses records which structs are variants of what.
func (b *builder) uses() {
	for _, d := range b.defs {
		if d.kind != kindUnion {
			continue
		}
		all := slices.Clone(d.union.variants)
		if f := d.union.fallback; f != nil {
			all = append(all, f)
		}
		for _, v := range all {
			v.payload.variants = append(v.payload.variants, v)
			if d.union.flat {
				for _, f := range v.payload.fields {
					if f.unstable {
						b.failf("%s.%s: no rule for an unstable member of a union that is flattened into its parent", v.payload.name, f.name)
					}
				}
			}
			if v.tagValue != "" && !v.own {
				v.payload.tag, v.payload.tagValue = d.union.tag, v.tagValue
			}
		}
	}
}
