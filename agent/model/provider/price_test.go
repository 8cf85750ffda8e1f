package provider

import (
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
)

func TestAModelHasAPriceOnlyWhereItIsKnown(t *testing.T) {
	elsewhere := Env{Lookup: func(name string) (string, bool) {
		return "https://models.example/v1", name == "OPENAI_BASE_URL" || name == "OLLAMA_HOST"
	}}
	for _, tt := range []struct {
		service, name string
		env           Env
		want          *model.Price
	}{
		{"openai", "gpt-5", Env{}, &model.Price{Input: 1.25, Output: 10, CacheRead: 0.125}},
		{"anthropic", "claude-opus-4-8-20260101", Env{}, &model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}},
		{"gemini", "gemini-2.5-pro", Env{}, &model.Price{Input: 1.25, Output: 10, CacheRead: 0.125, LongAbove: 200_000}},
		{"openai", "gpt-99", Env{}, nil},
		{"openai", "gpt-5", elsewhere, nil},
		{"ollama", "qwen3", elsewhere, &model.Price{}},
		{"ollama", "qwen3:480b-cloud", Env{}, nil},
		{"lmstudio", "anything", Env{}, &model.Price{}},
	} {
		s, ok := find(tt.service)
		if !ok {
			t.Fatalf("no service %s", tt.service)
		}
		got := s.describe(tt.env, tt.name).Price
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s/%s: %+v, want %+v", tt.service, tt.name, got, tt.want)
		}
	}
}

// TestAllPricesAreOfKnownModels finds slips in the table: a name that no list has, an output cheaper than its input.
func TestAllPricesAreOfKnownModels(t *testing.T) {
	priced := 0
	for _, k := range known() {
		p := priceOf(k.Name)
		if p == nil {
			continue
		}
		priced++
		if p.Input <= 0 || p.Output < p.Input || p.CacheRead > p.Input || p.CacheWrite != 0 && p.CacheWrite < p.Input {
			t.Errorf("%s: %+v", k.ID(), *p)
		}
	}
	if priced < 30 {
		t.Errorf("only %d models have a price", priced)
	}
}
