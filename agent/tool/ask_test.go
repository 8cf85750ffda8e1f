package tool

import (
	"strings"
	"testing"
)

func TestQuestionsThatNoPersonCouldAnswerAreSentBack(t *testing.T) {
	b := newBench(t, nil)
	for args, want := range map[string]string{
		`{"questions":[]}`: "one to 4",
		`{"questions":[{"question":"1"},{"question":"2"},{"question":"3"},{"question":"4"},{"question":"5"}]}`:    "one to 4",
		`{"questions":[{"question":" \u001b[2J "}]}`:                                                              `"question" is empty`,
		`{"questions":[{"question":"` + strings.Repeat("x", 601) + `"}]}`:                                         "longer than 600",
		`{"questions":[{"question":"q","options":[{"label":"only"}]}]}`:                                           "one option",
		`{"questions":[{"question":"q","options":[{"label":"a"},{"label":" a "}]}]}`:                              "twice",
		`{"questions":[{"question":"q","options":[{"label":"a"},{"label":""}]}]}`:                                 `"label" is empty`,
		`{"questions":[{"question":"q","options":[{"label":"a"},{"label":"` + strings.Repeat("x", 121) + `"}]}]}`: "longer than 120",
		`{"questions":[{"question":"ok"},{"question":""}]}`:                                                       "questions[1]",
	} {
		if got := b.refused("ask", args); !strings.Contains(got, want) {
			t.Errorf("%s: %q does not say %q", clip(args, 60), got, want)
		}
	}
}

func TestAQuestionIsShownWhole(t *testing.T) {
	b := newBench(t, nil)
	call, err := b.prepare("ask", `{"questions":[{"question":"Which one?","options":[{"label":"A","description":"first"},{"label":"B"}],"several":true},{"question":"Why?","several":true}]}`)
	if err != nil {
		t.Fatal(err)
	}
	p := call.Presentation()
	if p.Title != "Which one? (and 1 more)" || len(p.Questions) != 2 || !p.Questions[0].Several || p.Questions[1].Several {
		t.Errorf("shown as %+v", p)
	}
}

func TestOnlyWhatThePersonSaidIsAnAnswer(t *testing.T) {
	b := newBench(t, nil)
	for _, test := range []struct {
		answers Answers
		want    string
		failed  bool
	}{
		{Answers{}, "There is no answer.", true}, // of nobody who took care
		{Answers{Outcome: Unanswered, Reason: "nobody is there"}, "There is no answer: nobody is there.", true},
		{Answers{Outcome: Declined, Reason: "later"}, "declined to answer: later.", false},
		{Answers{Outcome: Dismissed}, "closed the question", false},
		{Answers{Outcome: Answered}, "skipped, without an answer", false},
		{Answers{Outcome: Answered, Replies: []Reply{{Chosen: []string{"A"}, Text: "mostly"}}}, "chosen: A\n   in their own words: mostly", false},
	} {
		call, err := b.prepare("ask", `{"questions":[{"question":"Which one?","options":[{"label":"A"},{"label":"B"}]}]}`)
		if err != nil {
			t.Fatal(err)
		}
		call.(Inquiry).Take(test.answers)
		result := b.run(call)
		if !strings.Contains(result.Text, test.want) || result.Failed != test.failed {
			t.Errorf("%+v: %+v", test.answers, result)
		}
		if answered := len(test.answers.Replies) > 0; strings.Contains(result.Text, "Do not answer in the person's place") == answered {
			t.Errorf("%+v: %q", test.answers, result.Text)
		}
	}
}
