package acp_test

import (
	"errors"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

// A system prompt, and a filter for archived sessions, are fields that need a capability of their own.
func TestFieldsThatTheAgentDidNotOfferAreRefusedBeforeAnythingIsSent(t *testing.T) {
	system := &acp.UnstableSystemPrompt{Mode: acp.UnstableSystemPromptModeAppend, Content: []acp.ContentBlock{acp.Text("be brief")}}
	override := &acp.UnstableSystemPrompt{Mode: acp.UnstableSystemPromptModeOverride, Content: system.Content}
	for _, test := range []struct {
		name     string
		unstable bool
		offer    func(*acp.AgentCapabilities)
		want     map[string]string // call -> the missing capability
	}{
		{"nothing is offered", true, func(*acp.AgentCapabilities) {}, map[string]string{
			"system": "agentCapabilities.sessionCapabilities.systemPrompt", "override": "agentCapabilities.sessionCapabilities.systemPrompt.mode.override",
			"archived": "agentCapabilities.sessionCapabilities.archive",
		}},
		{"additions only", true, func(c *acp.AgentCapabilities) {
			c.SessionCapabilities.UnstableSystemPrompt = &acp.UnstableSessionSystemPromptCapabilities{}
		}, map[string]string{
			"system": "", "override": "agentCapabilities.sessionCapabilities.systemPrompt.mode.override", "archived": "agentCapabilities.sessionCapabilities.archive",
		}},
		{"this side has not opted in", false, func(*acp.AgentCapabilities) {}, map[string]string{
			"system": "agentCapabilities.sessionCapabilities.systemPrompt", "override": "agentCapabilities.sessionCapabilities.systemPrompt.mode.override",
			"archived": "agentCapabilities.sessionCapabilities.archive",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := acp.Options{Unstable: test.unstable}
			agent, end, err := acptest.Connect(t.Context(), &full{}, &acp.AgentOptions{Options: o, Capabilities: test.offer}, &acp.ClientOptions{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			calls := map[string]func() error{
				"system": func() error {
					_, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w", UnstableSystemPrompt: system})
					return err
				},
				"override": func() error {
					_, err := agent.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "s", Cwd: "/w", UnstableSystemPrompt: override}).Result()
					return err
				},
				"archived": func() error {
					_, err := agent.ListSessions(t.Context(), acp.ListSessionsRequest{UnstableArchived: acp.UnstableSessionArchiveFilterInclude})
					return err
				},
			}
			for name, want := range test.want {
				err := calls[name]()
				missing, ok := errors.AsType[*acp.CapabilityError](err)
				switch {
				case want == "" && err != nil:
					t.Errorf("%s: %v", name, err)
				case want != "" && (!ok || missing.Capability != want):
					t.Errorf("%s: %v, want %s to be missing", name, err, want)
				}
			}
		})
	}
}
