package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Inquire implements [agent.Face]: by a form where the client has forms, else as a choice for each question, else in the
// conversation.
func (f *face) Inquire(ctx context.Context, q agent.Inquiry) (tool.Answers, error) {
	if f.hasForms() {
		answers, err := f.inquireByForm(ctx, q)
		if !declinedMode(err) {
			return answers, err
		}
	}
	if slices.ContainsFunc(q.Questions, func(q tool.Question) bool { return len(q.Options) == 0 || q.Several }) {
		return tool.Answers{Outcome: tool.Put}, nil
	}
	return f.inquireByChoice(ctx, q)
}

func (f *face) hasForms() bool {
	e := f.client.Capabilities().Elicitation
	return e != nil && e.Form != nil
}

// declinedMode tells whether the client answered that it has no forms after all: nobody has seen the question.
func declinedMode(err error) bool {
	var answer *acp.RequestError
	return errors.As(err, &answer) && (answer.Code == acp.CodeMethodNotFound || answer.Code == acp.CodeInvalidParams)
}

func (f *face) inquireByForm(ctx context.Context, q agent.Inquiry) (tool.Answers, error) {
	resp, err := f.client.Elicit(ctx, acp.CreateElicitationRequest{
		Message: formMessage(q.Questions),
		Mode: acp.ElicitationFormMode{
			RequestedSchema: form(q.Questions),
			Scope:           acp.ElicitationSessionScope{SessionID: acp.SessionID(q.Session), ToolCallID: acp.ToolCallID(q.Call)},
		},
	})
	if err != nil {
		return tool.Answers{}, err
	}
	reason, nobody := note(resp.Meta)
	if nobody {
		return tool.Answers{Outcome: tool.Unanswered, Reason: reason}, nil
	}
	switch action := resp.Action.(type) {
	case acp.ElicitationAcceptAction:
		replies, err := filled(q.Questions, action.Content)
		if err != nil {
			return tool.Answers{Outcome: tool.Unanswered, Reason: err.Error()}, nil
		}
		return tool.Answers{Outcome: tool.Answered, Replies: replies, Reason: reason}, nil
	case acp.ElicitationDeclineAction:
		return tool.Answers{Outcome: tool.Declined, Reason: reason}, nil
	case acp.ElicitationCancelAction:
		return tool.Answers{Outcome: tool.Dismissed, Reason: reason}, nil
	}
	return tool.Answers{Outcome: tool.Unanswered, Reason: "the client's answer was not understood"}, nil
}

// formMessage says what the form is, above its fields.
func formMessage(questions []tool.Question) string {
	if len(questions) == 1 {
		return questions[0].Text
	}
	return fmt.Sprintf("wherry has %d questions. Leave a field empty to skip it.", len(questions))
}

// The names of the form's fields for the question with this index: what is chosen, and what is said in own words.
func choiceField(i int) string { return fmt.Sprintf("question_%d", i+1) }
func wordsField(i int) string  { return fmt.Sprintf("question_%d_other", i+1) }

// form has a field for each question, and for one with options a second field for other words. None is required: an
// empty one is skipped.
func form(questions []tool.Question) acp.ElicitationSchema {
	schema := acp.ElicitationSchema{Type: acp.ElicitationSchemaObject, Properties: acp.Members[acp.ElicitationPropertySchema]{}}
	add := func(name string, p acp.ElicitationPropertySchema) {
		schema.Properties = append(schema.Properties, acp.Member[acp.ElicitationPropertySchema]{Name: name, Value: p})
	}
	for i, q := range questions {
		var options []acp.EnumOption
		for _, o := range q.Options {
			options = append(options, acp.EnumOption{Const: o.Label, Title: o.Label, Description: o.Description})
		}
		switch {
		case len(options) == 0:
			add(choiceField(i), acp.StringPropertySchema{Title: q.Text})
			continue
		case q.Several:
			add(choiceField(i), acp.MultiSelectPropertySchema{Title: q.Text, Description: described(q.Options), Items: acp.TitledMultiSelectItems{AnyOf: options}})
		default:
			add(choiceField(i), acp.StringPropertySchema{Title: q.Text, Description: described(q.Options), OneOf: options})
		}
		add(wordsField(i), acp.StringPropertySchema{Title: "Or in your own words"})
	}
	return schema
}

// described gives what the options mean, for the many clients that show an option's title alone.
func described(options []tool.Option) string {
	var lines []string
	for _, o := range options {
		if o.Description != "" {
			lines = append(lines, o.Label+": "+o.Description)
		}
	}
	return strings.Join(lines, "\n")
}

