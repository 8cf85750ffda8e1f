package host

import (
	"crypto/rand"
	"os/exec"
)

// markVar is the variable that tells which command of wherry a process belongs to. Commands that run in commands have a
// longer path of names in it.
const markVar = "WHERRY_RUN"

// mark gives the command, and so all that it starts, a name of its own in its environment, which must be set.
func mark(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, markVar+"="+lookup(cmd.Env, markVar)+"/"+rand.Text())
}
