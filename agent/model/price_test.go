package model

import (
	"math"
	"testing"
)

func TestAPriceCountsCachedTokensApartAndLongRequestsDearer(t *testing.T) {
	p := Price{Input: 2, Output: 10, CacheRead: 0.2, CacheWrite: 2.5, LongAbove: 1_000_000}
	for _, tt := range []struct {
		name  string
		price Price
		usage Usage
		want  float64
	}{
		{"input and output", p, Usage{Input: 500_000, Output: 100_000}, 1 + 1},
		{"the cached part of the input", p, Usage{Input: 1_000_000, CacheRead: 800_000, CacheWrite: 100_000}, 0.2 + 0.16 + 0.25},
		{"a long request", p, Usage{Input: 1_500_000, Output: 100_000}, 6 + 1.5},
		{"just not a long one", p, Usage{Input: 1_000_000}, 2},
		{"an unknown price of the cache is that of the input", Price{Input: 3}, Usage{Input: 1_000_000, CacheRead: 900_000}, 3},
		{"more cached than there was", p, Usage{Input: 10, CacheRead: 1_000_000}, 0.2},
		{"nothing costs nothing", Price{}, Usage{Input: 1_000_000, Output: 1_000_000}, 0},
	} {
		if got := tt.price.Of(tt.usage); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
