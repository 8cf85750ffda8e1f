package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/wherry-acp/wherry/agent/export"
	"github.com/wherry-acp/wherry/agent/session"
)

type sessionsShow struct {
	ID string `arg:"" help:"The session, or \"last\"."`
}

// Run prints a session for a person.
func (c *sessionsShow) Run(env *environment) error {
	return withStore(func(store session.Store) error {
		info, err := find(env, store, c.ID)
		if err != nil {
			return misused(env, err)
		}
		if !isTerminal(env.stdout) {
			return write(env.stdout, export.Markdown, env, store, info.ID)
		}
		var page bytes.Buffer
		if err := write(&page, export.Markdown, env, store, info.ID); err != nil {
			return err
		}
		_, err = io.WriteString(env.stdout, safe(page.String()))
		return err
	})
}

type sessionsExport struct {
	ID     string `arg:"" help:"The session, or \"last\"."`
	Format string `enum:"md,jsonl" default:"md" help:"md (to be read) or jsonl (every event, for programs)."`
	Output string `short:"o" type:"path" placeholder:"FILE" help:"Write into this new file; without it to stdout."`
}

// Run writes a session into a file that is not there yet, or to stdout.
func (c *sessionsExport) Run(env *environment) error {
	return withStore(func(store session.Store) error {
		info, err := find(env, store, c.ID)
		if err != nil {
			return misused(env, err)
		}
		if c.Output == "" {
			return write(env.stdout, export.Format(c.Format), env, store, info.ID)
		}
		file, err := os.OpenFile(c.Output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already and is left as it is: name another file", c.Output)
		}
		if err != nil {
			return fmt.Errorf("write the session: %w", err)
		}
		if err := errors.Join(write(file, export.Format(c.Format), env, store, info.ID), file.Close()); err != nil {
			return errors.Join(err, os.Remove(c.Output))
		}
		fmt.Fprintf(env.stderr, "%s is in %s now.\n", titleOf(info), c.Output)
		return nil
	})
}

func write(to io.Writer, format export.Format, env *environment, store session.Store, id string) error {
	out := bufio.NewWriter(to)
	if err := export.Write(out, format, store.Events(env.ctx, id, 0)); err != nil {
		return fmt.Errorf("write session %s: %w", id, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write session %s: %w", id, err)
	}
	return nil
}
