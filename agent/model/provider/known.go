package provider

import (
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/anthropic"
	"github.com/wherry-acp/wherry/agent/model/gemini"
	"github.com/wherry-acp/wherry/agent/model/openai"
)

// known are the models that people know by name, with their limits in tokens. It is a small list on purpose: what is not in
// it works all the same, with a context window that is unknown.
func known() []model.Info {
	const m = 1_000_000
	return []model.Info{
		{Provider: "anthropic", Name: "claude-sonnet-5-5", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-opus-5-5", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-haiku-5-5"},
		{Provider: "anthropic", Name: "claude-fable-5-2", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-sonnet-5", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-opus-5", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-opus-4-8", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-opus-4-7", ContextWindow: m, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-opus-4-6", ContextWindow: 200_000, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-sonnet-4-6", ContextWindow: 200_000, MaxOutput: 128_000},
		{Provider: "anthropic", Name: "claude-opus-4-5", ContextWindow: 200_000, MaxOutput: 64_000},
		{Provider: "anthropic", Name: "claude-sonnet-4-5", ContextWindow: 200_000, MaxOutput: 64_000},
		{Provider: "anthropic", Name: "claude-haiku-4-5", ContextWindow: 200_000, MaxOutput: 64_000},

		{Provider: "openai", Name: "gpt-6.1-sol", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-6-astra", MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-6-sol", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-6-luna"},
		{Provider: "openai", Name: "gpt-5.6-sol", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.6-terra", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.6-luna", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.5", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.4", ContextWindow: 1_050_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.4-mini", ContextWindow: 400_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.2", ContextWindow: 400_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5.1", ContextWindow: 400_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5", ContextWindow: 400_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-5-mini", ContextWindow: 400_000, MaxOutput: 128_000},
		{Provider: "openai", Name: "gpt-4.1", ContextWindow: 1_047_576, MaxOutput: 32_768},
		{Provider: "openai", Name: "gpt-4o", ContextWindow: 128_000, MaxOutput: 16_384},

		{Provider: "gemini", Name: "gemini-3.7-flash", ContextWindow: 1_048_576, MaxOutput: 65_536},
		{Provider: "gemini", Name: "gemini-3.6-flash", ContextWindow: 1_048_576, MaxOutput: 65_536},
		{Provider: "gemini", Name: "gemini-3.5-flash", ContextWindow: 1_048_576, MaxOutput: 65_536},
		{Provider: "gemini", Name: "gemini-3.5-flash-lite", ContextWindow: 1_048_576, MaxOutput: 65_536},
		{Provider: "gemini", Name: "gemini-3-pro-preview", ContextWindow: 1_048_576, MaxOutput: 65_536},
		{Provider: "gemini", Name: "gemini-2.5-pro", ContextWindow: 1_048_576, MaxOutput: 65_536},
		{Provider: "gemini", Name: "gemini-2.5-flash", ContextWindow: 1_048_576, MaxOutput: 65_536},
	}
}

// describe tells what is known of a model. A name that continues a known one (with a date, for instance) is like it.
func describe(provider, name string) model.Info {
	var best model.Info
	for _, k := range known() {
		if k.Provider == provider && (name == k.Name || continues(name, k.Name)) && len(k.Name) > len(best.Name) {
			best = k
		}
	}
	if best.Name != "" {
		best.Price = priceOf(best.Name)
	}
	best.Provider, best.Name = provider, name
	best.Images = true // unknown counts as yes: the provider says no where it must
	best.Audio = provider == "gemini"
	switch provider {
	case "anthropic":
		best.Thoughts = anthropic.Thoughts(name)
	case "openai":
		best.Thoughts = openai.Thoughts(name)
	case "gemini":
		best.Thoughts = gemini.Thoughts(name)
	case "ollama", "lmstudio":
		best.Price = localPrice(name)
	}
	return best
}

// continues tells that name is base with a date or another suffix, not another version of it.
func continues(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base)
	if !ok || rest == "" || rest[0] != '-' && rest[0] != '@' {
		return false
	}
	// claude-opus-4 is not claude-opus-4-8, while claude-opus-4-8-20260101 is.
	digits := strings.TrimLeft(rest[1:], "0123456789")
	return len(rest)-1-len(digits) != 1
}
