package guard

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/guard/detect"
	"github.com/wherry-acp/wherry/agent/model"
)

func seedsFor(f *testing.F) {
	for _, text := range []string{
		"", "hello", jane, jane + " " + john + " [EMAIL-1] [EMAIL-2]", "call +1 415 555 2671", envLine, "[EMAIL-" + jane + "]",
		`{"a":"` + jane + `","password":"` + secret + `","n":4155552671,"x":[{}]}`, `{"a":"\ud800","b":"` + jane + `"`, "\xff\xfe@\x00.com",
		"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("QUJD", 30), "kind: Secret\ndata:\n a: b\n", "u:p@tcp(h)", "x.env:3:y", "[[[[EMAIL-1]]",
		`"` + jane + `"`, `{"a":1}{"b":2}`, "basic  =", "bearer ", "://:@", "Jane Müller", "212-45" + "-6789 84.17.52.9 2a02:8109::1",
	} {
		f.Add(text)
	}
}

// What is taken out of a text is what comes back, and nothing else has changed.
func FuzzRestoreUndoesRedact(f *testing.F) {
	seedsFor(f)
	f.Fuzz(func(t *testing.T, text string) {
		g := New(Policy{PII: PIIRedact, Secrets: SecretsOff, Names: []string{"Jane", "Müller"}})
		redacted, err := g.Redact(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Restore(redacted); got != text {
			t.Fatalf("%q became %q and came back as %q", text, redacted, got)
		}
		if spans := spansOf(t, g, text); len(spans) == 0 && redacted != text {
			t.Fatalf("%q has no span and became %q", text, redacted)
		}
		r := g.Restorer()
		var b strings.Builder
		for i := range len(redacted) {
			b.WriteString(r.Add(redacted[i : i+1]))
		}
		b.WriteString(r.Rest())
		if b.String() != text {
			t.Fatalf("%q came back in pieces as %q", text, b.String())
		}
	})
}

// Nothing panics, arguments stay what they were or valid JSON, a second time gives the same, and secrets never come back.
func FuzzOutgoing(f *testing.F) {
	seedsFor(f)
	f.Fuzz(func(t *testing.T, text string) {
		g := New(Policy{PII: PIIRedact, Names: []string{"Jane"}, SecretPath: func(p string) bool { return strings.HasSuffix(p, ".env") }})
		req := model.Request{
			System:   text,
			Messages: []model.Message{say(text), call("a", text), call("b", `{"text":`+string(quote(t, text))+`}`), result("c", text)},
			Tools:    []model.ToolSpec{{Name: "x", Description: text, Schema: json.RawMessage(text)}},
		}
		out, _, err := g.Outgoing(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		spans := spansOf(t, g, text)
		if len(spans) == 0 && out.System != text {
			t.Fatalf("%q has no span and became %q", text, out.System)
		}
		at := 0
		for _, s := range spans {
			if s.Start < at || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("spans of %q are out of order: %v", text, spans)
			}
			at = s.End
		}
		for i, m := range out.Messages {
			if c, ok := m.Parts[0].(model.ToolCall); ok && json.Valid(req.Messages[i].Parts[0].(model.ToolCall).Args) && !json.Valid(c.Args) {
				t.Fatalf("the arguments for %q became %s", text, c.Args)
			}
		}
		again, report, err := g.Outgoing(t.Context(), req)
		if err != nil || flat(again) != flat(out) || report.Notice() != "" {
			t.Fatalf("%q is sent differently the second time: %q, then %q (%v)", text, flat(out), flat(again), err)
		}
		if g.ledger.secretIn(g.Restore(out.System)) == "" && g.ledger.secretIn(out.System) != "" {
			t.Fatalf("a secret of %q came back", text)
		}
	})
}

func spansOf(t *testing.T, g *Guard, text string) []detect.Span {
	t.Helper()
	s, err := g.scanner()
	if err != nil {
		t.Fatal(err)
	}
	return s.Scan(text)
}

func quote(t *testing.T, text string) []byte {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
