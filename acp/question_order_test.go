package acp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

func TestAQuestionComesUpAfterTheUpdatesBeforeItWereDealtWith(t *testing.T) {
	const rounds = 300
	asks := &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		s := acp.SessionFrom(ctx)
		for i := range rounds {
			if err := errors.Join(s.SendText(ctx, "a"), s.SendText(ctx, fmt.Sprint(i))); err != nil {
				return acp.PromptResponse{}, err
			}
			if _, _, err := s.AskPermission(ctx, acp.ToolCallUpdate{ToolCallID: "c"}); err != nil {
				return acp.PromptResponse{}, err
			}
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}
	var mu sync.Mutex
	var seen []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	agent, end, err := acptest.Connect(t.Context(), asks, nil, &acp.ClientOptions{
		Permission: acp.PermissionFunc(func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			note("?")
			return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := session.Prompt(t.Context(), acp.Text("go"))
	for u := range turn.Updates() {
		note(acp.PlainText(u.(acp.AgentMessageChunk).Content))
	}
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range rounds {
		want = append(want, "a", fmt.Sprint(i), "?")
	}
	if !slices.Equal(seen, want) {
		t.Errorf("%v", seen)
	}
}

func TestAQuestionIsAskedAlsoWhenNobodyReadsTheUpdates(t *testing.T) {
	asked := make(chan struct{})
	asks := &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		s := acp.SessionFrom(ctx)
		if err := s.SendText(ctx, "a"); err != nil {
			return acp.PromptResponse{}, err
		}
		_, _, err := s.AskPermission(ctx, acp.ToolCallUpdate{ToolCallID: "c"})
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
	}}
	agent, end, err := acptest.Connect(t.Context(), asks, nil, &acp.ClientOptions{
		Permission: acp.PermissionFunc(func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			close(asked)
			return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := session.Prompt(t.Context(), acp.Text("go"))
	<-asked // before anybody has begun to read
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
}
