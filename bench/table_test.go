package main

import (
	"strings"
	"testing"
)

func TestMedianIsTheMiddleValueWhateverTheOrder(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median(%v) = %v, expected %v", tt.values, got, tt.want)
		}
	}
}

func TestATableLinesUpItsColumns(t *testing.T) {
	var b strings.Builder
	table{title: "T", head: []string{"", "a"}, unit: []string{"", "µs"}, rows: [][]string{{"long name", "1"}, {"x", "1000"}}}.print(&b)
	want := "\nT\n                 a\n                µs\n  long name      1\n  x           1000\n"
	if b.String() != want {
		t.Errorf("got\n%q, expected\n%q", b.String(), want)
	}
}
