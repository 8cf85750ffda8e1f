package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/config"
)

func trusted(t *testing.T, h *home) bool {
	t.Helper()
	ok, err := h.trust.Trusted(h.project)
	if err != nil {
		t.Fatal(err)
	}
	if s := h.load(); s.Trusted != ok {
		t.Errorf("Load says trusted %v, Trusted says %v", s.Trusted, ok)
	}
	return ok
}

func TestAProjectIsTrustedAsItWasReviewed(t *testing.T) {
	h := newHome(t)
	h.projectFile("mode = \"auto\"\n")
	command := filepath.Join(h.project, ".wherry", "commands", "fix.md")
	h.write(command, "Fix it.\n")
	if trusted(t, h) {
		t.Error("trusted without a word")
	}
	h.trustProject()
	if !trusted(t, h) || h.load().Mode != approval.ModeAuto {
		t.Error("not trusted after the word")
	}
	for _, change := range []struct {
		name     string
		do, undo func()
	}{
		{"its file", func() { h.projectFile("mode = \"auto\"\n#\n") }, func() { h.projectFile("mode = \"auto\"\n") }},
		{"a command", func() { h.write(command, "Break it.\n") }, func() { h.write(command, "Fix it.\n") }},
		{"a file more", func() { h.write(command+"x", "") }, func() { os.Remove(command + "x") }},
		{"a file less", func() { os.Remove(command) }, func() { h.write(command, "Fix it.\n") }},
	} {
		change.do()
		if trusted(t, h) || h.load().Mode != approval.ModeAsk {
			t.Errorf("%s changed, and it is still trusted", change.name)
		}
		change.undo()
		if !trusted(t, h) {
			t.Errorf("%s is as it was, and it is not trusted", change.name)
		}
	}
	if err := h.trust.Distrust(h.project); err != nil || trusted(t, h) {
		t.Errorf("after distrusting: %v", err)
	}
}

func TestWhatChangedAfterTheReviewIsNotTrusted(t *testing.T) {
	h := newHome(t)
	h.projectFile("mode = \"ask\"\n")
	review, err := config.ReviewProject(h.project)
	if err != nil {
		t.Fatal(err)
	}
	h.projectFile("mode = \"auto\"\n")
	if err := h.trust.Trust(review); err != nil {
		t.Fatal(err)
	}
	if trusted(t, h) {
		t.Error("what nobody saw is trusted")
	}
}

func TestTheSameContentElsewhereIsNotTrusted(t *testing.T) {
	h := newHome(t)
	h.projectFile("mode = \"auto\"\n")
	h.trustProject()
	h.project += "2"
	h.projectFile("mode = \"auto\"\n")
	if trusted(t, h) {
		t.Error("a copy is trusted")
	}
	folders, err := h.trust.Folders()
	if err != nil || len(folders) != 1 || filepath.Base(folders[0]) != "project" {
		t.Errorf("trusted folders: %v, %v", folders, err)
	}
}

func TestLinksInAProjectsSettingsAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	h := newHome(t)
	real := filepath.Join(h.env["HOME"], "real")
	h.write(filepath.Join(real, "config.toml"), "mode = \"edits\"\n")
	if err := os.Symlink(real, filepath.Join(h.project, ".wherry")); err != nil {
		t.Fatal(err)
	}
	if s := h.load(); s.Mode != approval.ModeOff || len(s.Problems) != 1 {
		t.Errorf("a linked folder: mode %s, %v", s.Mode, s.Problems)
	}
	os.Remove(filepath.Join(h.project, ".wherry"))
	h.projectFile("")
	if err := os.Symlink("/etc/passwd", filepath.Join(h.project, ".wherry", "x")); err != nil {
		t.Fatal(err)
	}
	if s := h.load(); s.Mode != approval.ModeOff || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Error(), "is a link") {
		t.Errorf("a linked file: mode %s, %v", s.Mode, s.Problems)
	}
	if _, err := config.ReviewProject(h.project); err == nil {
		t.Error("it can be trusted")
	}
}

func TestADamagedListTrustsNobodyAndIsNotOverwritten(t *testing.T) {
	h := newHome(t)
	h.projectFile("mode = \"auto\"\n")
	review, err := config.ReviewProject(h.project)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(h.trust.State, "trust.json")
	for _, text := range []string{"{", `{"version":2}`} {
		h.write(list, text)
		s := h.load()
		if s.Trusted || s.Mode != approval.ModeOff || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Error(), list) {
			t.Errorf("mode %s, %v", s.Mode, s.Problems)
		}
		if err := h.trust.Trust(review); err == nil {
			t.Error("the list was overwritten")
		}
		if data, _ := os.ReadFile(list); string(data) != text {
			t.Errorf("the list holds %q", data)
		}
	}
}

func TestWithoutSettingsThereIsNothingToTrust(t *testing.T) {
	h := newHome(t)
	if _, err := config.ReviewProject(h.project); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if trusted(t, h) {
		t.Error("trusted")
	}
	h.projectFile("")
	review, err := config.ReviewProject(h.project)
	if err != nil {
		t.Fatal(err)
	}
	if err := (config.Trust{}).Trust(review); err == nil {
		t.Error("trusted without a place to keep it")
	}
	if err := h.trust.Trust(config.Review{}); err == nil {
		t.Error("nothing was trusted")
	}
}

func TestAProjectsFilesAreGivenWithWhetherTheyAreTrusted(t *testing.T) {
	h := newHome(t)
	files := func() (map[string][]byte, bool) {
		t.Helper()
		files, trusted, err := h.trust.Files(h.project, ".md")
		if err != nil {
			t.Fatal(err)
		}
		return files, trusted
	}
	if found, trusted := files(); len(found) != 0 || trusted {
		t.Errorf("a project without settings gives %v, %v", found, trusted)
	}
	command := filepath.Join(h.project, ".wherry", "commands", "fix.md") // commands alone are something to trust
	h.write(command, "Fix it.\n")
	h.write(filepath.Join(h.project, ".wherry", "notes.txt"), "x")
	if found, trusted := files(); len(found) != 1 || string(found[".wherry/commands/fix.md"]) != "Fix it.\n" || trusted {
		t.Errorf("untrusted: %q, %v", found, trusted)
	}
	if got := h.load().ProjectCommands; got != "" {
		t.Errorf("an untrusted project's commands are in %s", got)
	}
	h.trustProject()
	if _, trusted := files(); !trusted {
		t.Error("not trusted after the word")
	}
	if got := h.load().ProjectCommands; got != filepath.Dir(command) {
		t.Errorf("a trusted project's commands are in %q", got)
	}
	h.write(command, "Break it.\n")
	if found, trusted := files(); string(found[".wherry/commands/fix.md"]) != "Break it.\n" || trusted {
		t.Errorf("changed: %q, %v", found, trusted)
	}
}
