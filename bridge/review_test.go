//go:build unix

package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/approval"
)

// formatter is an editor that changes what it is given to save.
type formatter struct {
	*buffers
	format func(string) string
}

func (f formatter) WriteTextFile(ctx context.Context, req acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	req.Content = f.format(req.Content)
	return f.buffers.WriteTextFile(ctx, req)
}

func inMode(mode approval.Mode) func(*agent.Options) {
	return func(o *agent.Options) { o.DefaultMode = mode }
}

func TestAWriteIsReadAgainAndWhatBecameDifferentIsTold(t *testing.T) {
	const edit = `[[call: view {"path":"a.txt"}]] [[call: edit {"path":"a.txt","edits":[{"old":"two","new":"2"}]}]] [[text: fine]]`
	for name, c := range map[string]struct {
		format func(string) string
		want   string
	}{
		"as it was":  {func(s string) string { return s }, ""},
		"formatted":  {strings.ToUpper, "\n-one\n+ONE\n 2"},
		"duplicated": {func(s string) string { return strings.Repeat(s, 1000) }, "View it again before anything else"},
	} {
		t.Run(name, func(t *testing.T) {
			f := formatter{&buffers{text: map[string]string{}}, c.format}
			r := connectScripted(t, acp.ClientOptions{Files: f}, inMode(approval.ModeAuto))
			write(t, r.folder, "a.txt", "one\ntwo\n")
			seen := ask(t, r.open(t), acp.Text(edit))
			last := seen.Calls[len(seen.Calls)-1]
			told := r.told(t)
			shown := ""
			for _, content := range last.Content {
				if block, ok := content.(acp.ToolCallBlock); ok {
					shown += acp.PlainText(block.Content)
				}
			}
			const other = "What is there now is not what was written"
			if c.want == "" {
				if strings.Contains(told+shown, other) || strings.Contains(told, "could not be read again") {
					t.Errorf("told %q, shown %q", told, shown)
				}
				return
			}
			if !strings.Contains(told, other) || !strings.Contains(told, c.want) {
				t.Errorf("the model was told %q", told)
			}
			if _, ok := last.Content[0].(acp.ToolCallDiff); !ok || !strings.Contains(shown, other) {
				t.Errorf("the person was shown %+v", last.Content)
			}
		})
	}
}

func TestAFileThatACommandChangedUnderAnOpenBufferIsToldAndNotWrittenOverUnasked(t *testing.T) {
	b := &buffers{text: map[string]string{}}
	r := connectScripted(t, acp.ClientOptions{Files: b}, inMode(approval.ModeAuto))
	path := write(t, r.folder, "a.txt", "one\n")
	b.set(path, "one, unsaved\n")
	s := r.open(t)
	seen := ask(t, s, acp.Text(`[[call: view {"path":"a.txt"}]] [[call: run {"command":"echo changed by it >a.txt; echo out"}]] [[text: fine]]`))
	if told := r.told(t); !strings.Contains(told, "The command changed a.txt on the disk, and the editor has another text") || !strings.Contains(told, "to save it.\n\nout") {
		t.Errorf("the model was told %q", told)
	}
	if told := seen.text("agent"); strings.Count(told, "A command changed a.txt on the disk while your editor has another text") != 1 {
		t.Errorf("the person was told %q", told)
	}
	const edit = `[[call: view {"path":"a.txt"}]] [[call: edit {"path":"a.txt","edits":[{"old":"one","new":"1"}]}]] [[text: fine]]`
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return pick(req, acp.PermissionRejectOnce)
	}
	ask(t, s, acp.Text(edit))
	if n := len(r.client.questions()); n != 1 || b.get(path) != "one, unsaved\n" || read(t, path) != "changed by it\n" {
		t.Errorf("asked %d times; the buffer is %q, the disk %q", n, b.get(path), read(t, path))
	}
	// Once the person has loaded the disk's text and the model has seen it, all is as usual.
	b.set(path, "changed by it\n")
	ask(t, s, acp.Text(`[[call: view {"path":"a.txt"}]] [[call: edit {"path":"a.txt","edits":[{"old":"changed","new":"edited"}]}]] [[text: fine]]`))
	if n := len(r.client.questions()); n != 1 || b.get(path) != "edited by it\n" {
		t.Errorf("asked %d times; the buffer is %q", n, b.get(path))
	}
}

// reloading is an editor that loads what others change on the disk.
type reloading struct{ acp.FileReader }

func TestAnEditorThatLoadsWhatACommandChangedIsNoTrouble(t *testing.T) {
	b := &buffers{text: map[string]string{}} // nothing is open: it gives what is on the disk
	r := connectScripted(t, acp.ClientOptions{Files: reloading{b}}, inMode(approval.ModeAuto))
	write(t, r.folder, "a.txt", "one\n")
	seen := ask(t, r.open(t), acp.Text(`[[call: view {"path":"a.txt"}]] [[call: run {"command":"echo changed >a.txt"}]] [[text: fine]]`))
	if told := r.told(t) + seen.text("agent"); strings.Contains(told, "another text") {
		t.Errorf("told %q", told)
	}
}

func TestANewFileHasNoOldTextAndLocationsAreFilesThatExist(t *testing.T) {
	b := &buffers{text: map[string]string{}}
	r := connectScripted(t, acp.ClientOptions{Files: b})
	path := write(t, r.folder, "a.txt", "one\ntwo\n")
	seen := ask(t, r.open(t), acp.Text(`[[call: create {"path":"sub/new.txt","content":"x\n"}]] [[call: view {"path":"a.txt","from":2}]] `+
		`[[call: edit {"path":"a.txt","edits":[{"old":"two","new":"2"}]}]] [[call: list {}]] [[text: fine]]`))
	created := seen.Calls[0]
	diff, ok := created.Content[0].(acp.ToolCallDiff)
	if !ok || diff.OldText.IsSet() || diff.NewText != "x\n" || len(created.Locations) != 0 {
		t.Errorf("created: %+v", created)
	}
	for _, c := range seen.Calls[1:3] {
		if len(c.Locations) != 1 || c.Locations[0].Path != path || c.Locations[0].Line.Or(0) != 2 {
			t.Errorf("%s has the locations %+v", c.Title, c.Locations)
		}
	}
	if list := seen.Calls[3]; len(list.Locations) != 0 {
		t.Errorf("a folder is a location: %+v", list.Locations)
	}
	if asked := r.client.questions(); len(asked) != 2 || len(asked[0].ToolCall.Content) == 0 {
		t.Errorf("asked %d times", len(asked))
	}
}
