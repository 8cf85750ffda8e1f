package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/guard"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

const canaryKey = "sk-ant-api03-Zx9qLm2Rt7Vw4Yk8Bn3Pd6Gh1Js5Fc0Xa-canary"

// sentText is everything of a request that a provider gets to read.
func sentText(req model.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case model.Text:
				b.WriteString(p.Text)
			case model.ToolCall:
				b.Write(p.Args)
			case model.ToolResult:
				for _, part := range p.Parts {
					if text, ok := part.(model.Text); ok {
						b.WriteString(text.Text)
					}
				}
			}
		}
	}
	return b.String()
}

// placeholder is the last one of a kind that the model has seen.
func placeholder(r *rig, kind string) string {
	all := r.model.requests()
	text := sentText(all[len(all)-1])
	i := strings.LastIndex(text, "["+kind+"-")
	end := strings.IndexByte(text[i:], ']')
	return text[i : i+end+1]
}

func TestAModelSeesPlaceholdersAndThePersonSeesTheValues(t *testing.T) {
	var ran []string
	note := fakeTool{spec: tool.Spec{Name: "note"}, class: approval.ClassNote}
	note.prepare = func(args string) (tool.Presentation, error) {
		ran = append(ran, args)
		return tool.Presentation{Title: "note"}, nil
	}
	note.run = func(context.Context, tool.Output) tool.Result { return tool.Result{Text: "password: " + canaryKey} }
	r := newRigOn(t, newStore(t), Options{Tools: []tool.Tool{note}, Privacy: guard.Policy{PII: guard.PIIRedact}})
	mail := func() string { return placeholder(r, "EMAIL") }
	r.model.steps = []step{
		func(ctx context.Context, yield func(model.Event, error) bool) {
			calls(call("a", "note", `{"to":"`+mail()+`"}`))(ctx, yield)
		},
		func(ctx context.Context, yield func(model.Event, error) bool) {
			says("I wrote to "+mail()[:4], mail()[4:]+".")(ctx, yield)
		},
	}
	result := r.turn(t, t.Context(), "write to ada@lovelace.org")
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	for i, req := range r.model.requests() {
		if text := sentText(req); strings.Contains(text, "ada@lovelace.org") || strings.Contains(text, canaryKey) {
			t.Errorf("request %d holds what was to be replaced:\n%s", i, text)
		}
	}
	if last := sentText(r.model.requests()[1]); !strings.Contains(last, "write to "+mail()) || !strings.Contains(last, "password: [SECRET-") {
		t.Errorf("the second request:\n%s", last)
	}
	if len(ran) != 1 || !strings.Contains(ran[0], "ada@lovelace.org") {
		t.Errorf("the tool got %q", ran)
	}
	var text string
	for _, m := range stored[session.MessageSaved](t, r) {
		text += m.Text
	}
	if text != "I wrote to ada@lovelace.org." {
		t.Errorf("the person reads %q", text)
	}
	var told []string
	for _, n := range stored[session.Notice](t, r) {
		told = append(told, n.Text)
	}
	if len(told) != 2 || !strings.Contains(told[0], "1 e-mail address") || !strings.Contains(told[1], "1 secret") {
		t.Errorf("told: %q", told)
	}
}

func TestACallWithThePlaceholderOfASecretDoesNotRun(t *testing.T) {
	ran := false
	note := fakeTool{spec: tool.Spec{Name: "note"}, class: approval.ClassNote}
	note.run = func(context.Context, tool.Output) tool.Result { ran = true; return tool.Result{Text: "done"} }
	r := newRigOn(t, newStore(t), Options{Tools: []tool.Tool{note}})
	r.model.steps = []step{
		func(ctx context.Context, yield func(model.Event, error) bool) {
			calls(call("a", "note", `{"text":"`+placeholder(r, "SECRET")+`"}`))(ctx, yield)
		},
		says("oh"),
	}
	r.turn(t, t.Context(), "password: "+canaryKey)
	if done := stored[session.CallDone](t, r); ran || len(done) != 1 || !done[0].Result.Failed || !strings.Contains(done[0].Result.Text, "SECRET-") {
		t.Errorf("ran %v, %+v", ran, done)
	}
}

func TestARequestWithPersonalDataIsNotSentWhenThePolicySaysSo(t *testing.T) {
	for name, policy := range map[string]guard.Policy{
		"refuse": {PII: guard.PIIRefuse}, "a policy that cannot be read": guard.Load("/no/such/file.toml"),
	} {
		r := newRigOn(t, newStore(t), Options{Privacy: policy}, says("hello"))
		result := r.turn(t, t.Context(), "write to ada@lovelace.org")
		if result.Err == nil || len(r.model.requests()) != 0 || strings.Contains(result.Err.Error(), "lovelace") {
			t.Errorf("%s: %d requests, error %v", name, len(r.model.requests()), result.Err)
		}
	}
}

func TestTheEmbeddedModelGetsEverythingAsItIs(t *testing.T) {
	r := newRigOn(t, newStore(t), Options{Privacy: guard.Policy{PII: guard.PIIRefuse}}, says("hello"))
	r.model.info = model.Info{Provider: "offline", Name: "offline", Offline: true}
	r.turn(t, t.Context(), "write to ada@lovelace.org")
	if got := r.model.requests(); len(got) != 1 || !strings.Contains(sentText(got[0]), "ada@lovelace.org") {
		t.Errorf("requests: %+v", got)
	}
}

func TestPersonalDataIsPutBackOnlyForTheAgentsOwnTools(t *testing.T) {
	note := fakeTool{spec: tool.Spec{Name: "note"}, class: approval.ClassNote}
	r := newRigOn(t, newStore(t), Options{Tools: []tool.Tool{note}, Privacy: guard.Policy{PII: guard.PIIRedact}})
	r.model.steps = []step{
		func(ctx context.Context, yield func(model.Event, error) bool) {
			args := `{"to":"` + placeholder(r, "EMAIL") + `"}`
			calls(call("a", "note", args), call("b", "gone__send", args))(ctx, yield) // a server may be away while the model speaks
		},
		says("done"),
	}
	r.turn(t, t.Context(), "write to ada@lovelace.org")
	requested := stored[session.CallRequested](t, r)
	if len(requested) != 2 || !strings.Contains(string(requested[0].Args), "ada@lovelace.org") || strings.Contains(string(requested[1].Args), "ada@lovelace.org") {
		t.Errorf("the calls got %s and %s", requested[0].Args, requested[1].Args)
	}
}
