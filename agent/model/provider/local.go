package provider

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
)

// checkTime is how long a server on the person's machine may take to say what it has.
const checkTime = 10 * time.Second

// ollamaURL reads OLLAMA_HOST, which is written in many ways: a host, host:port, a URL, or the address that the server
// binds to.
func ollamaURL(e Env) string {
	host := strings.TrimRight(e.or("OLLAMA_HOST", "127.0.0.1:11434"), "/")
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
		if ok && scheme == "https" {
			port = "443"
		}
	}
	switch name {
	case "", "0.0.0.0", "::": // what a server listens on is not where it is reached
		name = "127.0.0.1"
	}
	if path != "" {
		path = "/" + strings.TrimSuffix(path, "v1")
	}
	return scheme + "://" + net.JoinHostPort(name, port) + strings.TrimRight(path, "/") + "/v1"
}

func lmstudioURL(e Env) string {
	base := strings.TrimRight(e.or("LMSTUDIO_BASE_URL", "http://127.0.0.1:1234/v1"), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	return base
}

// check asks a server on the person's machine whether it has the model, and gives the name as the server writes it.
func (s service) check(ctx context.Context, at endpoint.Endpoint, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	names, err := s.make(at, model.Info{Provider: s.id, Name: name}).Models(ctx)
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return "", s.fail(model.ErrNetwork, "%s at %s does not answer. Restart it, or set %s to where it runs", s.title, at.Host(), at.BaseVar)
		}
		return "", err
	}
	for _, candidate := range []string{name, name + ":latest"} {
		if slices.Contains(names, candidate) {
			return candidate, nil
		}
	}
	has := "It has no models yet"
	if len(names) > 0 {
		slices.Sort(names)
		has = "It has: " + strings.Join(names[:min(len(names), 20)], ", ")
		if len(names) > 20 {
			has += ", …"
		}
	}
	get := "load it there first"
	if s.id == "ollama" {
		get = "get it with: ollama pull " + name
	}
	return "", s.fail(model.ErrNotFound, "%s at %s has no model %q. %s. Choose one of these, or %s", s.title, at.Host(), name, has, get)
}
