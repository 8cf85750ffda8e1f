package acp

import (
	"cmp"
	"context"
	"sync"
)

// A ToolCallTracker reports the life of one tool call to the client. Its methods may be
// called concurrently.
type ToolCallTracker struct {
	session SessionClient
	id      ToolCallID

	mu    sync.Mutex
	shown ToolCallUpdate // what has been told of it, for AskPermission
	ended bool
}

// StartToolCall announces a tool call and returns what reports its progress. A call without
// an id gets a new one. A call that is neither completed nor failed when the handler of ctx
// returns is reported as failed. It panics if ctx is not that of a request handler.
func (s SessionClient) StartToolCall(ctx context.Context, call ToolCall) (*ToolCallTracker, error) {
	scope, ok := ctx.Value(requestKey{}).(*requestScope)
	if !ok {
		panic("acp: StartToolCall needs the context of a request handler")
	}
	if call.ToolCallID == "" {
		call.ToolCallID = NewToolCallID()
	}
	t := &ToolCallTracker{session: s, id: call.ToolCallID, shown: ToolCallUpdate{
		ToolCallID: call.ToolCallID, Kind: call.Kind, Status: call.Status, Title: call.Title, Name: call.Name,
		Content: call.Content, Locations: call.Locations, RawInput: call.RawInput,
	}}
	if err := s.Update(ctx, call); err != nil {
		return nil, err
	}
	scope.mu.Lock()
	scope.tools = append(scope.tools, t)
	scope.mu.Unlock()
	return t, nil
}

// ID returns the tool call's id.
func (t *ToolCallTracker) ID() ToolCallID { return t.id }

// Progress tells that the call is running.
func (t *ToolCallTracker) Progress(ctx context.Context) error {
	return t.Update(ctx, ToolCallUpdate{Status: ToolCallInProgress})
}

// Content replaces what the call shows.
func (t *ToolCallTracker) Content(ctx context.Context, content ...ToolCallContent) error {
	if content == nil {
		content = []ToolCallContent{}
	}
	return t.Update(ctx, ToolCallUpdate{Content: content})
}

// Complete ends the call as completed; content, if given, replaces what it shows.
func (t *ToolCallTracker) Complete(ctx context.Context, content ...ToolCallContent) error {
	return t.Update(ctx, ToolCallUpdate{Status: ToolCallCompleted, Content: content})
}

// Fail ends the call as failed; content, if given, replaces what it shows.
func (t *ToolCallTracker) Fail(ctx context.Context, content ...ToolCallContent) error {
	return t.Update(ctx, ToolCallUpdate{Status: ToolCallFailed, Content: content})
}

// Update changes the call; the id is filled in. After the call has ended it does nothing.
func (t *ToolCallTracker) Update(ctx context.Context, u ToolCallUpdate) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	u.ToolCallID = t.id
	if u.Status == ToolCallCompleted || u.Status == ToolCallFailed {
		t.ended = true
		// The end must arrive also when the turn has been cancelled.
		ctx = context.WithoutCancel(ctx)
	}
	t.show(u)
	return t.session.Update(ctx, u)
}

// show takes in what an update says of the call.
func (t *ToolCallTracker) show(u ToolCallUpdate) {
	s := &t.shown
	s.Kind, s.Status = cmp.Or(u.Kind, s.Kind), cmp.Or(u.Status, s.Status)
	s.Title, s.Name = cmp.Or(u.Title, s.Title), cmp.Or(u.Name, s.Name)
	if u.Content != nil {
		s.Content = u.Content
	}
	if u.Locations != nil {
		s.Locations = u.Locations
	}
	if u.RawInput != nil {
		s.RawInput = u.RawInput
	}
}

// AskPermission asks the user for the call (session/request_permission), showing what has been told of it: its title, kind,
// content, locations and input. See [SessionClient.AskPermission] for the rest.
func (t *ToolCallTracker) AskPermission(ctx context.Context, options ...PermissionOption) (allowed, remember bool, err error) {
	t.mu.Lock()
	shown := t.shown
	t.mu.Unlock()
	return t.session.AskPermission(ctx, shown, options...)
}

// forgotten ends the call as failed if the handler has not ended it.
func (t *ToolCallTracker) forgotten(ctx context.Context) {
	if err := t.Fail(ctx); err != nil {
		t.session.client.log.Debug("tool call not closed", "error", err)
	}
}
