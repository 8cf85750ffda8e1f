package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wherry-acp/wherry/agent/session"
)

// listing are the flags of what lists sessions.
type listing struct {
	All    bool   `short:"a" help:"Those of all folders."`
	Folder string `type:"path" placeholder:"FOLDER" help:"Those of this folder instead of the one you are in."`
	Limit  int    `short:"n" default:"20" help:"At most so many; 0 for all."`
	Cursor string `placeholder:"TEXT" help:"Go on after an earlier list: its \"next\"."`
	JSON   bool   `help:"Print JSON."`
}

type sessionsList struct {
	listing
}

// Run lists sessions.
func (c *sessionsList) Run(env *environment) error { return c.print(env, "") }

type sessionsSearch struct {
	listing
	Text []string `arg:"" help:"The words to look for."`
}

// Run lists the sessions in which the words are found.
func (c *sessionsSearch) Run(env *environment) error {
	text := strings.Join(c.Text, " ")
	if strings.TrimSpace(text) == "" {
		return misused(env, session.ErrNoWords)
	}
	return c.print(env, text)
}

func (l *listing) print(env *environment, text string) error {
	filter := session.Filter{Text: text, Cursor: l.Cursor, Limit: l.Limit}
	switch {
	case l.Limit < 0:
		fmt.Fprintln(env.stderr, "wherry: --limit is the number of sessions, 0 for all")
		return exitStatus(exitUsage)
	case l.All:
	case l.Folder != "":
		filter.Folder = filepath.Clean(l.Folder)
	default:
		folder, err := workingFolder()
		if err != nil {
			return err
		}
		filter.Folder = folder
	}
	return withStore(func(store session.Store) error {
		var page session.Page
		var err error
		if filter.Limit == 0 {
			page.Sessions, err = everySession(env.ctx, store, filter)
		} else {
			page, err = store.List(env.ctx, filter)
		}
		if err != nil {
			return misused(env, err)
		}
		if l.JSON {
			return printJSON(env, page)
		}
		all, err := everySession(env.ctx, store, session.Filter{})
		if err != nil {
			return err
		}
		return l.printTable(env, page, filter, shortIDs(all))
	})
}

// listedSession is a session in JSON.
type listedSession struct {
	ID                string            `json:"id"`
	Title             string            `json:"title"`
	Folder            string            `json:"folder"`
	AdditionalFolders []string          `json:"additionalFolders,omitempty"`
	Created           time.Time         `json:"created"`
	Updated           time.Time         `json:"updated"`
	Prompts           int               `json:"prompts"`
	Model             string            `json:"model"`
	Mode              string            `json:"mode"`
	Options           map[string]string `json:"options,omitempty"`
	Match             string            `json:"match,omitempty"`
}

func printJSON(env *environment, page session.Page) error {
	out := struct {
		Sessions []listedSession `json:"sessions"`
		Next     string          `json:"next,omitempty"`
	}{Sessions: []listedSession{}, Next: page.Next}
	for _, s := range page.Sessions {
		out.Sessions = append(out.Sessions, listedSession{
			ID: s.ID, Title: s.Title, Folder: s.Roots[0], AdditionalFolders: s.Roots[1:], Created: s.Created, Updated: s.Updated,
			Prompts: s.Turns, Model: s.Model, Mode: string(s.Mode), Options: s.Options, Match: s.Match,
		})
	}
	enc := json.NewEncoder(env.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func (l *listing) printTable(env *environment, page session.Page, filter session.Filter, short map[string]string) error {
	if len(page.Sessions) == 0 {
		fmt.Fprintln(env.stderr, nothing(filter))
		return nil
	}
	table := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	head := "ID\tUPDATED\tPROMPTS\tTITLE"
	if l.All {
		head = "ID\tUPDATED\tPROMPTS\tFOLDER\tTITLE"
	}
	fmt.Fprintln(table, head)
	for _, s := range page.Sessions {
		id := short[s.ID]
		if id == "" { // begun meanwhile
			id = s.ID
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t", id, s.Updated.Local().Format("2006-01-02 15:04"), s.Turns)
		if l.All {
			fmt.Fprintf(table, "%s\t", safe(s.Roots[0]))
		}
		fmt.Fprintln(table, titleOf(s))
		if s.Match != "" {
			if err := table.Flush(); err != nil {
				return fmt.Errorf("write the list: %w", err)
			}
			fmt.Fprintf(env.stdout, "    %s\n", safe(s.Match))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	if page.Next != "" {
		fmt.Fprintln(env.stderr, "There are more: --limit 0 shows all.")
	}
	return nil
}

// nothing says why a list is empty and where to look.
func nothing(filter session.Filter) string {
	what := "There are no sessions"
	if filter.Text != "" {
		what = "Nothing was found"
	}
	if filter.Folder == "" {
		return what + "."
	}
	return fmt.Sprintf("%s in %s. --all looks in every folder.", what, filter.Folder)
}
