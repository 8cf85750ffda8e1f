package bridge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/host"
)

// buffers is an editor's open files.
type buffers struct {
	mu     sync.Mutex
	text   map[string]string
	reads  int
	failOn func(read int) bool
	writes []acp.WriteTextFileRequest
}

func (b *buffers) ReadTextFile(_ context.Context, req acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	if b.failOn != nil && b.failOn(b.reads) {
		return acp.ReadTextFileResponse{}, acp.InternalError("not now")
	}
	text, ok := b.text[req.Path]
	if !ok {
		data, err := os.ReadFile(req.Path)
		if err != nil {
			return acp.ReadTextFileResponse{}, acp.ResourceNotFound(req.Path)
		}
		text = string(data)
	}
	return acp.ReadTextFileResponse{Content: text}, nil
}

func (b *buffers) WriteTextFile(_ context.Context, req acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, req)
	b.text[req.Path] = req.Content
	return acp.WriteTextFileResponse{}, nil
}

func (b *buffers) set(path, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text[path] = text
}

func (b *buffers) get(path string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text[path]
}

func withBuffers(t *testing.T) (*rig, *buffers, string) {
	t.Helper()
	b := &buffers{text: map[string]string{}}
	r := connect(t, acp.ClientOptions{Files: b})
	path := write(t, r.folder, "a.txt", "saved words\n")
	b.text[path] = "unsaved words\n"
	return r, b, path
}

func TestTheUnsavedBufferIsReadAndWrittenAndTheDiskIsNotTouched(t *testing.T) {
	r, b, path := withBuffers(t)
	s := r.open(t)
	_, updates := prompt(t, s, "read a.txt")
	if answer := fold(updates).text("agent"); !strings.Contains(answer, "unsaved words") {
		t.Errorf("the answer is %q", answer)
	}
	if err := s.SetMode(t.Context(), "auto"); err != nil {
		t.Fatal(err)
	}
	prompt(t, s, `replace "words" with "text" in a.txt`)
	if got := b.get(path); got != "unsaved text\n" {
		t.Errorf("the buffer is %q", got)
	}
	if got := read(t, path); got != "saved words\n" {
		t.Errorf("the disk is %q", got)
	}
	prompt(t, s, "create new.txt: hello")
	if len(b.writes) != 2 || b.writes[1].Content != "hello\n" && b.writes[1].Content != "hello" {
		t.Errorf("written: %+v", b.writes)
	}
}

// TestABufferThatCouldNotBeReadIsNotWrittenOver lets the editor's first read fail: the disk is read instead, and what is
// made from it must not replace what the editor holds.
func TestABufferThatCouldNotBeReadIsNotWrittenOver(t *testing.T) {
	r, b, path := withBuffers(t)
	b.failOn = func(read int) bool { return read == 1 }
	s := r.open(t)
	_, updates := prompt(t, s, `replace "words" with "text" in a.txt`)
	if got := b.get(path); got != "unsaved words\n" {
		t.Errorf("the buffer is %q", got)
	}
	if got := read(t, path); got != "saved words\n" {
		t.Errorf("the disk is %q", got)
	}
	calls := fold(updates).Calls
	if last := calls[len(calls)-1]; last.Status != acp.ToolCallFailed {
		t.Errorf("the edit ended as %q", last.Status)
	}
}

func TestABufferThatChangesBeforeTheAnswerIsAskedForAgainWithItsNewText(t *testing.T) {
	r, b, path := withBuffers(t)
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		if len(r.client.questions()) == 1 {
			b.set(path, "changed words meanwhile\n")
		}
		return pick(req, acp.PermissionAllowOnce)
	}
	prompt(t, r.open(t), `replace "words" with "text" in a.txt`)
	asked := r.client.questions()
	if len(asked) != 2 {
		t.Fatalf("asked %d times", len(asked))
	}
	diff := asked[1].ToolCall.Content[0].(acp.ToolCallDiff)
	if old := diff.OldText.Or(""); old != "changed words meanwhile\n" {
		t.Errorf("asked again with old text %q", old)
	}
	if got := b.get(path); got != "changed text meanwhile\n" {
		t.Errorf("the buffer is %q", got)
	}
}

func TestAnEditorThatOnlyShowsItsBuffersLosesNoUnsavedChange(t *testing.T) {
	b := &buffers{text: map[string]string{}}
	r := connect(t, acp.ClientOptions{Files: struct{ acp.FileReader }{b}})
	path := write(t, r.folder, "a.txt", "saved words\n")
	b.text[path] = "unsaved words\n"
	s := r.open(t)
	if err := s.SetMode(t.Context(), "auto"); err != nil {
		t.Fatal(err)
	}
	prompt(t, s, `replace "words" with "text" in a.txt`)
	if got := read(t, path); got != "saved words\n" {
		t.Errorf("the disk was written to under an unsaved buffer: %q", got)
	}
	b.set(path, "saved words\n")
	prompt(t, s, `replace "words" with "text" in a.txt`)
	if got := read(t, path); got != "saved text\n" {
		t.Errorf("the disk is %q", got)
	}
}

func TestWhatIsOutsideTheFolderNeverReachesTheEditor(t *testing.T) {
	r, b, _ := withBuffers(t)
	outside := write(t, t.TempDir(), "secret.txt", "outside\n")
	_, updates := prompt(t, r.open(t), "read "+outside)
	if b.reads != 0 {
		t.Error("the editor was asked for a file outside the folder")
	}
	if text := fold(updates).text("agent"); strings.Contains(text, "outside\n") {
		t.Errorf("the answer is %q", text)
	}
}

