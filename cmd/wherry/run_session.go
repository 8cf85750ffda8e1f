package main

import (
	"fmt"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/session"
)

// open begins a session in the folder, or goes on with the one that was named, which must belong to the folder: there
// its files are.
func (c *runCommand) open(env *environment, agent *acp.RemoteAgent, folder string) (*acp.Session, error) {
	var more []string
	if len(c.Root) > 0 {
		folder, more = c.Root[0], c.Root[1:]
	}
	if c.Session == "" {
		return agent.NewSession(env.ctx, acp.NewSessionRequest{Cwd: folder, AdditionalDirectories: more})
	}
	var among acp.ListSessionsRequest
	if c.Session == last {
		among.Cwd = folder
	}
	var all []session.Info
	for s, err := range agent.Sessions(env.ctx, among) {
		if err != nil {
			return nil, err
		}
		all = append(all, session.Info{ID: string(s.SessionID), Title: s.Title, Roots: append([]string{s.Cwd}, s.AdditionalDirectories...)})
	}
	info, err := pick(c.Session, folder, all)
	if err != nil {
		return nil, err
	}
	if info.Roots[0] != folder {
		return nil, errID{fmt.Sprintf("session %s works in %s: go there first", info.ID, safe(info.Roots[0]))}
	}
	if more == nil {
		more = info.Roots[1:]
	}
	return agent.ResumeSession(env.ctx, acp.ResumeSessionRequest{SessionID: acp.SessionID(info.ID), Cwd: folder, AdditionalDirectories: more})
}
