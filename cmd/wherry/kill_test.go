package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

const (
	killsUsually = 12
	killsEnv     = "WHERRY_TEST_KILLS" // how many instead
	killSteps    = 20

	// tailLost bounds how old a streamed text may be that a killed program had shown and not stored: it stores twice a
	// second, and the disk of a busy machine takes its time.
	tailLost = 3 * time.Second
)

// killScript is a turn of killSteps steps with thoughts, texts, views, edits, files, commands and a plan. Each command leaves
// a line of its own in the file ran.
func killScript() string {
	var b strings.Builder
	b.WriteString("Work through it. [[slow 3ms]] [[restart-ids]] ")
	for n := 1; n <= killSteps; n++ {
		fmt.Fprintf(&b, "[[thought: step %d needs thought, as every step does]] [[text: This is what I say before step %d of the work. ]] ", n, n)
		if n%5 == 0 {
			b.WriteString("[[chunks 60 16]] ")
		}
		switch n % 4 {
		case 1:
			b.WriteString(`[[call: view {"path":"notes.txt"}]] `)
		case 2:
			fmt.Fprintf(&b, `[[call: edit {"path":"notes.txt","edits":[{"old":"count %d\n","new":"count %d\n"}]}]] `, n/4, n/4+1)
		case 3:
			fmt.Fprintf(&b, `[[call: run {"command":"echo step %d >> ran; echo out %d"}]] `, n, n)
		default:
			fmt.Fprintf(&b, `[[call: plan {"entries":[{"content":"step %d","status":"completed"},{"content":"the rest"}]}]] [[call: create {"path":"file%d.txt","content":"of step %d\n"}]] [[call: run {"command":"echo step %d >> ran"}]] `, n, n, n, n)
		}
	}
	b.WriteString("[[text: All steps are done.]]")
	return b.String()
}

// served is wherry acp as a child process, with a client that allows everything and keeps what it is shown.
type served struct {
	*acp.RemoteAgent
	cmd  *exec.Cmd
	view *view
}

// view is what a person has seen.
type view struct {
	mu       sync.Mutex
	order    []string // what was shown first, in order: "call ID", "agent ID", …
	texts    map[string]string
	arrived  map[string][]arrival
	calls    map[string]*seenCall
	plan     string
	asked    int
	unusable []string
}

type arrival struct {
	at   time.Time
	size int // of the text so far
}

type seenCall struct {
	Status  acp.ToolCallStatus
	Title   string
	Content string // JSON
}

func newView() *view {
	return &view{texts: map[string]string{}, arrived: map[string][]arrival{}, calls: map[string]*seenCall{}}
}

// snapshot is what has been seen so far.
func (v *view) snapshot() *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	calls := map[string]*seenCall{}
	for id, c := range v.calls {
		copied := *c
		calls[id] = &copied
	}
	return &view{
		order: slices.Clone(v.order), texts: maps.Clone(v.texts), arrived: maps.Clone(v.arrived), calls: calls,
		plan: v.plan, asked: v.asked, unusable: slices.Clone(v.unusable),
	}
}

// tap takes in what comes from the agent.
func (v *view) tap(dir acp.Direction, at time.Time, message []byte) {
	if dir != acp.Incoming {
		return
	}
	var m struct {
		Method string
		Params struct{ Update json.RawMessage }
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return // the end of a line that a killed program had begun
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch m.Method {
	case acp.MethodSessionRequestPermission:
		v.asked++
	case acp.MethodSessionUpdate:
		u, err := acp.UnmarshalSessionUpdate(m.Params.Update)
		if err != nil {
			v.unusable = append(v.unusable, err.Error())
			return
		}
		v.update(u, at)
	}
}

func (v *view) update(u acp.SessionUpdate, at time.Time) {
	switch u := u.(type) {
	case acp.UserMessageChunk:
		v.say("user", acp.ContentChunk(u), at)
	case acp.AgentMessageChunk:
		v.say("agent", acp.ContentChunk(u), at)
	case acp.AgentThoughtChunk:
		v.say("thought", acp.ContentChunk(u), at)
	case acp.ToolCall:
		v.order = append(v.order, "call "+string(u.ToolCallID))
		v.calls[string(u.ToolCallID)] = &seenCall{Status: u.Status, Title: u.Title, Content: marshal(u.Content)}
	case acp.ToolCallUpdate:
		c := v.calls[string(u.ToolCallID)]
		if c == nil {
			v.unusable = append(v.unusable, "an update of an unknown call "+string(u.ToolCallID))
			return
		}
		if u.Status != "" {
			c.Status = u.Status
		}
		if u.Content != nil {
			c.Content = marshal(u.Content)
		}
	case acp.Plan:
		v.plan = marshal(u.Entries)
	}
}

func (v *view) say(kind string, c acp.ContentChunk, at time.Time) {
	key := kind + " " + string(c.MessageID)
	if _, ok := v.texts[key]; !ok {
		v.order = append(v.order, key)
	}
	v.texts[key] += acp.PlainText(c.Content)
	v.arrived[key] = append(v.arrived[key], arrival{at, len(v.texts[key])})
}

func marshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func startServed(t *testing.T, home, server string) *served {
	t.Helper()
	program, err := exec.LookPath("wherry") // what TestMain put there
	if err != nil {
		t.Fatal(err)
	}
	e := &served{cmd: exec.Command(program, "acp", "--model", "openai/fake"), view: newView()}
	e.cmd.Env = environOf(home, server)
	var stderr bytes.Buffer
	e.cmd.Stderr = &stderr
	in, err := e.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	allow := func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: optionOf(req.Options, acp.PermissionAllowOnce)}}, nil
	}
	e.RemoteAgent, err = acp.Connect(context.Background(), transport.NewLine(out, in, nil), &acp.ClientOptions{
		Options: acp.Options{Tap: e.view.tap}, Permission: acp.PermissionFunc(allow),
	})
	if err != nil {
		_ = e.cmd.Process.Kill()
		t.Fatalf("connect: %v; stderr: %s", err, stderr.String())
	}
	t.Cleanup(func() { e.kill() })
	return e
}

