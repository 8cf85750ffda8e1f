package acptest_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

// hello is the smallest agent there is.
type hello struct{}

func (hello) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (hello) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	err := acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text("Hello from Go!")})
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
}

// keeper keeps its sessions. Its fields break it.
type keeper struct {
	sameID, anyFolder, anySession, oddStop, oddUpdate, lateUpdate, wrongSession, deaf, serial, clings, leaks, forgets, hoards, lax bool

	mu       sync.Mutex
	sessions map[acp.SessionID]*kept
	one      sync.Mutex // with serial
	release  chan struct{}
}

type kept struct {
	cwd  string
	said []string
}

func (k *keeper) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if !k.anyFolder && !filepath.IsAbs(req.Cwd) {
		return acp.NewSessionResponse{}, acp.InvalidParams("cwd is not absolute")
	}
	id := acp.NewSessionID()
	if k.sameID {
		id = "same"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil {
		k.sessions = make(map[acp.SessionID]*kept)
	}
	k.sessions[id] = &kept{cwd: req.Cwd}
	return acp.NewSessionResponse{SessionID: id, Modes: &acp.SessionModeState{CurrentModeID: "only", AvailableModes: []acp.SessionMode{{ID: "only", Name: "Only"}}}}, nil
}

func (k *keeper) find(id acp.SessionID) (*kept, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.sessions[id]; s != nil || k.anySession {
		return s, nil
	}
	return nil, acp.SessionNotFound(id)
}

func (k *keeper) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	s, err := k.find(req.SessionID)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	if k.serial {
		k.one.Lock()
		defer k.one.Unlock()
	}
	text := acp.PlainText(req.Prompt...)
	if s != nil {
		k.mu.Lock()
		s.said = append(s.said, text)
		k.mu.Unlock()
	}
	to := req.SessionID
	if k.wrongSession {
		to = "other"
	}
	client := acp.ClientFrom(ctx)
	if err := client.Update(ctx, to, acp.AgentMessageChunk{Content: acp.Text("you said " + text)}); err != nil {
		return acp.PromptResponse{}, err
	}
	if k.oddUpdate {
		_ = client.Update(ctx, to, acp.UnknownSessionUpdate{Tag: "odd", Raw: []byte(`{"sessionUpdate":"odd"}`)})
	}
	if k.lateUpdate {
		acp.AfterResponse(ctx, func(ctx context.Context) {
			_ = client.Update(ctx, to, acp.AgentMessageChunk{Content: acp.Text("and another thing")})
		})
	}
	if k.leaks {
		go func() { <-k.release }()
	}
	if text == "wait" {
		switch {
		case k.clings:
			<-k.release
		case k.deaf: // until the connection is gone
			for !errors.Is(context.Cause(ctx), acp.ErrConnectionClosed) {
				select {
				case <-client.Done():
					return acp.PromptResponse{}, client.Err()
				case <-k.release:
					return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
				}
			}
		default:
			<-ctx.Done()
			return acp.PromptResponse{}, ctx.Err()
		}
	}
	if k.oddStop {
		return acp.PromptResponse{StopReason: "bored"}, nil
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}

func (k *keeper) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	s, err := k.find(req.SessionID)
	if err != nil || s == nil || k.forgets {
		return acp.LoadSessionResponse{}, err
	}
	for _, text := range s.said {
		if err := acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.UserMessageChunk{Content: acp.Text(text)}); err != nil {
			return acp.LoadSessionResponse{}, err
		}
	}
	return acp.LoadSessionResponse{}, nil
}

func (k *keeper) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var r acp.ListSessionsResponse
	for id, s := range k.sessions {
		info := acp.SessionInfo{SessionID: id, Cwd: s.cwd}
		if k.forgets {
			info.Cwd = "here"
		}
		r.Sessions = append(r.Sessions, info)
	}
	return r, nil
}

func (k *keeper) DeleteSession(_ context.Context, req acp.DeleteSessionRequest) (acp.DeleteSessionResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.hoards {
		delete(k.sessions, req.SessionID)
	}
	return acp.DeleteSessionResponse{}, nil
}

func (k *keeper) SetSessionMode(_ context.Context, req acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	if req.ModeID != "only" && !k.lax {
		return acp.SetSessionModeResponse{}, acp.InvalidParams("there is no mode %q", req.ModeID)
	}
	return acp.SetSessionModeResponse{}, nil
}

func TestTheSmallestAgentPasses(t *testing.T) {
	acptest.TestAgent(t, func() acp.Agent { return hello{} }, &acptest.TestOptions{Minimal: true})
}

