package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// retryCommand is the name of the command that tries the last prompt again.
const retryCommand = "retry"

// tellSilence tells that the provider sends nothing, and until when it is waited for.
func (t *turn) tellSilence(ctx context.Context, s model.Silence) error {
	return t.notice(ctx, "warning", fmt.Sprintf(
		"%s has sent nothing for %d s. If nothing comes until %s, the turn ends; stop it to give up now.",
		t.model.Info().Provider, int(s.For.Seconds()), s.Until.Format(time.TimeOnly)))
}

// tellWaiting tells that the request is tried again later, and why.
func (t *turn) tellWaiting(ctx context.Context, w model.Waiting) error {
	return t.notice(ctx, "warning", fmt.Sprintf("%s. Trying again in %.0f s.", strings.TrimRight(w.Reason, ". "), w.Seconds))
}

// failure is what the person is told of why a turn failed, and what they can do.
func failure(err error) (text string, kind model.ErrorKind) {
	text = err.Error()
	var me *model.Error
	if !errors.As(err, &me) {
		return text, ""
	}
	switch {
	case me.Temporary():
		text = strings.TrimRight(text, ". ") + ". Say /" + retryCommand + " to try again."
	case me.Kind == model.ErrAuth, me.Kind == model.ErrQuota:
		text = strings.TrimRight(text, ". ") + ". Then say /" + retryCommand + " to go on."
	}
	return text, me.Kind
}

// unanswered finds the turn whose prompt was the last that a model got and was not answered to its end, or tells why it is
// not to be tried again.
func (s *Session) unanswered() (turn session.TurnStarted, why string, ok bool) {
	events := s.snapshot()
	var ended *session.TurnEnded
	for i := len(events) - 1; i >= 0; i-- {
		switch d := events[i].Data.(type) {
		case session.Cleared:
			return turn, "There is nothing to try again: the conversation begins anew.", false
		case session.TurnEnded:
			ended = &d
		case session.TurnStarted:
			if d.Command != "" && d.Sent == nil && !d.Again {
				continue // the command that asks, or another one that no model got
			}
			if ended != nil && (ended.Reason == session.StopEndTurn || ended.Reason == session.StopRefusal) {
				return turn, "There is nothing to try again: the last prompt was answered. Say it once more, or in other words.", false
			}
			return d, "", true
		}
	}
	return turn, "There is nothing to try again: there was no prompt yet.", false
}

// cannotRetry answers the command where there is nothing to try again.
func cannotRetry(_ context.Context, t *turn, _ string) (string, error) {
	_, why, _ := t.s.unanswered()
	return why, nil
}
