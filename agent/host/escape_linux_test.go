package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// escape is a line whose child leaves the session, twice removed from its parent.
const escape = `setsid sh -c '(setsid sh -c "echo \$\$ >pids; exec sleep 100" &)' & while ! [ -s pids ]; do :; done; `

func TestAProcessThatLeavesTheSessionEndsWithACommandThatIsStopped(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, l *Local){
		"by its caller": func(t *testing.T, l *Local) {
			out := newOutput()
			p := start(t, l, Command{Line: escape + "echo ready; sleep 100", Output: out.take})
			<-out.first
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		},
		"by its time-out": func(t *testing.T, l *Local) {
			if exit := run(t, l, Command{Line: escape + "sleep 100", Timeout: time.Second}); !exit.TimedOut {
				t.Errorf("%+v", exit)
			}
		},
		"as a child": func(t *testing.T, l *Local) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			cmd := exec.Command("/bin/sh", "-c", escape+"echo ready; exec sleep 100")
			cmd.Dir, cmd.Stdout = l.Roots()[0], write
			child, err := StartChild(cmd)
			if err != nil {
				t.Fatal(err)
			}
			write.Close()
			if n, err := read.Read(make([]byte, 16)); n == 0 {
				t.Error(err)
			}
			child.Stop(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempRoot(t)
			stop(t, newLocal(t, dir))
			for _, pid := range pids(t, dir+"/pids") {
				wantGone(t, pid)
			}
		})
	}
}

func TestEachCommandIsMarkedBelowTheOneItRunsIn(t *testing.T) {
	l, err := NewLocal([]string{tempRoot(t)}, LocalOptions{Environ: []string{"PATH=/usr/bin:/bin", markVar + "=/outer"}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := run(t, l, Command{Line: "echo $WHERRY_RUN"}).Output, run(t, l, Command{Line: "echo $WHERRY_RUN"}).Output
	if !strings.HasPrefix(first, "/outer/") || first == second || len(first) < len("/outer/")+20 {
		t.Errorf("%q and %q", first, second)
	}
}
