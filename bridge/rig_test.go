package bridge

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/offline"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is an editor for tests: it answers permissions as told, and keeps what it is asked.
type client struct {
	answer func(acp.RequestPermissionRequest) acp.RequestPermissionOutcome
	fails  error                     // of every question
	wait   func(ctx context.Context) // before the answer
	asking chan struct{}

	mu    sync.Mutex
	asked []acp.RequestPermissionRequest
}

func (c *client) RequestPermission(
	ctx context.Context, req acp.RequestPermissionRequest,
) (acp.RequestPermissionResponse, error) {
	c.mu.Lock()
	c.asked = append(c.asked, req)
	answer := c.answer
	c.mu.Unlock()
	if c.wait != nil {
		c.wait(ctx)
	}
	if c.fails != nil {
		return acp.RequestPermissionResponse{}, c.fails
	}
	if answer == nil {
		return acp.RequestPermissionResponse{Outcome: pick(req, acp.PermissionAllowOnce)}, nil
	}
	return acp.RequestPermissionResponse{Outcome: answer(req)}, nil
}

func (c *client) questions() []acp.RequestPermissionRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]acp.RequestPermissionRequest(nil), c.asked...)
}

func pick(req acp.RequestPermissionRequest, kind acp.PermissionOptionKind) acp.RequestPermissionOutcome {
	for _, o := range req.Options {
		if o.Kind == kind {
			return acp.SelectedPermissionOutcome{OptionID: o.OptionID}
		}
	}
	return acp.CancelledPermissionOutcome{}
}

type rig struct {
	*acp.RemoteAgent
	client *client
	store  session.Store
	folder string
}

// connect serves the agent with the offline model and its real tools to a client with these options.
func connect(t *testing.T, options acp.ClientOptions) *rig {
	t.Helper()
	store, err := session.OpenSQLite(filepath.Join(t.TempDir(), "sessions.db"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return connectTo(t, store, t.TempDir(), options)
}

func connectTo(t *testing.T, store session.Store, folder string, options acp.ClientOptions) *rig {
	t.Helper()
	return connectAgent(t, agent.Options{
		Store: store, Tools: tool.Builtin(), DefaultModel: "offline/offline", ModelChosen: true,
		OpenModel: func(context.Context, string) (model.Model, error) { return offline.New(), nil },
	}, folder, options)
}

func connectAgent(t *testing.T, opts agent.Options, folder string, options acp.ClientOptions) *rig {
	t.Helper()
	store := opts.Store
	a, err := agent.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ours, theirs := transport.Pipe()
	served := make(chan error, 1)
	go func() {
		b := New(a, host.LocalOptions{})
		served <- acp.Serve(ctx, theirs, b, b.Options(acp.Options{}, acp.Implementation{Name: "wherry", Version: "test"}))
	}()
	r := &rig{client: &client{}, store: store, folder: folder}
	options.Permission = r.client
	options.Info = &acp.Implementation{Name: "editor", Version: "1"}
	if r.RemoteAgent, err = acp.Connect(ctx, ours, &options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		end()
		<-served
	})
	return r
}

func (r *rig) open(t *testing.T) *acp.Session {
	t.Helper()
	s, err := r.NewSession(t.Context(), acp.NewSessionRequest{Cwd: r.folder})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// prompt runs a turn to its end.
func prompt(t *testing.T, s *acp.Session, text string) (acp.PromptResponse, []acp.SessionUpdate) {
	t.Helper()
	turn := s.Prompt(t.Context(), acp.Text(text))
	var updates []acp.SessionUpdate
	for u := range turn.Updates() {
		updates = append(updates, u)
	}
	resp, err := turn.Result()
	if err != nil {
		t.Fatalf("prompt %q: %v", text, err)
	}
	return resp, updates
}

// folded is what a client has in view after updates.
type folded struct {
	Messages []string // "kind id: text", in the order of their first chunks
	Calls    []acp.ToolCall
	Plan     []acp.PlanEntry
	Title    string
	Mode     acp.SessionModeID
}

func fold(updates []acp.SessionUpdate) folded {
	var f folded
	message := map[string]int{}
	call := map[acp.ToolCallID]int{}
	say := func(kind string, c acp.ContentChunk) {
		key := kind + " " + string(c.MessageID)
		if _, ok := message[key]; !ok {
			message[key] = len(f.Messages)
			f.Messages = append(f.Messages, key+": ")
		}
		f.Messages[message[key]] += acp.PlainText(c.Content)
	}
	for _, u := range updates {
		switch u := u.(type) {
		case acp.UserMessageChunk:
			say("user", acp.ContentChunk(u))
		case acp.AgentMessageChunk:
			say("agent", acp.ContentChunk(u))
		case acp.AgentThoughtChunk:
			say("thought", acp.ContentChunk(u))
		case acp.ToolCall:
			call[u.ToolCallID] = len(f.Calls)
			f.Calls = append(f.Calls, u)
		case acp.ToolCallUpdate:
			c := &f.Calls[call[u.ToolCallID]]
			if u.Status != "" {
				c.Status = u.Status
			}
			if u.Title != "" {
				c.Title = u.Title
			}
			if u.Content != nil {
				c.Content = u.Content
			}
			if u.Locations != nil {
				c.Locations = u.Locations
			}
		case acp.Plan:
			f.Plan = u.Entries
		case acp.SessionInfoUpdate:
			f.Title = u.Title.Apply(f.Title)
		case acp.CurrentModeUpdate:
			f.Mode = u.CurrentModeID
		}
	}
	return f
}

func (f folded) text(kind string) string {
	var b strings.Builder
	for _, m := range f.Messages {
		if rest, ok := strings.CutPrefix(m, kind+" "); ok {
			_, text, _ := strings.Cut(rest, ": ")
			b.WriteString(text)
		}
	}
	return b.String()
}
