package agent

import (
	"context"
	"errors"
	"testing"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

func setting(t *testing.T, s *Session, id SettingID) Setting {
	t.Helper()
	for _, o := range s.Settings() {
		if o.ID == id {
			return o
		}
	}
	return Setting{}
}

// choosing gives an agent with three models on a store: one thinks, one is plain, one has no key.
func choosing(t *testing.T, store session.Store, opts Options) *Agent {
	t.Helper()
	models := map[string]*scripted{
		"a/thinks": {info: model.Info{Provider: "a", Name: "thinks", Thoughts: []string{"low", "high"}}},
		"a/plain":  {info: model.Info{Provider: "a", Name: "plain"}},
		"b/other":  {info: model.Info{Provider: "b", Name: "other"}},
	}
	opts.Store, opts.DefaultModel = store, "a/plain"
	opts.Models = func() []ModelChoice {
		return []ModelChoice{
			{Info: models["a/thinks"].info}, {Info: models["a/plain"].info}, {Info: model.Info{Provider: "c", Name: "far"}, Unavailable: "set C_API_KEY"},
		}
	}
	opts.OpenModel = func(_ context.Context, id string) (model.Model, error) {
		if m := models[id]; m != nil {
			return m, nil
		}
		return nil, &model.Error{Kind: model.ErrNotFound, Provider: "x", Message: "no such model"}
	}
	a, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func memory(t *testing.T) session.Store {
	t.Helper()
	store := session.NewMemory()
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func create(t *testing.T, a *Agent, face Face, folder string) *Session {
	t.Helper()
	s, err := a.Create(t.Context(), []string{folder}, nil, face)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheSettingsFollowOneAnother(t *testing.T) {
	face := &fakeFace{}
	s := create(t, choosing(t, memory(t), Options{}), face, t.TempDir())
	if got := setting(t, s, SettingThought); got.ID != "" {
		t.Errorf("a model without levels has %+v", got)
	}
	if err := s.Set(t.Context(), SettingModel, "a/thinks"); err != nil {
		t.Fatal(err)
	}
	if got := setting(t, s, SettingThought); got.Value != "default" || len(got.Choices) != 3 {
		t.Errorf("%+v", got)
	}
	if err := s.Set(t.Context(), SettingThought, "high"); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(t.Context(), SettingMode, "edits"); err != nil {
		t.Fatal(err)
	}
	if m, th, mode := setting(t, s, SettingModel), setting(t, s, SettingThought), setting(t, s, SettingMode); m.Value != "a/thinks" || th.Value != "high" || mode.Value != "edits" {
		t.Errorf("%s, %s, %s", m.Value, th.Value, mode.Value)
	}
	if err := s.Set(t.Context(), SettingThought, "default"); err != nil {
		t.Fatal(err)
	}
	if got := setting(t, s, SettingThought); got.Value != "default" {
		t.Errorf("taken back: %+v", got)
	}
	face.mu.Lock()
	defer face.mu.Unlock()
	if len(face.configured) != 4 {
		t.Fatalf("the face was told %d times", len(face.configured))
	}
	for i, last := range []int{4, 4, 4, 4} {
		if len(face.configured[i]) != last {
			t.Errorf("change %d told %d settings, want all %d", i, len(face.configured[i]), last)
		}
	}
	if got := face.configured[2][0].Value; got != "edits" {
		t.Errorf("with the mode the face was told %q", got)
	}
}

func TestWhatCannotBeChosenIsRefusedWithTheReason(t *testing.T) {
	s := create(t, choosing(t, memory(t), Options{}), &fakeFace{}, t.TempDir())
	for _, test := range []struct {
		id    SettingID
		value string
		says  string
	}{
		{"speed", "fast", `there is no setting "speed"; there are mode, model, busy`},
		{SettingMode, "wild", `mode cannot be "wild"; it can be off, plan, ask, edits, auto`},
		{SettingModel, "c/far", "the model c/far is not available: set C_API_KEY"},
		{SettingModel, "c/none", "x: no such model"},
		{SettingThought, "high", `there is no setting "thought"; there are mode, model, busy`},
	} {
		if err := s.Set(t.Context(), test.id, test.value); !errors.As(err, new(*SettingError)) || err.Error() != test.says {
			t.Errorf("%s %s: %v", test.id, test.value, err)
		}
	}
	if err := s.Set(t.Context(), SettingModel, "b/other"); err != nil {
		t.Errorf("a model outside the list: %v", err)
	}
	if got := setting(t, s, SettingModel); got.Value != "b/other" || got.Choices[len(got.Choices)-1].Value != "b/other" {
		t.Errorf("a model outside the list is not among the choices: %+v", got)
	}
}

func TestTheNextSessionInAFolderBeginsWithWhatWasChosenThere(t *testing.T) {
	store, here, elsewhere := memory(t), t.TempDir(), t.TempDir()
	a := choosing(t, store, Options{})
	s := create(t, a, &fakeFace{}, here)
	for id, value := range map[SettingID]string{SettingModel: "a/thinks", SettingMode: "edits"} {
		if err := s.Set(t.Context(), id, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set(t.Context(), SettingThought, "low"); err != nil {
		t.Fatal(err)
	}
	next := create(t, a, &fakeFace{}, here)
	if st := next.State(); st.Model != "a/thinks" || st.Mode != approval.ModeEdits || setting(t, next, SettingThought).Value != "low" {
		t.Errorf("%+v", st)
	}
	if st := create(t, a, &fakeFace{}, elsewhere).State(); st.Model != "a/plain" || st.Mode != approval.ModeAsk || st.Options != nil {
		t.Errorf("in another folder: %+v", st)
	}
	if st := create(t, choosing(t, store, Options{DefaultMode: approval.ModeOff}), &fakeFace{}, here).State(); st.Mode != approval.ModeOff {
		t.Errorf("what was chosen before loosened the mode off to %s", st.Mode)
	}
	next = create(t, a, &fakeFace{}, here)
	if err := next.Set(t.Context(), SettingMode, "auto"); err != nil {
		t.Fatal(err)
	}
	if st := create(t, a, &fakeFace{}, here).State(); st.Mode != approval.ModeAsk {
		t.Errorf("the mode auto was carried over: %+v", st)
	}
	if st := create(t, choosing(t, store, Options{DefaultMode: approval.ModeEdits}), &fakeFace{}, t.TempDir()).State(); st.Mode != approval.ModeEdits {
		t.Errorf("the default mode is %s", st.Mode)
	}
	if st := create(t, choosing(t, store, Options{ModelFixed: true}), &fakeFace{}, here).State(); st.Model != "a/plain" {
		t.Errorf("the model named for the process is %s", st.Model)
	}
}
