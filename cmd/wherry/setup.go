package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/config"
	"github.com/wherry-acp/wherry/agent/keys"
	"github.com/wherry-acp/wherry/agent/model/provider"
)

type setupCommand struct {
	Provider string `placeholder:"NAME" help:"The provider: anthropic, openai, gemini, ollama, lmstudio or offline."`
	KeyStdin bool   `help:"Read the provider's API key from stdin, and store it."`
	Model    string `placeholder:"NAME" help:"The model to use by default, with or without its provider in front."`
	BaseURL  string `name:"base-url" placeholder:"URL" help:"Where the provider is reached, if not at its usual address."`
	Editor   string `enum:",zed,jetbrains,neovim,emacs" default:"" placeholder:"NAME" help:"Connect an editor: zed, jetbrains, neovim or emacs."`
	Yes      bool   `help:"Write what would be asked about."`
	NoTest   bool   `help:"Store the model without asking it a question first."`

	Show     bool   `help:"Print the settings with where each comes from, and the keys, masked."`
	Trust    string `placeholder:"FOLDER" help:"Show the settings of a project and trust them."`
	Distrust string `placeholder:"FOLDER" help:"Trust a project's settings no more."`
	Forget   string `placeholder:"PROVIDER" help:"Forget the stored API key of a provider."`
}

// Help is the long help of the command.
func (*setupCommand) Help() string {
	return `Without flags it asks, on the terminal, for a provider, its key and a model, tries them, and connects an editor.
Nothing is stored before the last question is answered. With flags it asks only for what they leave open; without a
terminal it asks nothing, for example:

  echo "$KEY" | wherry setup --provider anthropic --key-stdin
  wherry setup --provider ollama --model qwen3
  wherry setup --editor zed --yes

Keys go into the system's keyring, or into a file that you alone can read.`
}

// errUsage says that flags are missing or do not fit.
type errUsage struct{ text string }

func (e errUsage) Error() string { return e.text }

// Run asks, tries and stores.
func (c *setupCommand) Run(env *environment) error {
	s := &setup{
		flags: c, env: env, out: env.stdout, keys: openKeys(), settings: (&settings{}).load(""), trust: config.Trust{State: stateFolder()},
		people: newPrompter(env.stdin, env.stdout),
	}
	err := s.run()
	var usage errUsage
	switch {
	case err == nil:
		return nil
	case env.ctx.Err() != nil, errors.Is(err, errNoAnswer), errors.Is(err, errInterrupted):
		s.say("")
		s.say("Stopped. %s", s.leftover())
		return exitStatus(exitInterrupted)
	case errors.As(err, &usage):
		fmt.Fprintln(env.stderr, "wherry:", usage.text)
		return exitStatus(exitUsage)
	}
	return err
}

// setup is one run of the command.
type setup struct {
	flags    *setupCommand
	env      *environment
	out      io.Writer
	keys     *keys.Store
	settings *config.Settings
	trust    config.Trust
	people   *prompter // nobody answers when its terminal is nil
	stored   bool      // something was written
}

func (s *setup) say(format string, args ...any) {
	fmt.Fprintln(s.out, safe(fmt.Sprintf(format, args...)))
}

func (s *setup) leftover() string {
	if s.stored {
		return "What is said to be stored above stays."
	}
	return "Everything is as it was."
}

func (s *setup) run() error {
	c := s.flags
	switch {
	case c.Show:
		return s.show()
	case c.Trust != "":
		return s.trustProject(c.Trust)
	case c.Distrust != "":
		return s.distrust(c.Distrust)
	case c.Forget != "":
		return s.forget(c.Forget)
	}
	wantModel := c.Provider != "" || c.Model != "" || c.KeyStdin || c.BaseURL != ""
	wantEditor := c.Editor != ""
	if !wantModel && !wantEditor {
		if !s.people.there() {
			return errUsage{"there is no terminal to ask on. Say what to set up: --provider NAME (with --key-stdin for a key on stdin, --model NAME), " +
				"--editor NAME, or --show to see what there is. More with: wherry setup --help"}
		}
		wantModel, wantEditor = true, true
	}
	var plan plan
	if wantModel {
		if err := s.sound(); err != nil {
			return err
		}
		if err := s.chooseModel(&plan); err != nil {
			return err
		}
	}
	if wantEditor {
		if err := s.chooseEditor(&plan); err != nil {
			return err
		}
	}
	return s.carryOut(plan)
}

