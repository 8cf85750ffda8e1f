package mcp

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesAreSpeakingWhereTheyCanBe(t *testing.T) {
	var n names
	for _, c := range []struct{ server, tool, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"my-server", "read__all", "my-server__read__all"},
		{"a__b", "c", "a__b__c_"},
		{"a_", "b", "a___b_"}, // else it would be the name of the tool "_b" of "a"
		{"übersicht", "lies", "_bersicht__lies_"},
		{"My Server", "do it!", "My_Server__do_it__"},
		{"1password", "get", "_1password__get_"},
	} {
		got := n.of(c.server, c.tool)
		if c.want[len(c.want)-1] == '_' { // and a digest
			got = got[:len(got)-8]
		}
		if got != c.want {
			t.Errorf("%s, %s: %s", c.server, c.tool, got)
		}
	}
}

func TestANameThatIsTakenIsNotGivenTwice(t *testing.T) {
	n := names{taken: map[string]string{"a__b": "somebody else"}}
	first := n.of("a", "b")
	if first == "a__b" || n.of("a", "b") != first {
		t.Errorf("given: %s, then %s", first, n.of("a", "b"))
	}
	n.taken[first], n.taken["a__b"] = "a third", "somebody else"
	if second := n.of("a", "b"); second == first || second == "a__b" {
		t.Errorf("given: %s", second)
	}
}

func TestEveryNameIsTakenByEveryAPIStaysAndIsOfOneToolAlone(t *testing.T) {
	taken := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	word := rapid.OneOf(
		rapid.StringMatching(`[a-c_]{1,4}`), rapid.StringMatching(`[a-zA-Z0-9_.-]{1,90}`), rapid.StringN(1, 30, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		type pair struct{ server, tool string }
		var n names
		names, owners := map[pair]string{}, map[string]pair{}
		for range rapid.IntRange(1, 30).Draw(t, "tools") {
			p := pair{word.Draw(t, "server"), word.Draw(t, "tool")}
			name := n.of(p.server, p.tool)
			if !taken.MatchString(name) {
				t.Fatalf("%+v: %q", p, name)
			}
			if before, ok := names[p]; ok && before != name {
				t.Fatalf("%+v was %s and is %s", p, before, name)
			}
			if owner, ok := owners[name]; ok && owner != p {
				t.Fatalf("%s is of %+v and %+v", name, owner, p)
			}
			names[p], owners[name] = name, p
			alone := fresh()
			if other := alone.of(p.server, p.tool); other != name && len(owners) == 1 {
				t.Fatalf("%+v: %s here, %s elsewhere", p, name, other)
			}
		}
	})
}

func fresh() *names { return &names{} }
