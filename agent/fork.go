package agent

import (
	"context"
	"fmt"

	"github.com/wherry-acp/wherry/agent/mcp"
	"github.com/wherry-acp/wherry/agent/session"
)

// Fork makes a session that goes on from what another stored one holds, and opens it in the folders, or in those of the
// other when there are none, with the MCP servers that the client brings. The other is not changed, and both can be used at once; a turn that runs in it is left out.
// It fails as [Agent.Open] does.
func (a *Agent) Fork(ctx context.Context, parent string, roots []string, servers []mcp.Server, face Face) (*Session, error) {
	if len(roots) == 0 {
		info, err := a.opts.Store.Get(ctx, parent)
		if err != nil {
			return nil, err
		}
		roots = info.Roots
	}
	if _, err := face.Host(roots); err != nil {
		return nil, &FolderError{Err: err}
	}
	id := session.NewID()
	if err := a.opts.Store.Fork(ctx, parent, id); err != nil {
		return nil, err
	}
	s, err := a.Open(ctx, id, roots, servers, face)
	if err != nil {
		if gone := a.opts.Store.Delete(context.WithoutCancel(ctx), id); gone != nil {
			a.log.Warn("remove a fork that could not be opened", "session", id, "error", gone)
		}
		return nil, fmt.Errorf("open the fork of session %s: %w", parent, err)
	}
	return s, nil
}
