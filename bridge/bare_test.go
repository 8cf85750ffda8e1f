package bridge

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/offline"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// bare is a client without an SDK: it sends what it is told to.
type bare struct {
	t    *testing.T
	wire acp.Transport
	n    int
}

// connectBare serves the agent to a client without an SDK, which has greeted it.
func connectBare(t *testing.T) *bare {
	t.Helper()
	store := session.NewMemory()
	t.Cleanup(func() { _ = store.Close() })
	a, err := agent.New(agent.Options{
		Store: store, Tools: tool.Builtin(), DefaultModel: "offline/offline", ModelChosen: true,
		OpenModel: func(context.Context, string) (model.Model, error) { return offline.New(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ours, theirs := transport.Pipe()
	served := make(chan error, 1)
	bridge := New(a, host.LocalOptions{})
	go func() {
		served <- acp.Serve(ctx, theirs, bridge, bridge.Options(acp.Options{}, acp.Implementation{Name: "wherry", Version: "test"}))
	}()
	t.Cleanup(func() {
		end()
		<-served
		_ = ours.Close()
	})
	b := &bare{t: t, wire: ours}
	if _, failed := b.call(acp.MethodInitialize, map[string]any{"protocolVersion": 1}); failed != nil {
		t.Fatalf("initialize: %+v", failed)
	}
	return b
}

// answerError is the error of an answer.
type answerError struct {
	Code acp.ErrorCode
	Data struct{ SessionID *string }
}

func (b *bare) call(method string, params map[string]any) (map[string]any, *answerError) {
	b.t.Helper()
	b.n++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": b.n, "method": method, "params": params})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.wire.Write(b.t.Context(), line); err != nil {
		b.t.Fatal(err)
	}
	for {
		line, err := b.wire.Read(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		var answer struct {
			ID     *int
			Method string
			Result map[string]any
			Error  *answerError
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			b.t.Fatalf("%s: %v", line, err)
		}
		if answer.Method == "" && answer.ID != nil && *answer.ID == b.n {
			return answer.Result, answer.Error
		}
	}
}

func (b *bare) open(folder string) string {
	b.t.Helper()
	result, failed := b.call(acp.MethodSessionNew, map[string]any{"cwd": folder, "mcpServers": []any{}})
	if failed != nil {
		b.t.Fatalf("session/new: %+v", failed)
	}
	return result["sessionId"].(string)
}

func TestAnUnknownSessionIsSaidToBeUnknownByEveryMethod(t *testing.T) {
	b, folder := connectBare(t), t.TempDir()
	closed, deleted := b.open(folder), b.open(folder)
	for method, id := range map[string]string{acp.MethodSessionClose: closed, acp.MethodSessionDelete: deleted} {
		if _, failed := b.call(method, map[string]any{"sessionId": id}); failed != nil {
			t.Fatalf("%s: %+v", method, failed)
		}
	}
	opening := map[string]bool{acp.MethodSessionLoad: true, acp.MethodSessionResume: true, acp.MethodUnstableSessionFork: true}
	for _, id := range []string{"sess_nobody", "", "../../etc/passwd", closed, deleted} {
		for method, params := range map[string]map[string]any{
			acp.MethodSessionLoad:            {"cwd": folder, "mcpServers": []any{}},
			acp.MethodSessionResume:          {"cwd": folder},
			acp.MethodUnstableSessionFork:    {"cwd": folder},
			acp.MethodSessionPrompt:          {"prompt": []any{map[string]string{"type": "text", "text": "hi"}}},
			acp.MethodSessionSetMode:         {"modeId": "ask"},
			acp.MethodSessionSetConfigOption: {"configId": "mode", "value": "ask"},
			acp.MethodSessionClose:           {},
		} {
			if id == closed && opening[method] {
				continue // what is closed can be opened again
			}
			params["sessionId"] = id
			result, failed := b.call(method, params)
			if failed == nil || failed.Code != acp.CodeResourceNotFound || failed.Data.SessionID == nil || *failed.Data.SessionID != id {
				t.Errorf("%s of %q: %v, %+v", method, id, result, failed)
			}
		}
	}
	result, _ := b.call(acp.MethodSessionList, map[string]any{})
	if all, _ := result["sessions"].([]any); len(all) != 1 || all[0].(map[string]any)["sessionId"] != closed {
		t.Errorf("stored are %v", result)
	}
}

func TestAListIsWalkedPageByPageAndAForeignCursorIsRefused(t *testing.T) {
	b, folder, more := connectBare(t), t.TempDir(), t.TempDir()
	want := map[string]bool{}
	for range 60 {
		want[b.open(folder)] = true
	}
	b.open(more) // of another folder, between the pages of this one
	result, failed := b.call(acp.MethodSessionNew, map[string]any{"cwd": folder, "additionalDirectories": []string{more}, "mcpServers": []any{}})
	if failed != nil {
		t.Fatalf("%+v", failed)
	}
	rooted := result["sessionId"].(string)
	want[rooted] = true
	seen := map[string]int{}
	params := map[string]any{"cwd": folder}
	for pages := 1; ; pages++ {
		result, failed := b.call(acp.MethodSessionList, params)
		if failed != nil {
			t.Fatalf("%+v", failed)
		}
		var last string
		for _, s := range result["sessions"].([]any) {
			s := s.(map[string]any)
			last = s["sessionId"].(string)
			seen[last]++
			dirs, _ := s["additionalDirectories"].([]any)
			if s["cwd"] != folder || last == rooted && (len(dirs) != 1 || dirs[0] != more) {
				t.Errorf("listed %v", s)
			}
		}
		// One that was seen and one that was not move to the top meanwhile.
		for _, id := range []string{last, rooted} {
			if _, failed := b.call(acp.MethodSessionResume, map[string]any{"sessionId": id, "cwd": folder, "additionalDirectories": []string{more}}); failed != nil {
				t.Fatalf("%+v", failed)
			}
			b.call(acp.MethodSessionPrompt, map[string]any{"sessionId": id, "prompt": []any{map[string]string{"type": "text", "text": "help"}}})
		}
		next, ok := result["nextCursor"]
		if !ok {
			if pages < 2 {
				t.Error("it is one page")
			}
			break
		}
		params["cursor"] = next
	}
	for id := range want {
		if seen[id] != 1 {
			t.Errorf("%s was listed %d times", id, seen[id])
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d sessions were listed, want %d", len(seen), len(want))
	}
	for _, cursor := range []string{"nonsense", "bm90IGEgY3Vyc29y"} {
		if result, failed := b.call(acp.MethodSessionList, map[string]any{"cursor": cursor}); failed == nil || failed.Code != acp.CodeInvalidParams {
			t.Errorf("cursor %q: %v, %+v", cursor, result, failed)
		}
	}
}
