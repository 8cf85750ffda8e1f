package acp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

var updateNames = flag.Bool("update-names", false, "rewrite testdata/wire_names.txt")

// memberNames returns the names of an object's members, in order, and the tag that tells
// its variant.
func memberNames(t *testing.T, object string) string {
	t.Helper()
	dec := jsontext.NewDecoder(strings.NewReader(object))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return object // a value of another kind
	}
	var names []string
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		switch text {
		case "type", "sessionUpdate", "outcome", "mode", "action", "state":
			if value.Kind() == '"' {
				text += "=" + string(value)
			}
		}
		names = append(names, text)
	}
	return strings.Join(names, " ")
}

// TestEveryNameOnTheWireIsTheOneThatIsWrittenDown compares the names of all methods, and of
// the members of every object in the form in which it is written, with a file that is read
// by people.
func TestEveryNameOnTheWireIsTheOneThatIsWrittenDown(t *testing.T) {
	var b strings.Builder
	b.WriteString("Methods: wire name, N for notifications, params, result.\n\n")
	for _, m := range Methods() {
		fmt.Fprintf(&b, "%s", m.Name)
		if m.Notification {
			b.WriteString(" N")
		}
		b.WriteString(strings.TrimRight(" "+m.ParamsName+" "+m.ResultName, " ") + "\n")
	}
	b.WriteString("\nObjects: members in the order in which they are written. Of a member that tells variants apart, its value too.\n\n")
	seen := make(map[string]bool)
	for _, s := range samples() {
		if !strings.Contains(s.what, "all members") {
			continue
		}
		name := s.typeName
		if variant, _, ok := strings.Cut(s.what, ","); ok {
			name += "/" + variant
		}
		line := name + ": " + memberNames(t, s.text) + "\n"
		if !seen[line] {
			seen[line] = true
			b.WriteString(line)
		}
	}
	b.WriteString("\nReserved in _meta:\n\n" + string(Meta(nil).WithTrace(Trace{Parent: "p", State: "s", Baggage: "b"})) + "\n")
	path := filepath.Join("testdata", "wire_names.txt")
	if *updateNames {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, golden := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(golden)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(golden) {
			w = golden[i]
		}
		if g != w {
			t.Fatalf("%s, line %d:\nis written   %s\nwritten down %s", path, i+1, g, w)
		}
	}
}
