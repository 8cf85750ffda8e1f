package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
	"github.com/wherry-acp/wherry/agent/model/retry"
)

// stopWithin is how long a turn may take to be answered after a cancel.
const stopWithin = time.Second

// running is a prompt whose updates are read, and told as they come.
type running struct {
	turn *acp.Turn
	seen chan acp.SessionUpdate
	done chan struct{} // closed when all updates have been read
}

func start(t *testing.T, s *acp.Session, text string) *running {
	t.Helper()
	r := &running{turn: s.Prompt(t.Context(), acp.Text(text)), seen: make(chan acp.SessionUpdate, 1000), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for u := range r.turn.Updates() {
			r.seen <- u
		}
	}()
	return r
}

// until waits for an update.
func (r *running) until(t *testing.T, is func(acp.SessionUpdate) bool) {
	t.Helper()
	for {
		select {
		case u := <-r.seen:
			if is(u) {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("what was waited for did not come")
		}
	}
}

func says(text string) func(acp.SessionUpdate) bool {
	return func(u acp.SessionUpdate) bool {
		c, ok := u.(acp.AgentMessageChunk)
		return ok && strings.Contains(acp.PlainText(c.Content), text)
	}
}

// cancelled waits for the end, which is near and the one that it must be.
func (r *running) cancelled(t *testing.T, since time.Time) {
	t.Helper()
	select {
	case <-r.turn.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the turn goes on")
	}
	if d := time.Since(since); d > stopWithin {
		t.Errorf("it took %v", d)
	}
	<-r.done
	if resp, err := r.turn.Result(); err != nil || resp.StopReason != acp.StopCancelled {
		t.Errorf("answered with %+v, %v", resp, err)
	}
}

func TestACancelEndsTheTurnInEveryPhase(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command of this test is for a Unix shell")
	}
	for _, tt := range []struct {
		name   string
		before string // an earlier prompt
		queue  []string
		prompt string
		when   func(t *testing.T, r *rig, server *modeltest.Server, turn *running)
		after  func(t *testing.T, r *rig)
	}{
		{name: "before the first word", prompt: "[[stall]]", when: func(t *testing.T, _ *rig, server *modeltest.Server, _ *running) {
			if _, err := server.Await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "in the middle of the answer", prompt: "[[text: well]][[stall]]", when: func(t *testing.T, _ *rig, _ *modeltest.Server, turn *running) {
			turn.until(t, says("well"))
		}},
		{
			name: "in a command", prompt: `[[call: run {"command":"echo $$ > pid; sleep 60 & sleep 60"}]]`,
			when: func(t *testing.T, r *rig, _ *modeltest.Server, _ *running) {
				for pidIn(r) == 0 {
					runtime.Gosched()
				}
			},
			after: func(t *testing.T, r *rig) {
				if left := group(t, pidIn(r)); len(left) > 0 {
					t.Errorf("of the command's processes there are still %v", left)
				}
			},
		},
		{
			name: "in a read that the editor does not answer", prompt: `[[call: view {"path":"a.txt"}]] [[text: never]]`, when: personAsked,
			after: func(t *testing.T, r *rig) {
				if n := len(r.client.questions()); n != 0 {
					t.Errorf("%d permissions were asked for", n)
				}
			},
		},
		{
			name: "in a permission", prompt: `[[call: create {"path":"a.txt","content":"x"}]]`, when: personAsked,
			after: func(t *testing.T, r *rig) {
				if _, err := os.Stat(filepath.Join(r.folder, "a.txt")); err == nil {
					t.Error("the file was made all the same")
				}
			},
		},
		{name: "in a question", prompt: `[[call: ask {"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}]]`, when: personAsked},
		{name: "in a summary", before: "[[text: one]]", queue: []string{"[[stall]]"}, prompt: "/compact", when: func(t *testing.T, _ *rig, server *modeltest.Server, _ *running) {
			if _, err := server.Await(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "in the wait for another try", prompt: "[[status 429 40 always]]", when: func(t *testing.T, _ *rig, _ *modeltest.Server, turn *running) {
			turn.until(t, says("Trying again in 40 s"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := double(t)
			asking := make(chan struct{}, 10)
			var options acp.ClientOptions
			if tt.name == "in a read that the editor does not answer" {
				options.Files = hanging(asking)
			}
			r := connectAgent(t, hosted(t, server, model.Info{}, retry.Policy{}), t.TempDir(), options)
			r.client.wait = func(ctx context.Context) {
				asking <- struct{}{}
				<-ctx.Done()
			}
			r.client.asking = asking
			s := r.open(t)
			if tt.name == "in a command" {
				if err := s.SetMode(t.Context(), "auto"); err != nil {
					t.Fatal(err)
				}
			}
			if tt.before != "" {
				prompt(t, s, tt.before)
			}
			server.Queue(tt.queue...)
			turn := start(t, s, tt.prompt)
			tt.when(t, r, server, turn)
			since := time.Now()
			for range 2 { // a second one changes nothing
				if err := s.Cancel(); err != nil {
					t.Fatal(err)
				}
			}
			turn.cancelled(t, since)
			if tt.after != nil {
				tt.after(t, r)
			}
			resp, updates := prompt(t, s, "[[anew]] [[text: fine]]")
			if resp.StopReason != acp.StopEndTurn || fold(updates).text("agent") != "fine" {
				t.Errorf("the next prompt: %+v, %q", resp, fold(updates).text("agent"))
			}
		})
	}
}

// hanging is an editor that gives no answer about files, and says when it is asked.
type hanging chan struct{}

func (h hanging) ReadTextFile(ctx context.Context, _ acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	h <- struct{}{}
	<-ctx.Done()
	return acp.ReadTextFileResponse{}, ctx.Err()
}

func (h hanging) WriteTextFile(ctx context.Context, _ acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	h <- struct{}{}
	<-ctx.Done()
	return acp.WriteTextFileResponse{}, ctx.Err()
}

// personAsked waits until the person, or the editor, is asked.
func personAsked(t *testing.T, r *rig, _ *modeltest.Server, _ *running) {
	t.Helper()
	select {
	case <-r.client.asking:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was asked")
	}
}

func pidIn(r *rig) int {
	data, err := os.ReadFile(filepath.Join(r.folder, "pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

func TestACancelWithoutATurnChangesNothing(t *testing.T) {
	r := connectAgent(t, hosted(t, double(t), model.Info{}, once), t.TempDir(), acp.ClientOptions{})
	s := r.open(t)
	for range 2 {
		if err := s.Cancel(); err != nil {
			t.Fatal(err)
		}
		if resp, _ := prompt(t, s, "[[text: fine]]"); resp.StopReason != acp.StopEndTurn {
			t.Errorf("%+v", resp)
		}
	}
}

func TestACancelThatMeetsTheEndIsAnsweredOnce(t *testing.T) {
	r := connectAgent(t, hosted(t, double(t), model.Info{}, once), t.TempDir(), acp.ClientOptions{})
	s := r.open(t)
	for i := range 20 {
		turn := start(t, s, "[[text: a few words of an answer]]")
		for range i * 2000 {
			runtime.Gosched()
		}
		if err := s.Cancel(); err != nil {
			t.Fatal(err)
		}
		resp, err := turn.turn.Result()
		<-turn.done
		if err != nil || resp.StopReason != acp.StopEndTurn && resp.StopReason != acp.StopCancelled {
			t.Errorf("%+v, %v", resp, err)
		}
	}
	if resp, _ := prompt(t, s, "[[text: fine]]"); resp.StopReason != acp.StopEndTurn {
		t.Errorf("%+v", resp)
	}
}

// group gives the processes of a group that are alive, as far as the system tells.
func group(t *testing.T, id int) (left []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) // state, parent, group
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(id) {
			left = append(left, path)
		}
	}
	return left
}

// lines is a client that sends what it likes: ours keeps a second prompt back.
type lines struct {
	transport.Transport
	t *testing.T
}

func (l lines) send(method string, id int, params any) {
	l.t.Helper()
	msg := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id > 0 {
		msg["id"] = id
	}
	data, err := json.Marshal(msg)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.Write(l.t.Context(), data); err != nil {
		l.t.Fatal(err)
	}
}

// answer reads on to the next answer.
func (l lines) answer() (id int, result struct{ SessionID, StopReason string }) {
	l.t.Helper()
	for {
		data, err := l.Read(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		var msg struct {
			ID     int
			Method string
			Error  json.RawMessage
			Result struct{ SessionID, StopReason string }
		}
		if err := json.Unmarshal(data, &msg); err != nil {
			l.t.Fatalf("%s: %v", data, err)
		}
		if msg.Error != nil {
			l.t.Errorf("%s", data)
		}
		if msg.Method == "" {
			return msg.ID, msg.Result
		}
	}
}

func TestPromptsAroundTheEndsOfTurnsAreEachAnsweredOnceInOrder(t *testing.T) {
	const prompts = 100
	server := double(t)
	a, err := agent.New(hosted(t, server, model.Info{}, once))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := transport.Pipe()
	b := New(a, host.LocalOptions{})
	served := make(chan error, 1)
	go func() {
		served <- acp.Serve(t.Context(), theirs, b, b.Options(acp.Options{}, acp.Implementation{Name: "wherry", Version: "test"}))
	}()
	l := lines{ours, t}
	l.send("initialize", 1, map[string]any{"protocolVersion": 1})
	l.answer()
	l.send("session/new", 2, map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}})
	_, made := l.answer()
	say := func(id int, text string) {
		l.send("session/prompt", id, map[string]any{"sessionId": made.SessionID, "prompt": []any{map[string]any{"type": "text", "text": text}}})
	}
	next := 100
	for i := range prompts {
		say(100+i, "[[text: p"+strconv.Itoa(i)+"]]")
		for i%3 == 2 && next < 100+i { // some come just when a turn ends, others wait in line
			if id, result := l.answer(); id != next || result.StopReason != "end_turn" {
				t.Errorf("answer %d is to %d: %+v", next, id, result)
			}
			next++
		}
	}
	for ; next < 100+prompts; next++ {
		if id, result := l.answer(); id != next || result.StopReason != "end_turn" {
			t.Errorf("answer %d is to %d: %+v", next, id, result)
		}
	}
	requests := server.Requests()
	if len(requests) != prompts {
		t.Errorf("%d requests", len(requests))
	}
	for i, req := range requests {
		if last := req.Items[len(req.Items)-1].Text; !strings.Contains(last, "p"+strconv.Itoa(i)+"]]") {
			t.Errorf("request %d is %q", i, last)
		}
	}
	// A cancel ends the one that runs and those behind it, each with its own answer.
	say(1000, "[[stall]]")
	if _, err := server.Await(t.Context(), prompts+1); err != nil {
		t.Fatal(err)
	}
	say(1001, "[[text: never]]")
	say(1002, "[[text: never]]")
	l.send("session/cancel", 0, map[string]any{"sessionId": made.SessionID})
	stopped := map[int]string{}
	for range 3 {
		id, result := l.answer()
		stopped[id] = result.StopReason
	}
	if len(stopped) != 3 || stopped[1000] != "cancelled" || stopped[1001] != "cancelled" || stopped[1002] != "cancelled" {
		t.Errorf("%v", stopped)
	}
	say(2000, "[[anew]] [[text: fine]]")
	if id, result := l.answer(); id != 2000 || result.StopReason != "end_turn" {
		t.Errorf("%d: %+v", id, result)
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	<-served
	if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
