//go:build unix

package clienthost

import "syscall"

// noWait makes the opening of a pipe or a terminal line return at once, and not make the
// line this program's.
const noWait = syscall.O_NONBLOCK | syscall.O_NOCTTY
