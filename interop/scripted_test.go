//go:build unix

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// The scripted agents, one for each SDK (ts/agent.mjs, py/agent.py, sdkagent_test.go), all do the same. By the prompt:
//
//	create PATH: TEXT   a tool call with a diff, a permission and, if that is granted, a write through the client
//	read PATH           says what the client reads
//	run COMMAND         a tool call with the client's terminal in it; says "exit CODE: OUTPUT"
//	plan                a plan of two entries
//	call METHOD         calls a method of the client that the protocol does not have; says "answer JSON" or "error CODE"
//	wait                nothing, until the turn is cancelled
//
// and says "You said: …" to everything else, in pieces. They replay a session when it is loaded, list sessions by folder,
// have the modes ask and code, and answer _interop/echo with what they got. They live in one process and forget with it.

// scriptedAgents are the commands of the agents that other SDKs made.
func scriptedAgents() map[string][]string {
	return map[string][]string{
		"TypeScript": {"node", filepath.Join(installed.ts, "agent.mjs")},
		"Python":     {installed.python, filepath.Join(installed.py, "agent.py")},
	}
}

func TestOurClientDrivesTheAgentsOfTheOfficialSDKs(t *testing.T) {
	for name, command := range scriptedAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"a.txt": "from the file"})
			agent := spawn(t, acp.PermissionAllowOnce, command[0], command[1:]...)
			s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "x.txt")
			asks := []struct{ prompt, answer string }{
				{"hello you", "You said: hello you"},
				{"create " + path + ": made", "created"},
				{"read " + filepath.Join(dir, "a.txt"), "from the file"},
				{"run echo out; exit 3", "exit 3: out"},
				{"call _interop/nobody_has_this", "error -32601"},
				{"call _interop/client", `answer {"got":1}`},
			}
			for _, tt := range asks {
				said, ends, stop := turn(t, s, tt.prompt)
				if got := strings.ReplaceAll(strings.TrimSpace(said), `{"got": 1}`, `{"got":1}`); got != tt.answer || stop != acp.StopEndTurn {
					t.Errorf("to %q the agent said %q and ended with %s", tt.prompt, said, stop)
				}
				for id, status := range ends {
					if status != acp.ToolCallCompleted {
						t.Errorf("the call %s of %q ended as %s", id, tt.prompt, status)
					}
				}
			}
			if got, _ := onDisk(t, path); got != "made" {
				t.Errorf("the file holds %q", got)
			}
			planTurn(t, s)
			cancelWaiting(t, s)
			setMode(t, s)
			listed(t, agent, dir, s.ID())
			reload(t, agent, dir, s.ID(), asks[0].prompt, asks[0].answer)

			var echo map[string]any
			if err := agent.CallExtension(t.Context(), "_interop/echo", map[string]any{"x": "y"}, &echo); err != nil || echo["x"] != "y" {
				t.Errorf("the echo is %v, %v", echo, err)
			}
			err = agent.CallExtension(t.Context(), "_interop/nobody_has_this", map[string]any{}, nil)
			if !errors.Is(err, &acp.RequestError{Code: acp.CodeMethodNotFound}) {
				t.Errorf("a method that the agent does not have: %v, expected -32601", err)
			}
			if err := agent.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func TestAScriptedAgentWhoseEditIsRefusedWritesNothing(t *testing.T) {
	for name, command := range scriptedAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, nil)
			agent := spawn(t, acp.PermissionRejectOnce, command[0], command[1:]...)
			s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "x.txt")
			said, ends, _ := turn(t, s, "create "+path+": made")
			if strings.TrimSpace(said) != "refused" || len(ends) != 1 {
				t.Errorf("the agent said %q and had the calls %v", said, ends)
			}
			for id, status := range ends {
				if status != acp.ToolCallFailed {
					t.Errorf("the call %s ended as %s", id, status)
				}
			}
			if _, there := onDisk(t, path); there {
				t.Error("the refused file is there")
			}
		})
	}
}

func planTurn(t *testing.T, s *acp.Session) {
	t.Helper()
	p := s.Prompt(t.Context(), acp.Text("plan"))
	var plans []acp.Plan
	for u := range p.Updates() {
		if plan, ok := u.(acp.Plan); ok {
			plans = append(plans, plan)
		}
	}
	if _, err := p.Result(); err != nil {
		t.Fatalf("plan: %v", err)
	}
	if len(plans) != 1 || len(plans[0].Entries) != 2 || plans[0].Entries[0].Content != "look" || plans[0].Entries[0].Status != acp.PlanInProgress {
		t.Errorf("the plan is %+v", plans)
	}
}

func cancelWaiting(t *testing.T, s *acp.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if result, err := s.Prompt(ctx, acp.Text("wait")).Result(); err != nil || result.StopReason != acp.StopCancelled {
		t.Errorf("a turn whose context ended: %q, %v, expected cancelled", result.StopReason, err)
	}
	if said, _, _ := turn(t, s, "again"); strings.TrimSpace(said) != "You said: again" {
		t.Errorf("the prompt after the cancelled one was answered %q", said)
	}
}

