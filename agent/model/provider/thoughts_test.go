package provider

import (
	"slices"
	"testing"
)

func TestLevelsOfReasoningAreOfferedWhereTheyAreKnown(t *testing.T) {
	for id, want := range map[[2]string][]string{
		{"anthropic", "claude-sonnet-5-5"}:       {"low", "medium", "high"},
		{"anthropic", "claude-haiku-4-5"}:        nil,
		{"openai", "gpt-6.1-sol"}:                {"low", "medium", "high"},
		{"openai", "gpt-4o"}:                     nil,
		{"gemini", "gemini-3.7-flash"}:           {"low", "high"},
		{"gemini", "gemini-2.5-pro"}:             nil,
		{"ollama", "gpt-6.1-sol"}:                nil,
		{"offline", "claude-sonnet-5-5-offline"}: nil,
	} {
		if got := describe(id[0], id[1]).Thoughts; !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", id, got, want)
		}
	}
}
