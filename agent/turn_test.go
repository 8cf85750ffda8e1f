package agent

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// TestMain lets the test binary be an MCP server, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serveMCP()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestATurnStreamsTheAnswerAndKeepsIt(t *testing.T) {
	r := newRig(t, nil, says("Hello", ", ", "world"))
	result := r.turn(t, t.Context(), "Greet the world\nplease")
	if result.Reason != session.StopEndTurn || result.Err != nil {
		t.Fatalf("the turn ended with %q, %v", result.Reason, result.Err)
	}
	var live strings.Builder
	for _, d := range shown[session.MessageDelta](r.face) {
		live.WriteString(d.Text)
	}
	var kept strings.Builder
	for _, d := range stored[session.MessageSaved](t, r) {
		kept.WriteString(d.Text)
	}
	if live.String() != "Hello, world" || kept.String() != "Hello, world" {
		t.Errorf("shown %q, kept %q", live.String(), kept.String())
	}
	if title := r.session.State().Title; title != "Greet the world" {
		t.Errorf("the title is %q", title)
	}
	if n := len(stored[session.MessageDelta](t, r)); n != 0 {
		t.Errorf("%d deltas were stored", n)
	}
}

func TestTheModelSeesTheWholeConversationInTheNextTurn(t *testing.T) {
	r := newRig(t, nil, says("one"), says("two"))
	r.turn(t, t.Context(), "first")
	r.turn(t, t.Context(), "second")
	var roles []string
	for _, m := range r.model.requests()[1].Messages {
		roles = append(roles, string(m.Role)+":"+m.Parts[0].(model.Text).Text)
	}
	if got := strings.Join(roles, " "); got != "user:first assistant:one user:second" {
		t.Errorf("the model saw %q", got)
	}
}

func editTool(run func(ctx context.Context, out tool.Output) tool.Result) tool.Tool {
	return fakeTool{spec: tool.Spec{Name: "edit"}, class: approval.ClassEdit, run: run}
}

func TestACallIsAskedForBeforeItRunsAndTheAnswerIsKept(t *testing.T) {
	ran := false
	r := newRig(t, []tool.Tool{editTool(func(context.Context, tool.Output) tool.Result {
		ran = true
		return tool.Result{Text: "edited"}
	})}, calls(call("c1", "edit", "{}")), says("ok"))
	r.face.ask = func(_ context.Context, q Question) (Answer, error) {
		if ran {
			t.Error("the call ran before it was asked for")
		}
		return Answer{Allowed: true}, nil
	}
	r.turn(t, t.Context(), "edit it")
	if !ran {
		t.Fatal("the call did not run")
	}
	asked, answered := stored[session.PermissionAsked](t, r), stored[session.PermissionAnswered](t, r)
	if len(asked) != 1 || len(answered) != 1 || answered[0].Answer != session.Allowed ||
		answered[0].Digest != asked[0].Digest || answered[0].By != "test client" {
		t.Errorf("asked %+v, answered %+v", asked, answered)
	}
}

func TestARejectionStopsTheCallAndItsReasonReachesTheModel(t *testing.T) {
	r := newRig(t, []tool.Tool{editTool(func(context.Context, tool.Output) tool.Result {
		t.Error("a rejected call ran")
		return tool.Result{}
	})}, calls(call("c1", "edit", "{}")), says("understood"))
	r.face.ask = func(context.Context, Question) (Answer, error) { return Answer{Reason: "not that file"}, nil }
	if got := r.turn(t, t.Context(), "edit it"); got.Reason != session.StopEndTurn {
		t.Errorf("the turn ended with %q", got.Reason)
	}
	done := stored[session.CallDone](t, r)
	if len(done) != 1 || done[0].Status != session.CallRefused {
		t.Fatalf("the call ended as %+v", done)
	}
	messages := r.model.requests()[1].Messages
	last := messages[len(messages)-1].Parts[0].(model.ToolResult)
	if text := last.Parts[0].(model.Text).Text; !strings.Contains(text, "not that file") || !last.Failed {
		t.Errorf("the model was told %q", text)
	}
}