// filled reads the form's content. What does not fit the form is an error: it is not guessed what it may mean.
func filled(questions []tool.Question, content map[string]acp.ElicitationContentValue) ([]tool.Reply, error) {
	replies := make([]tool.Reply, len(questions))
	for i, q := range questions {
		r := &replies[i]
		if value, ok := content[choiceField(i)]; ok {
			texts, err := textsIn(value)
			if err != nil {
				return nil, fmt.Errorf("the client's answer to question %d is neither a text nor a choice", i+1)
			}
			switch {
			case len(q.Options) == 0:
				r.Text = strings.TrimSpace(strings.Join(texts, "\n"))
			case len(texts) > 1 && !q.Several:
				return nil, fmt.Errorf("the client's answer to question %d has %d choices in place of one", i+1, len(texts))
			default:
				for _, text := range texts {
					if !offers(q, text) {
						return nil, fmt.Errorf("the client's answer to question %d is none of the options", i+1)
					}
				}
				r.Chosen = slices.Compact(texts)
			}
		}
		if value, ok := content[wordsField(i)]; ok {
			texts, err := textsIn(value)
			if err != nil {
				return nil, fmt.Errorf("the client's answer to question %d is not a text", i+1)
			}
			r.Text = strings.TrimSpace(strings.Join(texts, "\n"))
		}
	}
	return replies, nil
}

func offers(q tool.Question, label string) bool {
	return slices.ContainsFunc(q.Options, func(o tool.Option) bool { return o.Label == label })
}

// textsIn gives what a field holds; an empty text is nothing.
func textsIn(v acp.ElicitationContentValue) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case acp.ElicitationString:
		if v == "" {
			return nil, nil
		}
		return []string{string(v)}, nil
	case acp.ElicitationStrings:
		return slices.DeleteFunc(slices.Clone([]string(v)), func(s string) bool { return s == "" }), nil
	}
	return nil, errors.New("not a text")
}

// optionSkip is the option that answers nothing.
const optionSkip acp.PermissionOptionID = "skip"

// inquireByChoice asks one question after the other as a choice, for clients without forms.
func (f *face) inquireByChoice(ctx context.Context, q agent.Inquiry) (tool.Answers, error) {
	answers := tool.Answers{Outcome: tool.Answered}
	for i, question := range q.Questions {
		f.mu.Lock()
		call := f.render.callUpdate(q.Call, f.render.call(q.Call), acp.ToolCallPending)
		f.mu.Unlock()
		call.Title, call.Content = question.Text, []acp.ToolCallContent{acp.ToolText(asked(q.Questions[i : i+1]))}
		req := acp.RequestPermissionRequest{SessionID: acp.SessionID(q.Session), ToolCall: call}
		for n, o := range question.Options {
			req.Options = append(req.Options, acp.PermissionOption{
				OptionID: acp.PermissionOptionID(fmt.Sprintf("answer-%d", n+1)), Name: o.Label, Kind: acp.PermissionAllowOnce,
			})
		}
		req.Options = append(req.Options, acp.PermissionOption{OptionID: optionSkip, Name: "Skip this question", Kind: acp.PermissionRejectOnce})
		resp, err := f.client.RequestPermission(ctx, req)
		if err != nil {
			return tool.Answers{}, err
		}
		reason, nobody := note(resp.Meta)
		picked, ok := resp.Outcome.(acp.SelectedPermissionOutcome)
		switch {
		case nobody:
			return tool.Answers{Outcome: tool.Unanswered, Reason: reason}, nil
		case !ok:
			return tool.Answers{Outcome: tool.Dismissed, Reason: reason}, nil
		}
		reply := tool.Reply{Text: reason}
		n := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return o.OptionID == picked.OptionID })
		switch {
		case n < 0:
			return tool.Answers{Outcome: tool.Unanswered, Reason: "the client's answer is none of the options"}, nil
		case n < len(question.Options):
			reply.Chosen = []string{question.Options[n].Label}
		}
		answers.Replies = append(answers.Replies, reply)
	}
	return answers, nil
}

// asked shows questions and their options.
func asked(questions []tool.Question) string {
	var b strings.Builder
	for _, q := range questions {
		fmt.Fprintf(&b, "**%s**\n\n", q.Text)
		for _, o := range q.Options {
			b.WriteString("- " + o.Label)
			if o.Description != "" {
				b.WriteString(": " + o.Description)
			}
			b.WriteByte('\n')
		}
		if len(q.Options) > 0 {
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}
