package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Builtin gives the tools that every session has: view, list, find, search, create, edit, run, plan, ask, add_root and submit_plan.
// Those that need what the host cannot do are for the caller to leave out, by [Spec].Needs, and those for mode plan elsewhere.
func Builtin() []Tool {
	return []Tool{
		viewTool(), listTool(), findTool(), searchTool(),
		createTool(), editTool(), runTool(), planTool(), askTool(), addRootTool(), submitPlanTool(),
	}
}

// New defines a tool whose arguments are a struct of type A. An empty spec.Schema is inferred from A when it is first asked
// for. The fields' tags say what is allowed:
//
//	json:"name"            a required argument
//	json:"name,omitzero"   an optional one
//	jsonschema:"…"         its description for the model
//	enum:"a,b"             the only values of a string
//	min:"1" max:"9"        the bounds of a number
//
// Arguments that do not fit are refused with a sentence that names the field and says what was expected; prepare gets only
// those that do.
func New[A any](spec Spec, prepare func(ctx context.Context, env Env, args A) (Call, error)) Tool {
	given := spec.Schema
	return &defined[A]{spec: spec, prepare: prepare, schema: sync.OnceValue(func() json.RawMessage {
		if given != nil {
			return given
		}
		return schemaFor(reflect.TypeFor[A]())
	})}
}

type defined[A any] struct {
	spec    Spec
	schema  func() json.RawMessage
	prepare func(context.Context, Env, A) (Call, error)
}

func (d *defined[A]) Spec() Spec {
	spec := d.spec
	spec.Schema = d.schema()
	return spec
}

func (d *defined[A]) Prepare(ctx context.Context, env Env, raw json.RawMessage) (Call, error) {
	var args A
	if err := decodeArgs(raw, &args); err != nil {
		return nil, fmt.Errorf("%s: %w", d.spec.Name, err)
	}
	call, err := d.prepare(ctx, env, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.spec.Name, err)
	}
	return call, nil
}

// schemaFor infers the schema of the struct type t. A type that has none is a mistake in the program.
func schemaFor(t reflect.Type) json.RawMessage {
	schema, err := jsonschema.ForType(t, nil)
	if err != nil {
		panic(fmt.Sprintf("tool arguments %s: %v", t, err))
	}
	refine(schema, t)
	data, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tool arguments %s: %v", t, err))
	}
	return data
}

// refine adds what the tags enum, min and max say, and takes "null" away from arrays: models need not send it.
func refine(schema *jsonschema.Schema, t reflect.Type) {
	switch t.Kind() {
	case reflect.Slice:
		schema.Types, schema.Type = nil, "array"
		refine(schema.Items, t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := fieldOf(t.Field(i))
			property := schema.Properties[f.name]
			for _, value := range f.enum {
				property.Enum = append(property.Enum, value)
			}
			if f.min != nil {
				least := float64(*f.min)
				property.Minimum = &least
			}
			if f.max != nil {
				most := float64(*f.max)
				property.Maximum = &most
			}
			refine(property, t.Field(i).Type)
		}
	}
}

// prepared is a call that was worked out: what to show and what to do.
type prepared struct {
	shown Presentation
	run   func(ctx context.Context, out Output) Result
}

func (p *prepared) Presentation() Presentation { return p.shown }

func (p *prepared) Run(ctx context.Context, out Output) Result { return p.run(ctx, out) }

// maxTitle bounds a title, in characters.
const maxTitle = 120

// oneLine makes a title of parts: one line, at most [maxTitle] characters.
func oneLine(parts ...string) string {
	return clip(strings.Join(strings.Fields(strings.Join(parts, " ")), " "), maxTitle)
}

// clip shortens s to at most limit characters, the last of which is then "…".
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	cut := 0 // where the character limit-1 begins
	for i := range s {
		if n == limit-1 {
			cut = i
		}
		if n == limit {
			return s[:cut] + "…"
		}
		n++
	}
	return s
}
