package acp_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

// shown runs a prompt that does f and returns the updates that it sends.
func shown(t *testing.T, co *acp.ClientOptions, f func(ctx context.Context, s acp.SessionClient) error) []acp.SessionUpdate {
	t.Helper()
	agent, end, err := acptest.Connect(t.Context(), &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		s := acp.SessionFrom(ctx)
		if s.ID() != req.SessionID || s.Client() != acp.ClientFrom(ctx) {
			t.Errorf("the session is %q, want %q", s.ID(), req.SessionID)
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, f(ctx, s)
	}}, &acp.AgentOptions{Options: acp.Options{ExposeError: func(err error) *acp.RequestError { return acp.InternalError("%v", err) }}}, co)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	var got []acp.SessionUpdate
	turn := session.Prompt(t.Context(), acp.Text("go"))
	for u := range turn.Updates() {
		got = append(got, u)
	}
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEachUpdateIsOneCall(t *testing.T) {
	option := acp.SessionConfigOption{ID: "model", Name: "Model", Kind: acp.SessionConfigSelect{CurrentValue: "a", Options: acp.SessionConfigSelectFlat{{Value: "a", Name: "A"}}}}
	boolean := acp.SessionConfigOption{ID: "fast", Name: "Fast", Kind: acp.SessionConfigBoolean{CurrentValue: true}}
	got := shown(t, nil, func(ctx context.Context, s acp.SessionClient) error {
		return errors.Join(
			s.SendText(ctx, "answer"),
			s.SendThought(ctx, "reason"),
			s.SendPlan(ctx, acp.PlanEntry{Content: "one", Priority: acp.PlanPriorityHigh, Status: acp.PlanPending}),
			s.SendPlan(ctx),
			s.SendCommands(ctx, acp.AvailableCommand{Name: "help", Description: "what there is"}),
			s.SendUsage(ctx, 10, 100),
			s.SendTitle(ctx, "A title"),
			s.SendTitle(ctx, ""),
			s.SendMode(ctx, "ask"),
			s.SendConfigOptions(ctx, option, boolean),
			s.SendNotice(ctx, acp.NoticeInfo, "nobody shows it", ""),
		)
	})
	want := []acp.SessionUpdate{
		acp.AgentMessageChunk{Content: acp.Text("answer")},
		acp.AgentThoughtChunk{Content: acp.Text("reason")},
		acp.Plan{Entries: []acp.PlanEntry{{Content: "one", Priority: acp.PlanPriorityHigh, Status: acp.PlanPending}}},
		acp.Plan{Entries: []acp.PlanEntry{}},
		acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "help", Description: "what there is"}}},
		acp.UsageUpdate{Used: 10, Size: 100},
		acp.SessionInfoUpdate{Title: acp.PatchSet("A title")},
		acp.SessionInfoUpdate{Title: acp.PatchClear[string]()},
		acp.CurrentModeUpdate{CurrentModeID: "ask"},
		acp.ConfigOptionUpdate{ConfigOptions: []acp.SessionConfigOption{option}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestANoticeReachesAClientThatShowsNotices(t *testing.T) {
	shows := &acp.ClientOptions{Capabilities: func(c *acp.ClientCapabilities) {
		c.Session = &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}
	}}
	got := shown(t, shows, func(ctx context.Context, s acp.SessionClient) error {
		return s.SendNotice(ctx, acp.NoticeWarning, "low on space", "1 MB left")
	})
	want := []acp.SessionUpdate{acp.Notice{Severity: acp.NoticeWarning, Title: "low on space", Description: "1 MB left"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestTheChunksOfAMessageHaveOneIDAndNoCutCharacters(t *testing.T) {
	const text = "a é € 𝄞 end"
	for size := 1; size <= 5; size++ {
		got := shown(t, nil, func(ctx context.Context, s acp.SessionClient) error {
			w := s.MessageWriter(ctx)
			for piece := range slices.Chunk([]byte(text), size) {
				if n, err := w.Write(piece); n != len(piece) || err != nil {
					return fmt.Errorf("wrote %d: %w", n, err)
				}
			}
			return w.Block(acp.ResourceLink{Name: "f", URI: "file:///f"})
		})
		var all strings.Builder
		id := acp.MessageID("")
		for i, u := range got {
			chunk, ok := u.(acp.AgentMessageChunk)
			if !ok || chunk.MessageID == "" || i > 0 && chunk.MessageID != id {
				t.Fatalf("pieces of %d: update %d is %+v, the message's id %q", size, i, u, id)
			}
			id = chunk.MessageID
			if piece := acp.PlainText(chunk.Content); strings.ContainsRune(piece, '\uFFFD') {
				t.Errorf("pieces of %d: a character was cut in %q", size, piece)
			}
			all.WriteString(acp.PlainText(chunk.Content))
		}
		if all.String() != text {
			t.Errorf("pieces of %d: %q", size, all.String())
		}
	}
}

func TestBytesThatAreNotTextDoNotStopAMessage(t *testing.T) {
	got := shown(t, nil, func(ctx context.Context, s acp.SessionClient) error {
		_, err := s.ThoughtWriter(ctx).Write([]byte("a\xffb"))
		return err
	})
	if len(got) != 1 || acp.PlainText(got[0].(acp.AgentThoughtChunk).Content) != "a\uFFFDb" {
		t.Errorf("%+v", got)
	}
}

func TestAToolCallWithoutAnIDGetsOne(t *testing.T) {
	got := shown(t, nil, func(ctx context.Context, s acp.SessionClient) error {
		call, err := s.StartToolCall(ctx, acp.ToolCall{Title: "look", Kind: acp.ToolKindRead})
		if err != nil {
			return err
		}
		return call.Complete(ctx, acp.ToolDiff("/w/a", "1", "2"), acp.ToolNewFile("/w/b", ""))
	})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	start, end := got[0].(acp.ToolCall), got[1].(acp.ToolCallUpdate)
	if start.ToolCallID == "" || end.ToolCallID != start.ToolCallID || end.Status != acp.ToolCallCompleted {
		t.Errorf("%+v\n%+v", start, end)
	}
	if old := end.Content[0].(acp.ToolCallDiff).OldText; old != acp.Some("1") {
		t.Errorf("old text %v", old)
	}
	if old := end.Content[1].(acp.ToolCallDiff).OldText; old != (acp.Opt[string]{}) {
		t.Errorf("a new file has the old text %v", old)
	}
}

func TestARequestAboutNoSessionHasNoSessionClient(t *testing.T) {
	agent, end, err := acptest.Connect(t.Context(), &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (r acp.NewSessionResponse, err error) {
		defer func() { err = acp.InvalidRequest("%v", recover()) }()
		acp.SessionFrom(ctx)
		return r, nil
	}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"}); err == nil || !strings.Contains(err.Error(), "session/new is none") {
		t.Errorf("%v", err)
	}
}

func TestAskingForATrackedToolCallShowsWhatHasBeenToldOfIt(t *testing.T) {
	want := acp.ToolCallUpdate{
		ToolCallID: "call", Title: "Edit b", Name: "edit", Kind: acp.ToolKindEdit, Status: acp.ToolCallInProgress,
		Content: []acp.ToolCallContent{acp.ToolDiff("/b", "old", "new")}, Locations: []acp.ToolCallLocation{{Path: "/b"}}, RawInput: []byte(`{"path":"/b"}`),
	}
	var got []acp.ToolCallUpdate
	answers := &acp.ClientOptions{Permission: acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		got = append(got, req.ToolCall)
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: "allow"}}, nil
	})}
	shown(t, answers, func(ctx context.Context, s acp.SessionClient) error {
		call, err := s.StartToolCall(ctx, acp.ToolCall{ToolCallID: "call", Title: "Edit", Name: "edit", Kind: acp.ToolKindEdit, Locations: want.Locations, RawInput: []byte(`{}`)})
		if err != nil {
			return err
		}
		for _, u := range []acp.ToolCallUpdate{{Title: "Edit b", RawInput: want.RawInput}, {Status: acp.ToolCallInProgress, Content: want.Content}} {
			if err := call.Update(ctx, u); err != nil {
				return err
			}
		}
		allowed, remember, err := call.AskPermission(ctx)
		if !allowed || remember {
			t.Errorf("%v, %v", allowed, remember)
		}
		return err
	})
	if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("asked for %+v, want %+v", got, want)
	}
}

