//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// traffic records one connection: what went over the wire, and what of it the caller was given.
type traffic struct {
	log   *os.File
	heard atomic.Int64 // notifications of the one extension that the client listens to

	mu      sync.Mutex
	wire    []line
	given   []given
	garbage []string
	lenient []string
	err     error // of writing the log
}

// line is a message as it went over the wire, and an entry of the log.
type line struct {
	Time time.Time       `json:"time"`
	From string          `json:"from"` // client or agent
	Line json.RawMessage `json:"line"`
}

// attach adds the recording to the client's options.
func (t *traffic) attach(o *acp.ClientOptions) {
	o.Tap = func(dir acp.Direction, at time.Time, message []byte) {
		from := "client"
		if dir == acp.Incoming {
			from = "agent"
		}
		t.add(line{Time: at, From: from, Line: slices.Clone(bytes.TrimSpace(message))})
	}
	o.Garbage = func(message []byte, problem string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.garbage = append(t.garbage, fmt.Sprintf("%s: %.80q", problem, message))
	}
	o.OnLenient = func(path, reason string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.lenient = append(t.lenient, path+": "+reason)
	}
}

func (t *traffic) add(l line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wire = append(t.wire, l)
	if !json.Valid(l.Line) {
		l.Line, _ = json.Marshal(string(l.Line))
	}
	entry, err := json.Marshal(l)
	if err == nil {
		_, err = t.log.Write(append(entry, '\n'))
	}
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("write the wire log: %w", err)
	}
}

// given is an update that the caller was given. What one source gave is in order: a turn, a load, or 0 for the handler of
// everything else.
type given struct {
	source  int
	session acp.SessionID
	update  acp.SessionUpdate
}

func (t *traffic) give(g given) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given = append(t.given, g)
}

// spoken gives the text of all messages that the caller was given.
func (t *traffic) spoken() (prompts, answers string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.given {
		switch u := g.update.(type) {
		case acp.UserMessageChunk:
			prompts += acp.PlainText(u.Content)
		case acp.AgentMessageChunk:
			answers += acp.PlainText(u.Content)
		}
	}
	return prompts, answers
}

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

func (m message) isRequest() bool      { return m.Method != "" && m.ID != nil }
func (m message) isNotification() bool { return m.Method != "" && m.ID == nil }

// notified is the part of a session/update's params that every one has.
type notified struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
	Meta      json.RawMessage `json:"_meta"`
}

// lost compares what the agent sent as updates with what the caller was given, and tells each update that did not arrive,
// arrived changed, or arrived out of order. A member that is null counts as one that is not there.
func lost(wire []line, all []given) []string {
	type update struct {
		session, text string
		found         bool
	}
	var problems []string
	var sent []update
	for _, l := range wire {
		var m message
		if l.From != "agent" || json.Unmarshal(l.Line, &m) != nil || m.Method != acp.MethodSessionUpdate {
			continue
		}
		var n notified
		if err := json.Unmarshal(m.Params, &n); err != nil {
			problems = append(problems, fmt.Sprintf("an update is not one: %v", err))
			continue
		}
		sent = append(sent, update{session: n.SessionID, text: canonical(n.Update)})
	}
	type stream struct {
		session acp.SessionID
		source  int
	}
	last := map[stream]int{}
	for _, g := range all {
		raw, err := acp.MarshalSessionUpdate(g.update)
		if err != nil {
			problems = append(problems, fmt.Sprintf("an update does not encode: %v", err))
			continue
		}
		want := update{session: string(g.session), text: canonical(raw)}
		i := slices.Index(sent, want)
		if i < 0 {
			problems = append(problems, fmt.Sprintf("the caller was given what was not sent: %.400s", want.text))
			continue
		}
		sent[i].found = true
		from := stream{g.session, g.source}
		if i < last[from] {
			problems = append(problems, fmt.Sprintf("given after what was sent later: %.400s", want.text))
		}
		last[from] = i
	}
	for _, u := range sent {
		if !u.found {
			problems = append(problems, fmt.Sprintf("sent, but not given to the caller: %.400s", u.text))
		}
	}
	return problems
}

// canonical writes JSON with its members in order, and without those that are null.
func canonical(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(withoutNulls(v))
	if err != nil {
		return string(raw)
	}
	return string(out)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(member)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
