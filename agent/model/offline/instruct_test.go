package offline

import (
	"strings"
	"testing"
)

func TestAnInstructionIsCarriedOutByToolCalls(t *testing.T) {
	c := newChat(t, newFolder(t, map[string]string{"a.txt": "one\ntwo\nthree\n"}))
	l := c.say(`Please replace "two" with "2" in a.txt`)
	if got := l.callNames(); got != "view edit" {
		t.Fatalf("calls %s", got)
	}
	if got := mustRead(c, "a.txt"); got != "one\n2\nthree\n" {
		t.Fatalf("a.txt is %q", got)
	}
	if !strings.Contains(l.answer, "Edited a.txt (1 replacements).") {
		t.Fatalf("answer %s", l.answer)
	}
}

func TestEachInstructionOfAListIsCarriedOutInOrder(t *testing.T) {
	c := newChat(t, newFolder(t, nil))
	l := c.say("plan: write; look; check\ncreate a.txt: hello\nread a.txt\nrun go version")
	t.Log(l.log)
	if got := l.callNames(); got != "plan create plan view plan run plan" {
		t.Fatalf("calls %s", got)
	}
}

func mustRead(c *chat, name string) string {
	c.tb.Helper()
	text, ok := c.folder.read(name)
	if !ok {
		c.tb.Fatalf("there is no %s", name)
	}
	return text
}
