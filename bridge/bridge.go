// Package bridge translates between the agent and the Agent Client Protocol: content blocks in, updates out, and the client
// as the agent's host and person. It holds no policy of its own.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
)

// closeWait bounds how long a closing session waits for its turn to end.
const closeWait = 5 * time.Second

// Bridge serves one connection: it is the [acp.Agent] that stands for the coding agent. Its methods are safe for
// concurrent use.
type Bridge struct {
	agent *agent.Agent
	local host.LocalOptions

	mu       sync.Mutex
	sessions map[acp.SessionID]*open
	closed   bool
}

// open is a session that this connection has opened.
type open struct {
	*agent.Session
	face   *face
	ctx    context.Context // ends when the session is closed
	cancel context.CancelFunc
}

// New makes the bridge of one connection. local are the choices for work on this machine.
func New(a *agent.Agent, local host.LocalOptions) *Bridge {
	return &Bridge{agent: a, local: local, sessions: map[acp.SessionID]*open{}}
}

// Options completes the options with which the bridge is served: who it is, and what its methods alone do not tell. What the
// protocol has not made stable is on: session/fork and the usage of a turn are.
func (b *Bridge) Options(base acp.Options, info acp.Implementation) *acp.AgentOptions {
	base.Unstable = true
	return &acp.AgentOptions{
		Options: base,
		Info:    &info, AuthMethods: authMethods(),
		Capabilities: func(c *acp.AgentCapabilities) {
			c.PromptCapabilities = acp.PromptCapabilities{Image: true, Audio: b.agent.TakesAudio(), EmbeddedContext: true}
			c.MCPCapabilities = acp.MCPCapabilities{HTTP: true, SSE: true}
			c.SessionCapabilities.AdditionalDirectories = &acp.SessionAdditionalDirectoriesCapabilities{}
		},
	}
}

// NewSession implements session/new.
func (b *Bridge) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	roots, err := b.folders(req.Cwd, req.AdditionalDirectories)
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	servers, err := serversIn(req.MCPServers)
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	f := b.newFace(ctx)
	s, err := b.agent.Create(ctx, roots, servers, f)
	if err != nil {
		return acp.NewSessionResponse{}, b.failure(err, "")
	}
	o, err := b.add(ctx, s, f)
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	announce(ctx, o)
	return acp.NewSessionResponse{SessionID: acp.SessionID(o.ID()), Modes: modes(o), ConfigOptions: configOptions(o.Settings())}, nil
}

// LoadSession implements session/load: the whole conversation is replayed before the answer.
func (b *Bridge) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	o, err := b.reopen(ctx, req.SessionID, req.Cwd, req.AdditionalDirectories, req.MCPServers)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	if err := o.Replay(ctx); err != nil {
		return acp.LoadSessionResponse{}, err
	}
	announce(ctx, o)
	return acp.LoadSessionResponse{Modes: modes(o), ConfigOptions: configOptions(o.Settings())}, nil
}

// ResumeSession implements session/resume: nothing is replayed.
func (b *Bridge) ResumeSession(ctx context.Context, req acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	o, err := b.reopen(ctx, req.SessionID, req.Cwd, req.AdditionalDirectories, req.MCPServers)
	if err != nil {
		return acp.ResumeSessionResponse{}, err
	}
	announce(ctx, o)
	acp.AfterResponse(ctx, func(ctx context.Context) { o.ShowContext(ctx) })
	return acp.ResumeSessionResponse{Modes: modes(o), ConfigOptions: configOptions(o.Settings())}, nil
}

// reopen opens a stored session. One that the connection has open already stays open, with the turn it may be in; it only
// gets the further folders and the servers given. In another working folder other settings hold, so there it begins anew.
func (b *Bridge) reopen(ctx context.Context, id acp.SessionID, cwd string, more []string, brought []acp.MCPServer) (*open, error) {
	roots, err := b.folders(cwd, more)
	if err != nil {
		return nil, err
	}
	servers, err := serversIn(brought)
	if err != nil {
		return nil, err
	}
	if o := b.find(id); o != nil {
		if o.face.client == acp.ClientFrom(ctx) && o.State().Roots[0] == filepath.Clean(roots[0]) {
			if err := o.Move(ctx, roots); err != nil {
				return nil, b.failure(err, id)
			}
			o.Bring(servers)
			return o, nil
		}
		b.take(id)
		if err := b.end(ctx, o); err != nil {
			return nil, err
		}
	}
	f := b.newFace(ctx)
	s, err := b.agent.Open(ctx, string(id), roots, servers, f)
	if err != nil {
		return nil, b.failure(err, id)
	}
	return b.add(ctx, s, f)
}

