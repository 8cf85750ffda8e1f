package main

import (
	"errors"
	"fmt"

	"github.com/wherry-acp/wherry/agent/session"
)

type sessionsDelete struct {
	IDs []string `arg:"" name:"id" help:"The sessions, or \"last\"."`
	Yes bool     `short:"y" help:"Delete without asking."`
}

// Run deletes sessions.
func (c *sessionsDelete) Run(env *environment) error {
	return withStore(func(store session.Store) error {
		chosen, err := c.chosen(env, store)
		if err != nil {
			return misused(env, err)
		}
		if !c.Yes {
			if err := confirm(env, chosen); err != nil {
				return err
			}
		}
		failed := false
		for _, info := range chosen {
			err := store.Delete(env.ctx, info.ID)
			var held *session.HeldError
			switch {
			case errors.As(err, &held):
				fmt.Fprintf(env.stderr, "wherry: %s was not deleted: %s works on it. End that first.\n", described(info), held.Owner)
				failed = true
			case err != nil:
				return fmt.Errorf("delete session %s: %w", info.ID, err)
			default:
				fmt.Fprintf(env.stdout, "Deleted %s\n", described(info))
			}
		}
		if failed {
			return exitStatus(exitError)
		}
		return nil
	})
}

// chosen finds all sessions first: a wrong id deletes nothing.
func (c *sessionsDelete) chosen(env *environment, store session.Store) ([]session.Info, error) {
	var chosen []session.Info
	seen := make(map[string]bool)
	for _, id := range c.IDs {
		info, err := find(env, store, id)
		if err != nil {
			return nil, err
		}
		if !seen[info.ID] {
			seen[info.ID] = true
			chosen = append(chosen, info)
		}
	}
	return chosen, nil
}

// confirm asks the person.
func confirm(env *environment, chosen []session.Info) error {
	people := newPrompter(env.stdin, env.stdout)
	if !people.there() {
		fmt.Fprintln(env.stderr, "wherry: there is no terminal to ask on: say --yes to delete without being asked")
		return exitStatus(exitUsage)
	}
	for _, info := range chosen {
		fmt.Fprintln(env.stdout, described(info))
	}
	question := "Delete this session for good?"
	if len(chosen) > 1 {
		question = fmt.Sprintf("Delete these %d sessions for good?", len(chosen))
	}
	yes, err := people.yes(env.ctx, question, false)
	if err != nil || !yes {
		fmt.Fprintln(env.stderr, "Nothing was deleted.")
		return exitStatus(exitInterrupted)
	}
	return nil
}

// described is a session in a line.
func described(info session.Info) string {
	prompts := fmt.Sprintf("%d prompts", info.Turns)
	if info.Turns == 1 {
		prompts = "1 prompt"
	}
	return fmt.Sprintf("%s: %s (%s, %s, %s)", info.ID, titleOf(info), prompts, info.Updated.Local().Format("2006-01-02 15:04"), safe(info.Roots[0]))
}
