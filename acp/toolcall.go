package acp

import (
	"context"
	"sync"
)

// A ToolCallTracker reports the life of one tool call to the client. Its methods may be
// called concurrently.
type ToolCallTracker struct {
	client  *Client
	session SessionID
	id      ToolCallID
	scope   *requestScope

	mu    sync.Mutex
	ended bool
}

// StartToolCall announces a tool call. A call that is neither completed nor failed when
// the handler of ctx returns is reported as failed. It panics if ctx is not that of a
// request handler.
func StartToolCall(ctx context.Context, session SessionID, call ToolCall) (*ToolCallTracker, error) {
	scope, ok := ctx.Value(requestKey{}).(*requestScope)
	if !ok {
		panic("acp: StartToolCall needs the context of a request handler")
	}
	t := &ToolCallTracker{client: ClientFrom(ctx), session: session, id: call.ToolCallID, scope: scope}
	if err := t.client.Update(ctx, session, call); err != nil {
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
	return t.client.Update(ctx, t.session, u)
}

// forgotten ends the call as failed if the handler has not ended it.
func (t *ToolCallTracker) forgotten(ctx context.Context) {
	if err := t.Fail(ctx); err != nil {
		t.client.log.Debug("tool call not closed", "error", err)
	}
}
