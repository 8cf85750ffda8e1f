package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
)

//go:embed ask.md
var askDescription string

// Bounds on what is asked at once, so that a form stays one that a person reads.
const (
	maxQuestions = 4
	maxOptions   = 8
	maxQuestion  = 600 // characters
	maxOption    = 120 // characters of a label
)

// Question is something that the model wants to know of the person.
type Question struct {
	Text string `json:"text"`
	// Options are the answers to choose from; with none the answer is free text.
	Options []Option `json:"options,omitzero"`
	Several bool     `json:"several,omitzero"` // more than one option may be chosen
}

// Option is an answer to choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// Reply is the person's answer to one question. The zero value is a question that was skipped.
type Reply struct {
	Chosen []string `json:"chosen,omitzero"` // labels of options
	Text   string   `json:"text,omitzero"`   // in the person's own words
}

// Skipped tells whether the person gave no answer.
func (r Reply) Skipped() bool { return len(r.Chosen) == 0 && r.Text == "" }

// Answers is what became of an [Inquiry].
type Answers struct {
	Outcome Outcome `json:"outcome"`
	Replies []Reply `json:"replies,omitzero"` // one for each question, in their order, when Answered
	Reason  string  `json:"reason,omitzero"`  // the person's note, or why there is no answer: a clause
}

// Outcome tells how an [Inquiry] ended.
type Outcome string

// The outcomes.
const (
	Answered   Outcome = "answered"   // single questions may have been skipped
	Declined   Outcome = "declined"   // the person will not answer
	Dismissed  Outcome = "dismissed"  // the person closed the question
	Unanswered Outcome = "unanswered" // nobody there, lost, timed out or cancelled
	Put        Outcome = "put"        // the question stands in the conversation; the next prompt answers it
)

// Inquiry is a [Call] that needs the person's answers before it runs.
type Inquiry interface {
	Call
	// Questions are what to ask; there is at least one.
	Questions() []Question
	// Take gives it the answers, once, before Run.
	Take(Answers)
}

type askArgs struct {
	Questions []questionArgs `json:"questions" jsonschema:"One to four questions."`
}

type questionArgs struct {
	Question string       `json:"question" jsonschema:"The question, complete in itself."`
	Options  []optionArgs `json:"options,omitzero" jsonschema:"Two to eight answers to choose from; left out, the person answers in free text."`
	Several  bool         `json:"several,omitzero" jsonschema:"Whether more than one option may be chosen."`
}

type optionArgs struct {
	Label       string `json:"label" jsonschema:"A few words."`
	Description string `json:"description,omitzero" jsonschema:"What choosing it means."`
}

func askTool() Tool {
	return New(Spec{Name: "ask", Description: askDescription}, prepareAsk)
}

func prepareAsk(_ context.Context, _ Env, args askArgs) (Call, error) {
	if n := len(args.Questions); n == 0 || n > maxQuestions {
		return nil, fmt.Errorf(`"questions" has %d questions: ask one to %d at once`, n, maxQuestions)
	}
	call := &inquiry{}
	for i, q := range args.Questions {
		question, err := q.check()
		if err != nil {
			return nil, fmt.Errorf("questions[%d]: %w", i, err)
		}
		call.questions = append(call.questions, question)
	}
	return call, nil
}

func (q questionArgs) check() (Question, error) {
	out := Question{Text: strings.TrimSpace(cleanText(q.Question)), Several: q.Several}
	switch {
	case out.Text == "":
		return Question{}, errors.New(`"question" is empty`)
	case len([]rune(out.Text)) > maxQuestion:
		return Question{}, fmt.Errorf(`"question" is longer than %d characters: say the rest in your message before`, maxQuestion)
	case len(q.Options) == 1:
		return Question{}, errors.New(`"options" has one option: give two at least, or none for free text`)
	case len(q.Options) > maxOptions:
		return Question{}, fmt.Errorf(`"options" has %d options: at most %d are shown`, len(q.Options), maxOptions)
	}
	seen := make(map[string]bool)
	for _, o := range q.Options {
		option := Option{Label: strings.Join(strings.Fields(cleanText(o.Label)), " "), Description: strings.Join(strings.Fields(cleanText(o.Description)), " ")}
		switch {
		case option.Label == "":
			return Question{}, errors.New(`an option's "label" is empty`)
		case len([]rune(option.Label)) > maxOption:
			return Question{}, fmt.Errorf(`the label %q is longer than %d characters: put the rest into "description"`, clip(option.Label, 40), maxOption)
		case seen[option.Label]:
			return Question{}, fmt.Errorf("the option %q is there twice", option.Label)
		}
		seen[option.Label] = true
		out.Options = append(out.Options, option)
	}
	out.Several = out.Several && len(out.Options) > 0
	return out, nil
}

// inquiry is a prepared ask.
type inquiry struct {
	questions []Question
	answers   Answers
}

var _ Inquiry = (*inquiry)(nil)

func (c *inquiry) Questions() []Question { return c.questions }

func (c *inquiry) Take(a Answers) { c.answers = a }

func (c *inquiry) Presentation() Presentation {
	title := oneLine(c.questions[0].Text)
	if n := len(c.questions); n > 1 {
		title = oneLine(clip(title, maxTitle-20), fmt.Sprintf("(and %d more)", n-1))
	}
	return Presentation{Class: approval.ClassNote, Title: title, Kind: KindOther, Questions: c.questions}
}

// notYours follows whatever is not an answer: a model must not take silence for one.
const notYours = " Do not answer in the person's place: go on without it, saying what you assume, or stop and say what you need."

func (c *inquiry) Run(context.Context, Output) Result {
	because := ""
	if c.answers.Reason != "" {
		because = ": " + c.answers.Reason
	}
	switch c.answers.Outcome {
	case Answered:
		return c.result()
	case Declined:
		return Result{Text: "The person declined to answer" + because + "." + notYours, Display: "Declined" + because + "."}
	case Dismissed:
		return Result{Text: "The person closed the question without an answer." + notYours, Display: "Closed without an answer."}
	case Put:
		return Result{Text: "The question was put to the person in the conversation. The next prompt holds the answer.", Display: "Asked in the conversation."}
	}
	return Result{Text: "There is no answer" + because + "." + notYours, Display: "No answer" + because + ".", Failed: true}
}

// result tells the model and the person what was answered.
func (c *inquiry) result() Result {
	var text, display strings.Builder
	text.WriteString("The person answered:\n")
	skipped := false
	for i, q := range c.questions {
		var reply Reply
		if i < len(c.answers.Replies) {
			reply = c.answers.Replies[i]
		}
		fmt.Fprintf(&text, "\n%d. %s\n", i+1, q.Text)
		fmt.Fprintf(&display, "**%s**\n\n", q.Text)
		for _, label := range reply.Chosen {
			fmt.Fprintf(&text, "   chosen: %s\n", label)
			fmt.Fprintf(&display, "- %s\n", label)
		}
		if reply.Text != "" {
			fmt.Fprintf(&text, "   in their own words: %s\n", reply.Text)
			fmt.Fprintf(&display, "%s\n", reply.Text)
		}
		if reply.Skipped() {
			skipped = true
			text.WriteString("   skipped, without an answer\n")
			display.WriteString("Skipped.\n")
		}
		display.WriteByte('\n')
	}
	if skipped {
		text.WriteString("\nA skipped question has no answer." + notYours)
	}
	return Result{Text: strings.TrimSpace(text.String()), Display: strings.TrimSpace(display.String())}
}
