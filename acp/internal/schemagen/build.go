package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// build makes the model from the stable and the unstable schema. Stability is the difference between the two.
func build(stable, unstable *object) (m *model, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(schemaError)
			if !ok {
				panic(p)
			}
			err = e
		}
	}()
	b := &builder{
		stable: stable.object("$defs"), all: unstable.object("$defs"),
		model: &model{byName: map[string]*def{}, byGo: map[string]*def{}},
	}
	b.declare()
	b.define()
	b.uses()
	b.methodTable()
	b.capabilities()
	return b.model, nil
}

type schemaError struct{ error }

func (b *builder) failf(format string, args ...any) { panic(schemaError{fmt.Errorf(format, args...)}) }

type builder struct {
	*model
	stable, all *object
}

func (b *builder) add(d *def) *def {
	if prev := b.byGo[d.goName]; prev != nil {
		b.failf("two types would be named %s", d.goName)
	}
	b.defs = append(b.defs, d)
	if d.name != "" {
		b.byName[d.name] = d
	}
	b.byGo[d.goName] = d
	return d
}

// declare gives every definition its Go name, so that references resolve in any order.
func (b *builder) declare() {
	for _, name := range b.stable.names {
		if !b.all.has(name) {
			b.failf("definition %s is in the stable schema and not in the unstable one", name)
		}
	}
	for _, name := range b.all.names {
		s := b.all.object(name)
		if s.flag("x-docs-ignore") {
			continue
		}
		d := &def{
			name: name, goName: goName(name), unstable: !b.stable.has(name), kind: b.kindOf(name, s),
			method: s.text("x-method"), side: s.text("x-side"),
		}
		if r, ok := renamed[name]; ok {
			d.goName = r
		}
		if d.unstable {
			d.goName = "Unstable" + d.goName
		}
		b.add(d)
	}
}

func (b *builder) kindOf(name string, s *object) kind {
	if customDefs[name] {
		return kindCustom
	}
	branches := append(slices.Clone(s.list("oneOf")), s.list("anyOf")...)
	if s.text("type") == "object" || name == "MessageMcpResponse" {
		return kindStruct
	}
	if len(branches) > 0 {
		first := branches[0].(*object)
		switch {
		case first.text("type") == "string" && first.has("const"):
			return kindEnum
		case first.text("type") == "integer" && first.has("const"):
			return kindIntEnum
		}
		return kindUnion
	}
	switch s.text("type") {
	case "string":
		return kindString
	case "integer":
		if strings.HasPrefix(s.text("format"), "uint") {
			return kindUint
		}
		return kindInt
	case "":
		if len(s.list("allOf")) == 1 {
			return kindAlias
		}
		return kindAny
	}
	b.failf("definition %s: no rule for type %q", name, s.text("type"))
	return 0
}

func (b *builder) define() {
	for _, d := range slices.Clone(b.defs) {
		s := b.all.object(d.name)
		switch d.kind {
		case kindStruct:
			b.structFields(d, s)
		case kindEnum, kindIntEnum:
			b.enum(d, s)
		case kindUnion:
			b.union(d, d.name, append(slices.Clone(s.list("oneOf")), s.list("anyOf")...))
		case kindUint, kindInt:
			d.bits = bitsOf(s.text("format"))
		case kindAlias:
			d.alias = b.ref(s.list("allOf")[0]).goName
		}
	}
}

func bitsOf(format string) int {
	n, err := strconv.Atoi(strings.TrimLeft(format, "uint"))
	if err != nil {
		panic(schemaError{fmt.Errorf("integer format %q", format)})
	}
	return n
}

func (b *builder) ref(n node) *def {
	o, _ := n.(*object)
	name, ok := strings.CutPrefix(o.text("$ref"), "#/$defs/")
	if !ok || b.byName[name] == nil {
		b.failf("reference %q does not resolve", o.text("$ref"))
	}
	return b.byName[name]
}

func (b *builder) enum(d *def, s *object) {
	prefix, ok := constantPrefix[d.name]
	if !ok {
		prefix = strings.TrimPrefix(d.goName, "Unstable")
	}
	if d.unstable {
		prefix = "Unstable" + prefix
	}
	for _, n := range append(slices.Clone(s.list("oneOf")), s.list("anyOf")...) {
		o := n.(*object)
		if !o.has("const") {
			d.open = true
			continue
		}
		v, name := "", ""
		if d.kind == kindIntEnum {
			d.bits = bitsOf(o.text("format"))
			v = string(o.get("const").(jsontext.Value))
			name = prefix + goName(o.text("title"))
			if r, ok := constantNames[d.name+"/"+o.text("title")]; ok {
				name = r
			}
		} else {
			v = o.text("const")
			name = prefix + goName(v)
		}
		d.values = append(d.values, enumValue{v, name})
	}
}

func (b *builder) structFields(d *def, s *object) {
	stable := b.stable.object(d.name)
	props := s.object("properties")
	if props != nil {
		for _, name := range props.names {
			p := props.object(name)
			f := b.field(d, name, p, s.requires(name))
			if !d.unstable && !stable.object("properties").has(name) {
				f.unstable = true
				f.goName = "Unstable" + f.goName
			}
			d.fields = append(d.fields, f)
		}
	}
	for _, r := range s.list("required") {
		if !props.has(r.(string)) {
			b.failf("%s requires %s, which it does not have", d.name, r)
		}
	}
	switch d.name {
	case "IdleStateUpdate":
		b.idleStateUpdate(d, s)
		return
	case "MessageMcpResponse":
		b.mcpResponse(d, s)
		return
	}
	branches := append(slices.Clone(s.list("oneOf")), s.list("anyOf")...)
	if len(branches) > 0 {
		b.flatUnion(d, branches)
	}
	// _meta is written last.
	slices.SortStableFunc(d.fields, func(x, y *field) int { return boolInt(x.name == "_meta") - boolInt(y.name == "_meta") })
}

