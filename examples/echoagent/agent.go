package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/wherry-acp/wherry/acp"
)

// An agent implements acp.Agent. Its further methods are what it can do beyond that: each is advertised to the client
// because it is there.
type agent struct {
	store store

	mu   sync.Mutex
	open map[acp.SessionID]*session
}

var (
	_ acp.Agent          = (*agent)(nil)
	_ acp.SessionLoader  = (*agent)(nil)
	_ acp.SessionResumer = (*agent)(nil)
	_ acp.SessionLister  = (*agent)(nil)
	_ acp.SessionCloser  = (*agent)(nil)
	_ acp.SessionDeleter = (*agent)(nil)
	_ acp.ModeSetter     = (*agent)(nil)
)

func newAgent(dir string) (*agent, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &agent{store: store{dir}, open: make(map[acp.SessionID]*session)}, nil
}

// session returns an open session.
func (a *agent) session(id acp.SessionID) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[id]; s != nil {
		return s, nil
	}
	return nil, acp.SessionNotFound(id)
}

// opened takes a session in; one that is open already stays.
func (a *agent) opened(s *session) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before := a.open[s.info.SessionID]; before != nil {
		_ = s.file.Close()
		return before
	}
	a.open[s.info.SessionID] = s
	return s
}

// modes says which modes there are and which one holds.
func (s *session) modes() *acp.SessionModeState {
	return &acp.SessionModeState{CurrentModeID: s.mode, AvailableModes: []acp.SessionMode{
		{ID: "plain", Name: "Plain", Description: "say it back as it is"},
		{ID: "loud", Name: "Loud", Description: "say it back in capitals"},
	}}
}

// NewSession implements session/new.
func (a *agent) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if !filepath.IsAbs(req.Cwd) {
		return acp.NewSessionResponse{}, acp.InvalidParams("cwd %q is not an absolute path", req.Cwd)
	}
	s, err := a.store.create(acp.SessionInfo{SessionID: acp.NewSessionID(), Cwd: req.Cwd, UpdatedAt: now()})
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	a.opened(s)
	a.announce(ctx, s.info.SessionID)
	return acp.NewSessionResponse{SessionID: s.info.SessionID, Modes: s.modes()}, nil
}

// announce sends the commands once the client knows the session, which is after the answer.
func (a *agent) announce(ctx context.Context, id acp.SessionID) {
	client := acp.ClientFrom(ctx).Session(id)
	acp.AfterResponse(ctx, func(ctx context.Context) { _ = client.SendCommands(ctx, commands()...) })
}

// LoadSession implements session/load: everything that was sent is sent again, before the answer.
func (a *agent) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	s, updates, err := a.store.open(req.SessionID)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	s = a.opened(s)
	client := acp.SessionFrom(ctx)
	for _, u := range updates {
		if err := client.Update(ctx, u); err != nil {
			return acp.LoadSessionResponse{}, err
		}
	}
	a.announce(ctx, req.SessionID)
	return acp.LoadSessionResponse{Modes: s.modes()}, nil
}

// ResumeSession implements session/resume: as loading, without sending anything again.
func (a *agent) ResumeSession(ctx context.Context, req acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	s, _, err := a.store.open(req.SessionID)
	if err != nil {
		return acp.ResumeSessionResponse{}, err
	}
	s = a.opened(s)
	a.announce(ctx, req.SessionID)
	return acp.ResumeSessionResponse{Modes: s.modes()}, nil
}

// ListSessions implements session/list, all on one page.
func (a *agent) ListSessions(_ context.Context, req acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	if req.Cursor.IsSet() {
		return acp.ListSessionsResponse{}, acp.InvalidParams("there is one page only, and no cursor %q", req.Cursor.Or(""))
	}
	all, err := a.store.list(req.Cwd)
	return acp.ListSessionsResponse{Sessions: all}, err
}

// CloseSession implements session/close. The session's prompts have been cancelled already.
func (a *agent) CloseSession(_ context.Context, req acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	a.mu.Lock()
	s := a.open[req.SessionID]
	delete(a.open, req.SessionID)
	a.mu.Unlock()
	if s == nil {
		return acp.CloseSessionResponse{}, acp.SessionNotFound(req.SessionID)
	}
	return acp.CloseSessionResponse{}, s.file.Close()
}

// DeleteSession implements session/delete. A session that is gone already is no error.
func (a *agent) DeleteSession(_ context.Context, req acp.DeleteSessionRequest) (acp.DeleteSessionResponse, error) {
	a.mu.Lock()
	s := a.open[req.SessionID]
	delete(a.open, req.SessionID)
	a.mu.Unlock()
	if s != nil {
		_ = s.file.Close()
	}
	return acp.DeleteSessionResponse{}, a.store.delete(req.SessionID)
}

// SetSessionMode implements session/set_mode.
func (a *agent) SetSessionMode(_ context.Context, req acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	s, err := a.session(req.SessionID)
	if err != nil {
		return acp.SetSessionModeResponse{}, err
	}
	if req.ModeID != "plain" && req.ModeID != "loud" {
		return acp.SetSessionModeResponse{}, acp.InvalidParams("modeId %q: expected plain or loud", req.ModeID)
	}
	if err := s.keep(acp.CurrentModeUpdate{CurrentModeID: req.ModeID}); err != nil {
		return acp.SetSessionModeResponse{}, fmt.Errorf("keep mode: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = req.ModeID
	return acp.SetSessionModeResponse{}, nil
}

// Close closes the files of the sessions that are open.
func (a *agent) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range a.open {
		_ = s.file.Close()
		delete(a.open, id)
	}
}
