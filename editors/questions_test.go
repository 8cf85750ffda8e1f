//go:build unix

package editors

import (
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

const askTide = `[[call: ask {"questions":[{"question":"Which tide?","options":[{"label":"High"},{"label":"Low"}]}]}]] [[result]]`

func TestAQuestionOfTheModelIsAForm(t *testing.T) {
	d := sit(t, zed(), nil)
	s := d.open()
	d.fill = map[string]acp.ElicitationContentValue{"question_1": acp.ElicitationString("Low")}
	_, updates := d.say(s, askTide)
	if len(d.forms) != 1 || !strings.Contains(d.forms[0].Message, "Which tide?") {
		t.Errorf("the forms were %+v", d.forms)
	}
	if text := spoken(updates); !strings.Contains(text, "Low") || strings.Contains(text, "High") {
		t.Errorf("the model got %q", text)
	}
	d.fill = nil
	turn := s.Prompt(t.Context(), acp.Text("[[anew]] "+askTide))
	if result, err := turn.Result(); err != nil || strings.Contains(noticed(s), "Low") {
		t.Errorf("a dismissed form ended with %v, %v", result, err)
	}
	if n := len(d.questions()); n != 0 {
		t.Errorf("%d permissions were asked", n)
	}
}

func TestAQuestionOfTheModelIsAChoiceWithoutForms(t *testing.T) {
	for _, p := range []profile{jetbrains(), bare()} {
		d := sit(t, p, nil)
		s := d.open()
		_, updates := d.say(s, askTide)
		asked := d.questions()
		if len(asked) != 1 || !strings.Contains(asked[0].ToolCall.Title, "Which tide?") {
			t.Fatalf("asked was %+v", asked)
		}
		if text := spoken(updates); !strings.Contains(text, "High") {
			t.Errorf("the model got %q", text)
		}
		d.answers(acp.PermissionRejectOnce) // "skip"
		if _, updates := d.say(s, "[[anew]] "+askTide); strings.Contains(spoken(updates), "Chosen: High") || strings.Contains(spoken(updates), "Low") {
			t.Errorf("skipped, the model got %q", spoken(updates))
		}
	}
}

func TestWhatASessionCostsIsShownWhereThePriceIsKnown(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, `[[usage 1000 500]] [[text: done]]`)
		usage := s.State().Usage()
		if usage == nil || usage.Cost == nil || usage.Cost.Currency != "USD" || usage.Cost.Amount < 0.00199 || usage.Cost.Amount > 0.00201 {
			t.Errorf("the meter is %+v", usage)
		}
		_, updates := d.say(s, "/cost")
		if text := spoken(updates); !strings.Contains(text, "1000") && !strings.Contains(text, "1,000") {
			t.Errorf("/cost said %q", text)
		}
	})
}

func TestTheAnswerOfATurnCountsItsTokens(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		result, err := s.Prompt(t.Context(), acp.Text(`[[usage 900 50]] [[call: plan {"entries":[{"content":"x"}]}]] [[usage 1000 60]] [[text: done]]`)).Result()
		if err != nil {
			t.Fatal(err)
		}
		own, _ := result.Meta.Get("wherry")
		if !strings.Contains(string(own), `"totalTokens":2010`) { // of all its requests
			t.Errorf("the answer's _meta is %s", own)
		}
		if p.unstable && (result.UnstableUsage == nil || result.UnstableUsage.TotalTokens != 2010 || result.UnstableUsage.OutputTokens != 110) {
			t.Errorf("the answer's usage is %+v", result.UnstableUsage)
		}
	})
}
