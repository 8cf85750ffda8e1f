package bridge

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/host"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/offline"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

func TestTheAgentDoesWhatAnyAgentMust(t *testing.T) {
	store, err := session.OpenSQLite(filepath.Join(t.TempDir(), "sessions.db"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.List(t.Context(), session.Filter{}); err != nil { // its connections are not the agents'
		t.Fatal(err)
	}
	serve := func() *Bridge {
		a, err := agent.New(agent.Options{
			Store: store, Tools: tool.Builtin(), DefaultModel: "offline/offline", ModelChosen: true,
			OpenModel: func(context.Context, string) (model.Model, error) { return offline.New(), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return New(a, host.LocalOptions{})
	}
	acptest.TestAgent(t, func() acp.Agent { return serve() }, &acptest.TestOptions{
		Agent:      serve().Options(acp.Options{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}, acp.Implementation{Name: "wherry", Version: "test"}),
		Prompt:     []acp.ContentBlock{acp.Text("help")},
		LongPrompt: []acp.ContentBlock{acp.Text("run sleep 60")},
		Allow:      true,
	})
}
