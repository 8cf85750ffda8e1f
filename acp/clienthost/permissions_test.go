package clienthost_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

const (
	allowOnce    = acp.PermissionAllowOnce
	allowAlways  = acp.PermissionAllowAlways
	rejectOnce   = acp.PermissionRejectOnce
	rejectAlways = acp.PermissionRejectAlways
)

// wanting is a request to run a command; the ids of its options say the opposite of their
// kinds.
func wanting(command string, kinds ...acp.PermissionOptionKind) acp.RequestPermissionRequest {
	req := acp.RequestPermissionRequest{SessionID: "s", ToolCall: acp.ToolCallUpdate{
		ToolCallID: "t", Kind: acp.ToolKindExecute, Title: "Run", RawInput: []byte(`{"command":"` + command + `"}`),
	}}
	for _, k := range kinds {
		id := map[acp.PermissionOptionKind]acp.PermissionOptionID{allowOnce: "reject", allowAlways: "never", rejectOnce: "allow", rejectAlways: "always"}[k]
		req.Options = append(req.Options, acp.PermissionOption{OptionID: id, Name: string(id), Kind: k})
	}
	return req
}

var all = []acp.PermissionOptionKind{rejectAlways, allowAlways, rejectOnce, allowOnce}

// kindOf is the kind of the option that was sent, "cancelled" if none was.
func kindOf(t *testing.T, req acp.RequestPermissionRequest, resp acp.RequestPermissionResponse) string {
	t.Helper()
	switch o := resp.Outcome.(type) {
	case acp.CancelledPermissionOutcome:
		return "cancelled"
	case acp.SelectedPermissionOutcome:
		for _, option := range req.Options {
			if option.OptionID == o.OptionID {
				return string(option.Kind)
			}
		}
	}
	t.Errorf("outcome %#v was not offered", resp.Outcome)
	return ""
}

// ask puts a request and gives the kind that was sent.
func ask(t *testing.T, p *clienthost.Permissions, req acp.RequestPermissionRequest) string {
	t.Helper()
	resp, err := p.RequestPermission(t.Context(), req)
	if err != nil {
		t.Error(err)
	}
	return kindOf(t, req, resp)
}

func closed(t *testing.T, p *clienthost.Permissions) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
}

// says is a listener that always says the same.
func says(d clienthost.Decision) clienthost.PermissionListener {
	return func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) {
		return clienthost.Answer{Decision: d}, nil
	}
}

func TestADecisionBecomesAnOptionThatWasOfferedAndNeverAWiderOne(t *testing.T) {
	for _, c := range []struct {
		decision clienthost.Decision
		offered  []acp.PermissionOptionKind
		want     string
	}{
		{clienthost.AllowOnce, all, "allow_once"},
		{clienthost.AllowAlways, all, "allow_always"},
		{clienthost.RejectOnce, all, "reject_once"},
		{clienthost.RejectAlways, all, "reject_always"},
		{clienthost.Cancel, all, "cancelled"},
		{clienthost.Decision(99), all, "reject_once"},
		{clienthost.AllowAlways, []acp.PermissionOptionKind{rejectOnce, allowOnce}, "allow_once"},
		{clienthost.AllowOnce, []acp.PermissionOptionKind{allowAlways, rejectOnce}, "cancelled"},
		{clienthost.RejectAlways, []acp.PermissionOptionKind{allowOnce, rejectOnce}, "reject_once"},
		{clienthost.RejectOnce, []acp.PermissionOptionKind{allowOnce, rejectAlways}, "reject_always"},
		{clienthost.RejectOnce, []acp.PermissionOptionKind{allowOnce, allowAlways}, "cancelled"},
		{clienthost.RejectAlways, []acp.PermissionOptionKind{allowAlways}, "cancelled"},
		{clienthost.AllowOnce, []acp.PermissionOptionKind{rejectOnce, rejectAlways}, "cancelled"},
		{clienthost.AllowAlways, nil, "cancelled"},
	} {
		p := &clienthost.Permissions{}
		p.Listen("ui", says(c.decision))
		if got := ask(t, p, wanting("ls", c.offered...)); got != c.want {
			t.Errorf("%v of %v is %s, want %s", c.decision, c.offered, got, c.want)
		}
		closed(t, p)
	}
}

