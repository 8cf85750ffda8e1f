package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/session"
)

// SettingID names something that the person can choose in a session.
type SettingID string

// The settings.
const (
	SettingMode    SettingID = "mode"    // how much may be done unasked
	SettingModel   SettingID = "model"   // who answers, from the next prompt on
	SettingThought SettingID = "thought" // how much the model reasons; only where it lets itself be asked
	SettingBusy    SettingID = "busy"    // what becomes of a prompt while another one is answered
)

// The values of [SettingBusy].
const (
	busyQueue = "queue"
	busySteer = "steer"
)

// byDefault is the value of a setting that is left to the provider.
const byDefault = "default"

// Setting is something that the person can choose in a session, with its value now.
type Setting struct {
	ID          SettingID
	Name        string
	Description string
	Value       string // of one of the choices
	Choices     []Choice
}

// Choice is a value of a [Setting].
type Choice struct {
	Value       string
	Name        string
	Description string
	Group       string // what it belongs to, for a list that shows groups; may be empty
}

// ModelChoice is a model that the person can choose.
type ModelChoice struct {
	model.Info
	// Unavailable says why the model cannot be used now and what to do about it; empty when it can.
	Unavailable string
}

// SettingError says why a setting cannot be made.
type SettingError struct {
	ID     SettingID
	Reason string // a clause for the person
}

// Error gives the reason.
func (e *SettingError) Error() string { return e.Reason }

// Settings are what the person can choose, with the values as they are now.
func (s *Session) Settings() []Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings()
}

// settings is Settings; the caller holds mu.
func (s *Session) settings() []Setting {
	all := []Setting{s.modeSetting(), s.modelSetting()}
	if thought, ok := s.thoughtSetting(); ok {
		all = append(all, thought)
	}
	return append(all, s.busySetting())
}

func (s *Session) busySetting() Setting {
	out := Setting{ID: SettingBusy, Name: "While working", Description: "What becomes of a message that comes while another is answered", Value: busyQueue,
		Choices: []Choice{
			{Value: busyQueue, Name: "Queue", Description: "It is answered after"},
			{Value: busySteer, Name: "Steer", Description: "It reaches the model with its next step"},
		}}
	if s.state.Options[string(SettingBusy)] == busySteer {
		out.Value = busySteer
	}
	return out
}

func (s *Session) modeSetting() Setting {
	out := Setting{ID: SettingMode, Name: "Mode", Description: "What may be done unasked", Value: string(s.effectiveMode())}
	for _, m := range s.Modes() {
		c := Choice{Value: string(m)}
		switch m {
		case approval.ModeOff:
			c.Name, c.Description = "Read only", "Reads the folder; writes and runs nothing"
		case approval.ModePlan:
			c.Name, c.Description = "Plan", "Reads the folder and makes a plan; nothing is done before you approve it"
		case approval.ModeAsk:
			c.Name, c.Description = "Ask", "Asks before every edit and every command"
		case approval.ModeEdits:
			c.Name, c.Description = "Edit freely", "Edits files in the folder unasked; asks before commands"
		case approval.ModeAuto:
			c.Name, c.Description = "Automatic", "Edits files and runs commands in the folder unasked"
		}
		out.Choices = append(out.Choices, c)
	}
	return out
}

func (s *Session) modelSetting() Setting {
	out := Setting{ID: SettingModel, Name: "Model", Description: "Who answers, from the next prompt on", Value: s.state.Model}
	known := false
	for _, m := range s.agent.choices() {
		c := Choice{Value: m.ID(), Name: m.Name, Group: m.Provider, Description: describe(m.Info)}
		if m.Unavailable != "" {
			c.Description = "Not available: " + m.Unavailable
		}
		known = known || c.Value == s.state.Model
		out.Choices = append(out.Choices, c)
	}
	if !known {
		provider, name, _ := strings.Cut(s.state.Model, "/")
		out.Choices = append(out.Choices, Choice{Value: s.state.Model, Name: name, Group: provider})
	}
	return out
}

// describe says in a few words what a model is.
func describe(i model.Info) string {
	if i.Offline {
		return "Embedded: searches and quotes the folder, carries out plain instructions; no network"
	}
	if i.ContextWindow == 0 {
		return ""
	}
	return tokens(i.ContextWindow) + " tokens of context"
}

// tokens writes a number of tokens as people say it.
func tokens(n int) string {
	switch {
	case n >= 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1_000_000), ".0") + " million"
	case n >= 10_000:
		return fmt.Sprintf("%d,000", (n+500)/1000)
	}
	return fmt.Sprint(n)
}

// thoughtSetting is there for a model that has levels of reasoning.
func (s *Session) thoughtSetting() (Setting, bool) {
	levels := s.agent.info(s.state.Model).Thoughts
	if len(levels) == 0 {
		return Setting{}, false
	}
	out := Setting{
		ID: SettingThought, Name: "Reasoning", Description: "How much the model thinks before it answers", Value: byDefault,
		Choices: []Choice{{Value: byDefault, Name: "Default", Description: "As the provider does it"}},
	}
	for _, level := range levels {
		out.Choices = append(out.Choices, Choice{Value: level, Name: strings.ToUpper(level[:1]) + level[1:]})
		if level == s.state.Options[string(SettingThought)] {
			out.Value = level
		}
	}
	return out, true
}

