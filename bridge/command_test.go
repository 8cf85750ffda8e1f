//go:build unix

package bridge

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

// auto opens a session that asks for nothing.
func auto(t *testing.T, r *rig) *acp.Session {
	t.Helper()
	s := r.open(t)
	if err := s.SetMode(t.Context(), "auto"); err != nil {
		t.Fatal(err)
	}
	return s
}

// drawsTerminals is a client that shows output in terminals without running commands.
func drawsTerminals() acp.ClientOptions {
	return acp.ClientOptions{Capabilities: func(c *acp.ClientCapabilities) { c.Meta = acp.Meta(`{"terminal_output":true}`) }}
}

// wireSize is what an update takes on the wire.
func wireSize(t *testing.T, u acp.SessionUpdate) int {
	t.Helper()
	data, err := acp.MarshalSessionUpdate(u)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// drawn is what a client shows of a terminal that it only draws.
type drawn struct {
	info, exit, text string
}

func draw(t *testing.T, updates []acp.SessionUpdate) (d drawn) {
	t.Helper()
	for _, u := range updates {
		var meta acp.Meta
		switch u := u.(type) {
		case acp.ToolCall:
			meta = u.Meta
		case acp.ToolCallUpdate:
			meta = u.Meta
		}
		if raw, ok := meta.Get("terminal_info"); ok {
			d.info = string(raw)
		}
		if raw, ok := meta.Get("terminal_exit"); ok {
			d.exit = string(raw)
		}
		if raw, ok := meta.Get("terminal_output"); ok {
			var out struct {
				Terminal string `json:"terminal_id"`
				Data     string `json:"data"`
			}
			if err := json.Unmarshal(raw, &out); err != nil || !strings.Contains(d.info, `"`+out.Terminal+`"`) {
				t.Errorf("output %s after %s, %v", raw, d.info, err)
			}
			d.text += out.Data
		}
	}
	return d
}

func TestTheLastLineThatACommandPrintsIsSeenWhileItIsSilent(t *testing.T) {
	for name, options := range map[string]acp.ClientOptions{"as text": {}, "in a drawn terminal": drawsTerminals()} {
		t.Run(name, func(t *testing.T) {
			r := connect(t, options)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			turn := auto(t, r).Prompt(ctx, acp.Text("run echo one; sleep 0.1; echo https://login; until test -e seen; do sleep 0.02; done"))
			seen := false
			for u := range turn.Updates() {
				call, ok := u.(acp.ToolCallUpdate)
				if !ok || call.Status != "" || seen {
					continue
				}
				data, err := acp.MarshalSessionUpdate(u)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(data), "https://login") {
					seen = true
					write(t, r.folder, "seen", "")
				}
			}
			if _, err := turn.Result(); err != nil || !seen {
				t.Errorf("seen %t, %v", seen, err)
			}
		})
	}
}

func TestOutputTakesABoundedShareOfTheWire(t *testing.T) {
	for name, c := range map[string]struct {
		line  string
		bytes int
	}{
		"280 KB in a second": {"i=0; while [ $i -lt 20 ]; do yes 0123456789 | head -c 14000; sleep 0.05; i=$((i+1)); done", 280_000},
		"50 MB at once":      {"yes 0123456789 | head -c 50000000; echo; echo done", 50_000_006},
	} {
		for client, options := range map[string]acp.ClientOptions{"text": {}, "drawn": drawsTerminals()} {
			t.Run(name+", "+client, func(t *testing.T) {
				r := connect(t, options)
				s := auto(t, r)
				_, updates := prompt(t, s, "run "+c.line)
				size := 0
				for _, u := range updates {
					size += wireSize(t, u)
				}
				if limit := min(3*c.bytes, 1<<20); size > limit {
					t.Errorf("%d bytes on the wire in %d updates for %d of output", size, len(updates), c.bytes)
				}
				if client == "drawn" && c.bytes > 1<<20 {
					if text := draw(t, updates).text; !strings.HasSuffix(text, "\ndone\n") || !strings.Contains(text, "bytes left out …") {
						t.Errorf("the end of the output is %q", text[max(0, len(text)-200):])
					}
				}
			})
		}
	}
}