func setMode(t *testing.T, s *acp.Session) {
	t.Helper()
	if modes := s.State().Modes(); modes == nil || modes.CurrentModeID != "ask" || len(modes.AvailableModes) != 2 {
		t.Errorf("the modes of the new session are %+v", modes)
	}
	if err := s.SetMode(t.Context(), "code"); err != nil {
		t.Errorf("set the mode: %v", err)
	}
	if modes := s.State().Modes(); modes == nil || modes.CurrentModeID != "code" {
		t.Errorf("the modes after the change are %+v", modes)
	}
}

func listed(t *testing.T, agent *acp.RemoteAgent, dir string, id acp.SessionID) {
	t.Helper()
	for cwd, want := range map[string]int{dir: 1, filepath.Join(dir, "elsewhere"): 0} {
		list, err := agent.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: cwd})
		if err != nil || len(list.Sessions) != want || want == 1 && list.Sessions[0].SessionID != id {
			t.Errorf("the sessions of %s are %+v, %v", cwd, list.Sessions, err)
		}
	}
}

func reload(t *testing.T, agent *acp.RemoteAgent, dir string, id acp.SessionID, prompt, answer string) {
	t.Helper()
	load := agent.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: id, Cwd: dir})
	var prompts, answers []string
	for u := range load.Updates() {
		switch u := u.(type) {
		case acp.UserMessageChunk:
			prompts = append(prompts, acp.PlainText(u.Content))
		case acp.AgentMessageChunk:
			answers = append(answers, acp.PlainText(u.Content))
		}
	}
	if _, err := load.Result(); err != nil {
		t.Fatalf("load: %v", err)
	}
	if len(prompts) < 7 || len(prompts) != len(answers) || prompts[0] != prompt || answers[0] != answer {
		t.Errorf("the replay has the prompts %q and the answers %q", prompts, answers)
	}
}

func TestTheOfficialSDKsDriveAnAgentOfOurSDK(t *testing.T) {
	for name, client := range sdkClients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{"a.txt": "on disk"})
			file, made := filepath.Join(dir, "a.txt"), filepath.Join(dir, "made.txt")
			prompt := func(text string, answers ...string) step {
				return step{Do: "prompt", Session: "s", Text: text, Answers: answers}
			}
			p := playBy(t, client, t.TempDir(), scenario{Files: true, Terminals: true, Buffers: map[string]string{file: "in the buffer"}, Steps: []step{
				{Do: "initialize"},
				{Do: "new", Session: "s", Cwd: dir},
				prompt("hello you"),
				prompt("create "+made+": by the agent", "allow_once"),
				prompt("create "+made+".no: by the agent", "reject_once"),
				prompt("create "+made+".no: by the agent", "cancelled"),
				prompt("read " + file),
				prompt("run echo out; exit 3"),
				prompt("plan"),
				prompt("call _interop/nobody_has_this"),
				{Do: "prompt", Session: "s", Text: "run sleep 60", CancelAt: "in_progress"},
				{Do: "request", Method: "session/set_mode", Session: "s", Params: map[string]any{"modeId": "code"}},
				{Do: "request", Method: "session/list", Params: map[string]any{"cwd": dir}},
				{Do: "request", Method: "_interop/echo", Params: map[string]any{"x": "y"}},
				{Do: "load", Session: "s", Cwd: dir},
				{Do: "request", Method: "_interop/nobody_has_this", Fails: -32601},
			}}, installed.self, agentCommand)

			for i, want := range map[int]string{
				2: "You said: hello you", 3: "created", 4: "refused", 5: "refused", 6: "in the buffer", 7: "exit 3: out", 8: "planned", 9: "error -32601",
			} {
				if got := strings.TrimSpace(spoken(p.Steps[i].Updates, "agent_message_chunk")); got != want {
					t.Errorf("step %d: the agent said %q, expected %q", i, got, want)
				}
			}
			for i, want := range map[int]string{3: "completed", 4: "failed", 5: "failed", 7: "completed", 10: "failed"} {
				assertCalls(t, p.Steps[i].Updates, want)
			}
			if got, _ := onDisk(t, made); got != "by the agent" {
				t.Errorf("made.txt holds %q", got)
			}
			if _, there := onDisk(t, made+".no"); there {
				t.Error("the refused file is there")
			}
			if plan := lastPlan(p.Steps[8].Updates); len(plan) != 2 || plan[0].Content != "look" {
				t.Errorf("the plan is %+v", plan)
			}
			if got := p.Steps[10].stopReason(); got != "cancelled" {
				t.Errorf("the cancelled turn ended with %q", got)
			}
			if !strings.Contains(string(p.Steps[12].Response), p.Sessions["s"]) {
				t.Errorf("the list is %s", p.Steps[12].Response)
			}
			var echo map[string]any
			if err := json.Unmarshal(p.Steps[13].Response, &echo); err != nil || echo["x"] != "y" {
				t.Errorf("the echo is %s", p.Steps[13].Response)
			}
			if got := spoken(p.Steps[14].Updates, "user_message_chunk"); !strings.HasPrefix(got, "hello you") {
				t.Errorf("the replayed prompts are %q", got)
			}
			var methods []string
			for _, c := range p.Terminals {
				methods = append(methods, c.Method)
			}
			if want := []string{"create", "wait_for_exit", "output", "release"}; len(methods) < 4 || !slices.Equal(methods[:4], want) || !slices.Equal(methods[len(methods)-1:], want[3:]) {
				t.Errorf("the terminals were used as %v", methods)
			}
		})
	}
}
