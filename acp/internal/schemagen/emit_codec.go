package main

import (
	"fmt"
	"strconv"
	"strings"
)

// writeCodecs writes, for each struct, how its members are read and written.
func (m *model) writeCodecs(s *source) {
	for _, d := range m.defs {
		if d.kind != kindStruct {
			continue
		}
		m.writeDecode(s, d)
		m.writeEncode(s, d)
		if d.needZero {
			m.writeIsZero(s, d)
		}
	}
}

func (m *model) writeDecode(s *source, d *def) {
	s.f("func (v *%s) decodeMembers(d *decoder, tag string) error {", d.goName)
	var required []*field
	for _, f := range d.fields {
		if f.required {
			required = append(required, f)
		}
	}
	needStart := len(required) > 0 || len(d.oneOf) > 0
	if needStart || len(d.flats) > 0 {
		s.f("start := d.i")
	}
	s.f("if err := d.open(); err != nil {\nreturn err\n}")
	for _, f := range d.flats {
		s.f("d.i = start")
		common := ""
		if f.union.kind == kindUnion && f.union.union.unknown != "" {
			for _, c := range f.common {
				common += fmt.Sprintf(", %q", c)
			}
		}
		s.f("%s, err := decode%s(d%s)", lowerFirst(f.goName), f.union.goName, common)
		s.f("if err != nil {\nreturn err\n}")
		s.f("v.%s = %s", f.goName, lowerFirst(f.goName))
		s.f("d.i = start + 1")
	}
	if len(required) > 0 {
		s.f("var seen uint64")
	}
	if len(d.oneOf) > 0 {
		s.f("found := false")
	}
	s.f("for {\nname, ok := d.next()\nif !ok {\nbreak\n}")
	s.f("switch string(name) {")
	bit := 0
	for _, f := range d.fields {
		s.f("case %q:", f.name)
		if f.unstable {
			s.f("if !d.unstable {\nd.unknown(&v.unknown, name, tag)\nbreak\n}")
		}
		if f.required {
			s.f("seen |= 1 << %d", bit)
			bit++
		}
		for _, o := range d.oneOf {
			if o == f.name {
				s.f("found = true")
			}
		}
		m.writeDecodeField(s, f)
	}
	s.f("default:")
	for _, f := range d.flats {
		s.f("if has%s(v.%s, name) {\nd.skip()\nbreak\n}", f.union.goName, f.goName)
	}
	s.f("d.unknown(&v.unknown, name, tag)\n}\n}")
	if len(required) > 0 {
		mask := uint64(1)<<len(required) - 1
		lenient := uint64(0)
		names := []string{}
		for i, f := range required {
			names = append(names, strconv.Quote(f.name))
			if f.absentOK {
				lenient |= 1 << i
			}
		}
		s.f("if seen != %#x {", mask)
		for i, f := range required {
			if f.absentOK {
				s.f("if seen&(1<<%d) == 0 {\nv.%s = %s{}\nd.reportAbsent(start, %q)\n}", i, f.goName, f.goType(), f.name)
			}
		}
		if lenient != 0 {
			s.f("return d.missing(start, seen|%#x, %s)\n}", lenient, strings.Join(names, ", "))
		} else {
			s.f("return d.missing(start, seen, %s)\n}", strings.Join(names, ", "))
		}
	}
	if len(d.oneOf) > 0 {
		s.f("if !found {\nreturn d.missing(start, 0, %q)\n}", d.oneOf[0])
		s.f("if v.%s != nil {\nv.%s = nil\n}", goName(d.oneOf[0]), goName(d.oneOf[1]))
	}
	s.f("return nil\n}\n")
}

