package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wherry-acp/wherry/acp"
)

// CreateElicitation puts a form to the person field by field, or says that nobody is there to fill it in.
func (t *terminalClient) CreateElicitation(
	ctx context.Context, req acp.CreateElicitationRequest,
) (acp.CreateElicitationResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mode, ok := req.Mode.(acp.ElicitationFormMode)
	if !ok {
		return acp.CreateElicitationResponse{}, acp.InvalidParams("mode: only forms are offered")
	}
	t.console.say("\n? %s", req.Message)
	content, err := t.fill(ctx, req.Message, mode.RequestedSchema)
	switch {
	case ctx.Err() != nil:
		return acp.CreateElicitationResponse{Action: acp.ElicitationCancelAction{}}, nil
	case err != nil:
		t.console.say("Not answered: %v.", err)
		meta, metaErr := acp.NewMeta(map[string]any{"wherry": map[string]any{"reason": err.Error(), "nobody": errors.Is(err, errNoTerminal)}})
		return acp.CreateElicitationResponse{Action: acp.ElicitationCancelAction{}, Meta: meta}, metaErr
	}
	return acp.CreateElicitationResponse{Action: acp.ElicitationAcceptAction{Content: content}}, nil
}

// fill asks for each field. A field for other words is not asked for by itself: what is no number is taken for it.
func (t *terminalClient) fill(ctx context.Context, message string, form acp.ElicitationSchema) (map[string]acp.ElicitationContentValue, error) {
	content := make(map[string]acp.ElicitationContentValue)
	for _, p := range form.Properties {
		if own, ok := strings.CutSuffix(p.Name, otherWords); ok {
			if _, asked := form.Properties.Get(own); asked {
				continue
			}
		}
		f, ok := fieldOf(p.Value)
		if !ok {
			return nil, fmt.Errorf("the form has a field of a kind that cannot be asked for here (%s)", p.Name)
		}
		_, f.other = form.Properties.Get(p.Name + otherWords)
		if f.title != message {
			t.console.say("\n%s", f.title)
		}
		for i, o := range f.options {
			t.console.say("  %d  %s", i+1, o)
		}
		hint := f.hint()
		for {
			line, err := t.line(ctx, hint+"\n> ")
			if err != nil {
				return nil, err
			}
			value, other, ok := f.read(line)
			if !ok {
				hint = "  That is not one of the answers. " + strings.TrimSpace(f.hint())
				continue
			}
			if value != nil {
				content[p.Name] = value
			}
			if other != "" {
				content[p.Name+otherWords] = acp.ElicitationString(other)
			}
			break
		}
	}
	return content, nil
}

// otherWords ends the name of the field that takes what none of the options of the field before says.
const otherWords = "_other"

// field is a question of a form.
type field struct {
	title   string
	options []string // what is shown
	values  []string // what is sent
	several bool
	other   bool // takes other words
}

func fieldOf(p acp.ElicitationPropertySchema) (field, bool) {
	add := func(f *field, options []acp.EnumOption) {
		for _, o := range options {
			shown := o.Title
			if o.Description != "" {
				shown += ": " + o.Description
			}
			f.options, f.values = append(f.options, shown), append(f.values, o.Const)
		}
	}
	switch p := p.(type) {
	case acp.StringPropertySchema:
		f := field{title: p.Title, options: p.Enum, values: slices.Clone(p.Enum)}
		add(&f, p.OneOf)
		return f, true
	case acp.MultiSelectPropertySchema:
		f := field{title: p.Title, several: true}
		switch items := p.Items.(type) {
		case acp.TitledMultiSelectItems:
			add(&f, items.AnyOf)
		case acp.StringMultiSelectItems:
			f.options, f.values = items.Enum, items.Enum
		}
		return f, len(f.options) > 0
	}
	return field{}, false
}

func (f field) hint() string {
	hint := "  (Enter skips it"
	switch {
	case f.several:
		hint = "  (numbers, with commas between; Enter skips it"
	case len(f.options) > 0:
		hint = "  (a number; Enter skips it"
	}
	if f.other {
		hint += "; or say it in your own words"
	}
	return hint + ")"
}

// read understands a line. It reports whether the line is an answer; an empty one is, and holds nothing.
func (f field) read(line string) (value acp.ElicitationContentValue, other string, ok bool) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil, "", true
	case len(f.options) == 0:
		return acp.ElicitationString(line), "", true
	}
	var chosen []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil && f.other {
			return nil, line, true
		}
		if err != nil || n < 1 || n > len(f.values) || len(chosen) > 0 && !f.several {
			return nil, "", false
		}
		chosen = append(chosen, f.values[n-1])
	}
	switch {
	case len(chosen) == 0:
		return nil, "", false
	case f.several:
		return acp.ElicitationStrings(chosen), "", true
	}
	return acp.ElicitationString(chosen[0]), "", true
}
