//go:build unix

package interop

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// uniqueSleep is a command that sleeps for about a minute and that no other test runs.
func uniqueSleep() string { return fmt.Sprintf("sleep 6%d.%09d", rand.IntN(10), rand.IntN(1e9)) }

// processes lists the processes whose command line contains the command and which are not zombies.
func processes(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatalf("list the processes (ps is in the package procps): %v", err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) > 2 && strings.Contains(line, command) && !strings.HasPrefix(fields[1], "Z") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
