package acp

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Authenticate logs in with one of the agent's methods (authenticate). A method of type
// terminal is not protocol-driven: the client runs it itself. An id that the agent does not
// offer is a *CapabilityError, and nothing is sent.
func (a *RemoteAgent) Authenticate(ctx context.Context, id AuthMethodID) error {
	found := false
	for _, m := range a.hello.Load().AuthMethods {
		switch m := m.(type) {
		case AuthMethodAgent:
			found = found || m.ID == id
		case AuthMethodTerminal:
			if m.ID == id {
				return fmt.Errorf("authenticate with %q: it is run in a terminal, not through the protocol", id)
			}
		}
	}
	if !found {
		return &CapabilityError{Method: MethodAuthenticate, Capability: fmt.Sprintf("authMethods: %q", id)}
	}
	_, err := askAgent[AuthenticateResponse](ctx, a, MethodAuthenticate, &AuthenticateRequest{MethodID: id}, nil)
	return err
}

// Logout ends the authentication (logout).
func (a *RemoteAgent) Logout(ctx context.Context) error {
	_, err := askAgent[LogoutResponse](ctx, a, MethodLogout, &LogoutRequest{}, nil)
	return err
}

// ListSessions returns one page of the sessions that can be opened again
// (session/list); Sessions goes through all pages.
func (a *RemoteAgent) ListSessions(ctx context.Context, req ListSessionsRequest) (ListSessionsResponse, error) {
	if gate := "agentCapabilities.sessionCapabilities.archive"; req.UnstableArchived != "" && (!a.opts.Unstable || !a.Can(gate)) {
		return ListSessionsResponse{}, &CapabilityError{Method: MethodSessionList, Capability: gate}
	}
	return askAgent[ListSessionsResponse](ctx, a, MethodSessionList, &req, nil)
}

// Sessions lists the sessions that can be opened again, page after page (session/list), beginning at req.Cursor. An
// error ends the list: that of a page, or that the agent gives a cursor that it has given before.
func (a *RemoteAgent) Sessions(ctx context.Context, req ListSessionsRequest) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		given := map[string]bool{}
		for {
			page, err := a.ListSessions(ctx, req)
			if err != nil {
				yield(SessionInfo{}, err)
				return
			}
			for _, s := range page.Sessions {
				if !yield(s, nil) {
					return
				}
			}
			next, more := page.NextCursor.Get()
			if !more {
				return
			}
			if given[next] {
				yield(SessionInfo{}, fmt.Errorf("%s: the agent gave the cursor %q twice, so the list has no end", MethodSessionList, next))
				return
			}
			given[next] = true
			req.Cursor = page.NextCursor
		}
	}
}

// DeleteSession removes a session from the agent's list (session/delete). A session that
// the agent does not know counts as deleted.
func (a *RemoteAgent) DeleteSession(ctx context.Context, id SessionID) error {
	_, err := askAgent[DeleteSessionResponse](ctx, a, MethodSessionDelete, &DeleteSessionRequest{SessionID: id}, nil)
	if errors.Is(err, &RequestError{Code: CodeResourceNotFound}) {
		err = nil
	}
	if err == nil {
		a.forget(id)
	}
	return err
}

// UnstableArchiveSession hides a session from the list (session/archive).
func (a *RemoteAgent) UnstableArchiveSession(ctx context.Context, id SessionID) error {
	_, err := askAgent[UnstableArchiveSessionResponse](ctx, a, MethodUnstableSessionArchive, &UnstableArchiveSessionRequest{SessionID: id}, nil)
	return err
}

// UnstableUnarchiveSession takes an archived session back (session/unarchive).
func (a *RemoteAgent) UnstableUnarchiveSession(ctx context.Context, id SessionID) error {
	_, err := askAgent[UnstableUnarchiveSessionResponse](ctx, a, MethodUnstableSessionUnarchive, &UnstableUnarchiveSessionRequest{SessionID: id}, nil)
	return err
}

// UnstableSessionStatus asks what a session is doing (session/status).
func (a *RemoteAgent) UnstableSessionStatus(ctx context.Context, id SessionID) (UnstableSessionStatusResponse, error) {
	return askAgent[UnstableSessionStatusResponse](ctx, a, MethodUnstableSessionStatus, &UnstableSessionStatusRequest{SessionID: id}, nil)
}

// UnstableSetSessionTitle names a session (session/set_title) and returns the title that
// the agent has stored.
func (a *RemoteAgent) UnstableSetSessionTitle(ctx context.Context, id SessionID, title string) (string, error) {
	r, err := askAgent[UnstableSetSessionTitleResponse](ctx, a, MethodUnstableSessionSetTitle, &UnstableSetSessionTitleRequest{SessionID: id, Title: title}, a.onSession(id))
	if s := a.Session(id); s != nil && err == nil {
		s.state.Apply(SessionInfoUpdate{Title: PatchSet(r.Title)})
	}
	return r.Title, err
}

// UnstableAuthStatus asks whether the agent is logged in (auth/status).
func (a *RemoteAgent) UnstableAuthStatus(ctx context.Context) (UnstableAuthStatusResponse, error) {
	return askAgent[UnstableAuthStatusResponse](ctx, a, MethodUnstableAuthStatus, &UnstableAuthStatusRequest{}, nil)
}

// UnstableListProviders returns the model providers that can be configured
// (providers/list).
func (a *RemoteAgent) UnstableListProviders(ctx context.Context) (UnstableListProvidersResponse, error) {
	return askAgent[UnstableListProvidersResponse](ctx, a, MethodUnstableProvidersList, &UnstableListProvidersRequest{}, nil)
}

// UnstableSetProvider replaces a provider's configuration (providers/set).
func (a *RemoteAgent) UnstableSetProvider(ctx context.Context, req UnstableSetProviderRequest) error {
	_, err := askAgent[UnstableSetProviderResponse](ctx, a, MethodUnstableProvidersSet, &req, nil)
	return err
}

// UnstableDisableProvider switches a provider off (providers/disable).
func (a *RemoteAgent) UnstableDisableProvider(ctx context.Context, req UnstableDisableProviderRequest) error {
	_, err := askAgent[UnstableDisableProviderResponse](ctx, a, MethodUnstableProvidersDisable, &req, nil)
	return err
}

// UnstableMCPNotify sends a notification of an MCP server that the client hosts
// (mcp/message).
func (a *RemoteAgent) UnstableMCPNotify(ctx context.Context, n UnstableMessageMCPNotification) error {
	if gate := "agentCapabilities.mcpCapabilities.acp"; !a.opts.Unstable || !a.Can(gate) {
		return &CapabilityError{Method: MethodUnstableMCPMessage, Capability: gate}
	}
	return a.notify(ctx, "", MethodUnstableMCPMessage, &n)
}