func TestAskingIsAYesOnlyIfAnOfferedOptionAllows(t *testing.T) {
	options := []acp.PermissionOption{{OptionID: "no", Kind: acp.PermissionRejectOnce}, {OptionID: "always", Kind: acp.PermissionAllowAlways}}
	for _, test := range []struct {
		answer            acp.RequestPermissionOutcome
		options           []acp.PermissionOption
		allowed, remember bool
	}{
		{acp.SelectedPermissionOutcome{OptionID: "allow"}, nil, true, false},
		{acp.SelectedPermissionOutcome{OptionID: "reject"}, nil, false, false},
		{acp.SelectedPermissionOutcome{OptionID: "yes"}, nil, false, false},
		{acp.CancelledPermissionOutcome{}, nil, false, false},
		{acp.SelectedPermissionOutcome{OptionID: "always"}, options, true, true},
		{acp.SelectedPermissionOutcome{OptionID: "allow"}, options, false, false},
	} {
		answers := &acp.ClientOptions{Permission: acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			if req.ToolCall.ToolCallID != "call" {
				t.Errorf("asked for %q", req.ToolCall.ToolCallID)
			}
			return acp.RequestPermissionResponse{Outcome: test.answer}, nil
		})}
		shown(t, answers, func(ctx context.Context, s acp.SessionClient) error {
			allowed, remember, err := s.AskPermission(ctx, acp.ToolCallUpdate{ToolCallID: "call"}, test.options...)
			if allowed != test.allowed || remember != test.remember {
				t.Errorf("%v among %v: %v, %v", test.answer, test.options, allowed, remember)
			}
			return err
		})
	}
}