func TestAllowedForTheSessionIsAskedOnceAndCoversEditsOnly(t *testing.T) {
	shell := fakeTool{spec: tool.Spec{Name: "run"}, class: approval.ClassExecute}
	r := newRig(t, []tool.Tool{editTool(nil), shell},
		calls(call("c1", "edit", "{}"), call("c1", "edit", "{}"), call("c2", "run", "{}")), says("ok"))
	r.face.ask = func(_ context.Context, q Question) (Answer, error) {
		return Answer{Allowed: true, Scope: q.Scopes[len(q.Scopes)-1]}, nil
	}
	r.turn(t, t.Context(), "edit twice and run")
	var tools []string
	for _, q := range r.face.questions() {
		tools = append(tools, q.Tool)
	}
	if got := strings.Join(tools, " "); got != "edit run" {
		t.Errorf("asked for %q", got)
	}
	for _, a := range stored[session.PermissionAnswered](t, r)[1:] {
		if a.Scope != approval.ScopeOnce {
			t.Errorf("a command was allowed for %q", a.Scope)
		}
	}
	ids := map[string]bool{}
	for _, c := range stored[session.CallRequested](t, r) {
		ids[c.Call] = true
	}
	if len(ids) != 3 {
		t.Errorf("three calls have %d ids", len(ids))
	}
}

func TestAYesToMoreThanWasAskedIsANo(t *testing.T) {
	shell := fakeTool{spec: tool.Spec{Name: "run"}, class: approval.ClassExecute, run: func(context.Context, tool.Output) tool.Result {
		t.Error("the command ran")
		return tool.Result{}
	}}
	r := newRig(t, []tool.Tool{shell}, calls(call("c", "run", "{}")), says("ok"))
	r.face.ask = func(context.Context, Question) (Answer, error) {
		return Answer{Allowed: true, Scope: approval.ScopeSession}, nil
	}
	r.turn(t, t.Context(), "run")
	if a := stored[session.PermissionAnswered](t, r); a[0].Answer != session.Rejected || r.session.State().Edits {
		t.Errorf("the answer is %+v", a)
	}
}

func TestAModeOfThisProcessIsNotStoredAndOutlastsTheStoredOne(t *testing.T) {
	r := newRig(t, nil)
	if err := r.session.SetMode(t.Context(), approval.ModeAuto); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []approval.Mode{approval.ModeOff, approval.ModeAsk, ""} {
		opts := r.agent.opts
		opts.Mode = mode
		a, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Open(t.Context(), r.session.ID(), nil, nil, &fakeFace{})
		if err != nil {
			t.Fatal(err)
		}
		want := mode
		if mode == "" {
			want = approval.ModeAuto
		}
		if got := s.Mode(); got != want || s.policy().Mode != want {
			t.Errorf("with mode %q in this process it is %q", mode, got)
		}
		if got := s.State().Mode; got != approval.ModeAuto {
			t.Errorf("with mode %q in this process %q is stored", mode, got)
		}
		if err := s.SetMode(t.Context(), approval.ModeEdits); (err != nil) != (mode == approval.ModeOff) {
			t.Errorf("choosing another mode in a process with %q: %v", mode, err)
		}
		if err := s.SetMode(t.Context(), approval.ModeAuto); (err != nil) != (mode == approval.ModeOff) {
			t.Errorf("choosing the stored mode in a process with %q: %v", mode, err)
		}
	}
}

func TestAConversationReplayedInTheMiddleOfATurnIsWholeAndTheTurnGoesOn(t *testing.T) {
	half, goOn := make(chan struct{}), make(chan struct{})
	r := newRig(t, nil, func(ctx context.Context, yield func(model.Event, error) bool) {
		yield(model.TextDelta{Text: "first "}, nil)
		close(half)
		<-goOn
		says("second")(ctx, yield)
	})
	ended := make(chan TurnResult)
	go func() { ended <- r.turn(t, t.Context(), "go") }()
	<-half
	if err := r.session.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if got := <-ended; got.Reason != session.StopEndTurn {
		t.Errorf("the turn ended with %q", got.Reason)
	}
	var text strings.Builder
	for _, d := range shown[session.MessageDelta](r.face) {
		text.WriteString(d.Text)
	}
	if got := text.String(); got != "first second" {
		t.Errorf("since the replay began, %q was shown", got)
	}
}

