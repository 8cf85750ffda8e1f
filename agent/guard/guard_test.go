package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/guard/detect"
	"github.com/wherry-acp/wherry/agent/model"
)

// Values that are found; put together here, so that no scanner takes this file for a leak.
var (
	jane    = "jane.doe" + "@" + "some-firm.com"
	john    = "john.roe" + "@" + "some-firm.com"
	secret  = "hunter" + "2!"
	envLine = "DB_PASSWORD=" + secret
)

func say(text string) model.Message {
	return model.Message{Role: model.RoleUser, Parts: []model.Part{model.Text{Text: text}}}
}

func call(name, args string) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: []model.Part{model.ToolCall{ID: "1", Name: name, Args: json.RawMessage(args)}}}
}

func result(name, text string) model.Message {
	return model.Message{Role: model.RoleTool, Parts: []model.Part{
		model.ToolResult{CallID: "1", Name: name, Parts: []model.Part{model.Text{Text: text}}},
	}}
}

// send passes a request and gives everything that would leave, as one text.
func send(t *testing.T, g *Guard, req model.Request) (string, Report) {
	t.Helper()
	out, report, err := g.Outgoing(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return flat(out), report
}

// flat is all texts of a request, pictures' bytes among them.
func flat(req model.Request) string {
	var b strings.Builder
	b.WriteString(req.System + "\n")
	var parts func(all []model.Part)
	parts = func(all []model.Part) {
		for _, p := range all {
			switch v := p.(type) {
			case model.Text:
				b.WriteString(v.Text)
			case model.Thought:
				b.WriteString(v.Text)
			case model.Image:
				b.Write(v.Data)
			case model.ToolCall:
				b.Write(v.Args)
			case model.ToolResult:
				parts(v.Parts)
			}
			b.WriteString("\n")
		}
	}
	for _, m := range req.Messages {
		parts(m.Parts)
	}
	for _, tool := range req.Tools {
		b.WriteString(tool.Description + "\n" + string(tool.Schema) + "\n")
	}
	return b.String()
}

func TestASecretLeavesNowhereInARequest(t *testing.T) {
	image := model.Image{MIMEType: "image/png", Data: []byte(envLine)}
	req := model.Request{
		System: "The project says: " + envLine,
		Messages: []model.Message{
			say("look at " + envLine),
			{Role: model.RoleUser, Parts: []model.Part{model.Text{Text: envLine}, image, model.Audio{Data: []byte("x")}}},
			{Role: model.RoleAssistant, Parts: []model.Part{model.Thought{Text: "so " + envLine}}},
			call("create", `{"path":"a","content":"x\n`+envLine+`\n","n":[1,true,null]}`),
			call("login", `{"user":"me","password":"`+secret+`"}`),
			call("broken", `{"path":"a","content":"`+envLine),
			result("view", "     1\t"+envLine+"\n"),
		},
		Tools: []model.ToolSpec{{Name: "x", Description: "uses " + envLine, Schema: json.RawMessage(`{"default":"` + envLine + `"}`)}},
	}
	before := flat(req)
	out, report, err := New(Policy{}).Outgoing(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if flat(req) != before {
		t.Error("the request that was passed in has changed")
	}
	if got := out.Messages[1].Parts[1]; !reflect.DeepEqual(got, image) {
		t.Errorf("the picture became %v", got)
	}
	out.Messages[1].Parts = out.Messages[1].Parts[:1]
	if text := flat(out); strings.Contains(text, secret) {
		t.Errorf("the secret left in: %s", text)
	}
	if n := strings.Count(flat(out), "[SECRET-1]"); n != 10 {
		t.Errorf("the placeholder stands in %d places, want 10: %s", n, flat(out))
	}
	want := Report{Replaced: Counts{detect.Secret: 1}, Places: Counts{detect.Secret: 10}, Images: 1, Sounds: 1}
	if !reflect.DeepEqual(report, want) {
		t.Errorf("the report is %+v, want %+v", report, want)
	}
	args := out.Messages[3].Parts[0].(model.ToolCall).Args
	if want := `{"path":"a","content":"x\nDB_PASSWORD=[SECRET-1]\n","n":[1,true,null]}`; string(args) != want {
		t.Errorf("the arguments became %s, want %s", args, want)
	}
}

func TestWhatIsCleanIsSharedAndNotCopied(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	req := model.Request{System: "be brief", Messages: []model.Message{say("hello"), say(jane), result("view", "1\tx")}}
	out, _, err := g.Outgoing(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if &out.Messages[0].Parts[0] != &req.Messages[0].Parts[0] || &out.Messages[2].Parts[0] != &req.Messages[2].Parts[0] {
		t.Error("parts without findings were copied")
	}
	if got := req.Messages[1].Parts[0].(model.Text).Text; got != jane {
		t.Errorf("the request that was passed in now says %q", got)
	}
	clean := model.Request{Messages: req.Messages[:1]}
	if out, _, _ := g.Outgoing(t.Context(), clean); &out.Messages[0] != &clean.Messages[0] {
		t.Error("a request without findings was copied")
	}
}

func TestAValueHasOnePlaceholderAllThroughASession(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	first, report := send(t, g, model.Request{Messages: []model.Message{say(jane + " and " + john)}})
	if !strings.Contains(first, "[EMAIL-1] and [EMAIL-2]") {
		t.Errorf("sent %s", first)
	}
	if got, want := report.Notice(), "2 e-mail addresses were replaced before the model saw them."; got != want {
		t.Errorf("the notice is %q, want %q", got, want)
	}
	second, report := send(t, g, model.Request{Messages: []model.Message{say(jane + " and " + john), say("to " + john), say(envLine)}})
	if !strings.Contains(second, "to [EMAIL-2]") || !strings.Contains(second, "[EMAIL-1] and [EMAIL-2]") {
		t.Errorf("sent %s", second)
	}
	if got, want := report.Notice(), "1 secret was replaced before the model saw it."; got != want {
		t.Errorf("the notice is %q, want %q", got, want)
	}
	if report.Places[detect.Email] != 3 {
		t.Errorf("%d places have addresses, want 3", report.Places[detect.Email])
	}
	if _, report := send(t, g, model.Request{Messages: []model.Message{say("to " + john)}}); report.Notice() != "" {
		t.Errorf("what is known is told again: %q", report.Notice())
	}
}

func TestPersonalDataIsPutBackAndSecretsAreNot(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	send(t, g, model.Request{Messages: []model.Message{say(jane + "\n" + envLine)}})
	if got, want := g.Restore("Write to [EMAIL-1] or [EMAIL-7] about [SECRET-1]."), "Write to "+jane+" or [EMAIL-7] about [SECRET-1]."; got != want {
		t.Errorf("restored %q, want %q", got, want)
	}
	args, err := g.Arguments(json.RawMessage(`{"old":"\u005bEMAIL-1]", "n":1.50, "new":"to [EMAIL-1]\n"}`))
	if want := `{"old":"` + jane + `", "n":1.50, "new":"to ` + jane + `\n"}`; err != nil || string(args) != want {
		t.Errorf("the arguments are %s (%v), want %s", args, err, want)
	}
	for _, text := range []string{`{"text":"is [SECRET-1]"}`, `{"text":"is \u005bSECRET-1]"}`, `{"a":["[SECRET-1]"]}`, `{"text":"[SECRET-1]`} {
		var refused *SecretError
		if args, err := g.Arguments(json.RawMessage(text)); !errors.As(err, &refused) || refused.Placeholder != "[SECRET-1]" || args != nil {
			t.Errorf("Arguments(%s) gave %s, %v", text, args, err)
		}
	}
	for _, text := range []string{`{"text":"[SECRET-2] [A] []"}`, `{"broken":"[EMAIL-1]`, ``} {
		if args, err := g.Arguments(json.RawMessage(text)); err != nil || string(args) != text {
			t.Errorf("Arguments(%s) gave %s, %v", text, args, err)
		}
	}
}

func TestWhatWasTypedLikeAPlaceholderStaysWhatItIs(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	text := "[EMAIL-1] means " + jane
	redacted, err := g.Redact(text)
	if err != nil || redacted != "[EMAIL-1] means [EMAIL-2]" {
		t.Errorf("redacted %q (%v)", redacted, err)
	}
	if got := g.Restore(redacted); got != text {
		t.Errorf("restored %q, want %q", got, text)
	}
}

func TestASplitPlaceholderIsPutBackInAStream(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	if _, err := g.Redact(jane + " " + john); err != nil {
		t.Fatal(err)
	}
	text := "a[0] [EMAIL-1], [x [EMAIL-2][EMAIL-3] [EMAIL-12345678901234567890] [EMAI"
	want := g.Restore(text)
	if !strings.Contains(want, jane) || !strings.Contains(want, john) {
		t.Fatalf("restored %q", want)
	}
	for size := 1; size <= len(text); size++ {
		r := g.Restorer()
		var got strings.Builder
		for at := 0; at < len(text); at += size {
			piece := text[at:min(at+size, len(text))]
			got.WriteString(r.Add(piece))
			if len(r.held) > longestHolder {
				t.Fatalf("%d bytes are held back", len(r.held))
			}
		}
		got.WriteString(r.Rest())
		if got.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got.String(), want)
		}
	}
}

func TestPersonalDataIsRefusedWithItsPlacesAndWithoutItsValues(t *testing.T) {
	g := New(Policy{PII: PIIRefuse})
	req := model.Request{Messages: []model.Message{say("hello " + jane + " and " + john), call("view", `{"path":"a"}`), result("view", envLine+" "+jane)}}
	for range 2 { // also when all is known
		out, _, err := g.Outgoing(t.Context(), req)
		var refused *RefusedError
		if !errors.As(err, &refused) || out.Messages != nil {
			t.Fatalf("the request was not refused: %v", err)
		}
		want := "the request was not sent to the model, because personal data is refused: 2 e-mail addresses in the prompt (message 1) and " +
			"1 e-mail address in the result of view (message 3). Leave it out, in a new session if it is in an earlier message, or set pii to redact"
		if err.Error() != want {
			t.Errorf("the error is %q, want %q", err, want)
		}
	}
	if text, _ := send(t, g, model.Request{Messages: []model.Message{say(envLine)}}); strings.Contains(text, secret) {
		t.Errorf("the secret left in %s", text)
	}
	if got, err := g.Redact(jane); err != nil || strings.Contains(got, jane) {
		t.Errorf("Redact gave %q, %v", got, err)
	}
}

func TestNothingIsLookedForWhenAllIsOff(t *testing.T) {
	g := New(Policy{PII: PIIOff, Secrets: SecretsOff})
	text, report := send(t, g, model.Request{Messages: []model.Message{say(envLine + " " + jane)}})
	if !strings.Contains(text, secret) || !strings.Contains(text, jane) || report.Notice() != "" || g.Instructions() != "" {
		t.Errorf("sent %s, told %q", text, report.Notice())
	}
	text, _ = send(t, New(Policy{PII: PIIRedact, Secrets: SecretsOff}), model.Request{Messages: []model.Message{say(envLine + " " + jane)}})
	if !strings.Contains(text, secret) || strings.Contains(text, jane) {
		t.Errorf("sent %s", text)
	}
	text, _ = send(t, New(Policy{}), model.Request{Messages: []model.Message{say(envLine + " " + jane)}})
	if strings.Contains(text, secret) || !strings.Contains(text, jane) {
		t.Errorf("sent %s", text)
	}
}

func TestASignedThoughtIsSentBackAsItCame(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	thought := model.Thought{Text: "about " + envLine, Provider: "p", Opaque: json.RawMessage(`"sig"`)}
	out, _, err := g.Outgoing(t.Context(), model.Request{Messages: []model.Message{{Role: model.RoleAssistant, Parts: []model.Part{thought}}}})
	if err != nil || !reflect.DeepEqual(out.Messages[0].Parts[0], thought) {
		t.Errorf("the thought became %v (%v)", out.Messages[0].Parts[0], err)
	}
}

func TestAPolicyThatCannotBeUsedRefusesEverything(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, policy := range map[string]Policy{
		"missing":        Load(filepath.Join(dir, "none.toml")),
		"a folder":       Load(dir),
		"no TOML":        Load(write("a.toml", "pii = ")),
		"unknown member": Load(write("b.toml", "pii = \"redact\"\nsecret = \"off\"\n")),
		"unknown choice": Load(write("c.toml", "pii = \"maybe\"\n")),
		"wrong type":     Load(write("d.toml", "names = \"Jane\"\n")),
		"empty name":     Load(write("e.toml", "names = [\"Jane\", \" \"]\n")),
		"too large":      Load(write("f.toml", strings.Repeat("# x\n", largestFile/4+1))),
		"in code":        {Secrets: "maybe"},
	} {
		t.Run(name, func(t *testing.T) {
			if policy.Err() == nil {
				t.Fatal("the policy is said to be usable")
			}
			g := New(policy)
			out, _, err := g.Outgoing(t.Context(), model.Request{System: "x", Messages: []model.Message{say("hello")}})
			var unusable *UnusableError
			if !errors.As(err, &unusable) || out.System != "" || out.Messages != nil {
				t.Fatalf("the request was not refused: %v", err)
			}
			if text := err.Error(); !strings.HasPrefix(text, "nothing is sent to the model, because the policy") || !strings.Contains(text, "Repair") {
				t.Errorf("the error is %q", text)
			}
			if text, err := g.Redact("hello"); err == nil {
				t.Errorf("Redact gave %q", text)
			}
		})
	}
	good := Load(write("good.toml", "pii = \"refuse\"\nsecrets = \"off\"\nnames = [\"Jane Doe\"]\n"))
	if err := good.Err(); err != nil || good.PII != PIIRefuse || good.Secrets != SecretsOff || len(good.Names) != 1 {
		t.Errorf("loaded %+v: %v", good, err)
	}
	if err := Load(write("b.toml", "pii = \"redact\"\nsecret = \"off\"\n")).Err(); !strings.Contains(err.Error(), "line 2: secret is not known") {
		t.Errorf("the error is %q", err)
	}
}

func TestACancelledContextGivesNoRequest(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	cancel(cause)
	out, _, err := New(Policy{}).Outgoing(ctx, model.Request{Messages: []model.Message{say("hello")}})
	if !errors.Is(err, cause) || out.Messages != nil {
		t.Errorf("gave %v, %v", out, err)
	}
}

func TestLinesOfSecretFilesDoNotLeave(t *testing.T) {
	g := New(Policy{SecretPath: func(p string) bool { return p == "app/.env" }})
	text, _ := send(t, g, model.Request{Messages: []model.Message{result("run", "app/.env:COLOUR=blue\napp/.env.example:COLOUR=red\n")}})
	if strings.Contains(text, "blue") || !strings.Contains(text, "COLOUR=red") {
		t.Errorf("sent %s", text)
	}
}

func TestInstructionsNameOnlyWhatCanHappen(t *testing.T) {
	for _, c := range []struct {
		policy         Policy
		secrets, names bool
	}{
		{Policy{}, true, false},
		{Policy{PII: PIIRedact}, true, true},
		{Policy{PII: PIIRedact, Secrets: SecretsOff}, false, true},
		{Policy{PII: PIIRefuse, Secrets: SecretsOff}, false, false},
	} {
		text := New(c.policy).Instructions()
		if strings.Contains(text, "[SECRET-1]") != c.secrets || strings.Contains(text, "[EMAIL-1]") != c.names {
			t.Errorf("for %+v: %q", c.policy, text)
		}
	}
}

func TestOneGuardServesManyAtOnce(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	done := make(chan string)
	for i := range 8 {
		go func() {
			out, _, err := g.Outgoing(context.Background(), model.Request{Messages: []model.Message{
				say(jane + " and " + envLine), say(fmt.Sprintf("user%d@some-firm.com", i)), call("x", `{"a":"`+jane+`"}`),
			}})
			done <- fmt.Sprint(flat(out), err, g.Restore("[EMAIL-1]"))
		}()
	}
	for range 8 {
		if text := <-done; strings.Contains(text, secret) {
			t.Errorf("sent %s", text)
		}
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	g := New(Policy{PII: PIIRedact})
	for i := range mostSeen * 2 {
		g.Outgoing(t.Context(), model.Request{Messages: []model.Message{say(fmt.Sprint("text ", i))}}) //nolint:errcheck // looked at below
	}
	if n := len(g.seen.newer) + len(g.seen.older); n > mostSeen {
		t.Errorf("%d texts are remembered, want at most %d", n, mostSeen)
	}
	l := newLedger()
	for i := range mostHolders + 10 {
		l.holder(detect.Name, fmt.Sprint(i))
	}
	if len(l.values) > mostHolders {
		t.Errorf("%d values are kept, want at most %d", len(l.values), mostHolders)
	}
	if h, _ := l.holder(detect.Name, "one more"); h != "[NAME]" {
		t.Errorf("beyond the bound the placeholder is %s", h)
	}
}
