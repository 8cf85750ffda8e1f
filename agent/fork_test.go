package agent

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

func (r *rig) fork(t *testing.T) *Session {
	t.Helper()
	s, err := r.agent.Fork(t.Context(), r.session.ID(), []string{r.folder}, nil, &fakeFace{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func turnOf(t *testing.T, s *Session, text string) {
	t.Helper()
	if _, err := s.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: text}}); err != nil {
		t.Fatal(err)
	}
}

func TestAForksFirstRequestBeginsAsTheParentsNextOneDoes(t *testing.T) {
	r := newRig(t, nil, says("one"), says("two"), says("three"))
	r.turn(t, t.Context(), "first")
	if err := r.session.SetMode(t.Context(), approval.ModeEdits); err != nil {
		t.Fatal(err)
	}
	child := r.fork(t)
	if state := child.State(); state.Title != "first" || state.Mode != approval.ModeEdits || state.Parent != r.session.ID() {
		t.Errorf("the child is %+v", state)
	}
	turnOf(t, child, "in the child")
	r.turn(t, t.Context(), "in the parent")
	asked := r.model.requests()
	if len(asked) != 3 {
		t.Fatalf("%d requests", len(asked))
	}
	inChild, inParent := asked[1], asked[2]
	n := len(inParent.Messages) - 1
	if n != 2 || len(inChild.Messages) != n+1 || !reflect.DeepEqual(inChild.Messages[:n], inParent.Messages[:n]) {
		t.Errorf("the child asked with %+v\nthe parent with %+v", inChild.Messages, inParent.Messages)
	}
	if inChild.System != inParent.System || !reflect.DeepEqual(inChild.Tools, inParent.Tools) {
		t.Error("what comes before the messages differs")
	}
	if got := inChild.Messages[n].Parts; !reflect.DeepEqual(got, []model.Part{model.Text{Text: "in the child"}}) {
		t.Errorf("the child's prompt is %+v", got)
	}
}

func TestAParentInTheMiddleOfATurnAndItsForkWorkSideBySide(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := func(ctx context.Context, yield func(model.Event, error) bool) {
		close(begun)
		select {
		case <-goOn:
		case <-ctx.Done():
			return
		}
		says("late")(ctx, yield)
	}
	r := newRig(t, nil, says("one"), slow, says("from the child"))
	r.turn(t, t.Context(), "first")
	ended := make(chan error, 1)
	go func() {
		_, err := r.session.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "second"}})
		ended <- err
	}()
	<-begun
	child := r.fork(t)
	turnOf(t, child, "meanwhile")
	close(goOn)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	last := r.model.requests()[2].Messages
	if len(last) != 3 || !reflect.DeepEqual(last[2].Parts, []model.Part{model.Text{Text: "meanwhile"}}) {
		t.Errorf("the child's request holds %+v", last)
	}
	if said := stored[session.MessageSaved](t, r); len(said) != 2 || said[1].Text != "late" {
		t.Errorf("the parent holds %+v", said)
	}
}

func TestAForkThatCannotBeOpenedLeavesNothing(t *testing.T) {
	r := newRig(t, nil)
	if _, err := r.agent.Fork(t.Context(), "sess_no", nil, nil, r.face); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a fork of nothing: %v", err)
	}
	var folder *FolderError
	if _, err := r.agent.Fork(t.Context(), r.session.ID(), []string{"/does/not/exist"}, nil, r.face); !errors.As(err, &folder) {
		t.Errorf("a fork into no folder: %v", err)
	}
	page, err := r.agent.List(t.Context(), session.Filter{})
	if err != nil || len(page.Sessions) != 1 {
		t.Errorf("stored are %+v, %v", page.Sessions, err)
	}
}
