package main

import (
	"sort"
	"strings"
)

// methodTable pairs the definitions that carry the same wire name.
func (b *builder) methodTable() {
	type key struct {
		wire         string
		notification bool
	}
	table := map[key]*method{}
	for _, d := range b.defs {
		if d.method == "" {
			continue
		}
		k := key{d.method, strings.HasSuffix(d.name, "Notification")}
		m := table[k]
		if m == nil {
			m = &method{wire: d.method, notification: k.notification, side: d.side, unstable: d.unstable, gate: gates[d.method]}
			m.goName = "Method" + goName(m.wire)
			if d.unstable {
				m.goName = "MethodUnstable" + goName(m.wire)
			}
			table[k] = m
			b.methods = append(b.methods, m)
		}
		switch {
		case strings.HasSuffix(d.name, "Response"):
			m.result = d
		default:
			m.params = d
		}
		if m.unstable != d.unstable {
			b.failf("method %s is stable and unstable", m.wire)
		}
	}
	for k, m := range table {
		switch {
		case m.params == nil || !m.notification && m.result == nil:
			b.failf("method %s lacks params or result", k.wire)
		case m.notification && m.result != nil:
			b.failf("notification %s has a result", k.wire)
		}
	}
	for wire := range gates {
		if table[key{wire, false}] == nil && table[key{wire, true}] == nil {
			b.failf("there is a gate for %s, which is no method", wire)
		}
	}
	sort.Slice(b.methods, func(i, j int) bool {
		x, y := b.methods[i], b.methods[j]
		if x.wire != y.wire {
			return x.wire < y.wire
		}
		return !x.notification
	})
}
