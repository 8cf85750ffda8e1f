package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/config"
)

func TestCommandsAreReadFromThePersonsFolderAndFromATrustedProjects(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("WHERRY_CONFIG", filepath.Join(home, "config.toml"))
	t.Setenv("WHERRY_STATE", filepath.Join(home, "state"))
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (names []string, told string) {
		files, problems := (&settings{}).commandFiles(project)
		for _, f := range files {
			names = append(names, filepath.Base(f.Path))
		}
		for _, p := range problems {
			told += p.String() + "\n"
		}
		return names, told
	}
	trust := func() {
		t.Helper()
		review, err := config.ReviewProject(project)
		if err != nil {
			t.Fatal(err)
		}
		if err := (config.Trust{State: stateFolder()}).Trust(review); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, told string, want ...string) {
		t.Helper()
		names, problems := read()
		if !slices.Equal(names, want) || (told == "") != (problems == "") || !strings.Contains(problems, told) {
			t.Errorf("%s: %q were read, told was %q", what, names, problems)
		}
	}
	check("with nothing", "")
	write(filepath.Join(home, "commands", "mine.md"), "x")
	check("with the person's", "", "mine.md")
	write(filepath.Join(project, ".wherry", "commands", "a.md"), "x")
	write(filepath.Join(project, ".wherry", "prompts", "b.md"), "x")
	write(filepath.Join(project, ".wherry", "commands", "deeper", "c.md"), "x")
	check("with a project's", "wherry setup --trust "+project, "mine.md")
	trust()
	check("with a trusted project's", "", "mine.md", "a.md")
	write(filepath.Join(project, ".wherry", "config.toml"), "commands = \".wherry/prompts\"\n")
	check("changed since", "wherry setup --trust "+project, "mine.md")
	trust()
	check("from the folder that the project names", "", "mine.md", "b.md")
	write(filepath.Join(home, "config.toml"), "commands = "+quote(filepath.Join(home, "others"))+"\n")
	write(filepath.Join(home, "others", "other.md"), "x")
	check("from the folder that the person names", "", "other.md", "b.md")
	if err := os.Symlink(filepath.Join(home, "commands", "mine.md"), filepath.Join(project, ".wherry", "prompts", "link.md")); err == nil {
		check("with a link in the project", "link.md is a link", "other.md")
	}
}