// shell is a terminal of a test's editor.
type shell struct {
	waits chan acp.WaitForTerminalExitResponse
	mu    sync.Mutex
	log   []string
}

func (s *shell) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

func (s *shell) did() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, " ")
}

func (s *shell) ID() acp.TerminalID { return "term-1" }

func (s *shell) Output(context.Context) (acp.TerminalOutputResponse, error) {
	s.note("output")
	return acp.TerminalOutputResponse{Output: "hello\n"}, nil
}

func (s *shell) Wait(ctx context.Context) (acp.WaitForTerminalExitResponse, error) {
	select {
	case r := <-s.waits:
		return r, nil
	case <-ctx.Done():
		return acp.WaitForTerminalExitResponse{}, ctx.Err()
	}
}

func (s *shell) Kill(context.Context) error {
	s.note("kill")
	s.waits <- acp.WaitForTerminalExitResponse{Signal: "SIGKILL"}
	return nil
}

func (s *shell) Release(context.Context) error {
	s.note("release")
	return nil
}

func inTerminal(t *testing.T, create func(acp.CreateTerminalRequest) (terminal, error)) *editorHost {
	t.Helper()
	local, err := host.NewLocal([]string{t.TempDir()}, host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &editorHost{Local: local, editor: editor{answered: answered, terminal: func(
		_ context.Context, req acp.CreateTerminalRequest,
	) (terminal, error) {
		return create(req)
	}}}
}

func TestACommandRunsInTheEditorsTerminalThroughAShell(t *testing.T) {
	s := &shell{waits: make(chan acp.WaitForTerminalExitResponse, 1)}
	s.waits <- acp.WaitForTerminalExitResponse{ExitCode: acp.Some(uint32(3))}
	var got acp.CreateTerminalRequest
	h := inTerminal(t, func(req acp.CreateTerminalRequest) (terminal, error) {
		got = req
		return s, nil
	})
	p, err := h.Run(t.Context(), host.Command{Line: "git status && echo x | head"})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || exit.Code != 3 || exit.Output != "hello\n" || p.Terminal() != "term-1" {
		t.Errorf("exit %+v, %v", exit, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil || s.did() != "output release" {
		t.Errorf("the terminal was used: %s, %v", s.did(), err)
	}
	if strings.ContainsAny(got.Command, " |&") || got.Args[len(got.Args)-1] != "git status && echo x | head" || got.Cwd != h.Roots()[0] {
		t.Errorf("created with %q %q in %q", got.Command, got.Args, got.Cwd)
	}
}

func TestAnEndThatTheEditorDoesNotTellIsNoSuccess(t *testing.T) {
	s := &shell{waits: make(chan acp.WaitForTerminalExitResponse, 1)}
	s.waits <- acp.WaitForTerminalExitResponse{}
	h := inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) { return s, nil })
	p, err := h.Run(t.Context(), host.Command{Line: "true"})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err == nil || exit.Code != -1 {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestACancelledCommandInATerminalIsKilledAtOnce(t *testing.T) {
	s := &shell{waits: make(chan acp.WaitForTerminalExitResponse, 1)}
	h := inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) { return s, nil })
	p, err := h.Run(t.Context(), host.Command{Line: "sleep 60"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun := time.Now()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if err := p.Close(); err != nil || s.did() != "kill output release" || time.Since(begun) > time.Second {
		t.Errorf("the terminal was used: %s, %v, in %s", s.did(), err, time.Since(begun))
	}
}

func TestATimedOutCommandInATerminalSaysSo(t *testing.T) {
	s := &shell{waits: make(chan acp.WaitForTerminalExitResponse, 1)}
	h := inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) { return s, nil })
	p, err := h.Run(t.Context(), host.Command{Line: "sleep 60", Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || !exit.TimedOut || exit.Signal != "SIGKILL" || exit.Code != -1 {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestASilentCommandInATerminalIsEndedAndSaysSo(t *testing.T) {
	s := &shell{waits: make(chan acp.WaitForTerminalExitResponse, 1)}
	h := inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) { return s, nil })
	p, err := h.Run(t.Context(), host.Command{Line: "sleep 60", Quiet: 40 * time.Millisecond, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil || !exit.Quieted || exit.TimedOut || exit.Signal != "SIGKILL" || exit.Output != "hello\n" {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestADeclinedTerminalRunsTheCommandHereAndADoubtfulOneDoesNot(t *testing.T) {
	h := inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) { return nil, acp.InternalError("no terminals today") })
	p, err := h.Run(t.Context(), host.Command{Line: "echo here"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if exit, err := p.Wait(t.Context()); err != nil || exit.Output != "here\n" || p.Terminal() != "" {
		t.Errorf("exit %+v, %v", exit, err)
	}
	h = inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) { return nil, errors.New("the connection broke") })
	if _, err := h.Run(t.Context(), host.Command{Line: "echo twice?"}); err == nil {
		t.Error("a command that may have started was run again")
	}
	h = inTerminal(t, func(acp.CreateTerminalRequest) (terminal, error) {
		t.Error("a terminal was opened outside the folder")
		return nil, errors.New("no")
	})
	if _, err := h.Run(t.Context(), host.Command{Line: "ls", Dir: "/etc"}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder outside: %v", err)
	}
}