func TestAFileThatChangesBeforeTheWriteIsAskedForAgainWithTheNewDiff(t *testing.T) {
	contents, writes := []string{"old", "newer"}, 0
	edit := fakeTool{
		spec: tool.Spec{Name: "edit"}, class: approval.ClassEdit,
		prepare: func(string) (tool.Presentation, error) {
			old := contents[min(writes, 1)]
			return tool.Presentation{Title: "edit", Stale: writes > 0, Diffs: []tool.Diff{{Path: "/f", Old: &old, New: "x"}}}, nil
		},
		run: func(context.Context, tool.Output) tool.Result {
			writes++
			return tool.Result{Text: "edited", ChangedBase: writes == 1}
		},
	}
	r := newRig(t, []tool.Tool{edit}, calls(call("c1", "edit", "{}")), says("ok"))
	r.face.ask = func(context.Context, Question) (Answer, error) { return Answer{Allowed: true}, nil }
	r.turn(t, t.Context(), "edit it")
	asked := r.face.questions()
	if len(asked) != 2 || *asked[1].Presentation.Diffs[0].Old != "newer" {
		t.Fatalf("asked %d times: %+v", len(asked), asked)
	}
	answers := stored[session.PermissionAnswered](t, r)
	if answers[0].Digest == answers[1].Digest {
		t.Error("both approvals are bound to the same digest")
	}
}

