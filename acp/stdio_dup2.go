//go:build unix && !linux

package acp

import "syscall"

// replace makes descriptor to the same as from.
func replace(from, to int) error { return syscall.Dup2(from, to) }
