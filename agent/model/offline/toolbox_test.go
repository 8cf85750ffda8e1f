package offline

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/tool"
)

// folder is a real folder with the agent's real tools over it. Nothing asks a person; refuse stands for one who says no.
type folder struct {
	tb     testing.TB
	root   string
	host   host.Host
	tools  map[string]tool.Tool
	refuse map[string]string // tool -> why
	views  views
	plan   planned
}

// views remembers what was viewed, as a session does.
type views struct {
	mu   sync.Mutex
	seen map[string]host.Version
}

func (v *views) Seen(abs string) (host.Version, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version, ok := v.seen[abs]
	return version, ok
}

type planned struct{ entries []tool.PlanEntry }

func (p *planned) Entries() []tool.PlanEntry { return p.entries }

// newFolder makes a folder of these files.
func newFolder(tb testing.TB, files map[string]string) *folder {
	tb.Helper()
	root := tb.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return openFolder(tb, root)
}

// openFolder opens an existing folder.
func openFolder(tb testing.TB, root string) *folder {
	tb.Helper()
	local, err := host.NewLocal([]string{root}, host.LocalOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	f := &folder{tb: tb, root: root, host: local, tools: map[string]tool.Tool{}, refuse: map[string]string{}}
	f.views.seen = map[string]host.Version{}
	for _, t := range tool.Builtin() {
		f.tools[t.Spec().Name] = t
	}
	return f
}

// specs are the tools as a model is told of them; all of them when no names are given.
func (f *folder) specs(names ...string) []model.ToolSpec {
	var out []model.ToolSpec
	if len(names) == 0 {
		names = []string{"view", "list", "find", "search", "create", "edit", "run", "plan"}
	}
	for _, name := range names {
		spec := f.tools[name].Spec()
		out = append(out, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	return out
}

// call runs a tool as a turn does.
func (f *folder) call(c model.ToolCall) model.ToolResult {
	f.tb.Helper()
	text, failed := f.run(c)
	return model.ToolResult{CallID: c.ID, Name: c.Name, Parts: []model.Part{model.Text{Text: text}}, Failed: failed}
}

func (f *folder) run(c model.ToolCall) (text string, failed bool) {
	t := f.tools[c.Name]
	if t == nil {
		f.tb.Fatalf("the model called %q, which is no tool", c.Name)
	}
	prepared, err := t.Prepare(f.tb.Context(), tool.Env{Host: f.host, Views: &f.views, Plan: &f.plan}, json.RawMessage(c.Args))
	if err != nil {
		return err.Error(), true
	}
	if why, ok := f.refuse[c.Name]; ok {
		return "The person refused this, saying: " + why, true
	}
	result := prepared.Run(f.tb.Context(), silent{})
	f.views.mu.Lock()
	for abs, v := range result.Views {
		f.views.seen[abs] = v.Version
	}
	f.views.mu.Unlock()
	if result.SetsPlan {
		f.plan.entries = result.Plan
	}
	return result.Text, result.Failed
}

// read gives a file's content, and whether it exists.
func (f *folder) read(name string) (string, bool) {
	f.tb.Helper()
	data, err := os.ReadFile(filepath.Join(f.root, filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		return "", false
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	return string(data), true
}

type silent struct{}

func (silent) Text(string)     {}
func (silent) Terminal(string) {}
