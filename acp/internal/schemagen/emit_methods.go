package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var sides = map[string]string{
	"agent": "AgentSide", "client": "ClientSide", "protocol": "BothSides", "proxy": "ProxySide",
}

func (m *model) writeMethods(s *source) {
	s.f("// The wire names of the protocol's methods and notifications.")
	s.f("const (")
	last := ""
	for _, x := range m.methods {
		if x.goName != last {
			s.f("%s = %q", x.goName, x.wire)
		}
		last = x.goName
	}
	s.f(")\n")
	s.f("// methods is the protocol, one row a method, in the order of the wire names. A name that is both a request and a notification has two.")
	s.f("var methods = [...]Method{")
	for _, x := range m.methods {
		fmt.Fprintf(s, "{Name: %s, Side: %s", x.goName, sides[x.side])
		if x.notification {
			fmt.Fprint(s, ", Notification: true")
		}
		if x.gate != "" {
			fmt.Fprintf(s, ", Gate: %q", x.gate)
		}
		if x.unstable {
			fmt.Fprint(s, ", Unstable: true")
		}
		fmt.Fprintf(s, ", ParamsName: %q", x.params.goName)
		fmt.Fprintf(s, ", params: %s", m.newFunc(x.params))
		if x.result != nil {
			fmt.Fprintf(s, ", ResultName: %q, result: %s", x.result.goName, m.newFunc(x.result))
		}
		s.f("},")
	}
	s.f("}\n")
	m.writeUpdateGate(s)
	m.writeCapabilities(s)
}

func (m *model) writeUpdateGate(s *source) {
	s.f("// updateGate returns the path of the client capability that a session update needs, or \"\" when it needs none.")
	s.f("func updateGate(u SessionUpdate) string {\nswitch u.(type) {")
	byGate := map[string][]string{}
	for _, v := range m.byName["SessionUpdate"].union.variants {
		if g := updateGates[v.tagValue]; g != "" {
			byGate[g] = append(byGate[g], v.goName, "*"+v.goName)
		}
	}
	for _, g := range sortedKeys(byGate) {
		s.f("case %s:\nreturn %q", strings.Join(byGate[g], ", "), g)
	}
	s.f("default:\nreturn \"\"\n}\n}\n")
}

// writeCapabilities writes a function that looks capabilities up by their path.
func (m *model) writeCapabilities(s *source) {
	tests := m.capabilities()
	s.f("// HasCapability reports whether the capability at the path is offered, as in \"agentCapabilities.sessionCapabilities.list\".")
	s.f("// It is false for paths that the protocol does not have. Either argument may be nil.")
	s.f("func HasCapability(path string, client *ClientCapabilities, agent *AgentCapabilities) bool {\nswitch path {")
	for _, path := range sortedKeys(tests) {
		s.f("case %q:\nreturn %s", path, tests[path])
	}
	s.f("}\nreturn false\n}\n")
	for _, table := range []map[string]string{gates, updateGates} {
		for what, path := range table {
			if tests[path] == "" {
				panic(schemaError{fmt.Errorf("the gate of %s is %s, which is no capability", what, path)})
			}
		}
	}
}

// capabilities returns the condition under which each capability is offered, by its path.
func (m *model) capabilities() map[string]string {
	tests := map[string]string{}
	for _, side := range []string{"client", "agent"} {
		if d := m.byGo[goName(side+"Capabilities")]; d != nil {
			m.walkCapabilities(tests, side+"Capabilities", side, side+" != nil", d)
		}
	}
	return tests
}

func (m *model) walkCapabilities(tests map[string]string, path, expr, test string, d *def) {
	for _, f := range d.fields {
		p, x := path+"."+f.name, expr+"."+f.goName
		switch {
		case f.typ.kind == kindBool:
			tests[p] = test + " && " + x
		case f.typ.kind == kindStruct && f.rep == repPointer:
			f.typ.def.capability = p
			tests[p] = test + " && " + x + " != nil"
			m.walkCapabilities(tests, p, x, tests[p], f.typ.def)
		case f.typ.kind == kindStruct:
			m.walkCapabilities(tests, p, x, test, f.typ.def)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (m *model) newFunc(d *def) string {
	name := d.goName
	switch d.kind {
	case kindAlias:
		name = d.alias
	case kindAny:
		return "nil"
	}
	return fmt.Sprintf("func() Message { return new(%s) }", name)
}
