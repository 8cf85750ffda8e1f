package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/agent/guard/detect"
)

// SecretError says that a call cannot run, because its arguments have the placeholder of a secret. It is an answer for the
// model.
type SecretError struct {
	Placeholder string
}

// Error is a sentence for the model.
func (e *SecretError) Error() string {
	return fmt.Sprintf("the arguments have %[1]s, which stands for a secret that you were not shown; nothing was done. %[1]s is never "+
		"written, run or looked for. Choose arguments without it: to change a file around it, edit only other lines", e.Placeholder)
}

// Arguments puts personal data back into the arguments of a call, for a tool that works on this machine; do not use it for
// one that sends its arguments elsewhere, such as a web page's address or a tool of a remote server. A command is in
// between: it can reach the network, and so the person is to be asked with what is given here. The result is args itself
// if there is nothing to put back. The error is a [*SecretError], an answer to the model.
func (g *Guard) Arguments(args json.RawMessage) (json.RawMessage, error) {
	if !bytes.ContainsRune(args, '[') && !bytes.Contains(args, []byte(`\u005`)) {
		return args, nil
	}
	var refused error
	out, ok := eachString(args, func(_, text string, _ bool) (string, bool) {
		if s := g.ledger.secretIn(text); s != "" && refused == nil {
			refused = &SecretError{Placeholder: s}
		}
		restored := g.Restore(text)
		return restored, restored != text
	})
	if !ok { // not JSON: the tool will say so
		if s := g.ledger.secretIn(string(args)); s != "" {
			return nil, &SecretError{Placeholder: s}
		}
		return args, nil
	}
	if refused != nil {
		return nil, refused
	}
	return out, nil
}

// checkJSON is check for JSON. A value is also judged by the name of its member, if named.
func (p *pass) checkJSON(args json.RawMessage, named bool) checked {
	g := p.guard
	var all []finding
	out, ok := eachString(args, func(name, text string, quoted bool) (string, bool) {
		g.ledger.reserve(text)
		spans := p.scanner.Scan(text)
		if named && name != "" && quoted && p.scanner.Assigned(name, text) {
			spans = []detect.Span{{Start: 0, End: len(text), Kind: detect.Secret, Rule: "assignment"}}
		}
		redacted, found, changed := g.replace(text, spans, g.replaces)
		for _, f := range found {
			sum := findingOf(&all, f.kind)
			sum.places += f.places
			sum.fresh += f.fresh
		}
		return redacted, changed
	})
	if !ok {
		return p.check(string(args))
	}
	return checked{clean: bytes.Equal(out, args), text: string(out), found: all}
}

// eachString calls replace with every string of a JSON text, and with every number as it is written. What it gives back is
// put in as a string. All else stays as it is, byte for byte. ok is false if it is no JSON; then nothing holds.
func eachString(in json.RawMessage, replace func(name, text string, quoted bool) (string, bool)) (out json.RawMessage, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(in), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var changed []byte
	done := 0
	name := ""
	for {
		kind := dec.PeekKind()
		switch kind {
		case '"', '0':
		case 0:
			if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) || dec.InputOffset() == 0 {
				return nil, false
			}
			if changed == nil {
				return in, true
			}
			return append(changed, in[done:]...), true
		default:
			if _, err := dec.ReadToken(); err != nil {
				return nil, false
			}
			name = ""
			continue
		}
		inside, length := dec.StackIndex(dec.StackDepth())
		isName := inside == '{' && length%2 == 0
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		end := int(dec.InputOffset())
		start := end - len(raw)
		text := string(raw)
		if kind == '"' {
			plain, err := jsontext.AppendUnquote(nil, raw)
			if err != nil && len(plain) == 0 {
				return nil, false
			}
			text = string(plain)
		}
		member := name
		if inside != '{' || isName {
			member = ""
		}
		if replaced, differs := replace(member, text, kind == '"'); differs {
			changed = append(changed, in[done:start]...)
			if changed, err = jsontext.AppendQuote(changed, replaced); err != nil && len(changed) == 0 {
				return nil, false
			}
			done = end
		}
		name = ""
		if isName {
			name = text
		}
	}
}
