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

func TestAReplacementThatIsNotInTheShownPartOfALineIsLeftToTheTool(t *testing.T) {
	long := strings.Repeat("x", 2_000_000)
	c := newChat(t, newFolder(t, map[string]string{"long.txt": long + " one", "both.txt": "one " + long + " one\n"}))
	l := c.say(`replace "one" with "two" in long.txt`)
	if l.callNames() != "view edit" || mustRead(c, "long.txt") != long+" two" {
		t.Errorf("%s", clip(l.log, 400))
	}
	l = c.say(`replace "one" with "two" in both.txt`) // the tool sees both
	if l.callNames() != "view edit" || mustRead(c, "both.txt") != "one "+long+" one\n" || strings.Contains(l.answer, "Edited") {
		t.Errorf("%s", clip(l.log, 400))
	}
	l = c.say(`append "end" to long.txt`)
	if mustRead(c, "long.txt") != long+" two" || !strings.Contains(l.answer, "I did not see its end") {
		t.Errorf("%s", clip(l.log, 400))
	}
}

func TestTextIsAppendedToAFileWithALongLineInTheMiddle(t *testing.T) {
	before := strings.Repeat("x", 3000) + "\nlast\n"
	c := newChat(t, newFolder(t, map[string]string{"a.txt": before}))
	if l := c.say(`append "end" to a.txt`); mustRead(c, "a.txt") != before+"end\n" {
		t.Errorf("%s", clip(l.log, 400))
	}
}

func TestALineThatWasShownInPartIsNotSaidToLackAWord(t *testing.T) {
	c := newChat(t, newFolder(t, map[string]string{"a.txt": strings.Repeat("x ", 3000) + "zebra\n"}))
	if l := c.say("where is the zebra in a.txt?"); strings.Contains(l.answer, "`a.txt` has no line") {
		t.Errorf("%s", clip(l.log, 400))
	}
}

func TestAFileNameKeepsItsSpellingAtTheBeginningOfASentence(t *testing.T) {
	c := newChat(t, newFolder(t, map[string]string{"empty": "", "a.txt": ""}))
	for _, name := range []string{"empty", "a.txt"} {
		if l := c.say("read " + name); l.answer != "`"+name+"` is empty.\n\n" {
			t.Errorf("%s", l.log)
		}
	}
}

func TestAnAnswerSaysWhetherAFileIsNewOrWasThere(t *testing.T) {
	for _, test := range []struct{ prompt, want string }{
		{"create new.txt: x", "Created new.txt (1 lines).\n\n"},
		{"overwrite new.txt: x", "Created new.txt (1 lines).\n\n"},
		{"overwrite empty.txt: x", "Overwrote empty.txt (1 lines).\n\n"},
		{"overwrite full.txt: x", "Overwrote full.txt (1 lines).\n\n"},
		{`append "x" to empty.txt`, "Overwrote empty.txt (1 lines).\n\n"},
	} {
		c := newChat(t, newFolder(t, map[string]string{"empty.txt": "", "full.txt": "a\n"}))
		if l := c.say(test.prompt); l.answer != test.want {
			t.Errorf("%s", l.log)
		}
	}
	c := newChat(t, newFolder(t, map[string]string{"empty.txt": ""}))
	if l := c.say("create empty.txt: x"); mustRead(c, "empty.txt") != "" || !strings.Contains(l.answer, "exists already") {
		t.Errorf("%s", l.log)
	}
}
