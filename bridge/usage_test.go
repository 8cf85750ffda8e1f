package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
	"github.com/wherry-acp/wherry/agent/model/openai"
	"github.com/wherry-acp/wherry/agent/model/retry"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// hosted gives agent options whose model is a provider's, at a double's address.
func hosted(t *testing.T, double *modeltest.Server, info model.Info, p retry.Policy) agent.Options {
	t.Helper()
	return hostedAt(t, double, info, p, 0)
}

func hostedAt(t *testing.T, double *modeltest.Server, info model.Info, p retry.Policy, idle time.Duration) agent.Options {
	t.Helper()
	store, err := session.OpenSQLite(filepath.Join(t.TempDir(), "sessions.db"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	info.Provider, info.Name = "openai", "fake"
	at := endpoint.Endpoint{Title: "OpenAI", BaseURL: double.URL + "/v1", Key: "sk-key", KeyVar: "OPENAI_API_KEY", Client: httpClient(t), Idle: idle}
	m := retry.Wrap(openai.New(at, info), p)
	return agent.Options{
		Store: store, Tools: tool.Builtin(), DefaultModel: "openai/fake", ModelChosen: true,
		OpenModel: func(context.Context, string) (model.Model, error) { return m, nil },
	}
}

// double starts a provider's double that ends with the test.
func double(t *testing.T) *modeltest.Server {
	t.Helper()
	s := modeltest.NewServer()
	t.Cleanup(s.Close)
	return s
}

func usageOf(updates []acp.SessionUpdate) (out []acp.UsageUpdate) {
	for _, u := range updates {
		if u, ok := u.(acp.UsageUpdate); ok {
			out = append(out, u)
		}
	}
	return out
}

func TestUsageIsThatOfTheNewestRequestAndTheCostThatOfTheSession(t *testing.T) {
	opts := hosted(t, double(t), model.Info{ContextWindow: 100_000, Price: &model.Price{Input: 1, Output: 10}}, retry.Policy{})
	r := connectAgent(t, opts, t.TempDir(), acp.ClientOptions{Options: acp.Options{Unstable: true}})
	s := r.open(t)
	resp, updates := prompt(t, s, `[[usage 20000 1000]] [[call: list {"path":"."}]] [[usage 30000 2000 10000 0]] [[text: done]]`)
	got := usageOf(updates)
	if len(got) != 2 || got[0].Used != 21_000 || got[1].Used != 32_000 || got[1].Size != 100_000 {
		t.Fatalf("%+v", got)
	}
	if c := got[1].Cost; c == nil || c.Amount != 0.08 || c.Currency != "USD" {
		t.Errorf("cost %+v", c)
	}
	if u := resp.UnstableUsage; u == nil || u.TotalTokens != 53_000 || u.InputTokens != 50_000 || u.OutputTokens != 3_000 || u.CachedReadTokens != acp.Some[uint64](10_000) {
		t.Errorf("the turn's usage is %+v", u)
	}
	var own struct {
		Usage struct{ TotalTokens int }
		Cost  acp.Cost
	}
	raw, _ := resp.Meta.Get(metaKey)
	if err := json.Unmarshal(raw, &own); err != nil || own.Usage.TotalTokens != 53_000 || own.Cost.Amount != 0.08 {
		t.Errorf("%s: %+v, %v", raw, own, err)
	}
	// Loaded, the client is told the same, once.
	second := connectAgent(t, opts, r.folder, acp.ClientOptions{})
	load := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	if again := usageOf(replayed); len(again) != 1 || again[0].Used != 32_000 || again[0].Cost == nil || again[0].Cost.Amount != 0.08 {
		t.Errorf("loaded: %+v", again)
	}
}

func TestWithoutAWindowNoUsageIsSentAndWithoutAPriceNoCost(t *testing.T) {
	for _, tt := range []struct {
		info model.Info
		want int
	}{{model.Info{Price: &model.Price{Input: 1}}, 0}, {model.Info{ContextWindow: 100_000}, 1}} {
		r := connectAgent(t, hosted(t, double(t), tt.info, retry.Policy{}), t.TempDir(), acp.ClientOptions{})
		_, updates := prompt(t, r.open(t), "[[usage 20 10]] [[text: done]]")
		got := usageOf(updates)
		if len(got) != tt.want {
			t.Fatalf("%+v", got)
		}
		for _, u := range got {
			if u.Cost != nil {
				t.Errorf("a cost without a price: %+v", u.Cost)
			}
		}
	}
}

// httpClient is an HTTP client of one test, so that no connection outlives it.
func httpClient(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
