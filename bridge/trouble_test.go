package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/retry"
)

// ownError reads what the answer's _meta says of a failure.
func ownError(t *testing.T, resp acp.PromptResponse) (kind string) {
	t.Helper()
	raw, ok := resp.Meta.Get(metaKey)
	if !ok {
		return ""
	}
	var own struct{ Error struct{ Kind string } }
	if err := json.Unmarshal(raw, &own); err != nil {
		t.Fatal(err)
	}
	return own.Error.Kind
}

// once has no patience, so that a failure is the turn's at once.
var once = retry.Policy{Tries: 1}

func TestEachFailureOfAProviderIsToldWithItsReason(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		stop         acp.StopReason
		kind         model.ErrorKind
		says         []string
	}{
		{"internal error", "[[status 500 always]]", acp.StopEndTurn, model.ErrServer, []string{"HTTP 500", "Say /retry"}},
		{"overloaded", "[[status 529 always]]", acp.StopEndTurn, model.ErrOverloaded, []string{"overloaded", "Say /retry"}},
		{"rate limit", "[[status 429 always]]", acp.StopEndTurn, model.ErrRateLimit, []string{"too many requests", "Say /retry"}},
		{"usage limit", "[[status 429 quota always]]", acp.StopEndTurn, model.ErrQuota, []string{"has nothing left", "Then say /retry"}},
		{"context too long", "[[status 400 context always]]", acp.StopMaxTokens, model.ErrContextFull, []string{"longer than fake can take"}},
		{"refused request", "[[status 400 always]]", acp.StopEndTurn, model.ErrBadRequest, []string{"refused the request"}},
		{"an error in the middle", "[[text: well]][[error: it broke]]", acp.StopEndTurn, model.ErrServer, []string{"well", "internal error", "Say /retry"}},
		{"broken off", "[[text: well]][[cut]]", acp.StopEndTurn, model.ErrCut, []string{"well", "broke before the answer was complete", "Say /retry"}},
		{"ended without its end", "[[text: well]][[end]]", acp.StopEndTurn, model.ErrCut, []string{"well", "broke before the answer was complete"}},
		{"garbage", "[[text: well]][[garbage]]", acp.StopEndTurn, model.ErrGarbage, []string{"not in the format"}},
		{"a web page", "[[html]]", acp.StopEndTurn, model.ErrGarbage, []string{"web page"}},
		{"refusal", "[[text: no]][[refuse]]", acp.StopRefusal, "", []string{"no"}},
		{"output limit", "[[text: and]][[length]]", acp.StopMaxTokens, "", []string{"and"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := connectAgent(t, hosted(t, double(t), model.Info{}, once), t.TempDir(), acp.ClientOptions{})
			s := r.open(t)
			resp, updates := prompt(t, s, tt.prompt)
			if resp.StopReason != tt.stop {
				t.Errorf("stopped by %q", resp.StopReason)
			}
			if kind := ownError(t, resp); kind != string(tt.kind) {
				t.Errorf("the kind is %q", kind)
			}
			text := fold(updates).text("agent")
			for _, say := range tt.says {
				if !strings.Contains(text, say) {
					t.Errorf("%q does not say %q", text, say)
				}
			}
			if resp, _ := prompt(t, s, "[[anew]] [[text: fine]]"); resp.StopReason != acp.StopEndTurn || ownError(t, resp) != "" {
				t.Errorf("the next turn: %+v", resp)
			}
		})
	}
}

func TestAPromptCanBeTriedAgainAfterAFailure(t *testing.T) {
	server := double(t)
	r := connectAgent(t, hosted(t, server, model.Info{}, once), t.TempDir(), acp.ClientOptions{})
	s := r.open(t)
	prompt(t, s, "[[status 500]] [[text: at last]]")
	_, updates := prompt(t, s, "/retry")
	if text := fold(updates).text("agent"); text != "at last" {
		t.Errorf("%q", text)
	}
	for i, req := range server.Requests() {
		users := 0
		for _, item := range req.Items {
			if item.Role == "user" {
				users++
			}
		}
		if users != 1 {
			t.Errorf("request %d has %d prompts", i, users)
		}
	}
}

func TestARefusedLoginIsTheProtocolsErrorAndTheOnlyOne(t *testing.T) {
	server := double(t)
	r := connectAgent(t, hosted(t, server, model.Info{}, once), t.TempDir(), acp.ClientOptions{})
	s := r.open(t)
	_, err := s.Prompt(t.Context(), acp.Text("[[status 401 always]]")).Result()
	wantCode(t, "a refused key", err, acp.CodeAuthRequired)
	if err == nil || !strings.Contains(err.Error(), "key was not accepted") {
		t.Errorf("%v", err)
	}
	// The same session goes on with all that was said.
	prompt(t, s, "[[anew]] [[text: welcome]]")
	if n := len(server.Last().Items); n < 3 {
		t.Errorf("after the login the model gets %d items", n)
	}
}

func TestALongWaitIsToldAndAResetFarAwayEndsTheTurn(t *testing.T) {
	r := connectAgent(t, hosted(t, double(t), model.Info{}, retry.Policy{}), t.TempDir(), acp.ClientOptions{})
	resp, updates := prompt(t, r.open(t), "[[status 429 3600 always]]")
	text := fold(updates).text("agent")
	if resp.StopReason != acp.StopEndTurn || ownError(t, resp) != string(model.ErrRateLimit) || !strings.Contains(text, "it takes requests again at ") {
		t.Errorf("%+v: %q", resp, text)
	}
	// A wait that is bearable is told, and can be stopped.
	s := r.open(t)
	turn := s.Prompt(t.Context(), acp.Text("[[status 429 40 always]]"))
	for u := range turn.Updates() {
		if c, ok := u.(acp.AgentMessageChunk); ok && strings.Contains(acp.PlainText(c.Content), "Trying again in 40 s") {
			if err := s.Cancel(); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case <-turn.Done():
	case <-ctx.Done():
		t.Fatal("the wait cannot be stopped")
	}
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopCancelled {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestAProviderThatFallsSilentEndsTheTurn(t *testing.T) {
	opts := hostedAt(t, double(t), model.Info{}, once, 300*time.Millisecond)
	r := connectAgent(t, opts, t.TempDir(), acp.ClientOptions{})
	s := r.open(t)
	resp, updates := prompt(t, s, "[[text: well]][[stall]]")
	if text := fold(updates).text("agent"); ownError(t, resp) != string(model.ErrStalled) || !strings.Contains(text, "sent nothing for") || !strings.Contains(text, "Say /retry") {
		t.Errorf("%+v: %q", resp, text)
	}
	if resp, _ := prompt(t, s, "[[anew]] [[text: fine]]"); resp.StopReason != acp.StopEndTurn {
		t.Errorf("%+v", resp)
	}
}

func TestTheTurnEndsWhenTheClientCannotBeAsked(t *testing.T) {
	r := connect(t, acp.ClientOptions{})
	r.client.fails = errors.New("the window is gone")
	resp, updates := prompt(t, r.open(t), "create a.txt: one")
	if resp.StopReason != acp.StopEndTurn || !strings.Contains(fold(updates).text("agent"), "could not be asked") {
		t.Errorf("%+v", resp)
	}
	if len(r.client.questions()) != 1 {
		t.Errorf("asked %d times", len(r.client.questions()))
	}
}
