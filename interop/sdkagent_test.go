//go:build unix

package interop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/wherry-acp/wherry/acp"
)

// agentCommand as first argument makes the test binary an agent that is made with our SDK and does what scripted_test.go
// says.
const agentCommand = "sdk-agent"

func serveScripted() int {
	err := acp.ServeStdio(context.Background(), &scripted{}, &acp.AgentOptions{
		Info: &acp.Implementation{Name: "scripted", Version: "1.0.0"},
		Extensions: map[string]acp.Extension{
			"_interop/echo": acp.ExtensionRequest(func(_ context.Context, params map[string]any) (map[string]any, error) { return params, nil }),
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdk-agent:", err)
		return 1
	}
	return 0
}

// scripted is the agent.
type scripted struct {
	mu       sync.Mutex
	sessions []*scriptedSession
}

type scriptedSession struct {
	id   acp.SessionID
	cwd  string
	mu   sync.Mutex
	said [][2]string // prompts and their answers
}

func (a *scripted) find(id acp.SessionID) (*scriptedSession, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.sessions, func(s *scriptedSession) bool { return s.id == id })
	if i < 0 {
		return nil, acp.ResourceNotFound(string(id))
	}
	return a.sessions[i], nil
}

func (a *scripted) NewSession(_ context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	s := &scriptedSession{id: acp.NewSessionID(), cwd: req.Cwd}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions = append(a.sessions, s)
	modes := &acp.SessionModeState{CurrentModeID: "ask", AvailableModes: []acp.SessionMode{{ID: "ask", Name: "Ask"}, {ID: "code", Name: "Code"}}}
	return acp.NewSessionResponse{SessionID: s.id, Modes: modes}, nil
}

func (a *scripted) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	s, err := a.find(req.SessionID)
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	s.mu.Lock()
	said := slices.Clone(s.said)
	s.mu.Unlock()
	client := acp.ClientFrom(ctx)
	for _, turn := range said {
		err = cmp.Or(err,
			client.Update(ctx, s.id, acp.UserMessageChunk{Content: acp.Text(turn[0])}),
			client.Update(ctx, s.id, acp.AgentMessageChunk{Content: acp.Text(turn[1])}))
	}
	return acp.LoadSessionResponse{}, err
}

func (a *scripted) ListSessions(_ context.Context, req acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	for _, s := range a.sessions {
		if req.Cwd == "" || req.Cwd == s.cwd {
			r.Sessions = append(r.Sessions, acp.SessionInfo{SessionID: s.id, Cwd: s.cwd})
		}
	}
	return r, nil
}

func (a *scripted) SetSessionMode(ctx context.Context, req acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	s, err := a.find(req.SessionID)
	if err != nil {
		return acp.SetSessionModeResponse{}, err
	}
	return acp.SetSessionModeResponse{}, acp.ClientFrom(ctx).Update(ctx, s.id, acp.CurrentModeUpdate{CurrentModeID: req.ModeID})
}

func (a *scripted) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	s, err := a.find(req.SessionID)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	var text string
	for _, block := range req.Prompt {
		text += acp.PlainText(block)
	}
	t := &scriptedTurn{client: acp.ClientFrom(ctx), session: s.id}
	answer, err := t.answer(ctx, text)
	for _, part := range strings.Split(answer, " ") {
		err = cmp.Or(err, t.client.Update(ctx, s.id, acp.AgentMessageChunk{Content: acp.Text(part + " ")}))
	}
	if err != nil {
		return acp.PromptResponse{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, [2]string{text, answer})
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}

// scriptedTurn is what the agent does for one prompt.
type scriptedTurn struct {
	client  *acp.Client
	session acp.SessionID
}

func (t *scriptedTurn) answer(ctx context.Context, text string) (string, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "wait":
		<-ctx.Done()
		return "", context.Cause(ctx)
	case "create":
		return t.create(ctx, rest)
	case "read":
		r, err := t.client.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: t.session, Path: rest})
		return r.Content, err
	case "run":
		return t.run(ctx, rest)
	case "plan":
		return "planned", t.client.Update(ctx, t.session, acp.Plan{Entries: []acp.PlanEntry{
			{Content: "look", Priority: acp.PlanPriorityHigh, Status: acp.PlanInProgress},
			{Content: "leap", Priority: acp.PlanPriorityMedium, Status: acp.PlanPending},
		}})
	case "call":
		var result any
		err := t.client.CallExtension(ctx, rest, map[string]int{"x": 1}, &result)
		if e, ok := errors.AsType[*acp.RequestError](err); ok {
			return fmt.Sprintf("error %d", e.Code), nil
		}
		return fmt.Sprintf("answer %v", result), err
	}
	return "You said: " + text, nil
}

func (t *scriptedTurn) create(ctx context.Context, what string) (string, error) {
	path, content, _ := strings.Cut(what, ": ")
	call := acp.ToolCall{
		ToolCallID: acp.ToolCallID("create " + path), Title: "Create " + path, Kind: acp.ToolKindEdit, Status: acp.ToolCallPending,
		Content: []acp.ToolCallContent{acp.ToolCallDiff{Path: path, NewText: content}},
	}
	tracker, err := t.client.Session(t.session).StartToolCall(ctx, call)
	if err != nil {
		return "", err
	}
	r, err := t.client.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionID: t.session,
		ToolCall:  acp.ToolCallUpdate{ToolCallID: call.ToolCallID, Title: call.Title, Kind: call.Kind, Status: call.Status, Content: call.Content},
		Options: []acp.PermissionOption{
			{OptionID: "yes", Name: "Allow", Kind: acp.PermissionAllowOnce},
			{OptionID: "no", Name: "Reject", Kind: acp.PermissionRejectOnce},
		},
	})
	if err != nil {
		return "", err
	}
	if chosen, ok := r.Outcome.(acp.SelectedPermissionOutcome); !ok || chosen.OptionID != "yes" {
		return "refused", tracker.Fail(ctx)
	}
	if _, err := t.client.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionID: t.session, Path: path, Content: content}); err != nil {
		return "", err
	}
	return "created", tracker.Complete(ctx)
}

func (t *scriptedTurn) run(ctx context.Context, command string) (string, error) {
	tracker, err := t.client.Session(t.session).StartToolCall(ctx, acp.ToolCall{
		ToolCallID: acp.ToolCallID("run " + command), Title: command, Kind: acp.ToolKindExecute, Status: acp.ToolCallInProgress,
	})
	if err != nil {
		return "", err
	}
	terminal, err := t.client.NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: t.session, Command: "/bin/sh", Args: []string{"-c", command}})
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	if err := tracker.Content(ctx, acp.ToolCallTerminal{TerminalID: terminal.ID()}); err != nil {
		return "", err
	}
	status, err := terminal.Wait(ctx)
	if err != nil {
		return "", err
	}
	output, err := terminal.Output(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("exit %d: %s", status.ExitCode.Or(999), strings.TrimSpace(output.Output)), tracker.Complete(ctx)
}
