package main

import (
	"fmt"
	"sort"
	"strings"
)

var sides = map[string]string{
	"agent": "AgentSide", "client": "ClientSide", "protocol": "BothSides", "both": "BothSides", "proxy": "ProxySide",
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
	s.f("// updateGate returns the client capability that a variant of session/update needs, or \"\".")
	s.f("func updateGate(tag string) string {\nswitch tag {")
	byGate := map[string][]string{}
	for tag, g := range updateGates {
		byGate[g] = append(byGate[g], fmt.Sprintf("%q", tag))
	}
	var names []string
	for g := range byGate {
		names = append(names, g)
	}
	sort.Strings(names)
	for _, g := range names {
		sort.Strings(byGate[g])
		s.f("case %s:\nreturn %q", strings.Join(byGate[g], ", "), g)
	}
	s.f("}\nreturn \"\"\n}\n")
}

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
