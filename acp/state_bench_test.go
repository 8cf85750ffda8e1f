package acp_test

import (
	"fmt"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// BenchmarkStateChunk measures taking in a chunk of a message while nobody looks, while
// somebody takes a snapshot after each, and while an observer is told of each.
func BenchmarkStateChunk(b *testing.B) {
	var update acp.SessionUpdate = said("Hello, world")
	// A conversation that is going on, so that the cost of its length shows.
	grown := func(entries int) *acp.StateBuilder {
		s := &acp.StateBuilder{}
		for i := range entries {
			s.Apply(acp.ToolCall{ToolCallID: acp.ToolCallID(fmt.Sprint(i)), Title: "T"})
		}
		return s
	}
	const turn = 10_000 // a message does not grow for ever
	for _, entries := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("alone/entries=%d", entries), func(b *testing.B) {
			s := grown(entries)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%turn == 0 {
					s.BeginTurn()
				}
				s.Apply(update)
			}
		})
		b.Run(fmt.Sprintf("snapshot/entries=%d", entries), func(b *testing.B) {
			s := grown(entries)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%turn == 0 {
					s.BeginTurn()
				}
				s.Apply(update)
				_ = s.State()
			}
		})
		b.Run(fmt.Sprintf("observed/entries=%d", entries), func(b *testing.B) {
			s := grown(entries)
			b.ReportAllocs()
			b.ResetTimer()
			i := 0
			for range s.Changes(b.Context()) {
				if i++; i == b.N {
					s.Close()
				}
				if i > b.N {
					break
				}
				if i%turn == 0 {
					s.BeginTurn()
				}
				s.Apply(update)
			}
		})
	}
}

// BenchmarkStateToolCall measures an update of a tool call that has content.
func BenchmarkStateToolCall(b *testing.B) {
	s := &acp.StateBuilder{}
	s.Apply(acp.ToolCall{ToolCallID: "t", Title: "T"})
	var update acp.SessionUpdate = acp.ToolCallUpdate{ToolCallID: "t", Status: acp.ToolCallInProgress, Content: []acp.ToolCallContent{acp.ToolText("x")}}
	b.ReportAllocs()
	for b.Loop() {
		s.Apply(update)
	}
}
