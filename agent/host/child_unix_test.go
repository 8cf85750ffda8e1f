//go:build unix

package host

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startShell starts a shell line as a child and gives the first line it prints, as numbers.
func startShell(t *testing.T, line string) (*Child, []int) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdout = write
	child, err := StartChild(cmd)
	_ = write.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(0) })
	first, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for word := range strings.FieldsSeq(first) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return child, numbers
}

func TestStoppingAChildEndsAllThatItStarted(t *testing.T) {
	child, pids := startShell(t, `trap "" TERM; sleep 300 & echo $$ $!; wait`)
	if code, signal := child.Stop(0); code != -1 || signal != "SIGKILL" {
		t.Errorf("exit %d %q", code, signal)
	}
	for _, pid := range pids {
		wantGone(t, pid)
	}
	if code, signal := child.Stop(0); code != -1 || signal != "SIGKILL" {
		t.Errorf("the second stop says %d %q", code, signal)
	}
}

func TestAChildThatEndsByItselfIsNotSignalledAndWhatItLeftIsEnded(t *testing.T) {
	child, pids := startShell(t, `sleep 300 >/dev/null & echo $!; exit 7`)
	<-child.Exited()
	if code, signal := child.Stop(time.Minute); code != 7 || signal != "" {
		t.Errorf("exit %d %q, want 7", code, signal)
	}
	wantGone(t, pids[0])
}

func TestAProgramThatIsNotThereIsNoChild(t *testing.T) {
	if _, err := StartChild(exec.Command("/nowhere/at/all")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error: %v", err)
	}
}

func TestTheCleanEnvironmentHasNoSecretsButThoseThatAreNamed(t *testing.T) {
	got := CleanEnviron([]string{"PATH=/bin", "OPENAI_API_KEY=a", "NPM_TOKEN=b", "MONKEY=c"}, []string{"NPM_TOKEN"})
	for _, want := range []string{"PATH=/bin", "NPM_TOKEN=b", "MONKEY=c", "GIT_TERMINAL_PROMPT=0"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if slices.Contains(got, "OPENAI_API_KEY=a") {
		t.Error("a key is in the environment")
	}
}
