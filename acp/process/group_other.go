//go:build unix && !linux

package process

// allEnded reports whether every process of the group id has ended. Elsewhere than on
// Linux whoever inherits a process waits for it.
func allEnded(int) bool { return false }
