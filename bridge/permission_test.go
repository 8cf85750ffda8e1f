package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/tool"
)

// always answers with the option of a kind.
func always(kind acp.PermissionOptionKind) func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
	return func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome { return pick(req, kind) }
}

const touch = `[[call: run {"command":"echo x >> ran"}]] [[text: done]]`

func TestAPermissionShowsTheCommandTheFolderAndWhyItIsAsked(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = always(acp.PermissionRejectOnce)
	prompt(t, r.open(t), touch)
	req := r.client.questions()[0]
	shown := text(acp.ToolCall{Content: req.ToolCall.Content})
	for _, want := range []string{"echo x >> ran", r.folder, "Asked because: mode ask: commands are asked", "exactly this command in this folder"} {
		if !strings.Contains(shown, want) {
			t.Errorf("it does not show %q: %q", want, shown)
		}
	}
	if req.ToolCall.Title != "echo x >> ran" || req.ToolCall.Status != acp.ToolCallPending || !strings.Contains(string(req.ToolCall.RawInput), "echo x") {
		t.Errorf("asked for %+v", req.ToolCall)
	}
}

func TestAllowOnceAndRejectOnceAreAlwaysThere(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{Elicitation: newForms(acp.ElicitationCancelAction{})})
	r.client.answer = always(acp.PermissionRejectOnce)
	s := r.open(t)
	write(t, r.folder, ".env", "A=1\n")
	prompt(t, s, touch)
	prompt(t, s, `[[call: create {"path":"a","content":"b"}]] [[call: create {"path":".git/hooks/x","content":"b"}]] [[call: view {"path":".env"}]] [[call: add_root {"path":"/","reason":"x"}]] [[text: done]]`)
	if err := s.SetMode(t.Context(), "plan"); err != nil {
		t.Fatal(err)
	}
	prompt(t, s, `[[call: submit_plan {"plan":"p"}]] [[text: done]]`)
	asked := r.client.questions()
	if len(asked) != 6 {
		t.Fatalf("asked %d times", len(asked))
	}
	for _, req := range asked {
		kinds := map[acp.PermissionOptionKind]int{}
		ids := map[acp.PermissionOptionID]bool{}
		for _, o := range req.Options {
			kinds[o.Kind]++
			ids[o.OptionID] = true
			if !o.Kind.Known() || o.Name == "" {
				t.Errorf("%s: the option %+v", req.ToolCall.Title, o)
			}
		}
		if kinds[acp.PermissionAllowOnce] != 1 || kinds[acp.PermissionRejectOnce] == 0 || len(ids) != len(req.Options) {
			t.Errorf("%s: the options are %+v", req.ToolCall.Title, req.Options)
		}
	}
}

func TestARejectionWithAReasonReachesTheModelAndTheTurnGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		form acp.ElicitationAction
		want string
	}{
		"with a reason": {acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{"reason": acp.ElicitationString("use make")}}, "saying: use make"},
		"form closed":   {acp.ElicitationCancelAction{}, "The person refused this."},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForms(test.form)
			r := connectScripted(t, acp.ClientOptions{Elicitation: f})
			r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
				return acp.SelectedPermissionOutcome{OptionID: req.Options[len(req.Options)-1].OptionID}
			}
			resp, live := prompt(t, r.open(t), touch)
			if resp.StopReason != acp.StopEndTurn || !strings.Contains(fold(live).text("agent"), "done") || !strings.Contains(r.told(t), test.want) {
				t.Errorf("stopped by %q; the model was told %q", resp.StopReason, r.told(t))
			}
			if last := r.client.questions()[0].Options; last[len(last)-1].Name != "Reject and say why" || last[len(last)-1].Kind != acp.PermissionRejectOnce {
				t.Errorf("the options are %+v", last)
			}
			if _, err := os.Stat(filepath.Join(r.folder, "ran")); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

func TestACommandAllowedForTheSessionIsThatCommandAloneAndCanBeTakenBack(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = always(acp.PermissionAllowAlways)
	s := r.open(t)
	prompt(t, s, touch)
	prompt(t, s, touch)
	if n := len(r.client.questions()); n != 1 {
		t.Fatalf("asked %d times for one command", n)
	}
	if o := r.client.questions()[0].Options[1]; o.Name != "Allow `echo x >> ran` this session" || o.Kind != acp.PermissionAllowAlways {
		t.Errorf("the option is %+v", o)
	}
	r.client.mu.Lock()
	r.client.answer = always(acp.PermissionRejectOnce)
	r.client.mu.Unlock()
	prompt(t, s, `[[call: run {"command":"echo x >> ran; true"}]] [[call: create {"path":"a","content":"b"}]] [[text: done]]`)
	if n := len(r.client.questions()); n != 3 {
		t.Errorf("asked %d times: another command and an edit must ask", n)
	}

	// Another process loads it: the rule is there, and is taken back there.
	load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	s, err := load.Result()
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, s, touch)
	if n := len(r.client.questions()); n != 3 {
		t.Errorf("after load it asks for the allowed command")
	}
	_, live := prompt(t, s, "/permissions")
	if got := fold(live).text("agent"); !strings.Contains(got, "1. exactly the command `echo x >> ran` in `"+r.folder+"`") {
		t.Errorf("/permissions: %q", got)
	}
	_, live = prompt(t, s, "/permissions forget 2")
	if got := fold(live).text("agent"); !strings.Contains(got, "There is no permission") {
		t.Errorf("forgetting what is not there: %q", got)
	}
	prompt(t, s, "/permissions forget 1")
	prompt(t, s, touch)
	if n := len(r.client.questions()); n != 4 {
		t.Errorf("asked %d times: a forgotten command must ask", n)
	}
	if got := read(t, filepath.Join(r.folder, "ran")); got != "x\nx\nx\n" {
		t.Errorf("it ran %d times", strings.Count(got, "x"))
	}
}

