package jsonrpc

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/transport"
)

// update is a notification of the size that streamed text has.
var update = jsontext.Value(`{"sessionId":"sess_0123456789abcdef","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello, world"}}}`)

type sessionKey struct{ funcs }

func (sessionKey) Key(_ string, params jsontext.Value) []byte { return params[14 : 14+21] }

// BenchmarkNotifications measures small notifications from one connection to the other
// through memory, handled in order.
func BenchmarkNotifications(b *testing.B) {
	ta, tb := transport.Pipe()
	got := make(chan struct{})
	n := 0
	recv := &sessionKey{funcs{notification: func(context.Context, string, jsontext.Value) {
		if n++; n == b.N {
			close(got)
		}
	}}}
	ca, cb := New(ta, &funcs{}, nil), New(tb, recv, nil)
	ca.Start(b.Context())
	cb.Start(b.Context())
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := ca.Notify(b.Context(), "", "session/update", update); err != nil {
			b.Fatal(err)
		}
	}
	<-got
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	_ = ca.Close()
	_ = cb.Close()
	_ = cb.Wait(context.Background())
}

// BenchmarkCall measures one request and its answer through memory.
func BenchmarkCall(b *testing.B) {
	ta, tb := transport.Pipe()
	ca, cb := New(ta, &funcs{}, nil), New(tb, &funcs{request: func(context.Context, *Request) (any, error) { return nil, nil }}, nil)
	ca.Start(b.Context())
	cb.Start(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ca.Call(b.Context(), "session/prompt", update, nil); err != nil {
			b.Fatal(err)
		}
	}
	_ = ca.Close()
	_ = cb.Close()
	_ = cb.Wait(context.Background())
}

// BenchmarkScan measures taking one envelope apart.
func BenchmarkScan(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":` + string(update) + `}`)
	var s scanner
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := s.scan(line); err != nil {
			b.Fatal(err)
		}
	}
}