func boolInt(v bool) int {
	if v {
		return 1
	}
	return 0
}

// idleStateUpdate is a union on an optional tag of which one branch has a payload: plain optional members say the same.
func (b *builder) idleStateUpdate(d *def, s *object) {
	enum := &def{goName: "UnstableIdleStopReason", kind: kindEnum, unstable: true, open: true, synthetic: true}
	for _, n := range s.list("anyOf") {
		o := n.(*object)
		if tag := o.object("properties").object("stopReason"); tag.has("const") {
			v := tag.text("const")
			enum.values = append(enum.values, enumValue{v, "UnstableIdleStop" + goName(v)})
		}
		for _, p := range o.list("allOf") {
			payload := b.all.object(b.ref(p).name)
			for _, name := range payload.object("properties").names {
				d.fields = append(d.fields, b.field(d, name, payload.object("properties").object(name), false))
			}
		}
	}
	b.add(enum)
	for _, f := range d.fields {
		if f.name == "stopReason" {
			f.typ = &typ{kind: kindEnum, def: enum}
		}
	}
	slices.SortStableFunc(d.fields, func(x, y *field) int { return boolInt(x.name == "_meta") - boolInt(y.name == "_meta") })
}

// mcpResponse has either a result or an error.
func (b *builder) mcpResponse(d *def, s *object) {
	for _, n := range s.list("anyOf") {
		o := n.(*object)
		for _, name := range o.object("properties").names {
			if slices.ContainsFunc(d.fields, func(f *field) bool { return f.name == name }) {
				continue
			}
			d.fields = append(d.fields, b.field(d, name, o.object("properties").object(name), false))
			if o.requires(name) {
				d.oneOf = append(d.oneOf, name)
			}
		}
	}
	slices.SortStableFunc(d.fields, func(x, y *field) int { return boolInt(x.name == "_meta") - boolInt(y.name == "_meta") })
}

func (b *builder) field(d *def, name string, p *object, required bool) *field {
	f := &field{
		name: name, goName: goName(name), required: required,
		onError: p.flag("x-deserialize-default-on-error"), skip: p.flag("x-deserialize-skip-invalid-items"),
		onNull: p.flag("x-deserialize-default-on-null"),
	}
	key := d.name + "." + name
	if name == "_meta" {
		f.goName, f.nullable, f.typ = "Meta", true, &typ{kind: kindMeta}
	} else {
		f.typ, f.nullable = b.typeOf(key, p)
	}
	f.absentOK = absentOK[key]
	f.always = alwaysWritten[key]
	f.decode = decodeWith[key]
	f.rep = b.repOf(key, d, f, p)
	if required && f.nullable {
		b.failf("%s: required and nullable", key)
	}
	return f
}

func (b *builder) repOf(key string, d *def, f *field, p *object) rep {
	if f.required {
		return repPlain
	}
	if slices.Contains(patches[d.name], f.name) {
		return repPatch
	}
	switch f.typ.kind {
	case kindString, kindEnum:
		if emptyStringMeans[key] {
			return repOpt
		}
	case kindBool:
		if f.nullable {
			return repOpt
		}
		if p.get("default") != false {
			b.failf("%s: optional boolean without default", key)
		}
	case kindUint, kindInt, kindFloat, kindIntEnum:
		return repOpt
	case kindStruct:
		if f.nullable || d.oneOf != nil || !p.has("default") {
			return repPointer
		}
		f.typ.def.needZero = true
	}
	return repZero
}

// typeOf returns the type of a property and whether it may be null.
func (b *builder) typeOf(key string, p *object) (*typ, bool) {
	if all := p.list("allOf"); len(all) == 1 {
		return b.named(b.ref(all[0])), false
	}
	if any := p.list("anyOf"); len(any) == 2 && any[1].(*object).text("type") == "null" {
		return b.named(b.ref(any[0])), true
	}
	name, nullable := p.text("type"), false
	if list := p.list("type"); len(list) == 2 && list[1] == "null" {
		name, nullable = list[0].(string), true
	}
	if p.has("$ref") {
		return b.named(b.ref(p)), false
	}
	switch name {
	case "":
		return &typ{kind: kindAny}, false
	case "string":
		return &typ{kind: kindString}, nullable
	case "boolean":
		return &typ{kind: kindBool}, nullable
	case "number":
		return &typ{kind: kindFloat}, nullable
	case "integer":
		k := kindInt
		if strings.HasPrefix(p.text("format"), "uint") {
			k = kindUint
		}
		return &typ{kind: k, bits: bitsOf(p.text("format"))}, nullable
	case "array":
		elem, _ := b.typeOf(key+"[]", p.object("items"))
		k := kindSlice
		if elem.def != nil && pairTypes[elem.def.name] {
			k = kindPairs
		}
		return &typ{kind: k, elem: elem}, nullable
	case "object":
		if p.flag("additionalProperties") {
			return &typ{kind: kindObject}, nullable
		}
		if v := p.object("additionalProperties"); v != nil {
			elem, _ := b.typeOf(key+"{}", v)
			k := kindMap
			if orderedMaps[key] {
				k = kindOrdered
			}
			return &typ{kind: k, elem: elem}, nullable
		}
	}
	b.failf("%s: no rule for this property", key)
	return nil, false
}

func (b *builder) named(d *def) *typ {
	if d.kind == kindStruct {
		d.asField = true
	}
	return &typ{kind: d.kind, def: d}
}