// Close ends all sessions that the connection has opened, with what they have started. The conversations stay stored.
func (b *Bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.sessions))
	clear(b.sessions)
	b.closed = true
	b.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, o := range all {
		wg.Go(func() { errs[i] = b.end(ctx, o) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// ListSessions implements session/list.
func (b *Bridge) ListSessions(ctx context.Context, req acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	folder := req.Cwd
	if folder != "" {
		folder = filepath.Clean(folder)
	}
	page, err := b.agent.List(ctx, session.Filter{Folder: folder, Cursor: req.Cursor.Or("")})
	if errors.Is(err, session.ErrBadCursor) {
		return acp.ListSessionsResponse{}, badParams("cursor", "the nextCursor of an earlier listing", "something else")
	}
	if err != nil {
		return acp.ListSessionsResponse{}, b.failure(err, "")
	}
	out := acp.ListSessionsResponse{Sessions: make([]acp.SessionInfo, 0, len(page.Sessions))}
	for _, s := range page.Sessions {
		out.Sessions = append(out.Sessions, acp.SessionInfo{
			SessionID: acp.SessionID(s.ID), Cwd: s.Roots[0], AdditionalDirectories: s.Roots[1:], Title: s.Title,
			UpdatedAt: s.Updated.UTC().Format(time.RFC3339),
		})
	}
	if page.Next != "" {
		out.NextCursor = acp.Some(page.Next)
	}
	return out, nil
}

// CloseSession implements session/close: the running turn is cancelled and awaited; the conversation stays stored.
func (b *Bridge) CloseSession(ctx context.Context, req acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	o := b.take(req.SessionID)
	if o == nil {
		return acp.CloseSessionResponse{}, acp.SessionNotFound(req.SessionID)
	}
	return acp.CloseSessionResponse{}, b.end(ctx, o)
}

// DeleteSession implements session/delete. Deleting what is not there is no error.
func (b *Bridge) DeleteSession(ctx context.Context, req acp.DeleteSessionRequest) (acp.DeleteSessionResponse, error) {
	if o := b.take(req.SessionID); o != nil {
		if err := b.end(ctx, o); err != nil {
			return acp.DeleteSessionResponse{}, err
		}
	}
	if err := b.agent.Delete(ctx, string(req.SessionID)); err != nil {
		return acp.DeleteSessionResponse{}, b.failure(err, req.SessionID)
	}
	return acp.DeleteSessionResponse{}, nil
}

// SetSessionMode implements session/set_mode.
func (b *Bridge) SetSessionMode(ctx context.Context, req acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	o := b.find(req.SessionID)
	if o == nil {
		return acp.SetSessionModeResponse{}, acp.SessionNotFound(req.SessionID)
	}
	err := o.SetMode(ctx, approval.Mode(req.ModeID))
	if errors.Is(err, agent.ErrMode) {
		return acp.SetSessionModeResponse{}, badParams("modeId", fmt.Sprintf("one of %v", o.Modes()), fmt.Sprintf("%q", req.ModeID))
	}
	if err != nil {
		return acp.SetSessionModeResponse{}, b.failure(err, req.SessionID)
	}
	return acp.SetSessionModeResponse{}, nil
}

// Prompt implements session/prompt.
func (b *Bridge) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	o := b.find(req.SessionID)
	if o == nil {
		return acp.PromptResponse{}, acp.SessionNotFound(req.SessionID)
	}
	prompt, err := promptIn(req.Prompt, b.agent.TakesAudio())
	if err != nil {
		return acp.PromptResponse{}, err
	}
	pending := o.Enqueue(prompt)
	acp.AllowNextPrompt(ctx) // its place is behind this one's
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(o.ctx, func() { cancel(acp.ErrSessionCancelled) })()
	result, err := pending.Run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return acp.PromptResponse{}, context.Cause(ctx)
		}
		return acp.PromptResponse{}, b.failure(err, req.SessionID)
	}
	return response(result)
}

// add registers an open session. It takes the place of one with its id that was opened meanwhile, which ends. When the
// bridge has been closed meanwhile, the session ends itself.
func (b *Bridge) add(ctx context.Context, s *agent.Session, f *face) (*open, error) {
	o := &open{Session: s, face: f}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	f.session = acp.SessionID(s.ID())
	b.mu.Lock()
	closed, before := b.closed, b.sessions[f.session]
	if !closed {
		b.sessions[f.session] = o
	}
	b.mu.Unlock()
	switch {
	case closed:
		return nil, errors.Join(agent.ErrClosed, b.end(context.WithoutCancel(ctx), o))
	case before != nil:
		if err := b.end(ctx, before); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (b *Bridge) find(id acp.SessionID) *open {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[id]
}

func (b *Bridge) take(id acp.SessionID) *open {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.sessions[id]
	delete(b.sessions, id)
	return o
}

// end cancels a session's turns and waits until they have ended.
func (b *Bridge) end(ctx context.Context, o *open) error {
	o.cancel()
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	if err := o.Close(ctx); err != nil {
		return fmt.Errorf("close session %s: %w", o.ID(), err)
	}
	return nil
}

// folders checks what the client gives as the session's folders.
func (b *Bridge) folders(cwd string, more []string) ([]string, error) {
	roots := append([]string{cwd}, more...)
	if own := b.agent.Roots(); cwd == "" && len(own) > 0 {
		roots = append(own, more...)
	}
	for i, root := range roots {
		path := "cwd"
		if i > 0 {
			path = fmt.Sprintf("additionalDirectories[%d]", i-1)
		}
		if !filepath.IsAbs(root) {
			return nil, badParams(path, "an absolute path", fmt.Sprintf("%q", root))
		}
		if _, err := host.NewLocal([]string{root}, b.local); err != nil {
			return nil, badParams(path, "a folder that exists and can be opened", err.Error())
		}
	}
	return roots, nil
}

// failure turns an error of the agent into one for the client: a sentence where the person can do something about it.
func (b *Bridge) failure(err error, id acp.SessionID) error {
	var held *session.HeldError
	var broken *session.StoreError
	var folder *agent.FolderError
	switch {
	case errors.Is(err, session.ErrNotFound), errors.Is(err, agent.ErrClosed):
		return acp.SessionNotFound(id)
	case errors.As(err, &held), errors.As(err, &broken), errors.Is(err, session.ErrLeaseLost):
		return &acp.RequestError{Code: acp.CodeInternalError, Message: sentence(err)}
	case errors.As(err, &folder):
		return badParams("cwd", "folders that exist and can be opened", folder.Error())
	}
	return err
}

func sentence(err error) string {
	text := err.Error()
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
