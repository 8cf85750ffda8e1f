package process

import (
	"slices"
	"strings"
	"testing"
)

func TestTheEndOfStandardErrorIsKeptWhole(t *testing.T) {
	var also strings.Builder
	out := tail{limit: 10, also: &also}
	for _, s := range []string{"01234", "56789", "é", "x"} {
		if n, err := out.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if out.String() != "…3456789éx" || also.String() != "0123456789éx" {
		t.Errorf("%q, %q", out.String(), also.String())
	}
	_, _ = out.Write([]byte("abcdefgh"))
	if out.String() != "…\uFFFDxabcdefgh" { // cut inside a character
		t.Errorf("%q", out.String())
	}
}

func TestKeysAndTokensAreNotInherited(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "k")
	t.Setenv("https_proxy", "http://proxy")
	t.Setenv("LC_ALL", "C")
	env := Environment()
	if !slices.Contains(env, "https_proxy=http://proxy") || !slices.Contains(env, "LC_ALL=C") {
		t.Errorf("environment %q", env)
	}
	for _, entry := range env {
		if strings.Contains(entry, "API_KEY") {
			t.Errorf("environment has %s", entry)
		}
	}
}

func TestTheErrorOfAnExitNamesStatusAndLastLines(t *testing.T) {
	e := &ExitError{Command: "agent", Code: 3, Stderr: strings.Repeat("noise\n", 20) + "the reason\n"}
	if got := e.Error(); !strings.Contains(got, "status 3") || !strings.HasSuffix(got, "the reason") || strings.Count(got, "noise") != 7 {
		t.Errorf("%s", got)
	}
	if got := (&ExitError{Command: "agent", Code: -1, Signal: "killed"}).Error(); got != "agent ended by signal killed" {
		t.Errorf("%s", got)
	}
}
