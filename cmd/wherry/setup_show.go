package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/wherry-acp/wherry/agent/config"
)

// show prints what is configured.
func (s *setup) show() error {
	path, err := config.DefaultPath(os.LookupEnv)
	if err != nil {
		path = err.Error()
	}
	effective := s.settings
	if folder, err := os.Getwd(); err == nil {
		effective = (&settings{}).load(folder)
	}
	s.say("Your settings: %s\nYour state:    %s\n", path, stateFolder())
	for _, e := range effective.List() {
		value := e.Value
		if value == "" {
			value = "-"
		}
		s.say("%-16s %-32s %s", e.Key, value, e.Source)
	}
	s.say("\nKeys:")
	for _, e := range s.keys.List(s.env.ctx) {
		switch {
		case e.Err != nil:
			s.say("%-16s %v", e.Provider, e.Err)
		case e.Key.Place == "":
			s.say("%-16s none", e.Provider)
		default:
			s.say("%-16s %-32v %s", e.Provider, e.Key, e.Key.Where)
		}
	}
	if effective.Project != "" {
		trusted := "trusted"
		if !effective.Trusted {
			trusted = "not trusted, so that it can only make things stricter"
		}
		s.say("\nThis project: %s is %s.", config.ProjectPath(effective.Project), trusted)
		if len(effective.Withheld) > 0 {
			s.say("Not in force: %s.", strings.Join(effective.Withheld, ", "))
		}
	}
	if folders, err := s.trust.Folders(); err != nil {
		s.say("\n%v", err)
	} else if len(folders) > 0 {
		s.say("\nTrusted projects:\n%s", strings.Join(folders, "\n"))
	}
	for _, p := range effective.Problems {
		fmt.Fprintln(s.env.stderr, "wherry:", p)
	}
	if len(effective.Problems) > 0 {
		return exitStatus(exitError)
	}
	return nil
}

// trustProject shows what a project wants and trusts that.
func (s *setup) trustProject(folder string) error {
	review, err := config.ReviewProject(folder)
	if err != nil {
		return err
	}
	if review.Config != nil {
		s.say("%s:\n\n%s", config.ProjectPath(review.Folder), string(review.Config))
	}
	if review.Config == nil || len(review.Files) > 1 {
		s.say("In .wherry are:\n  %s\n", strings.Join(review.Files, "\n  "))
	}
	if !s.flags.Yes {
		if !s.people.there() {
			return errUsage{"nobody can be asked here: look at the above, then add --yes to trust it"}
		}
		yes, err := s.people.yes(s.env.ctx, "Trust these settings, as long as they stay as they are?", false)
		if err != nil {
			return err
		}
		if !yes {
			s.say("It is not trusted.")
			return nil
		}
	}
	if err := s.trust.Trust(review); err != nil {
		return err
	}
	s.say("%s is trusted, until something in its .wherry changes.", review.Folder)
	return nil
}

func (s *setup) distrust(folder string) error {
	if err := s.trust.Distrust(folder); err != nil {
		return err
	}
	s.say("%s is not trusted.", folder)
	return nil
}

func (s *setup) forget(name string) error {
	service, ok := serviceOf(name)
	if !ok || service.KeyVar == "" {
		return errUsage{fmt.Sprintf("%q is no provider with a key", name)}
	}
	from, err := s.keys.Delete(s.env.ctx, service.ID)
	for _, place := range from {
		s.say("The key for %s is gone from the %s.", service.Title, place)
	}
	if v := strings.TrimSpace(os.Getenv(service.KeyVar)); v != "" {
		s.say("%s is set in the environment, and stays.", service.KeyVar)
	}
	if err != nil && len(from) > 0 { // what there was is gone
		s.say("Note: %v", err)
		return nil
	}
	return err
}
