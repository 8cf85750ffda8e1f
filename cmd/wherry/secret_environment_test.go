package main

import (
	"slices"
	"testing"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model/provider"
)

func TestNoProvidersKeyIsInTheEnvironmentOfCommandsUnlessItIsNamed(t *testing.T) {
	var environ, names []string
	for _, s := range provider.Services() {
		if s.KeyVar != "" {
			environ, names = append(environ, s.KeyVar+"=CANARY"), append(names, s.KeyVar)
		}
	}
	if len(names) < 3 {
		t.Fatalf("only %v have keys", names)
	}
	for _, entry := range host.CleanEnviron(environ, nil) {
		if slices.Contains(environ, entry) {
			t.Errorf("%s is left", entry)
		}
	}
	if left := host.CleanEnviron(environ, names[:1]); !slices.Contains(left, environ[0]) || slices.Contains(left, environ[1]) {
		t.Errorf("with %s named, left are %v", names[0], left)
	}
}
