package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsoncheck"
)

// keepFrame is the largest buffer, in bytes, that is kept for the next frame.
const keepFrame = 64 << 10

// A frame is one encoded outgoing message.
type frame struct {
	buf     []byte
	call    *Call  // the call it starts, if any
	release bool   // a hold ends when this frame is queued
	open    string // the key that this frame announces to the peer
}

// framePool recycles frames, with their buffers.
type framePool struct{ pool sync.Pool }

func (p *framePool) get() *frame {
	if f, ok := p.pool.Get().(*frame); ok {
		return f
	}
	return new(frame)
}

func (p *framePool) put(f *frame) {
	if cap(f.buf) > keepFrame {
		return
	}
	f.buf = f.buf[:0]
	f.call, f.release, f.open = nil, false, ""
	p.pool.Put(f)
}

func (f *frame) len() int { return len(f.buf) }

func (f *frame) lit(s string) { f.buf = append(f.buf, s...) }

// request encodes a request, or a notification if id is 0.
func (f *frame) request(id int64, method string, params any) error {
	f.buf = append(f.buf[:0], `{"jsonrpc":"2.0",`...)
	if id != 0 {
		f.lit(`"id":`)
		f.buf = strconv.AppendInt(f.buf, id, 10)
		f.lit(",")
	}
	f.lit(`"method":`)
	if err := f.quote(method); err != nil {
		return fmt.Errorf("encode method name: %w", err)
	}
	if params != nil {
		f.lit(`,"params":`)
		if err := f.value(params); err != nil {
			return fmt.Errorf("encode params of %s: %w", method, err)
		}
	}
	f.lit("}")
	return nil
}

// result encodes a successful answer; a nil result is an empty object.
func (f *frame) result(id ID, result any) error {
	f.buf = append(f.buf[:0], `{"jsonrpc":"2.0","id":`...)
	f.lit(id.String())
	f.lit(`,"result":`)
	if result == nil {
		f.lit("{}")
	} else if err := f.value(result); err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	f.lit("}")
	return nil
}

// failure encodes an error answer. Data that is not JSON is left out.
func (f *frame) failure(id ID, e *Error) {
	f.buf = append(f.buf[:0], `{"jsonrpc":"2.0","id":`...)
	f.lit(id.String())
	f.lit(`,"error":{"code":`)
	f.buf = strconv.AppendInt(f.buf, e.Code, 10)
	f.lit(`,"message":`)
	if err := f.quote(e.Message); err != nil {
		f.lit(`"Internal error"`)
	}
	if e.Data != nil {
		mark := len(f.buf)
		f.lit(`,"data":`)
		if err := f.value(e.Data); err != nil {
			f.buf = f.buf[:mark]
		}
	}
	f.lit("}}")
}

func (f *frame) quote(s string) error {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			b, err := jsontext.AppendQuote(f.buf, s)
			if err == nil {
				f.buf = b
			}
			return err
		}
	}
	f.lit(`"`)
	f.lit(s)
	f.lit(`"`)
	return nil
}

// An Appender appends its JSON, which must be valid, to dst.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// value appends the JSON of v, which encodes itself, is JSON already, or is encoded by
// reflection. After an error nothing has been appended.
func (f *frame) value(v any) error {
	if a, ok := v.(Appender); ok {
		b, err := a.AppendJSON(f.buf)
		if err == nil {
			f.buf = b
		}
		return err
	}
	if raw, ok := v.(jsontext.Value); ok && len(raw) > 0 && jsoncheck.Value(raw, 0) == len(raw) && bytes.IndexByte(raw, '\n') < 0 {
		f.buf = append(f.buf, raw...)
		return nil
	}
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))
	var err error
	switch v := v.(type) {
	case jsontext.Value:
		err = enc.WriteValue(v)
	case json.MarshalerTo:
		err = v.MarshalJSONTo(enc)
	default:
		err = json.MarshalEncode(enc, v)
	}
	if err != nil {
		return err
	}
	if enc.StackDepth() != 0 {
		return fmt.Errorf("%T encodes an incomplete value", v)
	}
	f.buf = append(f.buf, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
	return nil
}
