package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/session"
)

type sessionsCommand struct {
	List   sessionsList   `cmd:"" default:"withargs" help:"List the sessions of this folder, newest first."`
	Show   sessionsShow   `cmd:"" help:"Print a session as Markdown."`
	Export sessionsExport `cmd:"" help:"Write a session down, as Markdown or as JSON lines."`
	Delete sessionsDelete `cmd:"" help:"Delete sessions for good."`
	Search sessionsSearch `cmd:"" help:"Search titles, prompts and answers."`

	State string `type:"path" placeholder:"DIR" help:"The folder with the sessions, in place of the one in WHERRY_STATE or the usual one."`
}

// AfterApply has the flag that says where to look count like its variable, for this process.
func (c *sessionsCommand) AfterApply() error { return (&settings{State: c.State}).AfterApply() }

// Help is the long help of the command.
func (*sessionsCommand) Help() string {
	return `Every conversation is kept: those of your editor, and those of "wherry run". They are in one file that you alone can
read, sessions.db in ~/.local/state/wherry (on macOS ~/Library/Application Support/wherry, on Windows %LOCALAPPDATA%\wherry),
or in the folder WHERRY_STATE.

A session belongs to the folder it works in. "list" and "search" show those of the folder you are in; --folder names another
one, --all shows every one.

An ID may be cut short as long as only one session begins with it; "list" shows how far. "last" is the newest session of the
folder you are in.

  wherry sessions                          what was done here
  wherry sessions --all --limit 0          everything
  wherry sessions search retry limit       where that was talked about
  wherry sessions show last | less         read the newest one
  wherry sessions export 06h2somo -o talk.md
  wherry sessions export last --format jsonl | jq .kind
  wherry run --session last "and now?"     go on with it here; an editor loads it from its own list
  wherry sessions delete 06h2somo 06h2s1   asks before it deletes

"search" finds the sessions where all words, or words that begin with them, stand in one prompt, in one answer or in the
title. Upper and lower case, accents and punctuation make no difference. What a running turn says is found once it has ended.

A deleted session is overwritten in the file. One that a program works on just now is not deleted.

With --json, "list" and "search" print one object: "sessions", and "next" when there are more, to be given to --cursor. The
JSON lines of "export" are a header {"format":"wherry.session","version":1,"session":ID} and then the events, oldest first,
with "seq", "time", "kind" and "data"; a reader passes over kinds and members that it does not know.

Exit codes:
  0    done
  1    it failed, or one of the sessions was not deleted: the reason is on stderr
  2    wrong usage; an ID that no session or more than one begins with
  130  interrupted, or the question was answered with no`
}

// sessionStore opens the store for a command.
func sessionStore() (session.Store, error) {
	return openStore("wherry sessions", slog.New(slog.DiscardHandler))
}

// withStore runs do with the store open.
func withStore(do func(store session.Store) error) (err error) {
	store, err := sessionStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(store)
}

// idPrefix begins every id; people need not type it.
const idPrefix = "sess_"

// shortest is how many characters a short id has at least.
const shortest = 8

// everySession gives all sessions, newest first.
func everySession(ctx context.Context, store session.Store, filter session.Filter) ([]session.Info, error) {
	filter.Limit = 1000
	var all []session.Info
	for {
		page, err := store.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if page.Next == "" {
			return all, nil
		}
		filter.Cursor = page.Next
	}
}

// shortIDs gives, by id, the shortest form that no other id begins with.
func shortIDs(all []session.Info) map[string]string {
	var ids []string
	for _, info := range all {
		ids = append(ids, strings.TrimPrefix(info.ID, idPrefix))
	}
	slices.Sort(ids)
	short := make(map[string]string, len(ids))
	for i, id := range ids {
		n := shortest
		if i > 0 {
			n = max(n, common(id, ids[i-1])+1)
		}
		if i+1 < len(ids) {
			n = max(n, common(id, ids[i+1])+1)
		}
		short[idPrefix+id] = id[:min(n, len(id))]
	}
	return short
}

// common is how many characters a and b begin with in common.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// errID says that an id names no session, or more than one.
type errID struct{ text string }

func (e errID) Error() string { return e.text }

// last stands for the newest session of the folder.
const last = "last"

// pick finds the session that a person means. all are newest first.
func pick(given, folder string, all []session.Info) (session.Info, error) {
	if given == last {
		for _, info := range all {
			if info.Roots[0] == folder {
				return info, nil
			}
		}
		return session.Info{}, errID{fmt.Sprintf("there is no session in %s yet: \"wherry sessions --all\" lists those of other folders", folder)}
	}
	var fit []session.Info
	for _, info := range all {
		bare := strings.TrimPrefix(info.ID, idPrefix)
		switch {
		case info.ID == given:
			return info, nil
		case given != "" && strings.HasPrefix(bare, strings.TrimPrefix(given, idPrefix)) && given != idPrefix:
			fit = append(fit, info)
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return session.Info{}, errID{fmt.Sprintf("no session begins with %q: \"wherry sessions --all\" lists them", given)}
	}
	short := shortIDs(all)
	var names []string
	for _, info := range fit[:min(len(fit), 5)] {
		names = append(names, short[info.ID]+" ("+titleOf(info)+")")
	}
	if len(fit) > len(names) {
		names = append(names, fmt.Sprintf("and %d more", len(fit)-len(names)))
	}
	return session.Info{}, errID{fmt.Sprintf("%d sessions begin with %q: %s", len(fit), given, strings.Join(names, ", "))}
}

// find picks a session for a command.
func find(env *environment, store session.Store, given string) (session.Info, error) {
	folder, err := workingFolder()
	if err != nil {
		return session.Info{}, err
	}
	all, err := everySession(env.ctx, store, session.Filter{})
	if err != nil {
		return session.Info{}, err
	}
	return pick(given, folder, all)
}

func titleOf(info session.Info) string {
	if info.Title == "" {
		return "no prompt yet"
	}
	return safe(info.Title)
}

func workingFolder() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working folder: %w", err)
	}
	return filepath.Clean(folder), nil
}

// misused tells a person what was wrong with the command line, and gives the exit code.
func misused(env *environment, err error) error {
	var id errID
	if errors.As(err, &id) || errors.Is(err, session.ErrBadCursor) || errors.Is(err, session.ErrNoWords) {
		fmt.Fprintln(env.stderr, "wherry:", err)
		return exitStatus(exitUsage)
	}
	return err
}
