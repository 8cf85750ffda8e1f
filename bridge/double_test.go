package bridge

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
	"github.com/wherry-acp/wherry/agent/model/provider"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// scriptedRig is a rig whose model does what the directives in the prompts say.
type scriptedRig struct {
	*rig
	double *modeltest.Server
}

// connectScripted serves the agent, with a model double behind the wire format of a provider, to a client with these options.
func connectScripted(t *testing.T, options acp.ClientOptions, change ...func(*agent.Options)) *scriptedRig {
	t.Helper()
	store, err := session.OpenSQLite(filepath.Join(t.TempDir(), "sessions.db"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	double := modeltest.NewServer()
	t.Cleanup(double.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	vars := map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": double.URL + "/v1"}
	env := provider.Env{Client: &http.Client{Transport: transport}, Lookup: func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}}
	opts := agent.Options{
		Store: store, Tools: tool.Builtin(), DefaultModel: "openai/fake", ModelChosen: true,
		OpenModel: func(ctx context.Context, id string) (model.Model, error) { return provider.Open(ctx, id, env) },
	}
	for _, f := range change {
		f(&opts)
	}
	return &scriptedRig{connectAgent(t, opts, t.TempDir(), options), double}
}

// told is what the model got of the results of its newest calls.
func (r *scriptedRig) told(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	items := r.double.Last().Items
	for i := len(items) - 1; i >= 0 && items[i].Role == modeltest.Tool; i-- {
		b.WriteString(items[i].Text)
	}
	return b.String()
}
