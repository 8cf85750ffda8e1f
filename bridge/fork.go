package bridge

import (
	"context"

	"github.com/wherry-acp/wherry/acp"
)

// UnstableForkSession implements session/fork: the new session is ready for a prompt, and nothing is replayed.
func (b *Bridge) UnstableForkSession(ctx context.Context, req acp.UnstableForkSessionRequest) (acp.UnstableForkSessionResponse, error) {
	roots, err := b.folders(req.Cwd, req.AdditionalDirectories)
	if err != nil {
		return acp.UnstableForkSessionResponse{}, err
	}
	servers, err := serversIn(req.MCPServers)
	if err != nil {
		return acp.UnstableForkSessionResponse{}, err
	}
	f := b.newFace(ctx)
	s, err := b.agent.Fork(ctx, string(req.SessionID), roots, servers, f)
	if err != nil {
		return acp.UnstableForkSessionResponse{}, b.failure(err, req.SessionID)
	}
	o, err := b.add(ctx, s, f)
	if err != nil {
		return acp.UnstableForkSessionResponse{}, err
	}
	announce(ctx, o)
	return acp.UnstableForkSessionResponse{SessionID: acp.SessionID(o.ID()), Modes: modes(o), ConfigOptions: configOptions(o.Settings())}, nil
}
