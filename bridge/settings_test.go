package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func option(t *testing.T, all []acp.SessionConfigOption, id acp.SessionConfigID) acp.SessionConfigOption {
	t.Helper()
	for _, o := range all {
		if o.ID == id {
			return o
		}
	}
	t.Fatalf("there is no option %s in %+v", id, all)
	return acp.SessionConfigOption{}
}

func current(t *testing.T, all []acp.SessionConfigOption, id acp.SessionConfigID) acp.SessionConfigValueID {
	t.Helper()
	return option(t, all, id).Kind.(acp.SessionConfigSelect).CurrentValue
}

func TestModesAndOptionsStayInStep(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	s := r.open(t)
	if modes := s.State().Modes(); modes == nil || modes.CurrentModeID != "ask" || current(t, s.State().ConfigOptions(), "mode") != "ask" {
		t.Fatalf("%+v", modes)
	}
	if err := s.SetMode(t.Context(), "edits"); err != nil {
		t.Fatal(err)
	}
	prompt(t, s, "help") // its updates come after those of the mode
	if got := current(t, s.State().ConfigOptions(), "mode"); got != "edits" {
		t.Errorf("the option says %s after the mode was set", got)
	}
	all, err := s.SetConfigOption(t.Context(), "mode", acp.SessionConfigValueID("auto"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || current(t, all, "mode") != "auto" || option(t, all, "mode").Category != acp.ConfigCategoryMode || option(t, all, "model").Category != acp.ConfigCategoryModel {
		t.Errorf("the answer is %+v", all)
	}
	prompt(t, s, "help")
	if got := s.State().Modes().CurrentModeID; got != "auto" {
		t.Errorf("the mode is %s after the option was set", got)
	}
	for _, bad := range []struct {
		id    acp.SessionConfigID
		value acp.SessionConfigOptionValue
	}{{"mode", acp.SessionConfigValueID("wild")}, {"speed", acp.SessionConfigValueID("x")}, {"mode", acp.SessionConfigValueBool(true)}} {
		_, err := s.SetConfigOption(t.Context(), bad.id, bad.value)
		if e, ok := err.(*acp.RequestError); !ok || e.Code != acp.CodeInvalidParams {
			t.Errorf("%v: %v", bad, err)
		}
	}

	load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	again, err := load.Result()
	if err != nil {
		t.Fatal(err)
	}
	if got := current(t, again.State().ConfigOptions(), "mode"); got != "auto" {
		t.Errorf("loaded: %s", got)
	}
}

func TestTheCommandsComeAfterTheAnswerAndAreAnsweredInTheChat(t *testing.T) {
	told := make(chan acp.AvailableCommandsUpdate, 3)
	r := connect(t, acp.ClientOptions{Updates: func(_ context.Context, n acp.SessionNotification) {
		if u, ok := n.Update.(acp.AvailableCommandsUpdate); ok {
			told <- u
		}
	}})
	s := r.open(t)
	got := <-told
	names := map[string]bool{}
	for _, c := range got.AvailableCommands {
		names[c.Name] = true
		if c.Description == "" {
			t.Errorf("%s has no description", c.Name)
		}
	}
	for _, want := range []string{"help", "mode", "model", "clear", "rename", "cost", "status", "init"} {
		if !names[want] {
			t.Errorf("there is no command %s", want)
		}
	}
	resp, live := prompt(t, s, "/rename A better name")
	if resp.StopReason != acp.StopEndTurn || fold(live).Title != "A better name" || !strings.Contains(fold(live).text("agent"), "A better name") {
		t.Errorf("%v, %+v", resp.StopReason, fold(live))
	}
	load := r.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: r.folder})
	var replayed []acp.SessionUpdate
	for u := range load.Updates() {
		replayed = append(replayed, u)
	}
	if _, err := load.Result(); err != nil {
		t.Fatal(err)
	}
	if f := fold(replayed); f.text("agent") != fold(live).text("agent") || f.text("user") != "/rename A better name" || f.Title != "A better name" {
		t.Errorf("replayed: %+v", f)
	}
}
