package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/session"
)

// How long an editor may take for a file: after that a read falls back to the disk, and it is not known what became of a
// write.
const (
	readWait  = 30 * time.Second
	writeWait = time.Minute
)

// face is the client as one session sees it.
type face struct {
	client  *acp.Client
	local   host.LocalOptions
	session acp.SessionID

	mu     sync.Mutex // guards render
	render *renderer
}

func (b *Bridge) newFace(ctx context.Context) *face {
	client := acp.ClientFrom(ctx)
	caps := client.Capabilities()
	return &face{
		client: client, local: b.local,
		render: newRenderer(shows{
			notices:     caps.Session != nil && caps.Session.Notices != nil,
			compactions: caps.Session != nil && caps.Session.Compaction != nil,
			outputs:     outputsOf(caps),
		}),
	}
}

// Name implements [agent.Face].
func (f *face) Name() string {
	if info := f.client.Info(); info != nil && info.Name != "" {
		return info.Name
	}
	return "an unnamed client"
}

// Rewind implements [agent.Face].
func (f *face) Rewind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.render = newRenderer(f.render.client)
}

// Show implements [agent.Face].
func (f *face) Show(ctx context.Context, e session.Event, live bool) error {
	f.mu.Lock()
	updates := f.render.render(e, live)
	f.mu.Unlock()
	for _, u := range updates {
		if err := f.client.Update(ctx, f.id(e), u); err != nil {
			return err
		}
	}
	return nil
}

// Configured implements [agent.Face].
func (f *face) Configured(ctx context.Context, settings []agent.Setting) error {
	if f.session == "" {
		return nil // the answer that opens the session has them
	}
	return f.client.Update(ctx, f.session, acp.ConfigOptionUpdate{ConfigOptions: configOptions(settings)})
}

// id is the session's id, from the event until it has been registered.
func (f *face) id(e session.Event) acp.SessionID {
	if f.session == "" {
		return acp.SessionID(e.Session)
	}
	return f.session
}

// The options of a permission request. Clients choose by kind.
const (
	optionOnce    acp.PermissionOptionID = "allow-once"
	optionSession acp.PermissionOptionID = "allow-edits-session"
	optionReject  acp.PermissionOptionID = "reject"
)

// Ask implements [agent.Face].
func (f *face) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	f.mu.Lock()
	c := f.render.call(q.Call)
	call := f.render.callUpdate(q.Call, c, acp.ToolCallPending)
	f.mu.Unlock()
	if exceptional(q) {
		call.Content = append(call.Content, acp.ToolText(q.Reason))
	}
	req := acp.RequestPermissionRequest{SessionID: acp.SessionID(q.Session), ToolCall: call, Options: options(q)}
	resp, err := f.client.RequestPermission(ctx, req)
	if err != nil {
		return agent.Answer{}, err
	}
	var answer agent.Answer
	answer.Reason, answer.Nobody = note(resp.Meta)
	switch outcome := resp.Outcome.(type) {
	case acp.SelectedPermissionOutcome:
		answer.Scope = approval.ScopeOnce
		if outcome.OptionID == optionSession {
			answer.Scope = approval.ScopeSession
		}
		for _, o := range req.Options { // what was not offered allows nothing
			if o.OptionID == outcome.OptionID {
				answer.Allowed = o.Kind == acp.PermissionAllowOnce || o.Kind == acp.PermissionAllowAlways
			}
		}
	case acp.CancelledPermissionOutcome:
		answer.Cancelled = true
	}
	return answer, nil
}

// options are what the person can choose from, in words that say what is then allowed.
func options(q agent.Question) []acp.PermissionOption {
	once, session, reject := "Allow", "Allow every write this session", "Reject"
	if v := q.Presentation.Plan; v != nil {
		once, session, reject = "Approve, and "+afterPlan(v.After), "Approve, and allow every write this session", "Keep planning"
	}
	out := []acp.PermissionOption{{OptionID: optionOnce, Name: once, Kind: acp.PermissionAllowOnce}}
	if slices.Contains(q.Scopes, approval.ScopeSession) {
		out = append(out, acp.PermissionOption{OptionID: optionSession, Name: session, Kind: acp.PermissionAllowAlways})
	}
	return append(out, acp.PermissionOption{OptionID: optionReject, Name: reject, Kind: acp.PermissionRejectOnce})
}

// afterPlan says what a mode means that follows a plan.
func afterPlan(mode approval.Mode) string {
	switch mode {
	case approval.ModeOff:
		return "leave the session read-only"
	case approval.ModeEdits:
		return "edit files unasked (mode edits)"
	case approval.ModeAuto:
		return "edit files and run commands unasked (mode auto)"
	}
	return "ask before every edit and command"
}

// exceptional tells whether the reason of a question is more than the mode, which the client shows itself.
func exceptional(q agent.Question) bool {
	p := q.Presentation
	return p.Stale || p.Class == approval.ClassSecret || p.Class == approval.ClassProtected
}

// Host implements [agent.Face].
func (f *face) Host(roots []string) (host.Host, error) {
	local, err := host.NewLocal(roots, f.local)
	if err != nil {
		return nil, err
	}
	caps := f.client.Capabilities()
	e := editor{answered: answered}
	if caps.FS.ReadTextFile {
		e.read = func(ctx context.Context, path string) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, readWait)
			defer cancel()
			resp, err := f.client.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: f.session, Path: path})
			return resp.Content, err
		}
	}
	if caps.FS.WriteTextFile {
		e.write = func(ctx context.Context, path, content string) error {
			ctx, cancel := context.WithTimeout(ctx, writeWait)
			defer cancel()
			_, err := f.client.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionID: f.session, Path: path, Content: content})
			return err
		}
	}
	if caps.Terminal {
		e.terminal = func(ctx context.Context, req acp.CreateTerminalRequest) (terminal, error) {
			req.SessionID = f.session
			t, err := f.client.NewTerminal(ctx, req)
			if err != nil {
				return nil, err
			}
			return t, nil
		}
	}
	if e.read == nil && e.write == nil && e.terminal == nil {
		return local, nil
	}
	return &editorHost{Local: local, editor: e}, nil
}

// answered tells whether an error is the client's own answer: what was asked for has not happened.
func answered(err error) bool {
	var answer *acp.RequestError
	return errors.As(err, &answer)
}
