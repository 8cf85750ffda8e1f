package main

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/wherry-acp/wherry/agent/config"
	"github.com/wherry-acp/wherry/agent/customcmd"
)

// commandFiles gives the files with the person's own slash commands for sessions in this folder: those in the person's
// folder, then those of the project, if it is trusted with exactly these.
func (s *settings) commandFiles(folder string) ([]customcmd.File, []customcmd.Problem) {
	conf := s.load(folder)
	var files []customcmd.File
	var problems []customcmd.Problem
	if conf.Commands != "" {
		files, problems = customcmd.Read(conf.Commands)
	}
	project := cmp.Or(conf.ProjectCommands, config.ProjectCommandsPath(folder))
	found, trusted, err := config.Trust{State: stateFolder()}.Files(folder, ".md")
	if err != nil {
		return files, append(problems, customcmd.Problem{Path: project, Text: err.Error()})
	}
	var theirs []customcmd.File
	for name, data := range found {
		abs := filepath.Join(folder, filepath.FromSlash(name))
		if filepath.Dir(abs) == filepath.Clean(project) {
			theirs = append(theirs, customcmd.File{Path: name, Data: data})
		}
	}
	slices.SortFunc(theirs, func(a, b customcmd.File) int { return cmp.Compare(path.Base(a.Path), path.Base(b.Path)) })
	if len(theirs) > 0 && !trusted {
		return files, append(problems, customcmd.Problem{Path: project, Text: fmt.Sprintf(
			"has slash commands, which are not in force because you have not trusted this project. To look at them and decide: wherry setup --trust %s", folder)})
	}
	if len(theirs) > customcmd.MaxFiles {
		theirs = theirs[:customcmd.MaxFiles]
		problems = append(problems, customcmd.Problem{Path: project, Text: fmt.Sprintf("holds more than %d commands: the rest is not read", customcmd.MaxFiles)})
	}
	return append(files, theirs...), problems
}
