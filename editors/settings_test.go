//go:build unix

package editors

import (
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// chosen is the value that an option of the session has, as the editor knows it.
func chosen(s *acp.Session, id acp.SessionConfigID) string {
	for _, o := range s.State().ConfigOptions() {
		if o.ID == id {
			if sel, ok := o.Kind.(acp.SessionConfigSelect); ok {
				return string(sel.CurrentValue)
			}
		}
	}
	return ""
}

func TestModesAndOptionsAreTwoViewsOfOneChoice(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		check := func(what, want string) {
			t.Helper()
			d.barrier()
			if mode, option := s.State().Modes().CurrentModeID, chosen(s, "mode"); string(mode) != want || option != want {
				t.Errorf("%s: the mode is %s, the option says %s, expected %s", what, mode, option, want)
			}
		}
		check("at first", "ask")
		for _, mode := range []acp.SessionModeID{"edits", "edits"} { // to choose what is chosen is no error
			if err := s.SetMode(t.Context(), mode); err != nil {
				t.Error(err)
			}
			check("by session/set_mode", "edits")
		}
		options, err := s.SetConfigOption(t.Context(), "mode", acp.SessionConfigValueID("off"))
		if err != nil || len(options) < 3 {
			t.Errorf("%d options, %v", len(options), err)
		}
		check("by session/set_config_option", "off")
		d.say(s, "/mode auto")
		check("by a command", "auto")
		if err := s.SetMode(t.Context(), "wild"); err == nil {
			t.Error("a mode that is not there was taken")
		}
		check("after a wrong one", "auto")
	})
}

func TestAStoredOptionIsTakenOneByOneAndAllAreGivenBack(t *testing.T) {
	d := sit(t, zed(), nil)
	s := d.open()
	var categories []acp.SessionConfigOptionCategory
	for _, o := range s.State().ConfigOptions() {
		categories = append(categories, o.Category)
	}
	for _, want := range []acp.SessionConfigOptionCategory{acp.ConfigCategoryMode, acp.ConfigCategoryModel} {
		if !slices.Contains(categories, want) {
			t.Errorf("no option of the category %s among %q", want, categories)
		}
	}
	for _, o := range []struct{ id, value string }{{"mode", "edits"}, {"model", "offline/offline"}, {"model", "openai/fake"}, {"busy", "steer"}} {
		options, err := s.SetConfigOption(t.Context(), acp.SessionConfigID(o.id), acp.SessionConfigValueID(o.value))
		if err != nil {
			t.Errorf("%s: %v", o.id, err)
		}
		if !slices.ContainsFunc(options, func(got acp.SessionConfigOption) bool { return string(got.ID) == o.id }) || len(options) < 3 {
			t.Errorf("after %s the answer has the options %v", o.id, options)
		}
		if got := chosen(s, acp.SessionConfigID(o.id)); got != o.value {
			t.Errorf("%s is %s", o.id, got)
		}
	}
	d.say(s, "[[text: hello]]")

	d.restart()
	s, _ = d.load(s.ID())
	for id, want := range map[acp.SessionConfigID]string{"mode": "edits", "model": "openai/fake", "busy": "steer"} {
		if got := chosen(s, id); got != want {
			t.Errorf("after a restart %s is %s, expected %s", id, got, want)
		}
	}
}

func TestTheContextMeterHasTheSizeOfTheLastRequest(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		d.say(s, `[[usage 900 50]] [[call: run {"command":"true"}]] [[usage 1200 34]] [[text: done]]`)
		usage := s.State().Usage()
		if usage == nil || usage.Used != 1234 || usage.Size != contextWindow {
			t.Errorf("the meter is %+v", usage)
		}
	})
}

func TestThePlanIsShownWholeAtEachChangeAndReplayed(t *testing.T) {
	withEach(t, func(t *testing.T, p profile) {
		d := sit(t, p, nil)
		s := d.open()
		_, updates := d.say(s, `[[call: plan {"entries":[{"content":"look","status":"in_progress"},{"content":"leap"}]}]]
			[[call: plan {"entries":[{"content":"look","status":"completed"},{"content":"leap","status":"in_progress"}]}]] [[text: done]]`)
		var plans []string
		for _, u := range updates {
			if plan, ok := u.(acp.Plan); ok {
				plans = append(plans, outline(&plan))
			}
		}
		want := []string{"look in_progress, leap pending", "look completed, leap in_progress"}
		if !slices.Equal(plans, want) {
			t.Errorf("the plans were %q, expected %q", plans, want)
		}
		d.restart()
		s, _ = d.load(s.ID())
		if got := outline(s.State().Plan()); got != want[1] {
			t.Errorf("replayed is %q", got)
		}
	})
}

func outline(plan *acp.Plan) string {
	if plan == nil {
		return "(none)"
	}
	var all []string
	for _, e := range plan.Entries {
		all = append(all, e.Content+" "+string(e.Status))
	}
	return strings.Join(all, ", ")
}