func TestAnOptionWhoseIDAnotherKindHasIsNotChosen(t *testing.T) {
	req := wanting("ls")
	req.Options = []acp.PermissionOption{{OptionID: "x", Kind: rejectOnce}, {OptionID: "x", Kind: allowOnce}}
	p := &clienthost.Permissions{}
	if resp, _ := p.RequestPermission(t.Context(), req); resp.Outcome != (acp.RequestPermissionOutcome)(acp.CancelledPermissionOutcome{}) {
		t.Errorf("a refusal chose %#v", resp.Outcome)
	}
}

func TestOfSeveralOptionsOfAKindTheChosenOneIsSent(t *testing.T) {
	req := wanting("ls")
	req.Options = []acp.PermissionOption{
		{OptionID: "this", Kind: allowAlways}, {OptionID: "every", Kind: allowAlways}, {OptionID: "once", Kind: allowOnce}, {OptionID: "no", Kind: rejectOnce}, {OptionID: "new", Kind: "?"},
	}
	for _, c := range []struct {
		answer clienthost.Answer
		want   acp.PermissionOptionID
	}{
		{clienthost.Chosen(req.Options[1]), "every"},
		{clienthost.Chosen(req.Options[2]), "once"},
		{clienthost.Chosen(req.Options[4]), "no"},
		{clienthost.Answer{Decision: clienthost.AllowAlways}, "this"},
		{clienthost.Answer{Decision: clienthost.AllowOnce, Option: "every"}, "once"},
		{clienthost.Answer{Decision: clienthost.RejectOnce, Option: "every"}, "no"},
		{clienthost.Answer{Decision: clienthost.AllowAlways, Option: "not offered"}, "this"},
	} {
		p := &clienthost.Permissions{}
		p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) { return c.answer, nil })
		resp, _ := p.RequestPermission(t.Context(), req)
		if got, ok := resp.Outcome.(acp.SelectedPermissionOutcome); !ok || got.OptionID != c.want {
			t.Errorf("%+v sends %#v, want %s", c.answer, resp.Outcome, c.want)
		}
		closed(t, p)
	}
}

func TestAlwaysHoldsForExactlyTheSameThingInTheSameSession(t *testing.T) {
	asked := 0
	decision := clienthost.AllowAlways
	p := &clienthost.Permissions{}
	p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) {
		asked++
		return clienthost.Answer{Decision: decision}, nil
	})
	defer closed(t, p)
	once := []acp.PermissionOptionKind{allowOnce, rejectOnce} // "always" is not offered
	changed := func(change func(*acp.RequestPermissionRequest)) acp.RequestPermissionRequest {
		req := wanting("ls", once...)
		change(&req)
		return req
	}
	same := []acp.RequestPermissionRequest{
		wanting("ls", once...), wanting("ls", once...),
		changed(func(r *acp.RequestPermissionRequest) {
			r.ToolCall.ToolCallID, r.ToolCall.Status, r.ToolCall.Meta = "u", acp.ToolCallPending, acp.Meta(`{"n":1}`)
		}),
	}
	for i, req := range same {
		if got := ask(t, p, req); got != "allow_once" || asked != 1 {
			t.Errorf("request %d: %s, asked %d times", i, got, asked)
		}
	}
	decision = clienthost.RejectOnce
	for i, req := range []acp.RequestPermissionRequest{
		wanting("ls -a", once...),
		changed(func(r *acp.RequestPermissionRequest) { r.SessionID = "other" }),
		changed(func(r *acp.RequestPermissionRequest) { r.ToolCall.Kind = acp.ToolKindEdit }),
		changed(func(r *acp.RequestPermissionRequest) { r.ToolCall.Name = "sh" }),
		changed(func(r *acp.RequestPermissionRequest) { r.ToolCall.Title = "Run as root" }),
		changed(func(r *acp.RequestPermissionRequest) {
			r.ToolCall.Content = []acp.ToolCallContent{acp.ToolText("and more")}
		}),
		changed(func(r *acp.RequestPermissionRequest) {
			r.ToolCall.Locations = []acp.ToolCallLocation{{Path: "/etc"}}
		}),
	} {
		if got := ask(t, p, req); got != "reject_once" || asked != i+2 {
			t.Errorf("other request %d: %s, asked %d times", i, got, asked)
		}
	}
	list := p.List("s")
	if len(list) != 1 || list[0].Decision != clienthost.AllowAlways || list[0].Title != "Run" || list[0].Since.IsZero() {
		t.Fatalf("remembered %+v", list)
	}
	if !p.Forget(list[0]) || p.Forget(list[0]) {
		t.Error("it is not forgotten, or twice")
	}
	asked, decision = 0, clienthost.RejectAlways
	for range 2 {
		if got := ask(t, p, same[0]); got != "reject_once" || asked != 1 {
			t.Errorf("after it was forgotten: %s, asked %d times", got, asked)
		}
	}
	p.ForgetSession("s")
	if ask(t, p, same[0]); asked != 2 {
		t.Error("an answer of a forgotten session holds")
	}
}

