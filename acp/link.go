package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// A link is what both sides of a connection have in common: typed calls on the wire.
type link struct {
	conn   *jsonrpc.Conn
	codec  Codec
	log    *slog.Logger
	expose func(error) *RequestError

	sends slot[sending]
	reads slot[reading]
}

func newLink(o *Options) link { return link{codec: o.codec(), log: o.logger(), expose: o.ExposeError} }

// Done is closed when the connection has ended.
func (l *link) Done() <-chan struct{} { return l.conn.Done() }

// Err returns nil until Done is closed, then an error that matches ErrConnectionClosed
// and wraps the cause.
func (l *link) Err() error { return l.conn.Err() }

// Drain answers new requests with an error and waits until everything in flight is
// handled, answered and written, or until ctx ends. The connection stays open.
func (l *link) Drain(ctx context.Context) error { return l.conn.Drain(ctx) }

// message is a payload that the link's codec writes.
type message struct {
	codec *Codec
	v     Message
}

// AppendJSON implements jsonrpc.Appender.
func (m message) AppendJSON(dst []byte) ([]byte, error) { return m.codec.Append(dst, m.v) }

// pointer is the pointer to T, which is how T is a Message.
type pointer[T any] interface {
	*T
	Message
}

// decode reads params or a result, or a value within them: the connection has checked their syntax and names.
func decode[T any, P pointer[T]](l *link, raw jsontext.Value) (T, error) {
	r := l.reads.take()
	r.begin(l.codec, raw)
	defer func() { r.end(); l.reads.give(r) }()
	if u, ok := any(&r.update).(*T); ok {
		err := r.read(&r.update)
		return *u, err
	}
	var v T
	err := r.read(P(&v))
	return v, err
}

// call sends a request and reads its typed answer. how may be nil.
func call[R any, PR pointer[R]](ctx context.Context, l *link, method string, params Message, how *jsonrpc.Call) (R, error) {
	raw, err := l.conn.Call(ctx, method, message{&l.codec, params}, how)
	if err != nil {
		var none R
		return none, fromWire(err)
	}
	r, err := decode[R, PR](l, raw)
	if err != nil {
		return r, fmt.Errorf("%s: %w: %w", method, ErrInvalidResponse, err)
	}
	return r, nil
}

// on is the how of a call that belongs to a session.
func on(id SessionID) *jsonrpc.Call { return &jsonrpc.Call{Key: string(id)} }

func (l *link) notify(ctx context.Context, key SessionID, method string, params Message) error {
	return l.conn.Notify(ctx, string(key), method, message{&l.codec, params})
}

// notifyUpdate is notify for what is sent most.
func (l *link) notifyUpdate(ctx context.Context, n SessionNotification) error {
	s := l.sends.take()
	s.unstable, s.update = l.codec.Unstable, n
	err := l.conn.Notify(ctx, string(n.SessionID), MethodSessionUpdate, s)
	s.update = SessionNotification{}
	l.sends.give(s)
	return err
}

// Extension calls are the same on both sides.

// CallExtension calls a method of the peer that the protocol does not define. The name
// must begin with "_". params and result are any values that encode to JSON; result may
// be nil.
func (l *link) CallExtension(ctx context.Context, method string, params, result any) error {
	if !strings.HasPrefix(method, "_") {
		return fmt.Errorf("call %s: the name of an extension method begins with \"_\"", method)
	}
	raw, err := l.conn.Call(ctx, method, params, nil)
	if err != nil {
		return fromWire(err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("%s: %w: %w", method, ErrInvalidResponse, err)
	}
	return nil
}

// NotifyExtension sends a notification that the protocol does not define. The name must
// begin with "_".
func (l *link) NotifyExtension(ctx context.Context, method string, params any) error {
	if !strings.HasPrefix(method, "_") {
		return fmt.Errorf("notify %s: the name of an extension method begins with \"_\"", method)
	}
	return l.conn.Notify(ctx, "", method, params)
}

// wait waits, bounded, for a connection's handlers to end.
func (l *link) wait() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := l.conn.Wait(ctx); err != nil {
		l.log.Warn("handlers still run after the connection has ended")
	}
}