func TestLiveOutputSaysThatItIsTheEndAndCutsNoCharacter(t *testing.T) {
	var l liveOutput
	total := 0
	for range 2000 {
		shown := l.add("größe €\n")
		if strings.ContainsRune(shown, '\uFFFD') || !strings.HasSuffix(shown, "größe €\n") {
			t.Fatalf("shown %q", shown)
		}
		total += len(shown)
	}
	if !strings.HasPrefix(l.add("x"), "…\n") {
		t.Error("it does not say that it is the end only")
	}
	if printed := 2000 * len("größe €\n"); total > tailBudget+3*printed+2000*len("…\n") {
		t.Errorf("%d bytes for %d", total, printed)
	}
}

func TestACommandIsDrawnInATerminalLiveAndInTheReplay(t *testing.T) {
	r := connect(t, drawsTerminals())
	s := auto(t, r)
	const line = "run echo out; sleep 0.3; echo err >&2; exit 3"
	_, updates := prompt(t, s, line)
	live := draw(t, updates)
	calls := fold(updates).Calls
	last := calls[len(calls)-1]
	id := string(last.ToolCallID)
	want := drawn{
		info: `{"cwd":"` + r.folder + `","terminal_id":"` + id + `"}`,
		exit: `{"exit_code":3,"signal":null,"terminal_id":"` + id + `"}`, text: "out\nerr\n",
	}
	if live != want {
		t.Errorf("live %+v, want %+v", live, want)
	}
	if len(last.Content) != 1 || last.Content[0].(acp.ToolCallTerminal).TerminalID != acp.TerminalID(id) {
		t.Errorf("the call ended with %+v", last.Content)
	}
	second := connectTo(t, r.store, r.folder, drawsTerminals())
	load := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	if got := draw(t, replayed); got != want {
		t.Errorf("replayed %+v, want %+v", got, want)
	}
}

func TestADrawnTerminalEndsWhenItsCommandWasRefusedOrKilled(t *testing.T) {
	r := connect(t, drawsTerminals())
	r.client.answer = func(req acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
		return pick(req, acp.PermissionRejectOnce)
	}
	_, updates := prompt(t, r.open(t), "run touch ran")
	if got := draw(t, updates).exit; !strings.Contains(got, `"exit_code":null,"signal":null`) {
		t.Errorf("refused: %s", got)
	}
	_, updates = prompt(t, auto(t, r), "run kill -9 $$")
	if got := draw(t, updates).exit; !strings.Contains(got, `"exit_code":null,"signal":"SIGKILL"`) {
		t.Errorf("killed: %s", got)
	}
	calls := fold(updates).Calls
	if last := calls[len(calls)-1]; last.Status != acp.ToolCallFailed {
		t.Errorf("killed, it ended as %q", last.Status)
	}
}

// terminals are real ones of a client, with a record of what was asked of them.
type terminals struct {
	clienthost.Terminals
	mu      sync.Mutex
	created []acp.CreateTerminalRequest
	asked   []string
}

func (h *terminals) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, what)
}

func (h *terminals) CreateTerminal(ctx context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	h.mu.Lock()
	h.created = append(h.created, req)
	h.mu.Unlock()
	h.note("create")
	return h.Terminals.CreateTerminal(ctx, req)
}

func (h *terminals) ReleaseTerminal(ctx context.Context, req acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	h.note("release")
	return h.Terminals.ReleaseTerminal(ctx, req)
}

func withTerminals(t *testing.T) (*rig, *terminals) {
	t.Helper()
	h := &terminals{}
	t.Cleanup(func() { h.Close() })
	// An editor that offers terminals and can draw them as well runs the commands itself.
	options := drawsTerminals()
	options.Terminals = h
	return connect(t, options), h
}

