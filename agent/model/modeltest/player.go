package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// dialect is one wire format.
type dialect interface {
	name() Dialect
	// read understands a request.
	read(r *http.Request, body []byte) (*Conversation, error)
	// stream makes the writer of a streamed answer.
	stream(c *Conversation, out *sse) writer
	// whole makes the body of an answer that is not streamed.
	whole(c *Conversation, pieces []piece, e ending) any
	// failure makes the body of an answer with a failing status. why is "", "quota", "context" or a message.
	failure(status int, why string) any
}

// writer gives an answer piece by piece.
type writer interface {
	open()
	text(s string)
	thought(s string)
	call(p piece)
	fail(message string)
	close(e ending)
}

// piece is a part of an answer: text, a thought or a call.
type piece struct {
	kind     string // "text", "thought", "call"
	text     string // text; arguments of a call
	id, name string
}

// ending is how an answer stops.
type ending struct {
	reason string // "end", "calls", "length", "refuse"
	usage  [4]int // input with the cached, output, cache read, cache write
}

// Signature is what a thought carries in the formats that sign them.
const Signature = "c2lnbmF0dXJlLW9mLXRoZS1kb3VibGU="

// dialectOf finds the format by the end of the path, so that any base URL works.
func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	flush func() error
}

// data sends one event. An empty name leaves the event line out.
func (s *sse) data(event string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode an event of the double: %w", err))
	}
	s.raw(event, string(b))
}

func (s *sse) raw(event, data string) {
	if event != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", event)
	}
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", data)
	_ = s.flush()
}

// player performs one completion.
type player struct {
	ctx     context.Context
	http    http.ResponseWriter
	dialect dialect
	conv    *Conversation
	nextID  func(int64) int64

	out    *sse
	w      writer
	pieces []piece
	end    ending
	slow   time.Duration
	ids    string // how call ids are made: "", "no-ids", "same-ids", "restart-ids"
	calls  int
}

// play performs the steps; false if the answer did not go out whole.
func (p *player) play(steps []step) bool {
	p.end = ending{reason: "end", usage: [4]int{100, 20, 0, 0}}
	if p.conv.Stream {
		p.http.Header().Set("Content-Type", "text/event-stream")
		p.http.WriteHeader(http.StatusOK)
		p.out = &sse{w: p.http, flush: http.NewResponseController(p.http).Flush}
		_ = p.out.flush()
		p.w = p.dialect.stream(p.conv, p.out)
		p.w.open()
	}
	for _, st := range steps {
		if !p.step(st) || p.ctx.Err() != nil {
			return false
		}
	}
	if p.w != nil {
		p.w.close(p.end)
	} else {
		writeJSON(p.http, http.StatusOK, p.dialect.whole(p.conv, p.pieces, p.end))
	}
	return true
}

// step performs one; false ends the answer where it is.
func (p *player) step(st step) bool {
	switch st.op {
	case "text":
		p.say("text", st.text)
	case "thought":
		p.say("thought", st.text)
	case "error":
		if p.w == nil {
			return false
		}
		p.w.fail(st.text)
		return false
	case "chunks":
		for i := range st.n {
			p.emit(piece{kind: "text", text: chunk(i, st.size)})
		}
	case "result":
		_, results := p.conv.tail()
		for _, r := range results {
			p.say("text", r.Text)
		}
	case "seen":
		p.say("text", p.conv.seen())
	case "slow":
		p.slow = st.wait
	case "pause":
		p.wait(st.wait)
	case "usage":
		p.end.usage = st.counts
	case "length", "refuse":
		p.end.reason = st.op
	case "no-ids", "same-ids", "restart-ids":
		p.ids = st.op
	case "call", "call-raw", "tool-shell", "tool-write", "tool-read":
		p.call(st)
	default:
		return p.fault(st)
	}
	return true
}

// fault performs the steps that spoil an answer.
func (p *player) fault(st step) bool {
	switch st.op {
	case "stall":
		<-p.ctx.Done()
		return false
	case "cut":
		panic(http.ErrAbortHandler)
	case "end":
		return false
	case "garbage":
		if p.out == nil {
			_, _ = p.http.Write([]byte(`{"choices":[{"mess`))
			return false
		}
		event := "" // the formats that name their events skip those without a name
		switch p.dialect.name() {
		case Anthropic:
			event = "content_block_delta"
		case OpenAIResponses:
			event = "response.output_text.delta"
		}
		p.out.raw(event, `{"choices":[{"del`)
	}
	return true
}

func (p *player) call(st step) {
	name, args := st.name, st.text
	if !strings.HasPrefix(st.op, "call") {
		var ok bool
		if name, args, ok = fit(p.conv.Tools, st); !ok {
			p.say("text", "no offered tool fits "+st.op)
			return
		}
	}
	id := ""
	switch p.ids {
	case "":
		id = fmt.Sprintf("call_%06d", p.nextID(1))
	case "same-ids":
		id = "call_same"
	case "restart-ids":
		id = fmt.Sprintf("call_%d", p.calls)
	}
	p.calls++
	p.end.reason = "calls"
	p.emit(piece{kind: "call", id: id, name: name, text: args})
}

// say emits text in small pieces.
func (p *player) say(kind, text string) {
	for _, s := range split(text, 12) {
		p.emit(piece{kind: kind, text: s})
	}
}

func (p *player) emit(pc piece) {
	if p.ctx.Err() != nil {
		return
	}
	p.wait(p.slow)
	if p.w == nil {
		if n := len(p.pieces); n > 0 && pc.kind != "call" && p.pieces[n-1].kind == pc.kind {
			p.pieces[n-1].text += pc.text
			return
		}
		p.pieces = append(p.pieces, pc)
		return
	}
	switch pc.kind {
	case "text":
		p.w.text(pc.text)
	case "thought":
		p.w.thought(pc.text)
	default:
		p.w.call(pc)
	}
}

func (p *player) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.ctx.Done():
	case <-t.C:
	}
}

// chunk is a piece of text of exactly size bytes (at least 1) that names its number if there is room.
func chunk(i, size int) string {
	s := fmt.Sprintf("chunk %d ", i)
	if len(s) >= max(size, 1) {
		return s[len(s)-max(size, 1):]
	}
	return s + strings.Repeat(".", size-len(s)-1) + " "
}

// split cuts s into pieces of about n bytes, never inside a character.
func split(s string, n int) []string {
	var out []string
	for len(s) > n {
		cut := n
		for cut > 1 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		out = append(out, s[:cut])
		s = s[cut:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}
