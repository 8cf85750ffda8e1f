package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheTwoExamplesTalkToEachOther builds the echo agent and has this client drive it.
func TestTheTwoExamplesTalkToEachOther(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "echoagent")
	if out, err := exec.Command("go", "build", "-o", agent, "../echoagent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.txt", []byte("hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	typed := []string{
		"say this", "/help", "read a.txt", "read none", "write b.txt some text", "1", "write c.txt no", "2", "write c.txt no", "",
		"run cat a.txt a.txt >d.txt", "1", "run exit 3", "1", "plan", "count 2",
	}
	var out strings.Builder
	err := run(t.Context(), []string{agent, "-state", t.TempDir()}, strings.NewReader(strings.Join(typed, "\n")+"\n"), &out)
	if err != nil {
		t.Fatal(err)
	}
	screen := out.String()
	for _, want := range []string{
		"Talking to echoagent 1.0.0.", "say this", "writes a file, after asking", "* Read a.txt", "a.txt has 3 bytes.", "That failed: Resource not found",
		"b.txt: 9 bytes instead of 0", "Written.", "I left it.", "* `run", "Done, with 0 bytes of output.", "exit status 3", "[completed] Say so", "The plan is done.", "1 2 ",
	} {
		if want = strings.ReplaceAll(want, "`run", "`cat"); !strings.Contains(screen, want) {
			t.Errorf("the screen does not show %q", want)
		}
	}
	for file, want := range map[string]string{"b.txt": "some text", "c.txt": "", "d.txt": "hi\nhi\n"} {
		if got, err := os.ReadFile(file); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if t.Failed() {
		t.Log(screen)
	}
}

func TestAnAgentThatCannotBeStartedIsAnError(t *testing.T) {
	err := run(t.Context(), []string{filepath.Join(t.TempDir(), "none")}, strings.NewReader("hello\n"), &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
}
