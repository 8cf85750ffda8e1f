package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/mcp"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// serveMCP is a server with one tool.
func serveMCP() {
	server := sdk.NewServer(&sdk.Implementation{Name: "test-server", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "echo", Description: "Gives back what it is given.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "echo " + string(r.Params.Arguments)}}}, nil
		})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func echoServer(t *testing.T, name string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: name, Command: self, Args: []string{"serve"}}
}

func toolNames(req model.Request) []string {
	var out []string
	for _, s := range req.Tools {
		out = append(out, s.Name)
	}
	return out
}

func TestTheClientsServersAndTheConfiguredOnesOfferTheirToolsToTheFirstRequest(t *testing.T) {
	own := echoServer(t, "own")
	r := newRigOn(t, newStore(t), Options{Servers: []mcp.Server{own, {Name: "both", Command: "not-there"}}},
		calls(call("a", "editor__echo", `{"x":1}`)), says("done"), says("more"), says("last"))
	t.Cleanup(func() { _ = r.session.Close(context.Background()) })
	r.face.ask = func(context.Context, Question) (Answer, error) { return Answer{Allowed: true}, nil }
	r.session.Bring([]mcp.Server{echoServer(t, "editor"), echoServer(t, "both")})

	r.turn(t, t.Context(), "hello")
	if got := toolNames(r.model.requests()[0]); !slices.Equal(got, []string{"editor__echo", "both__echo", "own__echo"}) {
		t.Errorf("offered: %v", got)
	}
	if q := r.face.questions(); len(q) != 1 || q[0].Presentation.Class != approval.ClassServer || string(q[0].Presentation.Request.Args) != `{"x":1}` {
		t.Errorf("asked: %+v", q)
	}
	if done := stored[session.CallDone](t, r); len(done) != 1 || !strings.Contains(done[0].Result.Text, `echo {"x":1}`) {
		t.Errorf("the call: %+v", done)
	}

	r.session.Bring([]mcp.Server{echoServer(t, "editor")}) // what is brought anew replaces what was
	r.turn(t, t.Context(), "again")
	if got := toolNames(r.model.requests()[2]); !slices.Equal(got, []string{"editor__echo", "own__echo"}) {
		t.Errorf("offered after the change: %v", got)
	}
}

func TestAServerThatFailsIsToldOnceAndTheModelKnowsIt(t *testing.T) {
	r := newRigOn(t, newStore(t), Options{Servers: []mcp.Server{{Name: "broken", Command: "/no/such/program"}, echoServer(t, "fine")}},
		says("one"), says("two"))
	t.Cleanup(func() { _ = r.session.Close(context.Background()) })
	r.turn(t, t.Context(), "hello")
	r.turn(t, t.Context(), "again")
	var told []string
	for _, n := range stored[session.Notice](t, r) {
		if strings.Contains(n.Text, "broken") {
			told = append(told, n.Text)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "/no/such/program") {
		t.Errorf("told: %q", told)
	}
	first := r.model.requests()[0]
	if !strings.Contains(first.System, "broken (failed)") || !slices.Equal(toolNames(first), []string{"fine__echo"}) {
		t.Errorf("tools %v, system prompt:\n%s", toolNames(first), first.System)
	}
}

func TestTheServersOfASessionEndWithIt(t *testing.T) {
	r := newRigOn(t, newStore(t), Options{Servers: []mcp.Server{echoServer(t, "own")}}, says("one"))
	r.turn(t, t.Context(), "hello")
	if err := r.session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.session.servers.now() != nil {
		t.Error("there is still a set")
	}
	r.session.Bring([]mcp.Server{echoServer(t, "late")})
	if r.session.servers.now() != nil {
		t.Error("a closed session has started a server")
	}
}

func TestTheCommandMCPShowsTheServersAndStartsOneAnew(t *testing.T) {
	r := newRigOn(t, newStore(t), Options{Servers: []mcp.Server{echoServer(t, "own")}}, says("one"))
	t.Cleanup(func() { _ = r.session.Close(context.Background()) })
	r.turn(t, t.Context(), "hello")
	for _, tc := range []struct{ say, want string }{
		{"/mcp", "`own` (stdio): ready, test-server 1, tools `own__echo`"},
		{"/mcp restart own", "starting anew"},
		{"/mcp restart nobody", "nobody"},
		{"/mcp dance", `not "dance"`},
		{"/tools", "`own__echo`"},
	} {
		r.session.servers.wait(t.Context())
		r.turn(t, t.Context(), tc.say)
		said := stored[session.CommandAnswered](t, r)
		if last := said[len(said)-1].Text; !strings.Contains(last, tc.want) {
			t.Errorf("%s: %q", tc.say, last)
		}
	}
}

func TestAToolOfAServerCanBeAllowedUntilTheServersChange(t *testing.T) {
	again := func() []step { return []step{calls(call("a", "own__echo", `{"n":1}`)), says("done")} }
	r := newRigOn(t, newStore(t), Options{})
	t.Cleanup(func() { _ = r.session.Close(context.Background()) })
	for range 3 {
		r.model.steps = append(r.model.steps, again()...)
	}
	r.face.ask = func(context.Context, Question) (Answer, error) {
		return Answer{Allowed: true, Scope: approval.ScopeTool}, nil
	}
	r.session.Bring([]mcp.Server{echoServer(t, "own")})
	r.turn(t, t.Context(), "one")
	r.turn(t, t.Context(), "two")
	if n := len(r.face.questions()); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
	r.turn(t, t.Context(), "/permissions")
	if said := stored[session.CommandAnswered](t, r); !strings.Contains(said[0].Text, "every call of the tool `own__echo`") {
		t.Errorf("/permissions: %s", said[0].Text)
	}
	other := echoServer(t, "own")
	other.Env = map[string]string{"X": "1"}
	r.session.Bring([]mcp.Server{other})
	r.turn(t, t.Context(), "three")
	if n := len(r.face.questions()); n != 2 {
		t.Errorf("asked %d times, want again after the server changed", n)
	}
}
