package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

func naming(t *testing.T, opts Options, steps ...step) *rig {
	t.Helper()
	opts.Titles = true
	r := newRigOn(t, memory(t), opts, steps...)
	r.model.info = model.Info{Provider: "test", Name: "scripted", Price: &model.Price{Input: 1}}
	return r
}

func TestTheModelNamesASessionOnceAfterItsFirstAnswer(t *testing.T) {
	r := naming(t, Options{}, using(model.Usage{Output: 1}, says("It is in main.go.")), using(model.Usage{Input: 500_000}, says("\"**Where** the limit is\"\n")), says("two"))
	tell(t, r.session, "where is the message limit?")
	r.session.jobs.Wait()
	st := r.session.State()
	if st.Title != "Where the limit is" || st.TitledBy != "model" || st.Cost != (session.Cost{USD: 0.5}) || st.TurnCost.USD != 0 {
		t.Errorf("%q by %s, %+v", st.Title, st.TitledBy, st.Cost)
	}
	asked := said(r.model.requests()[1])
	if len(asked) != 1 || !strings.Contains(asked[0], "where is the message limit?") || !strings.Contains(asked[0], "It is in main.go.") {
		t.Errorf("asked with %q", asked)
	}
	tell(t, r.session, "and then?")
	r.session.jobs.Wait()
	if n := len(r.model.requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	page, err := r.agent.List(t.Context(), session.Filter{})
	if err != nil || page.Sessions[0].Title != "Where the limit is" {
		t.Errorf("%+v, %v", page.Sessions, err)
	}
}

func TestATitleOfThePersonStays(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	late := func(ctx context.Context, yield func(model.Event, error) bool) {
		close(asked)
		<-goOn
		says("The model's")(ctx, yield)
	}
	r := naming(t, Options{}, says("one"), late)
	tell(t, r.session, "first")
	<-asked
	tell(t, r.session, "/rename Mine")
	close(goOn)
	r.session.jobs.Wait()
	if st := r.session.State(); st.Title != "Mine" || st.TitledBy != "person" {
		t.Errorf("%q by %s", st.Title, st.TitledBy)
	}
	for _, shown := range shown[session.Titled](r.face) {
		if shown.By == "model" {
			t.Errorf("shown: %+v", shown)
		}
	}
}

func TestALateTitleIsThatOfItsOwnSessionAndEndsWithIt(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	late := func(ctx context.Context, yield func(model.Event, error) bool) {
		close(asked)
		select {
		case <-goOn:
			says("Late")(ctx, yield)
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}
	r := naming(t, Options{}, says("one"), late, says("two"), breaks("", model.ErrServer))
	tell(t, r.session, "first")
	<-asked
	other, err := r.agent.Create(t.Context(), []string{t.TempDir()}, nil, r.face)
	if err != nil {
		t.Fatal(err)
	}
	tell(t, other, "second")
	other.jobs.Wait() // its own failed
	close(goOn)
	r.session.jobs.Wait()
	if a, b := r.session.State().Title, other.State().Title; a != "Late" || b != "second" {
		t.Errorf("%q and %q", a, b)
	}
	for _, s := range []*Session{other, r.session} {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	asked, goOn = make(chan struct{}), nil
	r = naming(t, Options{}, says("one"), late)
	tell(t, r.session, "first")
	<-asked
	if err := r.session.Close(t.Context()); err != nil { // waits for it
		t.Fatal(err)
	}
}

func TestNoTitleIsAskedForWhereNothingMoreMayBeSpent(t *testing.T) {
	full := using(model.Usage{Input: 1000}, says("one"))
	for name, r := range map[string]*rig{
		"over budget": naming(t, Options{Budget: Budget{Tokens: 1000}}, full),
		"failed":      naming(t, Options{}, breaks("", model.ErrServer)),
		"off":         newRig(t, nil, says("one")),
	} {
		tell(t, r.session, "first")
		r.session.jobs.Wait()
		if n := len(r.model.requests()); n != 1 || r.session.State().Title != "first" {
			t.Errorf("%s: %d requests, %q", name, n, r.session.State().Title)
		}
	}
}
