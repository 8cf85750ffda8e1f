package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// keepFrame is the largest buffer, in bytes, that is kept for the next frame.
const keepFrame = 64 << 10

// A frame is one encoded outgoing message.
type frame struct {
	buf     bytes.Buffer
	enc     jsontext.Encoder
	call    *Call  // the call it starts, if any
	dropped bool   // guarded by the outbox: do not write it
	release bool   // a hold ends when this frame is queued
	open    string // the key that this frame announces to the peer
}

// framePool recycles frames, with their buffers and encoders.
type framePool struct{ pool sync.Pool }

func (p *framePool) get() *frame {
	if f, ok := p.pool.Get().(*frame); ok {
		return f
	}
	return new(frame)
}

func (p *framePool) put(f *frame) {
	if f.buf.Cap() > keepFrame {
		return
	}
	f.buf.Reset()
	f.call, f.dropped, f.release, f.open = nil, false, false, ""
	p.pool.Put(f)
}

func (f *frame) len() int { return f.buf.Len() }

// request encodes a request, or a notification if id is 0.
func (f *frame) request(id int64, method string, params any) error {
	f.buf.Reset()
	f.buf.WriteString(`{"jsonrpc":"2.0",`)
	if id != 0 {
		f.buf.WriteString(`"id":`)
		f.buf.Write(strconv.AppendInt(f.buf.AvailableBuffer(), id, 10))
		f.buf.WriteByte(',')
	}
	f.buf.WriteString(`"method":`)
	if err := f.quote(method); err != nil {
		return fmt.Errorf("encode method name: %w", err)
	}
	if params != nil {
		f.buf.WriteString(`,"params":`)
		if err := f.value(params); err != nil {
			return fmt.Errorf("encode params of %s: %w", method, err)
		}
	}
	f.buf.WriteByte('}')
	return nil
}

// result encodes a successful answer; a nil result is an empty object.
func (f *frame) result(id ID, result any) error {
	f.buf.Reset()
	f.buf.WriteString(`{"jsonrpc":"2.0","id":`)
	f.buf.WriteString(id.String())
	f.buf.WriteString(`,"result":`)
	if result == nil {
		f.buf.WriteString("{}")
	} else if err := f.value(result); err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	f.buf.WriteByte('}')
	return nil
}

// failure encodes an error answer. Data that is not JSON is left out.
func (f *frame) failure(id ID, e *Error) {
	f.buf.Reset()
	f.buf.WriteString(`{"jsonrpc":"2.0","id":`)
	f.buf.WriteString(id.String())
	f.buf.WriteString(`,"error":{"code":`)
	f.buf.Write(strconv.AppendInt(f.buf.AvailableBuffer(), e.Code, 10))
	f.buf.WriteString(`,"message":`)
	if err := f.quote(e.Message); err != nil {
		f.buf.WriteString(`"Internal error"`)
	}
	if e.Data != nil {
		mark := f.buf.Len()
		f.buf.WriteString(`,"data":`)
		if err := f.value(e.Data); err != nil {
			f.buf.Truncate(mark)
		}
	}
	f.buf.WriteString("}}")
}

func (f *frame) quote(s string) error {
	b, err := jsontext.AppendQuote(f.buf.AvailableBuffer(), s)
	if err == nil {
		f.buf.Write(b)
	}
	return err
}

// An Appender appends its JSON, which must be valid, to dst.
type Appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// value appends the JSON of v, which encodes itself, is JSON already, or is encoded by
// reflection.
func (f *frame) value(v any) error {
	if a, ok := v.(Appender); ok {
		b, err := a.AppendJSON(f.buf.AvailableBuffer())
		if err == nil {
			f.buf.Write(b)
		}
		return err
	}
	f.enc.Reset(&f.buf, jsontext.AllowDuplicateNames(true))
	var err error
	switch v := v.(type) {
	case jsontext.Value:
		err = f.enc.WriteValue(v)
	case json.MarshalerTo:
		err = v.MarshalJSONTo(&f.enc)
	default:
		err = json.MarshalEncode(&f.enc, v)
	}
	if err != nil {
		return err
	}
	if f.enc.StackDepth() != 0 {
		return fmt.Errorf("%T encodes an incomplete value", v)
	}
	if b := f.buf.Bytes(); len(b) > 0 && b[len(b)-1] == '\n' {
		f.buf.Truncate(len(b) - 1)
	}
	return nil
}