// kill ends the program as a crash would, and takes in what it had written.
func (e *served) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.Wait()
	_ = e.Close()
	_ = e.cmd.Wait()
}

// TestAConversationSurvivesAKillAtAnyMoment kills the program at random moments of a long turn, and then looks: the session
// loads, everything that was shown is there, and nothing ran twice.
func TestAConversationSurvivesAKillAtAnyMoment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of the turn are for a Unix shell")
	}
	kills := killsUsually
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	server := modeltest.NewServer()
	defer server.Close()
	home := t.TempDir()
	k := &killing{t: t, home: home, server: server}

	begun := time.Now()
	if v, _ := k.run(time.Minute); !strings.Contains(v.texts[v.order[len(v.order)-1]], "All steps are done.") || v.asked < killSteps/2 {
		t.Fatalf("left alone, the turn does not end as it should: %v", v.order)
	}
	whole := time.Since(begun)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("the turn takes %v; the seed is %d", whole, seed)
	for n := range kills {
		after := time.Duration(random.Int64N(int64(whole)))
		if !t.Run(fmt.Sprintf("kill %d", n+1), func(t *testing.T) {
			k.t = t
			k.one(after)
		}) {
			t.Logf("killed %v after the prompt", after)
		}
	}
	t.Logf("of %d kills: %d calls were open, %d texts were cut short, by %d characters at most; longest tail lost %v", kills, k.open, k.cut, k.cutBy, k.cutAge)
}

type killing struct {
	t      *testing.T
	home   string
	server *modeltest.Server

	open, cut, cutBy int
	cutAge           time.Duration
	folder           string
	session          acp.SessionID
	killedAt         time.Time
}

// run begins a turn in a new session of a new folder and kills the program after so long. It gives what was shown.
func (k *killing) run(after time.Duration) (*view, bool) {
	k.folder = k.t.TempDir()
	if err := os.WriteFile(filepath.Join(k.folder, "notes.txt"), []byte("count 0\n"), 0o600); err != nil {
		k.t.Fatal(err)
	}
	e := startServed(k.t, k.home, k.server.URL)
	s, err := e.NewSession(k.t.Context(), acp.NewSessionRequest{Cwd: k.folder})
	if err != nil {
		k.t.Fatal(err)
	}
	k.session = s.ID()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.Prompt(context.Background(), acp.Text(killScript())).Result()
	}()
	alarm := time.NewTimer(after)
	defer alarm.Stop()
	done := false
	select {
	case <-ended:
		done = true
	case <-alarm.C:
	}
	k.killedAt = time.Now()
	e.kill()
	<-ended
	return e.view, done
}

// one kills once and looks.
func (k *killing) one(after time.Duration) {
	t := k.t
	shown, done := k.run(after)
	e := startServed(t, k.home, k.server.URL)
	s, err := e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: k.session, Cwd: k.folder}).Result()
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	k.compare(shown, e.view.snapshot(), done)

	// The conversation goes on, with a request that a provider takes.
	before := len(k.server.Requests())
	resp, err := s.Prompt(t.Context(), acp.Text("[[anew]] [[text: I am still here.]]")).Result()
	if err != nil || resp.StopReason != acp.StopEndTurn {
		t.Errorf("the next turn ended with %q, %v", resp.StopReason, err)
	}
	requests := k.server.Requests()
	if len(requests) != before+1 {
		t.Fatalf("the next turn made %d requests", len(requests)-before)
	}
	complete(t, requests[len(requests)-1].Items)
	if n := e.view.snapshot().asked; n != 0 {
		t.Errorf("after the kill permission was asked for %d times", n)
	}
	e.kill()
	k.ranOnce(shown)
}

