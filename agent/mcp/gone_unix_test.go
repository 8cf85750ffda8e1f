//go:build unix

package mcp

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// gone tells whether no process of this number runs; one that only waits to be reaped by its new parent does not.
func gone(t testing.TB, number string) bool {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + number + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func kill(t testing.TB, number string) {
	t.Helper()
	pid, err := strconv.Atoi(number)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}
