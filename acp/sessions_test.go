package acp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// paged lists sessions two to a page.
type paged struct {
	scripted
	next func(page int) acp.Opt[string]
	asks int
}

func (a *paged) ListSessions(_ context.Context, req acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	a.asks++
	page := 0
	if c, ok := req.Cursor.Get(); ok {
		if _, err := fmt.Sscan(c, &page); err != nil {
			return acp.ListSessionsResponse{}, err
		}
	}
	return acp.ListSessionsResponse{NextCursor: a.next(page), Sessions: []acp.SessionInfo{
		{SessionID: acp.SessionID(fmt.Sprint(page, "a")), Cwd: "/w"}, {SessionID: acp.SessionID(fmt.Sprint(page, "b")), Cwd: "/w"},
	}}, nil
}

func TestSessionsListsAllPagesAndAsksForNoneThatIsNotWanted(t *testing.T) {
	agent := &paged{next: func(page int) acp.Opt[string] {
		if page == 2 {
			return acp.Opt[string]{}
		}
		return acp.Some(fmt.Sprint(page + 1))
	}}
	remote, _ := both(t, agent, nil, nil)
	var ids []string
	for s, err := range remote.Sessions(t.Context(), acp.ListSessionsRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(s.SessionID))
	}
	if want := []string{"0a", "0b", "1a", "1b", "2a", "2b"}; !slices.Equal(ids, want) {
		t.Errorf("listed %v, want %v", ids, want)
	}
	for range remote.Sessions(t.Context(), acp.ListSessionsRequest{}) {
		break // asks for no further page
	}
	if agent.asks != 4 {
		t.Errorf("%d pages were asked for, want 3 and 1", agent.asks)
	}
}

func TestAListOfSessionsWhoseCursorsGoRoundEndsWithAnError(t *testing.T) {
	remote, _ := both(t, &paged{next: func(page int) acp.Opt[string] { return acp.Some(fmt.Sprint((page + 1) % 2)) }}, nil, nil)
	n := 0
	var last error
	for _, err := range remote.Sessions(t.Context(), acp.ListSessionsRequest{}) {
		n, last = n+1, err
	}
	if last == nil || !strings.Contains(last.Error(), "twice") || n > 8 {
		t.Errorf("%d entries, then %v", n, last)
	}
}

func TestVariantsGivenByPointerCountLikeValues(t *testing.T) {
	text := acp.TextContent{Text: "a"}
	if got := acp.PlainText(&text, acp.Text("b"), (*acp.TextContent)(nil), &acp.EmbeddedResource{Resource: &acp.TextResourceContents{Text: "c"}}); got != "abc" {
		t.Errorf("PlainText gives %q", got)
	}
	var b acp.StateBuilder
	b.Apply(&acp.AgentMessageChunk{Content: acp.Text("hello")})
	b.Apply((*acp.AgentMessageChunk)(nil))
	b.Apply(&acp.Plan{Entries: []acp.PlanEntry{{Content: "one"}}})
	state := b.State()
	plan := state.Plan()
	if state.Len() != 1 || plan == nil || len(plan.Entries) != 1 {
		t.Errorf("%d entries and the plan %v", state.Len(), plan)
	}
}
