package provider

import (
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
)

// priceOf is what a known model costs as its provider listed it in October 2026, for requests of the standard tier. A model
// that is not here has no price, so that nothing is counted wrong: it can be configured.
func priceOf(name string) *model.Price {
	const long = 272_000 // input tokens, from which on some of OpenAI's models are dearer
	var p model.Price
	switch name {
	case "claude-sonnet-5-5":
		p = model.Price{Input: 2, Output: 10, CacheRead: 0.2, CacheWrite: 2.5}
	case "claude-opus-5-5":
		p = model.Price{Input: 4, Output: 20, CacheRead: 0.2, CacheWrite: 5}
	case "claude-sonnet-5":
		p = model.Price{Input: 2, Output: 10, CacheRead: 0.2, CacheWrite: 2.5}
	case "claude-opus-5":
		p = model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}
	case "claude-opus-4-8":
		p = model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}
	case "claude-opus-4-7":
		p = model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}
	case "claude-opus-4-6":
		p = model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}
	case "claude-opus-4-5":
		p = model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}
	case "claude-sonnet-4-6":
		p = model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	case "claude-sonnet-4-5":
		p = model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	case "claude-haiku-4-5":
		p = model.Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}
	case "gpt-6.1-sol":
		p = model.Price{Input: 2, Output: 10, CacheRead: 0.1, CacheWrite: 2.5, LongAbove: long}
	case "gpt-6-astra":
		p = model.Price{Input: 10, Output: 50, CacheWrite: 12.5, LongAbove: long}
	case "gpt-6-sol":
		p = model.Price{Input: 2, Output: 10, CacheRead: 0.2, CacheWrite: 2.5, LongAbove: long}
	case "gpt-6-luna":
		p = model.Price{Input: 0.1, Output: 0.5, CacheRead: 0.01, CacheWrite: 0.125, LongAbove: long}
	case "gpt-5.6-sol":
		p = model.Price{Input: 4, Output: 20, CacheWrite: 5, LongAbove: long}
	case "gpt-5.6-luna":
		p = model.Price{Input: 0.2, Output: 1.2, CacheWrite: 0.25, LongAbove: long}
	case "gpt-5.5":
		p = model.Price{Input: 5, Output: 30, CacheRead: 0.5, LongAbove: long}
	case "gpt-5.4":
		p = model.Price{Input: 2.5, Output: 15, CacheRead: 0.25, LongAbove: long}
	case "gpt-5.4-mini":
		p = model.Price{Input: 0.75, Output: 4.5, CacheRead: 0.075}
	case "gpt-5.2":
		p = model.Price{Input: 1.75, Output: 14, CacheRead: 0.175}
	case "gpt-5.1":
		p = model.Price{Input: 1.25, Output: 10, CacheRead: 0.125}
	case "gpt-5":
		p = model.Price{Input: 1.25, Output: 10, CacheRead: 0.125}
	case "gpt-5-mini":
		p = model.Price{Input: 0.25, Output: 2, CacheRead: 0.025}
	case "gpt-4.1":
		p = model.Price{Input: 2, Output: 8, CacheRead: 0.5}
	case "gpt-4o":
		p = model.Price{Input: 2.5, Output: 10, CacheRead: 1.25}
	case "gemini-3.7-flash":
		p = model.Price{Input: 0.75, Output: 3.75, CacheRead: 0.075}
	case "gemini-3.6-flash":
		p = model.Price{Input: 1.5, Output: 7.5, CacheRead: 0.15}
	case "gemini-3.5-flash":
		p = model.Price{Input: 1.5, Output: 9}
	case "gemini-3.5-flash-lite":
		p = model.Price{Input: 0.3, Output: 2.5, CacheRead: 0.03}
	case "gemini-3-pro-preview":
		p = model.Price{Input: 2, Output: 12, CacheRead: 0.2, LongAbove: 200_000}
	case "gemini-2.5-pro":
		p = model.Price{Input: 1.25, Output: 10, CacheRead: 0.125, LongAbove: 200_000}
	case "gemini-2.5-flash":
		p = model.Price{Input: 0.3, Output: 2.5, CacheRead: 0.03}
	default:
		return nil
	}
	return &p
}

// localPrice is that of a model on the person's own machine: none. What such a server only passes on to a hosted model,
// which its name says, has a price that is not known here.
func localPrice(name string) *model.Price {
	if strings.HasSuffix(name, "-cloud") || strings.HasSuffix(name, ":cloud") {
		return nil
	}
	return &model.Price{}
}

// describe tells what is known of a model of the service. Who has it from another address may pay another price.
func (s service) describe(e Env, name string) model.Info {
	info := describe(s.id, name)
	if s.local == nil && !s.officialAddress(e) {
		info.Price = nil
	}
	return info
}
