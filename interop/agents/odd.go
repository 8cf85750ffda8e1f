//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/acp"
)

// survey is what a recorded connection shows of the agent.
type survey struct {
	calls         map[string]int // requests to the client, by method
	kinds         map[string]int // updates, by kind
	notifications map[string]int // besides updates, by method
	odd           map[string]int // what a plain reading of the protocol would not expect
}

// look reads a recorded connection.
func look(wire []line) survey {
	w := &watch{
		survey: survey{calls: map[string]int{}, kinds: map[string]int{}, notifications: map[string]int{}, odd: map[string]int{}},
		asked:  map[string]string{}, known: map[string]bool{}, status: map[string]string{},
	}
	for _, l := range wire {
		var m message
		if json.Unmarshal(l.Line, &m) != nil {
			continue
		}
		if l.From == "client" {
			w.client(m)
		} else {
			w.agent(m)
		}
	}
	return w.survey
}

type watch struct {
	survey
	asked   map[string]string // id of a request of the client that is not answered yet -> method
	known   map[string]bool   // sessions
	status  map[string]string // tool call -> its last status, in the turn or load that runs
	running int               // turns and loads
	loading int               // loads
}

func (w *watch) client(m message) {
	if !m.isRequest() {
		return
	}
	w.asked[string(m.ID)] = m.Method
	switch m.Method {
	case acp.MethodSessionLoad:
		var p notified
		_ = json.Unmarshal(m.Params, &p) // ours
		w.known[p.SessionID] = true
		w.running++
		w.loading++
	case acp.MethodSessionPrompt:
		w.running++
	}
}

func (w *watch) agent(m message) {
	switch {
	case m.Method == acp.MethodSessionUpdate:
		w.update(m.Params)
	case m.isRequest():
		w.calls[m.Method]++
		if _, ok := acp.LookupMethod(m.Method, false); !ok {
			w.odd["request "+m.Method]++
		}
	case m.isNotification():
		w.notifications[m.Method]++
		name := "notification " + m.Method
		if len(w.known) == 0 {
			name += " before any session"
		}
		w.odd[name]++
	default:
		w.answer(m)
	}
}

func (w *watch) answer(m message) {
	method, ok := w.asked[string(m.ID)]
	if !ok {
		w.odd["answer to nothing"]++
		return
	}
	delete(w.asked, string(m.ID))
	switch method {
	case acp.MethodSessionNew:
		var r notified
		_ = json.Unmarshal(m.Result, &r)
		w.known[r.SessionID] = true
	case acp.MethodSessionPrompt, acp.MethodSessionLoad:
		w.running--
		if method == acp.MethodSessionLoad {
			w.loading--
		}
		for _, status := range w.status {
			if status != "completed" && status != "failed" {
				w.odd["tool call left "+status]++
			}
		}
		clear(w.status)
	}
}

func (w *watch) update(params json.RawMessage) {
	var n notified
	var u struct {
		Kind   string `json:"sessionUpdate"`
		ID     string `json:"toolCallId"`
		Status string `json:"status"`
	}
	if json.Unmarshal(params, &n) != nil || json.Unmarshal(n.Update, &u) != nil {
		w.odd["session/update that is not one"]++
		return
	}
	w.kinds[u.Kind]++
	if n.Meta != nil {
		w.odd["_meta beside the update"]++
	}
	if !w.known[n.SessionID] {
		w.odd[u.Kind+" before session/new is answered"]++
	} else if w.running == 0 {
		w.odd[u.Kind+" outside of a turn"]++
	}
	var typed acp.SessionNotification
	if err := json.Unmarshal(params, &typed); err != nil {
		w.odd["session/update that does not decode"]++
	} else if unknown, ok := typed.Update.(acp.UnknownSessionUpdate); ok {
		w.odd["unknown update "+unknown.Tag]++
	}
	before, open := w.status[u.ID]
	switch u.Kind {
	case "user_message_chunk":
		if w.loading == 0 {
			w.odd["user_message_chunk outside of a load"]++
		}
		return
	case "tool_call":
		if open {
			w.odd["second tool_call with the same id"]++
		}
	case "tool_call_update":
		if !open {
			w.odd["tool_call_update before its tool_call"]++
		}
	default:
		return
	}
	if u.Status == "" {
		u.Status = before
	}
	if u.Status == "" {
		u.Status = "pending"
	}
	w.status[u.ID] = u.Status
}

// merge adds what another connection showed.
func (s survey) merge(other survey) {
	for _, pair := range [][2]map[string]int{
		{s.calls, other.calls}, {s.kinds, other.kinds}, {s.notifications, other.notifications}, {s.odd, other.odd},
	} {
		for name, n := range pair[1] {
			pair[0][name] += n
		}
	}
}

// counted lists names with their counts, those that occur once without.
func counted(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > 1 {
			name += fmt.Sprintf(" ×%d", n)
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, ", ")
}

// clientCalls lists the calls of files and terminals.
func (s survey) clientCalls() string {
	counts := map[string]int{}
	for method, n := range s.calls {
		if group, name, ok := strings.Cut(method, "/"); ok && (group == "fs" || group == "terminal") {
			counts[name] = n
		}
	}
	return counted(counts)
}
