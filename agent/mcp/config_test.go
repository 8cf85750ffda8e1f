package mcp

import (
	"strings"
	"testing"
	"time"
)

func TestAConfiguredServerIsCheckedFieldByField(t *testing.T) {
	good := []Server{
		{Name: "a", Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"A": ""}},
		{Name: "b c", Transport: TransportStdio, Command: "/bin/x", Trust: TrustHints},
		{Name: "d", URL: "https://example.org/mcp?k=v", Headers: map[string]string{"Authorization": "Bearer x"}},
		{Name: "e", Transport: TransportSSE, URL: "http://[::1]:8080/sse", Trust: TrustAsk, CallTimeout: time.Second},
	}
	for _, s := range good {
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for want, s := range map[string]Server{
		"name: is empty":            {Name: " ", Command: "x"},
		"name: \"a\\n\" has":        {Name: "a\n", Command: "x"},
		"name: is longer":           {Name: strings.Repeat("n", 129), Command: "x"},
		"transport: \"tcp\"":        {Name: "a", Transport: "tcp"},
		"trust: \"full\"":           {Name: "a", Command: "x", Trust: "full"},
		"startTimeout: -1s":         {Name: "a", Command: "x", StartTimeout: -time.Second},
		"callTimeout: -1s":          {Name: "a", Command: "x", CallTimeout: -time.Second},
		"command: is empty":         {Name: "a", Transport: TransportStdio, URL: "http://x"},
		"command: has a NUL":        {Name: "a", Command: "x\x00"},
		"args: has a NUL":           {Name: "a", Command: "x", Args: []string{"\x00"}},
		"env: \"A=B\" cannot":       {Name: "a", Command: "x", Env: map[string]string{"A=B": "x"}},
		"env: the value of A has":   {Name: "a", Command: "x", Env: map[string]string{"A": "\x00"}},
		"url: is empty":             {Name: "a", Transport: TransportHTTP, Command: "x"},
		"url: cannot be read":       {Name: "a", URL: "http://%"},
		"url: must begin":           {Name: "a", URL: "ftp://x"},
		"url: names no host":        {Name: "a", URL: "http:///x"},
		"headers: \"a b\" cannot":   {Name: "a", URL: "http://x", Headers: map[string]string{"a b": "x"}},
		"headers: the value of A h": {Name: "a", URL: "http://x", Headers: map[string]string{"A": "x\ny"}},
	} {
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestAnOriginIsSchemeHostAndPort(t *testing.T) {
	for address, want := range map[string]string{
		"https://Example.org/a?b": "https://example.org:443", "http://example.org": "http://example.org:80",
		"http://u:p@example.org:8080/": "http://example.org:8080", "http://[::1]/": "http://[::1]:80",
	} {
		if got := origin(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