func TestARequestThatDoesNotShowWhatItIsIsNotRemembered(t *testing.T) {
	for _, input := range []string{"", "null"} {
		asked := 0
		p := &clienthost.Permissions{}
		p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) {
			asked++
			return clienthost.Answer{Decision: clienthost.AllowAlways}, nil
		})
		req := wanting("", all...)
		req.ToolCall.RawInput = []byte(input)
		for range 2 {
			if got := ask(t, p, req); got != "allow_always" {
				t.Error(got)
			}
		}
		if asked != 2 || len(p.List("s")) != 0 {
			t.Errorf("asked %d times, remembered %+v", asked, p.List("s"))
		}
		closed(t, p)
	}
}

func TestARequestThatShowsItsContentIsRememberedByIt(t *testing.T) {
	asked := 0
	p := &clienthost.Permissions{}
	p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) {
		asked++
		return clienthost.Answer{Decision: clienthost.AllowAlways}, nil
	})
	defer closed(t, p)
	for i, text := range []string{"a", "a", "b"} {
		req := wanting("", all...)
		req.ToolCall.RawInput = nil
		req.ToolCall.Content = []acp.ToolCallContent{acp.ToolCallDiff{Path: "/f", NewText: text}}
		if ask(t, p, req); asked != []int{1, 1, 2}[i] {
			t.Errorf("request %d: asked %d times", i, asked)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	p := &clienthost.Permissions{}
	p.Listen("ui", says(clienthost.AllowAlways))
	defer closed(t, p)
	for i := range clienthost.MaxRemembered + 5 {
		ask(t, p, wanting(fmt.Sprint(i), all...))
	}
	if n := len(p.List("s")); n != clienthost.MaxRemembered {
		t.Errorf("%d are remembered", n)
	}
}

func TestWithoutAnAnswerTheRequestIsRefused(t *testing.T) {
	silent := func(ctx context.Context, _ acp.RequestPermissionRequest) (clienthost.Answer, error) {
		<-ctx.Done()
		return clienthost.Answer{Decision: clienthost.AllowAlways}, nil // too late
	}
	for _, c := range []struct {
		name   string
		listen func(p *clienthost.Permissions)
		how    clienthost.How
		after  time.Duration
	}{
		{"nobody listens", func(*clienthost.Permissions) {}, clienthost.HowNobody, 0},
		{"nobody listens any more", func(p *clienthost.Permissions) { p.Listen("ui", says(clienthost.AllowOnce))() }, clienthost.HowNobody, 0},
		{"the time is over", func(p *clienthost.Permissions) { p.Listen("ui", silent) }, clienthost.HowTimedOut, time.Minute},
		{"the listener leaves", func(p *clienthost.Permissions) {
			stop := p.Listen("ui", silent)
			time.AfterFunc(time.Second, stop)
		}, clienthost.HowNobody, time.Second},
		{"the listener cannot ask", func(p *clienthost.Permissions) {
			p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) {
				return clienthost.Answer{Decision: clienthost.AllowOnce}, errors.New("no window")
			})
		}, clienthost.HowFailed, 0},
		{"the listener panics", func(p *clienthost.Permissions) {
			p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) { panic("broken") })
		}, clienthost.HowFailed, 0},
		{"it is closed meanwhile", func(p *clienthost.Permissions) {
			p.Listen("ui", silent)
			time.AfterFunc(time.Second, func() { _ = p.Close(context.Background()) })
		}, clienthost.HowNobody, time.Second},
		{"it is closed", func(p *clienthost.Permissions) {
			_ = p.Close(context.Background())
			p.Listen("ui", says(clienthost.AllowOnce))
		}, clienthost.HowNobody, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var record clienthost.PermissionRecord
				p := &clienthost.Permissions{Timeout: time.Minute, Audit: func(r clienthost.PermissionRecord) { record = r }}
				c.listen(p)
				if got := ask(t, p, wanting("ls", all...)); got != "reject_once" {
					t.Errorf("it is %s", got)
				}
				if record.How != c.how || record.Waited != c.after || (c.how == clienthost.HowFailed) != (record.Err != nil) {
					t.Errorf("it was decided so: %+v", record)
				}
				closed(t, p)
			})
		})
	}
}

