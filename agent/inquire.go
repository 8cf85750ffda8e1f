package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wherry-acp/wherry/agent/session"
	"github.com/wherry-acp/wherry/agent/tool"
)

// Inquiry asks the person for answers, not for permission.
type Inquiry struct {
	Session      string
	Call         string
	Presentation tool.Presentation // of the call that asks
	Questions    []tool.Question   // one at least
}

// errPut ends a turn whose questions stand in the conversation: the next prompt answers them.
var errPut = errors.New("the questions were put in the conversation")

// inquire asks the person what the call wants to know. What is not an answer of the person is never taken for one.
func (t *turn) inquire(ctx context.Context, c session.CallRequested, call tool.Inquiry) (tool.Answers, error) {
	questions := call.Questions()
	if err := t.s.record(ctx, session.QuestionAsked{Call: c.Call, Questions: questions}); err != nil {
		return tool.Answers{}, err
	}
	askCtx, cancel := context.WithTimeoutCause(ctx, t.s.agent.opts.AskTimeout, errAskTimeout)
	defer cancel()
	answers, askErr := t.s.face.Inquire(askCtx, Inquiry{
		Session: t.s.id, Call: c.Call, Presentation: call.Presentation(), Questions: questions,
	})
	lost := false
	unanswered := func(why string) { answers = tool.Answers{Outcome: tool.Unanswered, Reason: why} }
	switch {
	case ctx.Err() != nil:
		unanswered("the turn was cancelled")
	case askErr != nil && errors.Is(context.Cause(askCtx), errAskTimeout):
		unanswered(fmt.Sprintf("nobody answered within %s", t.s.agent.opts.AskTimeout))
	case askErr != nil:
		lost = true
		unanswered("the client could not be asked")
		t.s.agent.log.Warn("ask the person", "session", t.s.id, "call", c.Call, "error", askErr)
	case answers.Outcome == tool.Answered && len(answers.Replies) != len(questions):
		unanswered("the client's answer does not fit the questions")
	}
	said := session.QuestionAnswered{Call: c.Call, Answers: answers, By: t.s.face.Name()}
	if answers.Outcome == tool.Put {
		said.Message, said.Text = session.NewMessageID(), inWords(questions)
	}
	keep, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	if err := t.s.record(keep, said); err != nil {
		return tool.Answers{}, err
	}
	if ctx.Err() != nil {
		return tool.Answers{}, context.Cause(ctx)
	}
	if lost {
		if err := t.done(keep, c, session.CallFailed, tool.Failure("The person could not be asked.")); err != nil {
			return tool.Answers{}, err
		}
		return tool.Answers{}, errors.New("the client could not be asked a question of the model's, so the turn was ended")
	}
	return answers, nil
}

// inWords are the questions as a message that the person answers with the next prompt.
func inWords(questions []tool.Question) string {
	var b strings.Builder
	for i, q := range questions {
		if len(questions) > 1 {
			fmt.Fprintf(&b, "%d. ", i+1)
		}
		b.WriteString(q.Text + "\n\n")
		for _, o := range q.Options {
			b.WriteString("- " + o.Label)
			if o.Description != "" {
				b.WriteString(": " + o.Description)
			}
			b.WriteByte('\n')
		}
		if len(q.Options) > 0 {
			if q.Several {
				b.WriteString("\nMore than one may be chosen.\n")
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("Please answer with your next message, in your own words; what you leave out counts as skipped.")
	return b.String()
}
