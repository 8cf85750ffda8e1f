package acp

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	benchToolCall = `{"sessionId":"sess_5f0c3a1b9d2e","update":{"sessionUpdate":"tool_call","toolCallId":"call_001","title":"Read main.go","kind":"read","status":"pending","content":[{"type":"content","content":{"type":"text","text":"package main\n\nfunc main() {}\n"}}],"locations":[{"path":"/home/user/project/main.go","line":42}],"rawInput":{"path":"/home/user/project/main.go","limit":200}}}`
	benchChunk    = `{"sessionId":"sess_5f0c3a1b9d2e","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I'll look at the file first, then "},"messageId":"msg_0123456789"}}`
)

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"tool_call", benchToolCall}, {"agent_message_chunk", benchChunk}} {
		data := []byte(c.text)
		b.Run(c.name+"/frame already checked", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v SessionNotification
				if err := (Codec{}).unmarshalValid(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/with syntax check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v SessionNotification
				if err := (Codec{}).Unmarshal(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/through json", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v SessionNotification
				if err := json.Unmarshal(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("syntax check of tool_call alone", func(b *testing.B) {
		data := jsontext.Value(benchToolCall)
		b.ReportAllocs()
		for b.Loop() {
			if !data.IsValid() {
				b.Fatal("invalid")
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"tool_call", benchToolCall}, {"agent_message_chunk", benchChunk}} {
		var v SessionNotification
		if err := (Codec{}).Unmarshal([]byte(c.text), &v); err != nil {
			b.Fatal(err)
		}
		b.Run(c.name+"/append", func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				out, err := Codec{}.Append(buf[:0], &v)
				if err != nil {
					b.Fatal(err)
				}
				buf = out
			}
		})
		b.Run(c.name+"/through json", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(&v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