func TestNobodyToAskMeansRefusedAndEndsTheTurn(t *testing.T) {
	r := newRig(t, []tool.Tool{editTool(func(context.Context, tool.Output) tool.Result {
		t.Error("a call ran unasked")
		return tool.Result{}
	})}, calls(call("c1", "edit", "{}")), says("never asked"))
	result := r.turn(t, t.Context(), "edit it")
	if result.Reason != session.StopFailed || result.Err == nil {
		t.Fatalf("the turn ended with %q, %v", result.Reason, result.Err)
	}
	if n := len(r.model.requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestAQuestionNobodyAnswersInTimeIsRefused(t *testing.T) {
	store, err := session.OpenSQLite(t.TempDir()+"/wherry.db", session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r := newRigOn(t, store, Options{Tools: []tool.Tool{editTool(nil)}, AskTimeout: 20 * time.Millisecond},
		calls(call("c1", "edit", "{}")), says("ok"))
	r.face.ask = func(ctx context.Context, _ Question) (Answer, error) {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	if got := r.turn(t, t.Context(), "edit it"); got.Reason != session.StopEndTurn {
		t.Errorf("the turn ended with %q", got.Reason)
	}
	if a := stored[session.PermissionAnswered](t, r); a[0].Answer != session.Unanswered {
		t.Errorf("the answer is %+v", a)
	}
}

// TestCancelEndsATurnInEveryPhase cancels where each phase waits.
func TestCancelEndsATurnInEveryPhase(t *testing.T) {
	wait := func(reached chan<- struct{}) func(ctx context.Context) {
		return func(ctx context.Context) {
			close(reached)
			<-ctx.Done()
		}
	}
	phases := map[string]func(hold func(context.Context)) *rig{
		"before the first word": func(hold func(context.Context)) *rig {
			return newRig(t, nil, func(ctx context.Context, yield func(model.Event, error) bool) {
				hold(ctx)
				yield(nil, ctx.Err())
			})
		},
		"in the middle of the answer": func(hold func(context.Context)) *rig {
			return newRig(t, nil, func(ctx context.Context, yield func(model.Event, error) bool) {
				yield(model.TextDelta{Text: "half"}, nil)
				hold(ctx)
				yield(nil, ctx.Err())
			})
		},
		"in a tool": func(hold func(context.Context)) *rig {
			read := fakeTool{spec: tool.Spec{Name: "view"}, class: approval.ClassRead,
				run: func(ctx context.Context, _ tool.Output) tool.Result {
					hold(ctx)
					return tool.Failure("stopped")
				}}
			return newRig(t, []tool.Tool{read}, calls(call("a", "view", "{}"), call("b", "edit", "{}")), says("never"))
		},
		"in a question": func(hold func(context.Context)) *rig {
			r := newRig(t, []tool.Tool{editTool(nil)}, calls(call("a", "edit", "{}")), says("never"))
			r.face.ask = func(ctx context.Context, _ Question) (Answer, error) {
				hold(ctx)
				return Answer{Allowed: true}, nil // a late yes is a no
			}
			return r
		},
	}
	for name, phase := range phases {
		t.Run(name, func(t *testing.T) {
			reached := make(chan struct{})
			r := phase(wait(reached))
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-reached
				cancel(errors.New("the person pressed stop"))
			}()
			begun := time.Now()
			if got := r.turn(t, ctx, "go"); got.Reason != session.StopCancelled || got.Err != nil {
				t.Errorf("the turn ended with %q, %v", got.Reason, got.Err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("it took %s", took)
			}
			for _, d := range stored[session.CallDone](t, r) {
				if d.Status == session.CallCompleted {
					t.Errorf("a call completed: %+v", d)
				}
			}
			if open := r.session.State().Calls; len(open) != 0 {
				t.Errorf("calls are open: %+v", open)
			}
			r.model.steps = append(r.model.steps[:len(r.model.requests()):len(r.model.requests())], says("back"))
			if got := r.turn(t, t.Context(), "again"); got.Reason != session.StopEndTurn {
				t.Errorf("the next turn ended with %q, %v", got.Reason, got.Err)
			}
		})
	}
}

func TestAProvidersFailureIsToldAndWhatWasSaidIsKept(t *testing.T) {
	r := newRig(t, nil, func(_ context.Context, yield func(model.Event, error) bool) {
		yield(model.TextDelta{Text: "half an ans"}, nil)
		yield(nil, &model.Error{Kind: model.ErrCut, Provider: "test", Message: "the answer broke off. Send the prompt again."})
	}, says("whole"))
	result := r.turn(t, t.Context(), "go")
	if result.Reason != session.StopFailed || !strings.Contains(result.Err.Error(), "broke off") {
		t.Fatalf("the turn ended with %q, %v", result.Reason, result.Err)
	}
	ended := stored[session.TurnEnded](t, r)
	if ended[0].ErrorKind != model.ErrCut || !strings.Contains(ended[0].Error, "broke off") {
		t.Errorf("stored %+v", ended[0])
	}
	r.turn(t, t.Context(), "again")
	if text := r.model.requests()[1].Messages[1].Parts[0].(model.Text).Text; text != "half an ans" {
		t.Errorf("of the broken answer the model sees %q", text)
	}
}

func TestAPanicInAModelOrToolEndsTheTurnAndNotTheSession(t *testing.T) {
	boom := fakeTool{spec: tool.Spec{Name: "view"}, class: approval.ClassRead,
		run: func(context.Context, tool.Output) tool.Result { panic("secret detail") }}
	r := newRig(t, []tool.Tool{boom},
		func(context.Context, func(model.Event, error) bool) { panic("secret detail") },
		calls(call("a", "view", "{}")), says("after"))
	if got := r.turn(t, t.Context(), "go"); got.Reason != session.StopFailed || strings.Contains(got.Err.Error(), "secret") {
		t.Errorf("a panicking model: %q, %v", got.Reason, got.Err)
	}
	if got := r.turn(t, t.Context(), "go"); got.Reason != session.StopEndTurn {
		t.Errorf("a panicking tool: %q, %v", got.Reason, got.Err)
	}
	if done := stored[session.CallDone](t, r); done[0].Status != session.CallFailed || strings.Contains(done[0].Result.Text, "secret") {
		t.Errorf("the call ended as %+v", done[0])
	}
}

func TestBadCallsAreAnsweredAndNotRun(t *testing.T) {
	r := newRig(t, []tool.Tool{editTool(nil)},
		calls(call("a", "nosuch", "{}"), call("b", "edit", `{"path": `), call("c", "", "")), says("ok"))
	r.turn(t, t.Context(), "go")
	done := stored[session.CallDone](t, r)
	if len(done) != 3 || len(r.face.questions()) != 0 {
		t.Fatalf("%d calls ended, %d questions", len(done), len(r.face.questions()))
	}
	for i, want := range []string{`no tool "nosuch"`, "not valid JSON", `no tool ""`} {
		if done[i].Status != session.CallFailed || !strings.Contains(done[i].Result.Text, want) {
			t.Errorf("call %d ended as %+v, want %q", i, done[i], want)
		}
	}
}

func TestTurnsOfOneSessionRunOneAfterTheOther(t *testing.T) {
	started := make(chan struct{})
	release := make(chan struct{})
	r := newRig(t, nil, func(_ context.Context, yield func(model.Event, error) bool) {
		close(started)
		<-release
		says("first")(nil, yield)
	}, says("second"))
	first := make(chan TurnResult)
	go func() { first <- r.turn(t, t.Context(), "one") }()
	<-started
	second := make(chan TurnResult)
	go func() { second <- r.turn(t, t.Context(), "two") }()
	select {
	case <-second:
		t.Fatal("the second turn did not wait")
	case <-time.After(30 * time.Millisecond):
	}
	close(release)
	<-first
	<-second
	var order []string
	for _, p := range stored[session.TurnStarted](t, r) {
		order = append(order, p.Prompt[0].Text)
	}
	if got := strings.Join(order, " "); got != "one two" {
		t.Errorf("the turns ran as %q", got)
	}
}

func TestReadOnlyCallsRunSideBySide(t *testing.T) {
	both := make(chan struct{}, 2)
	read := fakeTool{spec: tool.Spec{Name: "view", ReadOnly: true}, class: approval.ClassRead,
		run: func(ctx context.Context, _ tool.Output) tool.Result {
			both <- struct{}{}
			for len(both) < 2 {
				if ctx.Err() != nil {
					return tool.Failure("alone")
				}
			}
			return tool.Result{Text: "met"}
		}}
	r := newRig(t, []tool.Tool{read}, calls(call("a", "view", "{}"), call("b", "view", "{}")), says("ok"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if got := r.turn(t, ctx, "go"); got.Reason != session.StopEndTurn {
		t.Errorf("the turn ended with %q", got.Reason)
	}
}

func TestASessionInUseElsewhereSaysByWhom(t *testing.T) {
	r := newRig(t, nil, says("never"))
	lease, err := r.store.Acquire(t.Context(), r.session.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(t.Context())
	_, err = r.session.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "go"}})
	var held *session.HeldError
	if !errors.As(err, &held) || held.Owner == "" {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatADeadProcessLeftOpenIsClosedWhenTheSessionIsOpenedAndNothingRuns(t *testing.T) {
	r := newRig(t, []tool.Tool{editTool(func(context.Context, tool.Output) tool.Result {
		t.Error("the interrupted call was run again")
		return tool.Result{}
	})}, says("never"))
	lease, err := r.store.Acquire(t.Context(), r.session.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Append(t.Context(),
		session.TurnStarted{Turn: "turn_x", Message: "msg_x", Prompt: []session.Block{{Type: session.BlockText, Text: "go"}}},
		session.MessageSaved{Message: "msg_y", Speaker: session.Assistant, Text: "half"},
		session.CallRequested{Call: session.CallID(1), ModelID: "a", Tool: "edit", Args: []byte("{}")},
		session.CallStarted{Call: session.CallID(1), Rule: "test"},
	); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	face := &fakeFace{}
	s, err := r.agent.Open(t.Context(), r.session.ID(), nil, nil, face)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	done, ended := shown[session.CallDone](face), shown[session.TurnEnded](face)
	if len(done) != 1 || done[0].Status != session.CallInterrupted || len(ended) != 1 || ended[0].Reason != session.StopInterrupted {
		t.Errorf("replayed %+v and %+v", done, ended)
	}
	if saved := shown[session.MessageSaved](face); len(saved) != 1 || saved[0].Text != "half" {
		t.Errorf("of the half-streamed message %+v is shown", saved)
	}
}

func TestTheOfflineModelSaysOnceThatNoneIsConfigured(t *testing.T) {
	r := newRig(t, nil, says("one"), says("two"))
	r.model.info = model.Info{Provider: "offline", Name: "offline", Offline: true}
	r.agent.opts.ModelChosen = false
	r.turn(t, t.Context(), "first")
	r.turn(t, t.Context(), "second")
	if n := len(shown[session.Notice](r.face)); n != 1 {
		t.Errorf("said %d times", n)
	}
}