func TestTheEditorsTerminalIsEmbeddedWhileItsCommandRunsAndReleasedAfter(t *testing.T) {
	r, h := withTerminals(t)
	const line = "echo begun | cat && until test -e go; do sleep 0.02; done"
	turn := auto(t, r).Prompt(t.Context(), acp.Text("run "+line))
	var updates []acp.SessionUpdate
	for u := range turn.Updates() {
		updates = append(updates, u)
		if call, ok := u.(acp.ToolCallUpdate); ok && call.Status == "" && len(call.Content) == 1 {
			if c, ok := call.Content[0].(acp.ToolCallTerminal); ok && c.TerminalID == "term-1" {
				write(t, r.folder, "go", "") // it runs: without this it would not end
			}
		}
	}
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
	calls := fold(updates).Calls
	last := calls[len(calls)-1]
	if last.Status != acp.ToolCallCompleted || len(last.Content) != 1 || last.Content[0].(acp.ToolCallTerminal).TerminalID != "term-1" {
		t.Errorf("the call ended as %+v", last)
	}
	if draw(t, updates) != (drawn{}) {
		t.Error("a terminal of the editor's is drawn as well")
	}
	req := h.created[0]
	if strings.ContainsAny(req.Command, " |&>") || req.Args[len(req.Args)-1] != line || req.Cwd != r.folder {
		t.Errorf("created %q %q in %q", req.Command, req.Args, req.Cwd)
	}
	names := map[string]string{}
	for _, v := range req.Env {
		names[v.Name] = v.Value
	}
	if names["PAGER"] != "cat" || names["GIT_TERMINAL_PROMPT"] != "0" || names["GIT_EDITOR"] == "" {
		t.Errorf("its environment is %v", names)
	}
	if got := strings.Join(h.asked, " "); got != "create release" {
		t.Errorf("asked of the terminals: %s", got)
	}
}

func TestACommandThatThePersonStopsInTheEditorIsToldAndTheTurnGoesOn(t *testing.T) {
	r, h := withTerminals(t)
	s := auto(t, r)
	turn := s.Prompt(t.Context(), acp.Text("run echo begun; exec sleep 60"))
	var updates []acp.SessionUpdate
	for u := range turn.Updates() {
		updates = append(updates, u)
		call, ok := u.(acp.ToolCallUpdate)
		if !ok || call.Status != "" || len(call.Content) == 0 {
			continue
		}
		if c, ok := call.Content[0].(acp.ToolCallTerminal); ok {
			if _, err := h.KillTerminal(t.Context(), acp.KillTerminalRequest{SessionID: s.ID(), TerminalID: c.TerminalID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	resp, err := turn.Result()
	if err != nil || resp.StopReason != acp.StopEndTurn {
		t.Errorf("the turn ended with %q, %v", resp.StopReason, err)
	}
	calls := fold(updates).Calls
	last := calls[len(calls)-1]
	if last.Status != acp.ToolCallFailed || len(last.Content) != 2 {
		t.Fatalf("the call ended as %+v", last)
	}
	if text := acp.PlainText(last.Content[1].(acp.ToolCallBlock).Content); !strings.Contains(text, "most likely stopped by the person") {
		t.Errorf("it says %q", text)
	}
}

func TestAClientWithoutTerminalsIsNotAskedForOne(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	_, updates := prompt(t, auto(t, r), "run echo here > made; echo shown")
	if _, err := os.Stat(filepath.Join(r.folder, "made")); err != nil {
		t.Error(err)
	}
	calls := fold(updates).Calls
	last := calls[len(calls)-1]
	text := ""
	for _, c := range last.Content {
		text += acp.PlainText(c.(acp.ToolCallBlock).Content)
	}
	if last.Status != acp.ToolCallCompleted || !strings.Contains(text, "shown\n") || strings.Contains(text, "<") {
		t.Errorf("the call ended as %s with %q", last.Status, text)
	}
}

func TestAProgramThatAsksOnTheTerminalFailsAtOnce(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	begun := time.Now()
	_, updates := prompt(t, auto(t, r), "run read answer </dev/tty; echo status $?; git --version >/dev/null && echo $GIT_EDITOR $PAGER $GIT_TERMINAL_PROMPT")
	calls := fold(updates).Calls
	last := calls[len(calls)-1]
	text := acp.PlainText(last.Content[0].(acp.ToolCallBlock).Content)
	if time.Since(begun) > 10*time.Second || strings.Contains(text, "status 0") || !strings.Contains(text, "true cat 0") {
		t.Errorf("after %s: %q", time.Since(begun), text)
	}
}