// sound makes sure that the person's file can be edited, before anything is asked.
func (s *setup) sound() error {
	for _, p := range s.settings.Problems {
		return fmt.Errorf("%w. Correct it first: what is stored would not be used", p)
	}
	return nil
}

// plan is what was decided and not done yet.
type plan struct {
	service  provider.Service
	key      string // to store; "" for none
	baseURL  string // to store; "" for none
	model    string // id; "" if no model was asked for
	edit     *change
	editor   string // the editor's title
	commands []setting
}

// carryOut stores what was decided. Nobody is asked any more, so an interrupt does not leave half of it.
func (s *setup) carryOut(p plan) error {
	ctx := context.WithoutCancel(s.env.ctx)
	if s.env.ctx.Err() != nil {
		return context.Cause(s.env.ctx)
	}
	path, err := config.DefaultPath(os.LookupEnv)
	if err != nil {
		return err
	}
	if p.key != "" {
		stored, err := s.keys.Set(ctx, p.service.ID, p.key)
		if err != nil {
			return err
		}
		s.stored = true
		s.say("The key for %s is stored in %s.", p.service.Title, stored.Where)
		if stored.Note != "" {
			s.say("%s", stored.Note)
		}
	}
	for _, value := range []struct{ key, text string }{{"providers." + p.service.ID + ".base_url", p.baseURL}, {"model", p.model}} {
		if value.text == "" {
			continue
		}
		if err := config.Set(path, value.key, value.text); err != nil {
			return err
		}
		s.stored = true
		s.say("%s is %s now, in %s.", value.key, value.text, path)
	}
	if name := "WHERRY_MODEL"; p.model != "" && os.Getenv(name) != "" && os.Getenv(name) != p.model {
		s.say("The environment variable %s is %s, and wins while it is set.", name, os.Getenv(name))
	}
	if p.edit != nil {
		backup, err := p.edit.write()
		if err != nil {
			return err
		}
		s.stored = true
		s.say("%s knows wherry now, in %s.", p.editor, p.edit.path)
		if backup != "" {
			s.say("What was there before is in %s.", backup)
		}
	}
	for _, c := range p.commands {
		s.say("\nFor %s, %s:\n\n%s", p.editor, c.where, c.text)
	}
	return nil
}

// chooseEditor works out the edit of an editor's settings, and shows it.
func (s *setup) chooseEditor(p *plan) error {
	id := s.flags.Editor
	if id == "" {
		var err error
		if id, err = s.askEditor(); err != nil || id == "" {
			return err
		}
	}
	e, _ := findEditor(id) // the flag was checked, the answer too
	command, err := programPath()
	if err != nil {
		return err
	}
	if strings.Contains(command, string(filepath.Separator)+"go-build") {
		s.say("Note: %s is a build for the moment. Install wherry, then run this again, or the editor will not find it later.", command)
	}
	p.editor = e.title
	snippets, err := e.snippets(command, os.Getenv)
	if err != nil {
		return err
	}
	if e.agent == nil {
		p.commands = snippets
		return nil
	}
	edit, err := e.change(command, os.Getenv)
	switch {
	case err != nil:
		s.say("\nFor %s, %s:\n\n%s", e.title, snippets[0].where, snippets[0].text)
		return err
	case edit == nil:
		s.say("%s knows wherry already: %s needs no change.", e.title, snippets[0].where)
		return nil
	}
	s.say("\nFor %s:\n\n%s\n", e.title, edit.diff())
	write := s.flags.Yes
	if !write && s.people.there() {
		if write, err = s.people.yes(s.env.ctx, fmt.Sprintf("Write this into %s?", edit.path), true); err != nil {
			return err
		}
	} else if !write {
		s.say("Nothing is written without --yes.")
	}
	if write {
		p.edit = edit
	}
	return nil
}

func (s *setup) askEditor() (string, error) {
	var names []string
	first := ""
	for _, e := range editors() {
		about := e.title
		if e.file != nil {
			if path := e.file(os.Getenv); path != "" && exists(filepath.Dir(path)) {
				about += " (found here)"
				if first == "" {
					first = e.id
				}
			}
		}
		names = append(names, e.id)
		s.say("  %-10s %s", e.id, about)
	}
	s.say("  %-10s %s", "none", "no editor now")
	if first == "" {
		first = "none"
	}
	for {
		answer, err := s.people.line(s.env.ctx, "Which editor?", first)
		switch {
		case err != nil:
			return "", err
		case answer == "none":
			return "", nil
		case slices.Contains(names, answer):
			return answer, nil
		}
		s.say("Please answer with one of %s or none.", strings.Join(names, ", "))
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
