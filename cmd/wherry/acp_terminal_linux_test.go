package main

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestStartedByHandTheServerSaysThatItWaitsForAnEditor(t *testing.T) {
	program, err := exec.LookPath("wherry") // what TestMain put there
	if err != nil {
		t.Fatal(err)
	}
	d := &dialogue{t: t, home: t.TempDir()}
	d.more = sync.NewCond(&d.mu)
	d.cmd = exec.CommandContext(t.Context(), program, "acp")
	d.cmd.Dir = d.home
	d.cmd.Env = []string{"HOME=" + d.home, "PATH=" + filepath.Dir(program), "WHERRY_KEYRING=off", "WHERRY_STATE=" + d.path("state")}
	d.start()
	d.expect("waiting for an editor")
	d.answer("wherry run", "\x04") // the end of the input
	if code, screen := d.ended(); code != exitOK {
		t.Errorf("ended with %d:\n%s", code, screen)
	}
}
