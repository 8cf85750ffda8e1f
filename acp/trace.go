package acp

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// The members of _meta that the protocol reserves for tracing.
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
	metaBaggage     = "baggage"
)

// A Trace is a W3C trace context and baggage, as _meta carries them ("traceparent",
// "tracestate", "baggage"): the texts of the HTTP headers of the same names. The zero
// value is no trace.
type Trace struct {
	Parent  string
	State   string
	Baggage string
}

// IsZero reports whether there is neither a trace nor baggage.
func (t Trace) IsZero() bool { return t == Trace{} }

// Trace returns the trace that m carries. As the W3C asks, a malformed traceparent counts
// as none, and so does the tracestate beside it.
func (m Meta) Trace() Trace {
	var t Trace
	if len(m) == 0 || jsontext.Value(m).Kind() != '{' {
		return t
	}
	t.Baggage = m.text(metaBaggage)
	if parent := m.text(metaTraceParent); validParent(parent) {
		t.Parent, t.State = parent, m.text(metaTraceState)
	}
	return t
}

func (m Meta) text(name string) string {
	v, ok := m.Get(name)
	if !ok || v.Kind() != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(s)
}

// validParent checks a traceparent: version, trace id, parent id and flags in lower-case
// hexadecimal. Later versions may append more.
func validParent(s string) bool {
	const version0 = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(s) < version0 || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return false
	}
	if len(s) > version0 && (s[:2] == "00" || s[version0] != '-') {
		return false
	}
	for _, part := range []string{s[:2], s[3:35], s[36:52], s[53:55]} {
		for i := range len(part) {
			if c := part[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return s[3:35] != "00000000000000000000000000000000" && s[36:52] != "0000000000000000"
}

// WithTrace returns m with t in place of the trace that m carried; the other members keep
// their text and order. m itself stays as it is. A zero t takes the trace out.
func (m Meta) WithTrace(t Trace) Meta {
	out := []byte{'{'}
	dec := jsontext.NewDecoder(bytes.NewReader(m))
	if dec.PeekKind() == '{' {
		_, _ = dec.ReadToken()
		for dec.PeekKind() == '"' {
			name, err := dec.ReadValue()
			if err != nil {
				break
			}
			quoted := name.Clone()
			value, err := dec.ReadValue()
			if err != nil {
				break
			}
			switch plain, _ := jsontext.AppendUnquote(nil, quoted); string(plain) {
			case metaTraceParent, metaTraceState, metaBaggage:
				continue
			}
			out = appendMember(out, quoted, value)
		}
	}
	for _, member := range [...][2]string{{metaTraceParent, t.Parent}, {metaTraceState, t.State}, {metaBaggage, t.Baggage}} {
		if member[1] != "" {
			value, _ := jsontext.AppendQuote(nil, member[1]) // an error means that invalid UTF-8 was replaced
			out = appendMember(out, []byte(`"`+member[0]+`"`), value)
		}
	}
	if len(out) == 1 && len(m) == 0 {
		return nil
	}
	return append(out, '}')
}

func appendMember(object, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(append(object, name...), ':')
	return append(object, value...)
}

// traceKey is the context key of a Trace.
type traceKey struct{}

// ContextWithTrace returns a context whose requests to the peer carry t in their _meta,
// for example the span that a program has begun for them. A request whose own Meta has a
// traceparent keeps that.
func ContextWithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns the trace of ctx: that of [ContextWithTrace] or, in the context of a
// request's handler, the one that the peer has sent with the request. What a handler asks
// of the peer carries it on by itself; updates and other notifications do not, see
// [Meta.WithTrace].
func TraceFrom(ctx context.Context) Trace {
	if t, ok := ctx.Value(traceKey{}).(Trace); ok {
		return t
	}
	if scope, ok := ctx.Value(requestKey{}).(*requestScope); ok {
		return scope.trace()
	}
	return Trace{}
}

// trace returns the trace of the request's params.
func (s *requestScope) trace() Trace {
	s.traced.Do(func() { s.sent = Meta(member(s.request.Params, "_meta")).Trace() })
	return s.sent
}

// carry returns params with the trace of ctx.
func carry(ctx context.Context, params Message) Message {
	if t := TraceFrom(ctx); !t.IsZero() {
		return tracedMessage{params, t}
	}
	return params
}

// tracedMessage is a message that is written with a trace in its _meta.
type tracedMessage struct {
	Message
	trace Trace
}

func (m tracedMessage) encodeWire(e *encoder) {
	at := len(e.b)
	m.Message.encodeWire(e)
	if e.err != nil {
		return
	}
	object := bytes.Clone(e.b[at:])
	d := Codec{}.decoder(object)
	from := d.find("_meta")
	switch {
	case from >= 0:
		to := valueEnd(object, from)
		meta := Meta(object[from:to])
		if meta.text(metaTraceParent) != "" {
			return
		}
		e.b = append(append(append(e.b[:at], object[:from]...), meta.WithTrace(m.trace)...), object[to:]...)
	default:
		e.b = e.b[:len(e.b)-1]
		if len(object) > len("{}") {
			e.lit(",")
		}
		e.lit(`"_meta":`)
		e.b = append(e.b, Meta(nil).WithTrace(m.trace)...)
		e.lit("}")
	}
}