func TestTheDefaultTimeoutIsTenMinutesAndCanBeSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for timeout, want := range map[time.Duration]string{0: "reject_once", -1: "allow_once"} {
			p := &clienthost.Permissions{Timeout: timeout}
			p.Listen("ui", func(ctx context.Context, _ acp.RequestPermissionRequest) (clienthost.Answer, error) {
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
				return clienthost.Answer{Decision: clienthost.AllowOnce}, nil
			})
			start := time.Now()
			if got := ask(t, p, wanting("ls", all...)); got != want {
				t.Errorf("time-out %v: %s after %v", timeout, got, time.Since(start))
			}
			closed(t, p)
		}
	})
}

func TestACancelledRequestIsCancelledWhateverIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &clienthost.Permissions{Policy: clienthost.AllowReads}
		ctx, cancel := context.WithCancel(t.Context())
		p.Listen("ui", func(ctx context.Context, _ acp.RequestPermissionRequest) (clienthost.Answer, error) {
			<-ctx.Done()
			return clienthost.Answer{Decision: clienthost.AllowAlways}, nil
		})
		time.AfterFunc(time.Second, cancel)
		req := wanting("ls", all...)
		for range 2 { // while it waits, and from the start
			resp, err := p.RequestPermission(ctx, req)
			if err != nil || kindOf(t, req, resp) != "cancelled" {
				t.Errorf("%#v, %v", resp.Outcome, err)
			}
		}
		if len(p.List("s")) != 0 {
			t.Error("it is remembered")
		}
		closed(t, p)
	})
}

func TestTheFirstOfSeveralListenersDecidesAndTheOthersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var record clienthost.PermissionRecord
		p := &clienthost.Permissions{Audit: func(r clienthost.PermissionRecord) { record = r }}
		var mu sync.Mutex
		ended := map[string]bool{}
		after := func(name string, d time.Duration, decision clienthost.Decision, err error) {
			p.Listen(name, func(ctx context.Context, _ acp.RequestPermissionRequest) (clienthost.Answer, error) {
				select {
				case <-time.After(d):
				case <-ctx.Done():
					mu.Lock()
					defer mu.Unlock()
					ended[name] = true
				}
				return clienthost.Answer{Decision: decision}, err
			})
		}
		after("slow", 3*time.Second, clienthost.RejectAlways, nil)
		after("broken", time.Second, clienthost.RejectAlways, errors.New("no window"))
		time.AfterFunc(time.Second, func() { after("new", time.Second, clienthost.AllowOnce, nil) }) // is asked, too
		if got := ask(t, p, wanting("ls", all...)); got != "allow_once" || record.By != "new" || record.Waited != 2*time.Second {
			t.Errorf("%s, %+v", got, record)
		}
		synctest.Wait()
		mu.Lock()
		if len(ended) != 1 || !ended["slow"] {
			t.Errorf("ended: %v", ended)
		}
		mu.Unlock()
		closed(t, p)
	})
}

