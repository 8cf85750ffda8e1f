package bridge

import (
	"context"
	"errors"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent"
)

// configOptions are the settings of a session as the protocol has them.
func configOptions(settings []agent.Setting) []acp.SessionConfigOption {
	out := make([]acp.SessionConfigOption, 0, len(settings))
	for _, s := range settings {
		o := acp.SessionConfigOption{ID: acp.SessionConfigID(s.ID), Name: s.Name, Description: s.Description}
		switch s.ID {
		case agent.SettingMode:
			o.Category = acp.ConfigCategoryMode
		case agent.SettingModel:
			o.Category = acp.ConfigCategoryModel
		case agent.SettingThought:
			o.Category = acp.ConfigCategoryThoughtLevel
		}
		o.Kind = acp.SessionConfigSelect{CurrentValue: acp.SessionConfigValueID(s.Value), Options: choices(s.Choices)}
		out = append(out, o)
	}
	return out
}

// choices are flat, or in groups where they belong to more than one.
func choices(all []agent.Choice) acp.SessionConfigSelectOptions {
	var flat acp.SessionConfigSelectFlat
	var groups acp.SessionConfigSelectGroups
	for _, c := range all {
		option := acp.SessionConfigSelectOption{Value: acp.SessionConfigValueID(c.Value), Name: c.Name, Description: c.Description}
		flat = append(flat, option)
		if n := len(groups); n == 0 || string(groups[n-1].Group) != c.Group {
			groups = append(groups, acp.SessionConfigSelectGroup{Group: acp.SessionConfigGroupID(c.Group), Name: c.Group})
		}
		groups[len(groups)-1].Options = append(groups[len(groups)-1].Options, option)
	}
	if len(groups) > 1 {
		return groups
	}
	return flat
}

// modes is the mode setting, for clients that know modes and not settings.
func modes(o *open) *acp.SessionModeState {
	for _, s := range o.Settings() {
		if s.ID != agent.SettingMode {
			continue
		}
		state := &acp.SessionModeState{CurrentModeID: acp.SessionModeID(s.Value)}
		for _, c := range s.Choices {
			state.AvailableModes = append(state.AvailableModes, acp.SessionMode{ID: acp.SessionModeID(c.Value), Name: c.Name, Description: c.Description})
		}
		return state
	}
	return nil
}

// SetSessionConfigOption implements session/set_config_option. The answer has all options: one may change others.
func (b *Bridge) SetSessionConfigOption(
	ctx context.Context, req acp.SetSessionConfigOptionRequest,
) (acp.SetSessionConfigOptionResponse, error) {
	o := b.find(req.SessionID)
	if o == nil {
		return acp.SetSessionConfigOptionResponse{}, acp.SessionNotFound(req.SessionID)
	}
	value, ok := req.Value.(acp.SessionConfigValueID)
	if !ok {
		return acp.SetSessionConfigOptionResponse{}, badParams("value", "the value of one of the option's choices", "a boolean")
	}
	err := o.Set(ctx, agent.SettingID(req.ConfigID), string(value))
	if errors.As(err, new(*agent.SettingError)) || errors.Is(err, agent.ErrMode) {
		return acp.SetSessionConfigOptionResponse{}, acp.InvalidParams("%v", err)
	}
	if err != nil {
		return acp.SetSessionConfigOptionResponse{}, b.failure(err, req.SessionID)
	}
	return acp.SetSessionConfigOptionResponse{ConfigOptions: configOptions(o.Settings())}, nil
}

// announce tells the client which commands the session has, once it knows the session: after the answer.
func announce(ctx context.Context, o *open) {
	acp.AfterResponse(ctx, func(ctx context.Context) {
		_ = o.face.Commands(ctx, o.Commands()) // a client that is gone needs none
	})
}

// Commands implements [agent.Face].
func (f *face) Commands(ctx context.Context, commands []agent.Command) error {
	if f.session == "" {
		return nil // they are announced after the answer that opens the session
	}
	all := make([]acp.AvailableCommand, 0, len(commands))
	for _, c := range commands {
		command := acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			command.Input = acp.UnstructuredCommandInput{Hint: c.Hint}
		}
		all = append(all, command)
	}
	return f.client.Session(f.session).SendCommands(ctx, all...)
}
