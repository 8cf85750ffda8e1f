package agent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/customcmd"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// folderOf gives what a test has in the person's folder.
type folderOf struct {
	files    []customcmd.File
	problems []customcmd.Problem
}

func (f *folderOf) read(string) ([]customcmd.File, []customcmd.Problem) { return f.files, f.problems }

func (f *folderOf) put(name, text string) {
	f.files = append(slices.Clone(f.files), customcmd.File{Path: "commands/" + name + ".md", Data: []byte(text)})
}

// names are those of the commands, without wherry's own.
func customNames(all []Command) (out []string) {
	for _, c := range all[len(commands()):] {
		out = append(out, c.Name)
	}
	return out
}

func TestACommandOfThePersonsOwnGoesToTheModel(t *testing.T) {
	var f folderOf
	f.put("review", "---\ndescription: Review a file\nargument-hint: FILE\n---\nReview $1 with care.")
	r := newRigOn(t, newStore(t), Options{Commands: f.read}, says("reviewed"))
	if got := r.session.Commands(); got[len(got)-1] != (Command{"review", "Review a file", "FILE"}) {
		t.Errorf("%+v", got[len(got)-1])
	}
	r.turn(t, t.Context(), "/review a.go b.go")
	if got := r.model.asked[0].Messages[0].Parts[0].(model.Text).Text; got != "Review a.go with care." {
		t.Errorf("the model got %q", got)
	}
	started := shown[session.TurnStarted](r.face)
	if len(started) != 1 || started[0].Prompt[0].Text != "/review a.go b.go" {
		t.Errorf("the person sees %+v", started)
	}
	r.turn(t, t.Context(), "/help")
	if text := shown[session.CommandAnswered](r.face)[0].Text; !strings.Contains(text, "- `/review FILE`: Review a file") {
		t.Errorf("/help says %q", text)
	}
}

func TestCommandsThatChangeAreAnnouncedWhenATurnBegins(t *testing.T) {
	var f folderOf
	f.put("one", "One.")
	r := newRigOn(t, newStore(t), Options{Commands: f.read}, says("a"), says("b"), says("c"), says("d"))
	r.turn(t, t.Context(), "hello")
	if len(r.face.commands) != 0 {
		t.Errorf("announced without a change: %v", r.face.commands)
	}
	f.put("two", "Two.")
	r.turn(t, t.Context(), "/two")
	if len(r.face.commands) != 1 || !slices.Equal(customNames(r.face.commands[0]), []string{"one", "two"}) {
		t.Fatalf("announced was %v", r.face.commands)
	}
	if got := r.model.asked[1].Messages[2].Parts[0].(model.Text).Text; got != "Two." {
		t.Errorf("the new command was taken as %q", got)
	}
	f.files = nil
	r.turn(t, t.Context(), "/two")
	if len(r.face.commands) != 2 || len(customNames(r.face.commands[1])) != 0 {
		t.Errorf("announced was %v", r.face.commands)
	}
	if got := r.model.asked[2].Messages[4].Parts[0].(model.Text).Text; got != "/two" {
		t.Errorf("a command that is gone was taken as %q", got)
	}
}

func TestACommandThatCannotBeOneIsToldOnce(t *testing.T) {
	f := folderOf{problems: []customcmd.Problem{{Path: "commands", Text: "holds too many"}}}
	f.put("help", "Shadow the help.")
	f.put("Bad Name", "x")
	r := newRigOn(t, newStore(t), Options{Commands: f.read}, says("a"), says("b"))
	r.turn(t, t.Context(), "hello")
	r.turn(t, t.Context(), "hello")
	var told []string
	for _, n := range shown[session.Notice](r.face) {
		told = append(told, n.Severity+" "+n.Text)
	}
	if len(told) != 3 || told[0] != "warning commands: holds too many" || !strings.Contains(told[1], "help.md: /help is a command of wherry itself") || !strings.Contains(told[2], "Bad Name.md") {
		t.Errorf("told was %q", told)
	}
	r.turn(t, t.Context(), "/help")
	if answered := shown[session.CommandAnswered](r.face); len(answered) != 1 || !strings.Contains(answered[0].Text, "/status") {
		t.Errorf("/help says %v", answered)
	}
}