func (m *model) writeDecodeField(s *source, f *field) {
	set := func(x string) string {
		switch f.rep {
		case repOpt:
			x = "Some(" + x + ")"
		case repPatch:
			x = "PatchSet(" + x + ")"
		}
		return "v." + f.goName + " = " + x
	}
	empty := f.goType() + "{}"
	if f.nullable && f.typ.kind != kindAny {
		switch {
		case f.rep == repPatch:
			s.f("if d.null() {\nv.%s.Clear()\nbreak\n}", f.goName)
		default:
			s.f("if d.null() {\nbreak\n}")
		}
	}
	if f.onNull {
		s.f("if d.null() {\n%s\nbreak\n}", set(empty))
	}
	// Any value is a valid "any"; there is nothing to be lenient about.
	lenient := f.onError && f.typ.kind != kindAny
	if lenient {
		s.f("at := d.i")
	}
	onErr := "return err"
	if lenient {
		onErr = "d.lenient(at, err)"
		if !f.nullable && (f.typ.kind == kindSlice || f.typ.kind == kindPairs) {
			onErr += "\n" + set(empty)
		}
		onErr += "\nbreak"
	}
	if f.decode == "" && f.typ.kind == kindStruct && f.rep == repPointer {
		s.f("x := new(%s)\nif err := x.decodeWire(d); err != nil {\n%s\n}\n%s", f.typ.goType(), onErr, set("x"))
		return
	}
	if f.decode == "" && f.typ.kind == kindStruct && (f.rep == repPlain || f.rep == repZero) && !lenient {
		s.f("if err := v.%s.decodeWire(d); err != nil {\nreturn err\n}", f.goName)
		return
	}
	expr := f.decode + "(d)"
	if f.decode == "" {
		expr = f.typ.decodeExpr(f.skip)
	}
	s.f("x, err := %s", expr)
	s.f("if err != nil {\n%s\n}", onErr)
	s.f("%s", set("x"))
}

// decodeFunc names the function that reads a value of the type, as an expression.
func (t *typ) decodeFunc() string {
	switch t.kind {
	case kindString:
		if t.def == nil {
			return "(*decoder).str"
		}
		if t.def.goName == "SessionID" {
			return "decodeSessionID"
		}
		return "decodeString[" + t.def.goName + "]"
	case kindBool:
		return "(*decoder).bool"
	case kindFloat:
		return "(*decoder).float"
	case kindStruct:
		return "decodeStruct[" + t.def.goName + "]"
	case kindEnum, kindUnion, kindCustom:
		return "decode" + t.def.goName
	}
	panic(schemaError{fmt.Errorf("no decode function for elements of type %s", t.goType())})
}

func (t *typ) decodeExpr(skip bool) string {
	switch t.kind {
	case kindString:
		if t.def == nil {
			return "d.str()"
		}
	case kindBool:
		return "d.bool()"
	case kindFloat:
		return "d.float()"
	case kindUint:
		return fmt.Sprintf("decodeUint[%s](d, %d)", t.goType(), t.width())
	case kindInt, kindIntEnum:
		return fmt.Sprintf("decodeInt[%s](d, %d)", t.goType(), t.width())
	case kindAny:
		return "d.raw()"
	case kindObject:
		return "d.rawObject()"
	case kindMeta:
		return "d.meta()"
	case kindSlice:
		if t.elem.kind == kindStruct {
			return fmt.Sprintf("decodeStructs[%s](d, %v)", t.elem.goType(), skip)
		}
		return fmt.Sprintf("decodeSlice(d, %v, %s)", skip, t.elem.decodeFunc())
	case kindPairs:
		return fmt.Sprintf("decodePairs(d, new%s)", t.elem.goType())
	case kindMap:
		return fmt.Sprintf("decodeMap(d, %s)", t.elem.decodeFunc())
	case kindOrdered:
		return fmt.Sprintf("decodeOrdered(d, %s)", t.elem.decodeFunc())
	}
	return t.decodeFunc() + "(d)"
}

// width is the number of bits of an integer type.
func (t *typ) width() int {
	if t.def != nil {
		return t.def.bits
	}
	return t.bits
}

func (m *model) writeEncode(s *source, d *def) {
	s.f("func (v *%s) encodeMembers(e *encoder) {", d.goName)
	wrote := false
	flats := func() {
		if wrote {
			return
		}
		wrote = true
		for _, f := range d.flats {
			s.f("if v.%s == nil {\ne.fail(%q)\nreturn\n}", f.goName, d.goName+"."+f.goName+": required, nil")
			s.f("v.%s.%s(e)", f.goName, lowerFirst(f.union.goName))
		}
	}
	for _, f := range d.fields {
		if f.name == "_meta" {
			flats()
		}
		m.writeEncodeField(s, d, f)
	}
	flats()
	s.f("e.lit(v.unknown)\n}\n")
}