func TestAnAgentOfFunctionsPasses(t *testing.T) {
	acptest.TestAgent(t, func() acp.Agent {
		return &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			if acp.PlainText(req.Prompt...) == "wait" {
				<-ctx.Done()
				return acp.PromptResponse{}, ctx.Err()
			}
			return chatty(3).Prompt(ctx, req)
		}}
	}, &acptest.TestOptions{Minimal: true, LongPrompt: []acp.ContentBlock{acp.Text("wait")}})
}

func TestAnAgentThatKeepsItsSessionsPasses(t *testing.T) {
	acptest.TestAgent(t, func() acp.Agent { return &keeper{} }, &acptest.TestOptions{LongPrompt: []acp.ContentBlock{acp.Text("wait")}})
}

// careless advertises nothing, but has a method that nobody can call.
type careless struct{ hello }

func (careless) LoadSession(context.Context, *acp.LoadSessionRequest) error { return nil }

func TestEachCheckFindsWhatItIsThereFor(t *testing.T) {
	for _, tc := range []struct {
		check  string
		broken func(*keeper)
		want   string
	}{
		{"each session has an id of its own", func(k *keeper) { k.sameID = true }, `two sessions have the id "same"`},
		{"a relative folder is refused", func(k *keeper) { k.anyFolder = true }, "session/new is answered with a result"},
		{"a prompt of an unknown session is refused", func(k *keeper) { k.anySession = true }, "session/prompt is answered with a result"},
		{"an unknown session is refused where sessions can be loaded or resumed", func(k *keeper) { k.anySession = true }, "session/load is answered with a result"},
		{"sessions that are listed have an id and an absolute folder", func(k *keeper) { k.forgets = true }, `the folder "here"`},
		{"a session that has had a turn is loaded with its replay, on a new connection too", func(k *keeper) { k.forgets = true }, "not among the 0 updates"},
		{"a session that is deleted is not listed any more", func(k *keeper) { k.hoards = true }, "still listed"},
		{"a mode that does not exist is refused", func(k *keeper) { k.lax = true }, "session/set_mode is answered with a result"},
		{"a prompt is answered with a stop reason, after all of its updates", func(k *keeper) { k.oddStop = true }, `the stop reason is "bored"`},
		{"a prompt is answered with a stop reason, after all of its updates", func(k *keeper) { k.oddUpdate = true }, `an update has the kind "odd"`},
		{"a prompt is answered with a stop reason, after all of its updates", func(k *keeper) { k.lateUpdate = true }, "(acp.AgentMessageChunk) came after its answer"},
		{"a prompt is answered with a stop reason, after all of its updates", func(k *keeper) { k.wrongSession = true }, `an update is for the session "other"`},
		{"a prompt is answered with a stop reason, after all of its updates", func(k *keeper) { k.leaks = true }, "goroutines of the agent still run"},
		{"two sessions work side by side", func(k *keeper) { k.serial = true }, "no end within"},
		{"a cancelled turn is answered in time, and the session goes on", func(k *keeper) { k.deaf = true }, "no answer 200ms after session/cancel"},
		{"a cancelled request is answered in time", func(k *keeper) { k.deaf = true }, "no answer 200ms after $/cancel_request"},
		{"the agent ends when its input does, also during a turn", func(k *keeper) { k.clings = true }, "has not ended 200ms after its input has"},
	} {
		t.Run(tc.check+"/"+tc.want, func(t *testing.T) {
			release := make(chan struct{})
			o := &acptest.TestOptions{LongPrompt: []acp.ContentBlock{acp.Text("wait")}, Timeout: 2 * time.Second, CancelWithin: 200 * time.Millisecond}
			err := acptest.CheckAgent(tc.check, func() acp.Agent {
				k := &keeper{release: release}
				tc.broken(k)
				return k
			}, o)
			close(release)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("no %q in: %v", tc.want, err)
			}
			if err := acptest.CheckAgent(tc.check, func() acp.Agent { return &keeper{} }, &acptest.TestOptions{LongPrompt: o.LongPrompt}); err != nil {
				t.Errorf("without the fault: %v", err)
			}
		})
	}
	err := acptest.CheckAgent("what is advertised is implemented, and what is implemented can be called", func() acp.Agent { return careless{} }, &acptest.TestOptions{})
	if err == nil || !strings.Contains(err.Error(), "LoadSession") {
		t.Errorf("a method with another signature: %v", err)
	}
}