func TestEverythingAllowedIsListedAndForgottenTogether(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		if slices.ContainsFunc(req.Options, func(o acp.PermissionOption) bool { return o.Kind == acp.PermissionAllowAlways }) {
			return pick(req, acp.PermissionAllowAlways)
		}
		return pick(req, acp.PermissionAllowOnce)
	}
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := r.open(t)
	_, live := prompt(t, s, "/permissions")
	if got := fold(live).text("agent"); !strings.Contains(got, "Nothing further is allowed") {
		t.Errorf("at first: %q", got)
	}
	all := fmt.Sprintf(`[[call: create {"path":"a","content":"b"}]] [[call: run {"command":"true"}]] [[call: add_root {"path":%q,"reason":"x"}]] [[text: done]]`, other)
	prompt(t, s, all)
	_, live = prompt(t, s, "/permissions")
	for _, want := range []string{"1. every edit", "2. exactly the command `true`", "3. work in the folder `" + other} {
		if got := fold(live).text("agent"); !strings.Contains(got, want) {
			t.Errorf("%q is not listed: %q", want, got)
		}
	}
	prompt(t, s, "/permissions forget all")
	before := len(r.client.questions())
	prompt(t, s, strings.Replace(all, `"path":"a"`, `"path":"c"`, 1))
	if n := len(r.client.questions()) - before; n != 3 {
		t.Errorf("after forgetting all, %d of 3 ask", n)
	}
}

func TestParallelQuestionsKeepTheirOwnIDs(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	var mu sync.Mutex
	waiting, both := 0, make(chan struct{})
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		mu.Lock()
		if waiting++; waiting == 2 {
			close(both)
		}
		mu.Unlock()
		<-both // both are open at once
		if strings.Contains(string(req.ToolCall.RawInput), "yes") {
			return pick(req, acp.PermissionAllowOnce)
		}
		return pick(req, acp.PermissionRejectOnce)
	}
	s := r.open(t)
	write(t, r.folder, "yes.env", "A=readable\n")
	write(t, r.folder, "no.env", "A=unreadable\n")
	_, live := prompt(t, s, `[[call: view {"path":"no.env"}]] [[call: view {"path":"yes.env"}]] [[text: done]]`)
	calls := fold(live).Calls
	if len(calls) != 2 || calls[0].ToolCallID == calls[1].ToolCallID {
		t.Fatalf("%+v", calls)
	}
	for _, c := range calls {
		want := acp.ToolCallFailed
		if strings.Contains(c.Title, "yes.env") {
			want = acp.ToolCallCompleted
		}
		if c.Status != want {
			t.Errorf("%s: %s", c.Title, c.Status)
		}
	}
	if told := r.told(t); !strings.Contains(told, "A=readable") || strings.Contains(told, "A=unreadable") {
		t.Errorf("the model was told %q", told)
	}
}

func TestADismissedQuestionCancelsTheTurnAndTheNextPromptIsAnswered(t *testing.T) {
	r := connectScripted(t, acp.ClientOptions{})
	r.client.answer = func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return acp.CancelledPermissionOutcome{}
	}
	s := r.open(t)
	if resp, live := prompt(t, s, touch); resp.StopReason != acp.StopCancelled || fold(live).Calls[0].Status != acp.ToolCallFailed {
		t.Errorf("stopped by %q, the call is %q", resp.StopReason, fold(live).Calls[0].Status)
	}
	if resp, live := prompt(t, s, "[[anew]] [[text: here I am]]"); resp.StopReason != acp.StopEndTurn || !strings.Contains(fold(live).text("agent"), "here I am") {
		t.Errorf("then stopped by %q with %q", resp.StopReason, fold(live).text("agent"))
	}
}

func TestAnOptionDoesNotRepeatACommandThatCouldLookLikeAnother(t *testing.T) {
	for line, named := range map[string]bool{
		"go test ./...": true, "echo é": true,
		"ls \u202Eflr- mr": false, "ls\r\x1b[2Krm": false, "a`b": false, "a\nb": false, "a\u200bb": false,
	} {
		q := agent.Question{Presentation: tool.Presentation{Command: &tool.CommandView{Line: line}}}
		if got := allowCommand(q); strings.Contains(got, line) != named {
			t.Errorf("%q: %q", line, got)
		}
	}
}
