package retry_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/suite"
	"github.com/wherry-acp/wherry/agent/model/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that does one entry after the other: events, then an error if any.
type script struct {
	answers []answer
	asked   []time.Duration // when, since the start
	start   time.Time
}

type answer struct {
	events []model.Event
	err    error
}

func (s *script) Info() model.Info { return model.Info{Provider: "p", Name: "m"} }

func (s *script) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.asked = append(s.asked, time.Since(s.start))
		a := s.answers[min(len(s.asked), len(s.answers))-1]
		for _, e := range a.events {
			if !yield(e, nil) {
				return
			}
		}
		if a.err != nil {
			yield(nil, a.err)
		}
	}
}

func fail(kind model.ErrorKind, after time.Duration) answer {
	return answer{err: &model.Error{Kind: kind, Provider: "p", RetryAfter: after, Message: "p is busy (HTTP 529). Try again in a moment"}}
}

var fine = answer{events: []model.Event{model.TextDelta{Text: "hello"}, model.Stop{Reason: model.StopEnd}}}

// run asks with fake time.
func run(t *testing.T, p retry.Policy, answers ...answer) (a suite.Answer, s *script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s = &script{answers: answers, start: time.Now()}
		a = suite.Collect(t.Context(), retry.Wrap(s, p), model.Request{})
	})
	return a, s
}

func TestABusyModelIsAskedAgainAndTheWaitIsTold(t *testing.T) {
	a, s := run(t, retry.Policy{}, fail(model.ErrOverloaded, 0), fail(model.ErrRateLimit, 7*time.Second), fine)
	if a.Err != nil || a.Text != "hello" || len(s.asked) != 3 {
		t.Fatalf("got %+v after %d requests", a, len(s.asked))
	}
	if len(a.Waiting) != 2 || a.Waiting[0].Reason != "p is busy (HTTP 529)" || a.Waiting[1].Seconds != 7 {
		t.Errorf("waits: %+v", a.Waiting)
	}
	if d := s.asked[2] - s.asked[1]; d != 7*time.Second {
		t.Errorf("the third request came after %v, not after the 7 s that the provider asked for", d)
	}
}

func TestAfterTheFirstEventTheErrorIsTheCallers(t *testing.T) {
	cut := answer{events: []model.Event{model.TextDelta{Text: "hel"}}, err: &model.Error{Kind: model.ErrCut}}
	a, s := run(t, retry.Policy{}, cut, fine)
	var e *model.Error
	if !errors.As(a.Err, &e) || e.Kind != model.ErrCut || a.Text != "hel" || len(s.asked) != 1 {
		t.Errorf("got %+v after %d requests", a, len(s.asked))
	}
}

func TestWhatTryingAgainCannotHelpIsNotTriedAgain(t *testing.T) {
	for _, kind := range []model.ErrorKind{model.ErrAuth, model.ErrQuota, model.ErrBadRequest, model.ErrNotFound, model.ErrContextFull, model.ErrGarbage} {
		if a, s := run(t, retry.Policy{}, fail(kind, 0), fine); a.Err == nil || len(s.asked) != 1 {
			t.Errorf("%s: got %+v after %d requests", kind, a, len(s.asked))
		}
	}
}

func TestAWaitThatIsTooLongEndsWithTheTimeOfTheReset(t *testing.T) {
	a, s := run(t, retry.Policy{}, fail(model.ErrRateLimit, 25*time.Minute), fine)
	// The fake clock begins at midnight UTC, 2000-01-01.
	want := time.Date(2000, 1, 1, 0, 25, 0, 0, time.UTC).Local().Format("15:04:05")
	if a.Err == nil || len(s.asked) != 1 || !strings.Contains(a.Err.Error(), "again at "+want+", in 25 min") {
		t.Errorf("got %+v after %d requests", a, len(s.asked))
	}
}

func TestPatienceHasAnEnd(t *testing.T) {
	a, s := run(t, retry.Policy{}, fail(model.ErrServer, 0))
	if a.Err == nil || len(s.asked) != 5 || !strings.Contains(a.Err.Error(), "(tried 5 times). Try again in a moment") {
		t.Errorf("got %+v after %d requests", a, len(s.asked))
	}
	a, s = run(t, retry.Policy{}, fail(model.ErrNetwork, 0))
	if a.Err == nil || len(s.asked) != 3 || s.asked[2] > 6*time.Second {
		t.Errorf("network: got %+v after requests at %v", a, s.asked)
	}
	a, s = run(t, retry.Policy{Tries: 100}, fail(model.ErrRateLimit, 50*time.Second))
	if a.Err == nil || len(s.asked) != 3 {
		t.Errorf("budget: got %+v after requests at %v", a, s.asked)
	}
}

func TestTheContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		s := &script{answers: []answer{fail(model.ErrRateLimit, 30*time.Second)}, start: start}
		a := suite.Collect(ctx, retry.Wrap(s, retry.Policy{}), model.Request{})
		if !errors.Is(a.Err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("got %+v after %v", a, time.Since(start))
		}
	})
}

func TestLeavingDuringAWaitEndsIt(t *testing.T) {
	s := &script{answers: []answer{fail(model.ErrRateLimit, 30*time.Second)}, start: time.Now()}
	var seen []model.Event
	for ev := range retry.Wrap(s, retry.Policy{}).Stream(t.Context(), model.Request{}) {
		seen = append(seen, ev)
		break
	}
	if len(seen) != 1 || len(s.asked) != 1 || !slices.ContainsFunc(seen, func(e model.Event) bool { _, ok := e.(model.Waiting); return ok }) {
		t.Errorf("saw %v after %d requests", seen, len(s.asked))
	}
}
