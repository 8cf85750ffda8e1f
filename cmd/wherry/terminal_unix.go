//go:build !windows

package main

// terminalPath is the process's controlling terminal.
const terminalPath = "/dev/tty"