// Set makes a setting, from the next request to the model or the next call on. It fails with a [*SettingError] when there
// is no such setting or value, or the model cannot be used.
func (s *Session) Set(ctx context.Context, id SettingID, value string) error {
	s.mu.Lock()
	all := s.settings()
	s.mu.Unlock()
	i := slices.IndexFunc(all, func(o Setting) bool { return o.ID == id })
	if i < 0 {
		return &SettingError{ID: id, Reason: fmt.Sprintf("there is no setting %q; there are %s", id, ids(all))}
	}
	offered := slices.ContainsFunc(all[i].Choices, func(c Choice) bool { return c.Value == value })
	if !offered && id != SettingModel { // a model need not be in the list to be there
		return &SettingError{ID: id, Reason: fmt.Sprintf("%s cannot be %q; it can be %s", id, value, values(all[i].Choices))}
	}
	if all[i].Value == value {
		return nil
	}
	switch id {
	case SettingMode:
		return s.SetMode(ctx, approval.Mode(value))
	case SettingModel:
		return s.setModel(ctx, value)
	}
	if value == byDefault {
		value = ""
	}
	return s.configure(ctx, session.Configured{Options: map[string]string{string(id): value}})
}

// setModel changes who answers, if the model can be used.
func (s *Session) setModel(ctx context.Context, id string) error {
	for _, m := range s.agent.choices() {
		if m.ID() == id && m.Unavailable != "" {
			return &SettingError{ID: SettingModel, Reason: fmt.Sprintf("the model %s is not available: %s", id, m.Unavailable)}
		}
	}
	if _, err := s.agent.model(ctx, id); err != nil {
		return &SettingError{ID: SettingModel, Reason: err.Error()}
	}
	// The option says that the person chose it, and the next session in the folder begins with it.
	return s.configure(ctx, session.Configured{Model: id, Options: map[string]string{string(SettingModel): id}})
}

func (s *Session) configure(ctx context.Context, c session.Configured) error {
	if err := s.hold(ctx); err != nil {
		return err
	}
	defer s.release(ctx)
	return s.record(ctx, c)
}

func ids(all []Setting) string {
	var out []string
	for _, s := range all {
		out = append(out, string(s.ID))
	}
	return strings.Join(out, ", ")
}

func values(all []Choice) string {
	var out []string
	for _, c := range all {
		out = append(out, c.Value)
	}
	return strings.Join(out, ", ")
}

// choices are the models that the person can choose from.
func (a *Agent) choices() []ModelChoice {
	if a.opts.Models == nil {
		return nil
	}
	return a.opts.Models()
}

// info tells what is known of a model without opening it.
func (a *Agent) info(id string) model.Info {
	for _, m := range a.choices() {
		if m.ID() == id {
			return m.Info
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m := a.models[id]; m != nil {
		return m.Info()
	}
	return model.Info{}
}

// recall begins a session with what the person chose in the newest one of its folder: the model, while it can be used,
// and the further settings. The mode is among them unless it is [approval.ModeAuto], which is chosen anew each time, or new
// sessions are to begin with [approval.ModeOff], which nothing chosen before loosens.
func (a *Agent) recall(ctx context.Context, first *session.Created) error {
	page, err := a.opts.Store.List(ctx, session.Filter{Folder: first.Roots[0], Limit: 1})
	if err != nil {
		return err
	}
	options := make(map[string]string)
	if a.opts.DefaultThought != "" {
		options[string(SettingThought)] = a.opts.DefaultThought
	}
	defer func() {
		if len(options) > 0 {
			first.Options = options
		}
	}()
	if len(page.Sessions) == 0 {
		return nil
	}
	last := page.Sessions[0]
	for name, value := range last.Options {
		if name != string(SettingModel) && name != string(SettingMode) {
			options[name] = value
		}
	}
	mode := approval.Mode(last.Options[string(SettingMode)])
	if mode.Valid() && mode != approval.ModeAuto && a.opts.DefaultMode != approval.ModeOff {
		first.Mode, options[string(SettingMode)] = mode, string(mode)
	}
	chosen := last.Options[string(SettingModel)]
	usable := slices.ContainsFunc(a.choices(), func(m ModelChoice) bool { return m.ID() == chosen && m.Unavailable == "" })
	if usable && !a.opts.ModelFixed {
		first.Model, options[string(SettingModel)] = chosen, chosen
	}
	return nil
}

// thought is the level of reasoning to ask for, if the model has it.
func (t *turn) thought() string {
	chosen := t.s.State().Options[string(SettingThought)]
	if slices.Contains(t.model.Info().Thoughts, chosen) {
		return chosen
	}
	return ""
}