func TestACommandsModeMakesItsTurnStricterAndNoOther(t *testing.T) {
	var ran int
	edit := fakeTool{spec: tool.Spec{Name: "edit"}, class: approval.ClassEdit, run: func(context.Context, tool.Output) tool.Result {
		ran++
		return tool.Result{Text: "edited"}
	}}
	var f folderOf
	f.put("careful", "---\nmode: ask\n---\nBe careful.")
	f.put("look", "---\nmode: off\n---\nOnly look.")
	f.put("wild", "---\nmode: auto\n---\nGo wild.")
	for _, tt := range []struct {
		mode       approval.Mode
		text       string
		asked, ran int
	}{
		{approval.ModeAuto, "go", 0, 1},
		{approval.ModeAuto, "/careful", 1, 1},
		{approval.ModeAuto, "/look", 0, 0},
		{approval.ModeAuto, "/wild", 0, 0}, // what it asks for is no mode that a command can have
		{approval.ModeOff, "/careful", 0, 0},
		{approval.ModeAsk, "/careful", 1, 1},
	} {
		ran = 0
		r := newRigOn(t, newStore(t), Options{Tools: []tool.Tool{edit}, Commands: f.read, DefaultMode: tt.mode},
			calls(call("1", "edit", "{}")), says("done"), calls(call("2", "edit", "{}")), says("done"))
		r.face.ask = func(context.Context, Question) (Answer, error) { return Answer{Allowed: true}, nil }
		r.turn(t, t.Context(), tt.text)
		if asked := len(r.face.asked); asked != tt.asked || ran != tt.ran {
			t.Errorf("%s in mode %s: asked %d times, ran %d times; expected %d and %d", tt.text, tt.mode, asked, ran, tt.asked, tt.ran)
		}
		for _, q := range r.face.asked {
			if once := slices.Equal(q.Scopes, []approval.Scope{approval.ScopeOnce}); once != (tt.mode == approval.ModeAuto) {
				t.Errorf("%s in mode %s: offered for %v", tt.text, tt.mode, q.Scopes)
			}
		}
		if r.session.Mode() != tt.mode {
			t.Errorf("%s leaves the session in mode %s", tt.text, r.session.Mode())
		}
		if tt.mode == approval.ModeAuto {
			before := ran
			r.turn(t, t.Context(), "go")
			if ran != before+1 || len(r.face.asked) != tt.asked {
				t.Errorf("after %s the next turn asked %d times and ran %d times", tt.text, len(r.face.asked)-tt.asked, ran-before)
			}
		}
	}
}

func TestTryingACommandAgainKeepsTheModeThatItAsksFor(t *testing.T) {
	ran := 0
	edit := fakeTool{spec: tool.Spec{Name: "edit"}, class: approval.ClassEdit, run: func(context.Context, tool.Output) tool.Result {
		ran++
		return tool.Result{Text: "edited"}
	}}
	var f folderOf
	f.put("look", "---\nmode: off\n---\nOnly look.")
	r := newRigOn(t, newStore(t), Options{Tools: []tool.Tool{edit}, Commands: f.read, DefaultMode: approval.ModeAuto},
		breaks("", model.ErrServer), breaks("", model.ErrServer), calls(call("1", "edit", "{}")), says("done"))
	r.turn(t, t.Context(), "/look")
	f.files = nil // what holds is what was said then
	r.turn(t, t.Context(), "/retry")
	r.turn(t, t.Context(), "/retry")
	if ran != 0 {
		t.Errorf("a command in mode off edited %d times when it was tried again", ran)
	}
	if done := shown[session.CallDone](r.face); len(done) != 1 || done[0].Status != session.CallRefused {
		t.Errorf("the call ended as %+v", done)
	}
}
