package provider

import "testing"

func TestOllamasAddressIsUnderstoodInAllItsForms(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "http://127.0.0.1:11434/v1",
		"0.0.0.0":                   "http://127.0.0.1:11434/v1",
		"0.0.0.0:8080":              "http://127.0.0.1:8080/v1",
		":8080":                     "http://127.0.0.1:8080/v1",
		"[::]:8080":                 "http://127.0.0.1:8080/v1",
		"[::1]":                     "http://[::1]:11434/v1",
		"box.lan":                   "http://box.lan:11434/v1",
		"http://box.lan:1/":         "http://box.lan:1/v1",
		"https://box.example":       "https://box.example:443/v1",
		"https://box.example/o/v1/": "https://box.example:443/o/v1",
	} {
		e := Env{Lookup: func(string) (string, bool) { return in, true }}
		if got := ollamaURL(e); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
