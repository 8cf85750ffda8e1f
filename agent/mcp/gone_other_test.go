//go:build !unix

package mcp

import (
	"os"
	"strconv"
	"testing"
)

// gone tells whether no process of this number can be found.
func gone(t testing.TB, number string) bool {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	_ = process.Release()
	return false
}

func kill(t testing.TB, number string) {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}
