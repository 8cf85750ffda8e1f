package tool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a folder with files, a host for it and what the model has seen.
type bench struct {
	t    *testing.T
	dir  string
	env  Env
	seen views
}

type views map[string]host.Version

func (v views) Seen(abs string) (host.Version, bool) {
	version, ok := v[abs]
	return version, ok
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, seen: views{}}
	for name, content := range files {
		b.write(name, content)
	}
	local, err := host.NewLocal([]string{dir}, host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.env = Env{Host: local, Views: b.seen}
	return b
}

func (b *bench) abs(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) write(name, content string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.abs(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.abs(name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.abs(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func builtinTool(t *testing.T, name string) Tool {
	t.Helper()
	for _, tool := range Builtin() {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %q", name)
	return nil
}

// prepare prepares a call whose arguments are a JSON text or a value to marshal.
func (b *bench) prepare(name string, args any) (Call, error) {
	b.t.Helper()
	raw, ok := args.(string)
	if !ok {
		data, err := json.Marshal(args)
		if err != nil {
			b.t.Fatal(err)
		}
		raw = string(data)
	}
	return builtinTool(b.t, name).Prepare(b.t.Context(), b.env, json.RawMessage(raw))
}

// call prepares and runs a call and remembers what was viewed, as a session does.
func (b *bench) call(name string, args any) Result {
	b.t.Helper()
	call, err := b.prepare(name, args)
	if err != nil {
		b.t.Fatalf("%s %v: %v", name, args, err)
	}
	return b.run(call)
}

func (b *bench) run(call Call) Result {
	result := call.Run(b.t.Context(), &recorder{})
	for abs, view := range result.Views {
		b.seen[abs] = view.Version
	}
	return result
}

// refused prepares a call that must be refused, and gives the sentence.
func (b *bench) refused(name string, args any) string {
	b.t.Helper()
	_, err := b.prepare(name, args)
	if err == nil {
		b.t.Fatalf("%s %v was not refused", name, args)
	}
	return err.Error()
}

type recorder struct {
	mu       sync.Mutex
	text     strings.Builder
	chunks   int
	terminal string
	onText   func()
}

func (r *recorder) Text(chunk string) {
	r.mu.Lock()
	r.text.WriteString(chunk)
	r.chunks++
	r.mu.Unlock()
	if r.onText != nil {
		r.onText()
	}
}

func (r *recorder) Terminal(id string) { r.terminal = id }

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func wantPart(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in:\n%s", part, got)
		}
	}
}