// compare looks whether what was loaded holds what was shown.
func (k *killing) compare(shown, loaded *view, done bool) {
	t := k.t
	if len(shown.unusable)+len(loaded.unusable) > 0 {
		t.Errorf("unusable: %v, %v", shown.unusable, loaded.unusable)
	}
	place := -1
	for i, key := range shown.order {
		at := slices.Index(loaded.order, key)
		if at < 0 {
			if _, isText := shown.texts[key]; isText && i == len(shown.order)-1 { // all of it is the tail
				k.tail(shown, key, "")
				continue
			}
			t.Errorf("%s was shown and is gone", key)
			continue
		}
		if at < place {
			t.Errorf("%s is at another place", key)
		}
		place = at
		if call, isCall := shown.calls[strings.TrimPrefix(key, "call ")]; isCall && strings.HasPrefix(key, "call ") {
			k.call(key, call, loaded.calls[strings.TrimPrefix(key, "call ")])
			continue
		}
		switch was, is := shown.texts[key], loaded.texts[key]; {
		case strings.HasPrefix(is, was):
		case strings.HasPrefix(was, is) && i == len(shown.order)-1:
			k.tail(shown, key, is)
		default:
			t.Errorf("%s was %q and is %q", key, was, is)
		}
	}
	if shown.plan != "" && shown.plan != loaded.plan && !strings.Contains(loaded.plan, "the rest") {
		t.Errorf("the plan was %s and is %s", shown.plan, loaded.plan)
	}
	if len(shown.order) > 0 && !slices.ContainsFunc(loaded.order, func(key string) bool { return strings.HasPrefix(key, "user ") }) {
		t.Error("the prompt is gone")
	}
	for key, call := range loaded.calls {
		if call.Status != acp.ToolCallCompleted && call.Status != acp.ToolCallFailed {
			t.Errorf("call %s is left %s", key, call.Status)
		}
	}
	if done && !slices.Equal(shown.order, loaded.order[1:]) { // the prompt is shown by the client itself
		t.Errorf("shown was %v, loaded is %v", shown.order, loaded.order)
	}
}

// call compares a call. One that had not ended is closed, or had ended before that was shown.
func (k *killing) call(key string, was, is *seenCall) {
	if was.Title != is.Title {
		k.t.Errorf("%s was called %q and is called %q", key, was.Title, is.Title)
	}
	switch was.Status {
	case acp.ToolCallCompleted, acp.ToolCallFailed:
		if *was != *is {
			k.t.Errorf("%s was %+v and is %+v", key, was, is)
		}
	default:
		k.open++
	}
}

// tail looks at a text whose end was lost: it is what streamed last.
func (k *killing) tail(shown *view, key, is string) {
	k.cut++
	k.cutBy = max(k.cutBy, len(shown.texts[key])-len(is))
	for _, a := range shown.arrived[key] {
		if a.size > len(is) {
			age := k.killedAt.Sub(a.at)
			k.cutAge = max(k.cutAge, age)
			if age > tailLost {
				k.t.Errorf("%s: lost is what had been shown for %v", key, age)
			}
			return
		}
	}
}

// complete looks whether each call in a request has exactly one result.
func complete(t *testing.T, items []modeltest.Item) {
	t.Helper()
	results := map[string]int{}
	for _, item := range items {
		if item.Role == modeltest.Tool {
			results[item.CallID]++
		}
	}
	calls := 0
	for _, item := range items {
		for _, c := range item.Calls {
			calls++
			if results[c.ID] != 1 {
				t.Errorf("call %s %s has %d results", c.ID, c.Name, results[c.ID])
			}
		}
	}
	if calls != len(results) {
		t.Errorf("%d calls, %d results", calls, len(results))
	}
}

// ranOnce looks at what the commands have left: no line twice, and one of each call that was shown as completed.
func (k *killing) ranOnce(shown *view) {
	raw, err := os.ReadFile(filepath.Join(k.folder, "ran"))
	if err != nil && !os.IsNotExist(err) {
		k.t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		lines[strings.TrimSpace(line)]++
	}
	for line, n := range lines {
		if n != 1 {
			k.t.Errorf("%q ran %d times", line, n)
		}
	}
	for id, call := range shown.calls {
		_, command, isRun := strings.Cut(call.Title, "echo step ")
		step, _, _ := strings.Cut(command, " ")
		if isRun && call.Status == acp.ToolCallCompleted && lines["step "+step] != 1 {
			k.t.Errorf("call %s was shown as completed, and step %s did not run", id, step)
		}
	}
}