func (m *model) writeEncodeField(s *source, d *def, f *field) {
	key := fmt.Sprintf(",%q:", f.name)
	gate := ""
	if f.unstable {
		gate = fmt.Sprintf("e.gate(%q)\n", d.goName+"."+f.goName)
	}
	v := "v." + f.goName
	for i, o := range d.oneOf {
		if o == f.name && i == 0 {
			// The first of the members that exclude each other is written when the other is not there.
			s.f("if v.%s == nil {\ne.lit(%s)\ne.raw(%s)\n}", goName(d.oneOf[1]), strconv.Quote(key), v)
			return
		}
	}
	switch f.rep {
	case repPlain:
		s.f("e.lit(%s)\n%s", strconv.Quote(key), f.typ.encodeStmt(v))
	case repOpt:
		s.f("if x, ok := %s.Get(); ok {\n%se.lit(%s)\n%s\n}", v, gate, strconv.Quote(key), f.typ.encodeStmt("x"))
	case repPatch:
		s.f("if x, ok := %s.Get(); ok {\n%se.lit(%s)\n%s\n} else if %s.IsClear() {\n%se.lit(%s)\n}", v, gate, strconv.Quote(key),
			f.typ.encodeStmt("x"), v, gate, strconv.Quote(key+"null"))
	case repPointer:
		s.f("if %s != nil {\n%se.lit(%s)\n%s.encodeWire(e)\n}", v, gate, strconv.Quote(key), v)
	case repZero:
		if f.always != "" {
			s.f("if %s {\ne.lit(%s)\n%s\n} else {\ne.lit(%s)\n}", f.typ.isSet(v), strconv.Quote(key), f.typ.encodeStmt(v), strconv.Quote(key+f.always))
			return
		}
		s.f("if %s {\n%se.lit(%s)\n%s\n}", f.typ.isSet(v), gate, strconv.Quote(key), f.typ.encodeStmt(v))
	}
}

func (t *typ) isSet(v string) string {
	switch t.kind {
	case kindString, kindEnum:
		return v + ` != ""`
	case kindBool:
		return v
	case kindStruct:
		return "!" + v + ".isZero()"
	case kindAny, kindObject, kindMeta:
		return "len(" + v + ") > 0"
	}
	return v + " != nil"
}

func (t *typ) encodeStmt(v string) string {
	switch t.kind {
	case kindString, kindEnum:
		if t.def != nil {
			return "e.str(string(" + v + "))"
		}
		return "e.str(" + v + ")"
	case kindBool:
		return "e.bool(" + v + ")"
	case kindFloat:
		return "e.float(" + v + ")"
	case kindUint:
		return "e.uint(uint64(" + v + "))"
	case kindInt, kindIntEnum:
		return "e.int(int64(" + v + "))"
	case kindAny, kindObject:
		return "e.raw(" + v + ")"
	case kindMeta:
		return "e.meta(" + v + ")"
	case kindStruct:
		return v + ".encodeWire(e)"
	case kindUnion, kindCustom:
		return "encode" + t.def.goName + "(e, " + v + ")"
	case kindSlice, kindPairs:
		return "encodeSlice(e, " + v + ", " + t.elem.encodeFunc() + ")"
	case kindMap:
		return "encodeMap(e, " + v + ", " + t.elem.encodeFunc() + ")"
	case kindOrdered:
		return "encodeOrdered(e, " + v + ", " + t.elem.encodeFunc() + ")"
	}
	panic(schemaError{fmt.Errorf("no way to encode %s", t.goType())})
}

// encodeFunc is an expression for a func(*encoder, *T).
func (t *typ) encodeFunc() string {
	switch t.kind {
	case kindString, kindEnum:
		return "encodeString[" + t.goType() + "]"
	case kindUnion, kindCustom:
		return "encode" + t.def.goName + "Item"
	case kindStruct:
		return "func(e *encoder, v *" + t.goType() + ") { v.encodeWire(e) }"
	}
	panic(schemaError{fmt.Errorf("no encode function for elements of type %s", t.goType())})
}

func (m *model) writeIsZero(s *source, d *def) {
	s.f("func (v *%s) isZero() bool {\nreturn v.unknown == \"\"", d.goName)
	s.Truncate(s.Len() - 1)
	for _, f := range d.fields {
		x := "v." + f.goName
		switch f.rep {
		case repOpt:
			fmt.Fprintf(s, " && !%s.IsSet()", x)
		case repPatch:
			fmt.Fprintf(s, " && %s.IsKeep()", x)
		case repPointer:
			fmt.Fprintf(s, " && %s == nil", x)
		case repZero:
			if f.typ.kind == kindStruct {
				fmt.Fprintf(s, " && %s.isZero()", x)
			} else {
				fmt.Fprintf(s, " && !(%s)", f.typ.isSet(x))
			}
		default:
			panic(schemaError{fmt.Errorf("%s.%s is required, so %s has no zero value", d.goName, f.goName, d.goName)})
		}
	}
	s.f("\n}\n")
}
