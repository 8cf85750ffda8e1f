package remote_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/acp/transport/remote"
)

// BenchmarkRoundTrip measures a prompt without updates over each transport, beside an in-memory pipe.
func BenchmarkRoundTrip(b *testing.B) {
	for name, dial := range benchWays() {
		b.Run(name, func(b *testing.B) {
			session := benchSession(b, dial)
			for b.Loop() {
				if _, err := session.Prompt(b.Context(), acp.Text("say 0")).Result(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUpdates measures a prompt with 1,000 updates.
func BenchmarkUpdates(b *testing.B) {
	for name, dial := range benchWays() {
		b.Run(name, func(b *testing.B) {
			session := benchSession(b, dial)
			for b.Loop() {
				turn := session.Prompt(b.Context(), acp.Text("say 1000"))
				n := 0
				for range turn.Updates() {
					n++
				}
				if _, err := turn.Result(); err != nil || n != 1000 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func benchWays() map[string]func(b *testing.B, url string) transport.Transport {
	return map[string]func(b *testing.B, url string) transport.Transport{
		"pipe": nil,
		"http": func(b *testing.B, url string) transport.Transport {
			tr, err := remote.DialHTTP(url, nil)
			if err != nil {
				b.Fatal(err)
			}
			return tr
		},
		"websocket": func(b *testing.B, url string) transport.Transport {
			tr, err := remote.DialWebSocket(b.Context(), url, nil)
			if err != nil {
				b.Fatal(err)
			}
			return tr
		},
	}
}

func benchSession(b *testing.B, dial func(b *testing.B, url string) transport.Transport) *acp.Session {
	b.Helper()
	var client transport.Transport
	if dial == nil {
		var server transport.Transport
		client, server = transport.Pipe()
		served := make(chan struct{})
		go func() { defer close(served); _ = acp.Serve(context.Background(), server, tiny{}, nil) }()
		b.Cleanup(func() { <-served })
	} else {
		h := remote.NewHandler(serveTiny, nil)
		ts := httptest.NewServer(h)
		b.Cleanup(func() { h.Close(); ts.Close() })
		client = dial(b, ts.URL)
	}
	agent, err := acp.Connect(b.Context(), client, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = agent.Close() })
	session, err := agent.NewSession(b.Context(), acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		b.Fatal(err)
	}
	return session
}