func TestPoliciesDecideWithoutAskingAndARefusalComesFirst(t *testing.T) {
	read := wanting("x", all...)
	read.ToolCall.Kind = acp.ToolKindRead
	nameless := wanting("x", all...)
	nameless.ToolCall.Kind = ""
	for _, c := range []struct {
		name   string
		policy clienthost.Policy
		req    acp.RequestPermissionRequest
		want   string
	}{
		{"reject all", clienthost.RejectAll, read, "reject_once"},
		{"allow all", clienthost.AllowAll, wanting("x", all...), "allow_once"},
		{"allow all where only always is offered", clienthost.AllowAll, wanting("x", rejectOnce, allowAlways), "allow_always"},
		{"allow reads: a read", clienthost.AllowReads, read, "allow_once"},
		{"allow reads: a command", clienthost.AllowReads, wanting("x", all...), "reject_always"},
		{"allow reads: no kind", clienthost.AllowReads, nameless, "reject_always"},
	} {
		p := &clienthost.Permissions{Policy: c.policy}
		p.Listen("ui", says(clienthost.RejectAlways))
		if got := ask(t, p, c.req); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		closed(t, p)
	}

	// What was refused for ever is not allowed by a policy, and what was allowed for ever is
	// refused by one.
	rule := clienthost.Policy(func(acp.RequestPermissionRequest) (clienthost.Decision, bool) { return 0, false })
	decision := clienthost.RejectAlways
	p := &clienthost.Permissions{Policy: func(req acp.RequestPermissionRequest) (clienthost.Decision, bool) { return rule(req) }}
	p.Listen("ui", func(context.Context, acp.RequestPermissionRequest) (clienthost.Answer, error) {
		return clienthost.Answer{Decision: decision}, nil
	})
	defer closed(t, p)
	ask(t, p, wanting("refused", all...))
	decision = clienthost.AllowAlways
	ask(t, p, wanting("allowed", all...))
	rule = clienthost.AllowAll
	if got := ask(t, p, wanting("refused", all...)); got != "reject_always" {
		t.Errorf("refused for ever, then allow all: %s", got)
	}
	rule = clienthost.RejectAll
	if got := ask(t, p, wanting("allowed", all...)); got != "reject_once" {
		t.Errorf("allowed for ever, then reject all: %s", got)
	}
}

func TestTheAuditTellsEveryDecisionAndNoSecrets(t *testing.T) {
	var records []clienthost.PermissionRecord
	p := &clienthost.Permissions{Audit: func(r clienthost.PermissionRecord) { records = append(records, r) }}
	stop := p.Listen("window", says(clienthost.AllowAlways))
	req := wanting("curl -H token:hunter2", all...)
	req.ToolCall.Title = "curl hunter2"
	req.ToolCall.Name = "shell"
	req.ToolCall.Content = []acp.ToolCallContent{acp.ToolText("hunter2")}
	ask(t, p, req)
	ask(t, p, req)
	stop()
	ask(t, p, wanting("other", rejectAlways, allowOnce))
	closed(t, p)
	if len(records) != 3 {
		t.Fatalf("%d records", len(records))
	}
	first, second, third := records[0], records[1], records[2]
	if first.How != clienthost.HowAsked || first.By != "window" || first.Decision != clienthost.AllowAlways || first.Sent != allowAlways ||
		first.SessionID != "s" || first.ToolCallID != "t" || first.ToolName != "shell" || first.ToolKind != acp.ToolKindExecute || first.Time.IsZero() {
		t.Errorf("first %+v", first)
	}
	if second.How != clienthost.HowRemembered || second.By != "" || second.Digest != first.Digest || len(first.Digest) != 64 {
		t.Errorf("second %+v", second)
	}
	if third.How != clienthost.HowNobody || third.Decision != clienthost.RejectOnce || third.Sent != rejectAlways || third.Digest == first.Digest {
		t.Errorf("third %+v", third)
	}
	if text := fmt.Sprintf("%+v", records); strings.Contains(text, "hunter2") {
		t.Errorf("a secret is in %s", text)
	}
}

func TestAPermissionOfACancelledTurnIsTakenBackFromTheListener(t *testing.T) {
	shown, gone := make(chan struct{}), make(chan struct{})
	p := &clienthost.Permissions{}
	p.Listen("ui", func(ctx context.Context, _ acp.RequestPermissionRequest) (clienthost.Answer, error) {
		close(shown)
		<-ctx.Done()
		close(gone)
		return clienthost.Answer{}, ctx.Err()
	})
	defer closed(t, p)
	agent := &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		q := wanting("ls", all...)
		q.SessionID = req.SessionID
		resp, err := acp.ClientFrom(ctx).RequestPermission(context.WithoutCancel(ctx), q)
		if allowed, _ := acp.PermissionDecision(q, resp); err == nil && allowed {
			t.Error("it is allowed")
		}
		return acp.PromptResponse{}, ctx.Err()
	}}
	a, end, err := acptest.Connect(context.Background(), agent, nil, &acp.ClientOptions{Permission: p})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	<-shown
	turn.Cancel()
	<-gone
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
		t.Errorf("%v, %v", r.StopReason, err)
	}
}