// sessionOf finds the session id in params without decoding them.
func sessionOf(params jsontext.Value) []byte {
	const head = `{"sessionId":"`
	if rest, ok := bytes.CutPrefix(params, []byte(head)); ok {
		if end := bytes.IndexByte(rest, '"'); end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return rest[:end]
		}
	}
	if params.Kind() != '{' {
		return nil
	}
	d := Codec{}.decoder(params)
	at := d.find("sessionId")
	if at < 0 || d.b[at] != '"' {
		return nil
	}
	d.i = at
	return d.text()
}

// A route is a method that a side can handle: P is what handles it.
type route[H any] struct {
	name string
	can  func(h H) bool
	call func(ctx context.Context, l *link, h H, params jsontext.Value) (Message, error)
}

// handled makes a route of a one-method interface I, given as its method expression.
func handled[H, I, Q, R any, PQ pointer[Q], PR pointer[R]](name string, f func(I, context.Context, Q) (R, error)) route[H] {
	return route[H]{
		name: name,
		can:  func(h H) bool { _, ok := any(h).(I); return ok },
		call: func(ctx context.Context, l *link, h H, params jsontext.Value) (Message, error) {
			q, err := decode[Q, PQ](l, params)
			if err != nil {
				return nil, paramsError(err)
			}
			r, err := f(any(h).(I), ctx, q)
			return PR(&r), err
		},
	}
}

// answer turns what a route returned into what the connection sends.
func (l *link) answer(ctx context.Context, m Message, err error) (any, error) {
	if err != nil {
		return nil, toWire(ctx, err, l.expose)
	}
	return message{&l.codec, m}, nil
}

// An Extension handles the methods and notifications of one name that begins with "_".
type Extension struct {
	request      func(ctx context.Context, params jsontext.Value) (any, error)
	notification func(ctx context.Context, params jsontext.Value) error
}

// ExtensionRequest makes a handler for an extension request from a function whose params
// and result encode to JSON.
func ExtensionRequest[Q, R any](f func(ctx context.Context, params Q) (R, error)) Extension {
	return Extension{request: func(ctx context.Context, params jsontext.Value) (any, error) {
		q, err := extensionParams[Q](params)
		if err != nil {
			return nil, err
		}
		return f(ctx, q)
	}}
}

// ExtensionNotification makes a handler for an extension notification.
func ExtensionNotification[Q any](f func(ctx context.Context, params Q)) Extension {
	return Extension{notification: func(ctx context.Context, params jsontext.Value) error {
		q, err := extensionParams[Q](params)
		if err == nil {
			f(ctx, q)
		}
		return err
	}}
}

func extensionParams[Q any](params jsontext.Value) (Q, error) {
	var q Q
	if params == nil {
		return q, nil
	}
	if err := json.Unmarshal(params, &q); err != nil {
		return q, InvalidParams("%v", err)
	}
	return q, nil
}

// checkExtensions checks the names of extension methods.
func checkExtensions(extensions map[string]Extension) error {
	for name := range extensions {
		if !strings.HasPrefix(name, "_") {
			return fmt.Errorf("extension %q: the name of an extension method begins with \"_\"", name)
		}
	}
	return nil
}

// extension handles a request that the protocol does not define.
func (l *link) extension(ctx context.Context, extensions map[string]Extension, method string, params jsontext.Value) (any, error) {
	x, ok := extensions[method]
	if !ok || x.request == nil {
		return nil, toWire(ctx, MethodNotFound(method), nil)
	}
	r, err := x.request(ctx, params)
	if err != nil {
		return nil, toWire(ctx, err, l.expose)
	}
	if r == nil {
		return jsontext.Value("null"), nil
	}
	return r, nil
}

// extensionNotified handles a notification that the protocol does not define.
func (l *link) extensionNotified(ctx context.Context, extensions map[string]Extension, method string, params jsontext.Value) {
	x, ok := extensions[method]
	if !ok || x.notification == nil {
		l.log.Debug("notification ignored", "method", method)
		return
	}
	if err := x.notification(ctx, params.Clone()); err != nil {
		l.log.Warn("notification not understood", "method", method, "error", err)
	}
}

// isCancelled reports whether err is the end of a context that session/cancel ended.
func isCancelled(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrSessionCancelled) }
