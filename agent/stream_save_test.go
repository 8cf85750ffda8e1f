package agent

import (
	"context"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

func TestWhatWasSaidIsStoredWhileTheModelIsSilent(t *testing.T) {
	goOn := make(chan struct{})
	r := newRig(t, nil, func(ctx context.Context, yield func(model.Event, error) bool) {
		if !yield(model.TextDelta{Text: "a beginning"}, nil) {
			return
		}
		select {
		case <-goOn:
		case <-ctx.Done():
			return
		}
		says(" and an end")(ctx, yield)
	})
	r.face.seen = make(chan session.Data)
	ended := make(chan error, 1)
	go func() {
		_, err := r.session.Turn(t.Context(), []session.Block{{Type: session.BlockText, Text: "speak"}})
		ended <- err
	}()
	late := time.NewTimer(20 * saveEvery)
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case data := <-r.face.seen:
			_, saved := data.(session.MessageSaved)
			waiting = !saved
		case <-late.C:
			t.Fatal("what was said is not stored before the model goes on")
		}
	}
	if saved := stored[session.MessageSaved](t, r); len(saved) != 1 || saved[0].Text != "a beginning" {
		t.Errorf("stored is %+v", saved)
	}
	close(goOn)
	for {
		select {
		case <-r.face.seen:
			continue
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		}
		break
	}
	var text string
	for _, m := range stored[session.MessageSaved](t, r) {
		text += m.Text
	}
	if text != "a beginning and an end" {
		t.Errorf("stored is %q", text)
	}
}
