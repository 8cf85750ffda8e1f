//go:build unix

package editors

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/clienthost"
	"github.com/wherry-acp/wherry/acp/process"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// desk is an editor with wherry running in it, and what the editor saw.
type desk struct {
	*acp.RemoteAgent
	t       *testing.T
	profile profile
	folder  string // that is open in the editor
	home    string
	model   *modeltest.Server
	key     string // of the provider, in the environment
	titles  string // how sessions are titled
	dir     string // that wherry is started in; home when empty
	wire    *wire

	mu      sync.Mutex
	buffers map[string]string // unsaved texts of open files
	answer  func(acp.RequestPermissionRequest) acp.PermissionOptionKind
	asked   []acp.RequestPermissionRequest
	read    []string
	written []string
	started []acp.CreateTerminalRequest
	forms   []acp.CreateElicitationRequest
	fill    map[string]acp.ElicitationContentValue // what the person puts into a form; nil to dismiss it
}

// apiKey is the only key that the provider takes.
const apiKey = "of-nobody"

// contextWindow is the size of the model's context, in tokens, as the settings say.
const contextWindow = 10000

// sit opens an editor of this kind in a folder with these files, and has it start wherry.
func sit(t *testing.T, p profile, files map[string]string) *desk {
	t.Helper()
	model, err := modeltest.Listen(modeltest.Options{NeedTools: true, Key: apiKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	d := &desk{t: t, profile: p, folder: realFolder(t), home: realFolder(t), model: model, key: apiKey, titles: "prompt", buffers: map[string]string{}}
	for name, text := range files {
		d.save(name, text)
	}
	settings := fmt.Sprintf("[providers.openai.model.fake]\ncontext_window = %d\ninput_price = 1.0\noutput_price = 2.0\n", contextWindow)
	if err := os.WriteFile(filepath.Join(d.home, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	return d
}

// realFolder is a new folder, by the name without links.
func realFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment is what wherry is started with: no keys but the double's, no state but this test's.
func (d *desk) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + d.home, "WHERRY_STATE=" + filepath.Join(d.home, "state"), "WHERRY_KEYRING=off", "WHERRY_TITLES=" + d.titles,
		"WHERRY_CONFIG=" + filepath.Join(d.home, "config.toml"), "WHERRY_MODEL=openai/fake",
		"OPENAI_BASE_URL=" + d.model.URL + "/v1",
	}
	if d.key != "" {
		env = append(env, "OPENAI_API_KEY="+d.key)
	}
	return env
}

// start starts wherry, as an editor does when it opens.
func (d *desk) start() {
	d.t.Helper()
	d.wire = &wire{}
	options := &acp.ClientOptions{
		Permission: acp.PermissionFunc(d.permission),
		Options:    acp.Options{Tap: d.wire.tap, Unstable: d.profile.unstable},
		Process:    process.Options{Stderr: d.wire},
	}
	if d.profile.info.Name != "" {
		options.Info = &d.profile.info
	}
	options.Capabilities = d.profile.detail
	if d.profile.files {
		disk, err := clienthost.NewFiles(d.folder, d.home)
		if err != nil {
			d.t.Fatal(err)
		}
		d.t.Cleanup(func() { disk.Close() })
		options.Files = editorFiles{d, disk}
	}
	if d.profile.terminal {
		terminals := &clienthost.Terminals{}
		d.t.Cleanup(func() { terminals.Close() })
		options.Terminals = editorTerminals{terminals, d}
	}
	if d.profile.forms {
		options.Elicitation = editorForms{d}
	}
	cmd := exec.Command(wherry, "acp")
	cmd.Dir, cmd.Env = cmp.Or(d.dir, d.home), d.environment()
	agent, err := acp.Spawn(d.t.Context(), cmd, options)
	if err != nil {
		d.t.Fatalf("start wherry: %v", err)
	}
	d.RemoteAgent = agent
	d.t.Cleanup(func() {
		agent.Close()
		<-agent.Done()
		if s := d.wire.stderrText(); s != "" {
			d.t.Logf("wherry wrote to stderr: %s", s)
		}
	})
}

// restart ends wherry as an editor does when it closes, and starts it again.
func (d *desk) restart() {
	d.t.Helper()
	d.Close()
	<-d.Done()
	d.start()
}

// open starts a session in the editor's folder.
func (d *desk) open() *acp.Session { return d.openIn(d.folder) }

func (d *desk) openIn(folder string) *acp.Session {
	d.t.Helper()
	s, err := d.NewSession(d.t.Context(), acp.NewSessionRequest{Cwd: folder, MCPServers: d.profile.servers})
	if err != nil {
		d.t.Fatalf("session/new: %v", err)
	}
	return s
}

// load opens a stored session and gives what was replayed.
func (d *desk) load(id acp.SessionID) (*acp.Session, []acp.SessionUpdate) {
	d.t.Helper()
	load := d.LoadSession(d.t.Context(), acp.LoadSessionRequest{SessionID: id, Cwd: d.folder, MCPServers: d.profile.servers})
	updates := slices.Collect(load.Updates())
	s, err := load.Result()
	if err != nil {
		d.t.Fatalf("session/load: %v", err)
	}
	return s, updates
}

// say runs a turn to its end and gives the updates that came in it.
func (d *desk) say(s *acp.Session, text string) (acp.StopReason, []acp.SessionUpdate) {
	d.t.Helper()
	return d.send(s, acp.Text(text))
}

func (d *desk) send(s *acp.Session, blocks ...acp.ContentBlock) (acp.StopReason, []acp.SessionUpdate) {
	d.t.Helper()
	turn := s.Prompt(d.t.Context(), blocks...)
	updates := slices.Collect(turn.Updates())
	result, err := turn.Result()
	if err != nil {
		d.t.Fatalf("session/prompt: %v", err)
	}
	return result.StopReason, updates
}

func (d *desk) path(name string) string { return filepath.Join(d.folder, name) }

// save writes a file of the editor's folder.
func (d *desk) save(name, text string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// saved gives the text of a file on disk, "" if there is none.
func (d *desk) saved(name string) string { return d.savedAt(d.path(name)) }

func (d *desk) savedAt(path string) string {
	d.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return string(text)
}

// answers says which option the person takes when wherry asks; allow_once unless said.
func (d *desk) answers(kind acp.PermissionOptionKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = func(acp.RequestPermissionRequest) acp.PermissionOptionKind { return kind }
}

// questions gives the permissions that were asked for since the last time.
func (d *desk) questions() []acp.RequestPermissionRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.asked
	d.asked = nil
	return asked
}

func (d *desk) permission(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	d.mu.Lock()
	d.asked = append(d.asked, req)
	kind := acp.PermissionAllowOnce
	if d.answer != nil {
		kind = d.answer(req)
	}
	d.mu.Unlock()
	for _, o := range req.Options {
		if o.Kind == kind {
			return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: o.OptionID}}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
}

// editorFiles are files as an editor has them: an open buffer hides the file on disk, and what an agent writes goes into
// the review and is saved.
type editorFiles struct {
	*desk
	disk *clienthost.Files
}

func (f editorFiles) ReadTextFile(ctx context.Context, req acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	f.mu.Lock()
	f.read = append(f.read, req.Path)
	text, dirty := f.buffers[req.Path]
	f.mu.Unlock()
	if dirty {
		return acp.ReadTextFileResponse{Content: text}, nil
	}
	return f.disk.ReadTextFile(ctx, req)
}

func (f editorFiles) WriteTextFile(ctx context.Context, req acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	f.mu.Lock()
	f.written = append(f.written, req.Path)
	delete(f.buffers, req.Path)
	f.mu.Unlock()
	return f.disk.WriteTextFile(ctx, req)
}

// editorForms shows forms, which the person fills as the test says; without a word they are dismissed.
type editorForms struct{ *desk }

func (f editorForms) CreateElicitation(_ context.Context, req acp.CreateElicitationRequest) (acp.CreateElicitationResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forms = append(f.forms, req)
	if f.fill == nil {
		return acp.CreateElicitationResponse{Action: acp.ElicitationCancelAction{}}, nil
	}
	return acp.CreateElicitationResponse{Action: acp.ElicitationAcceptAction{Content: f.fill}}, nil
}

func (f editorForms) CompleteElicitation(context.Context, acp.CompleteElicitationNotification) {}

// editorTerminals are terminals that note what is started in them.
type editorTerminals struct {
	*clienthost.Terminals
	d *desk
}

func (t editorTerminals) CreateTerminal(ctx context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	t.d.mu.Lock()
	t.d.started = append(t.d.started, req)
	t.d.mu.Unlock()
	return t.Terminals.CreateTerminal(ctx, req)
}

// spoken is the text of the agent's messages among the updates, without what wherry itself has to tell.
func spoken(updates []acp.SessionUpdate) string {
	var b strings.Builder
	for _, u := range updates {
		if c, ok := u.(acp.AgentMessageChunk); ok && !isNotice(c.Meta) {
			b.WriteString(acp.PlainText(c.Content))
		}
	}
	return b.String()
}

// isNotice tells whether a message is marked as being wherry's own.
func isNotice(m acp.Meta) bool {
	own, _ := m.Get("wherry")
	return strings.Contains(string(own), `"notice"`)
}

// noticed is what wherry itself has told in a session.
func noticed(s *acp.Session) string {
	var b strings.Builder
	for _, e := range s.State().Entries(0) {
		switch e := e.(type) {
		case acp.MessageEntry:
			if isNotice(e.Meta) {
				b.WriteString(e.Text())
			}
		case acp.NoticeEntry:
			b.WriteString(e.Notice.Title)
		}
	}
	return b.String()
}

// calls are the tool calls of a session as the editor shows them, in their order.
func calls(s *acp.Session) []acp.ToolCall {
	var all []acp.ToolCall
	for _, e := range s.State().Entries(0) {
		if c, ok := e.(acp.ToolCallEntry); ok {
			all = append(all, c.Call)
		}
	}
	return all
}

// lastCall is the newest tool call of a session.
func lastCall(t *testing.T, s *acp.Session) acp.ToolCall {
	t.Helper()
	all := calls(s)
	if len(all) == 0 {
		t.Fatal("there is no tool call")
	}
	return all[len(all)-1]
}
