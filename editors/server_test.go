//go:build unix

package editors

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wherry-acp/wherry/acp"
)

// serverCommand has this test binary be an MCP server, which is what an editor's settings would start.
const serverCommand = "tides-server"

func serveTides() int {
	if err := tidesServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func tidesServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tides", Version: "1"}, nil)
	type place struct {
		Place string `json:"place"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "tide", Description: "When the tide is high."},
		func(_ context.Context, _ *mcp.CallToolRequest, in place) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Place + ": at noon, " + os.Getenv("TIDES_KEY")}}}, nil, nil
		})
	return server
}

// tides is the server as an editor gives it.
func tides() acp.MCPServer {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return acp.MCPServerStdio{Name: "tides", Command: self, Args: []string{serverCommand}, Env: []acp.EnvVariable{{Name: "TIDES_KEY", Value: "of-the-sea"}}}
}

func TestTheEditorsServersGiveTheModelTheirTools(t *testing.T) {
	p := zed()
	p.servers = []acp.MCPServer{tides()}
	for _, p := range []profile{p, jetbrains()} {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, "[[text: hello]]")
		name := ""
		for _, tool := range d.model.Last().Tools {
			if strings.Contains(tool.Name, "tide") {
				name = tool.Name
			}
		}
		if name == "" {
			t.Fatalf("%s: the model is not offered the server's tool", p.info.Name)
		}
		_, updates := d.say(s, `[[call: `+name+` {"place":"Wherry"}]] [[result]]`)
		if text := spoken(updates); !strings.Contains(text, "Wherry: at noon") || strings.Contains(text, "of-the-sea") {
			t.Errorf("%s: the model got %q", p.info.Name, text)
		}
		if asked := d.questions(); len(asked) != 1 || !strings.Contains(asked[0].ToolCall.Title, "tide") {
			t.Errorf("%s: asked was %+v", p.info.Name, asked)
		}
		d.restart()
		s, _ = d.load(s.ID())
		if _, updates := d.say(s, `[[anew]] [[call: `+name+` {"place":"Again"}]] [[result]]`); !strings.Contains(spoken(updates), "Again: at noon") {
			t.Errorf("%s: after a restart the model got %q", p.info.Name, spoken(updates))
		}
	}
}

func TestServersElsewhereAreReachedByHTTPAndSSEWithTheirHeaders(t *testing.T) {
	get := func(*http.Request) *mcp.Server { return tidesServer() }
	for name, tt := range map[string]struct {
		handler http.Handler
		server  func(url string, headers []acp.HTTPHeader) acp.MCPServer
	}{
		"http": {mcp.NewStreamableHTTPHandler(get, nil), func(url string, headers []acp.HTTPHeader) acp.MCPServer {
			return acp.MCPServerHTTP{Name: "tides", URL: url, Headers: headers}
		}},
		"sse": {mcp.NewSSEHandler(get, nil), func(url string, headers []acp.HTTPHeader) acp.MCPServer {
			return acp.MCPServerSSE{Name: "tides", URL: url, Headers: headers}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer of-the-sea" {
					http.Error(w, "who are you?", http.StatusUnauthorized)
					return
				}
				tt.handler.ServeHTTP(w, r)
			}))
			t.Cleanup(elsewhere.CloseClientConnections)
			p := jetbrains()
			p.servers = []acp.MCPServer{tt.server(elsewhere.URL, []acp.HTTPHeader{{Name: "Authorization", Value: "Bearer of-the-sea"}})}
			d := sit(t, p, nil)
			s := d.open()
			d.say(s, "[[text: hello]]")
			tool := ""
			for _, offered := range d.model.Last().Tools {
				if strings.Contains(offered.Name, "tide") {
					tool = offered.Name
				}
			}
			_, updates := d.say(s, `[[call: `+tool+` {"place":"Wherry"}]] [[result]]`)
			if text := spoken(updates); tool == "" || !strings.Contains(text, "Wherry: at noon") {
				t.Errorf("the model was offered %q and got %q; told was %q", tool, text, noticed(s))
			}
			if strings.Contains(noticed(s)+d.wire.stderrText(), "of-the-sea") {
				t.Error("a header is shown")
			}
			d.Close() // before the server: its streams are open
			<-d.Done()
			elsewhere.CloseClientConnections()
			elsewhere.Close()
		})
	}
}

func TestAServerThatCannotBeStartedIsToldAndHindersNothing(t *testing.T) {
	p := jetbrains()
	p.servers = append(p.servers, acp.MCPServerStdio{Name: "absent", Command: "/nonexistent/mcp-server", Env: []acp.EnvVariable{{Name: "KEY", Value: "canary"}}})
	d := sit(t, p, nil)
	begun := time.Now()
	s := d.open()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("session/new took %v", took)
	}
	_, updates := d.say(s, "[[text: hello]]")
	if !strings.Contains(noticed(s), "absent") {
		t.Errorf("the person is not told: %q", noticed(s))
	}
	if spoken(updates) != "hello" {
		t.Errorf("the answer is %q", spoken(updates))
	}
	offered := false
	for _, tool := range d.model.Last().Tools {
		offered = offered || strings.Contains(tool.Name, "tide")
	}
	if !offered {
		t.Error("the other server's tool is missing")
	}
	if strings.Contains(noticed(s)+d.wire.stderrText(), "canary") {
		t.Error("a server's key is shown")
	}
}
