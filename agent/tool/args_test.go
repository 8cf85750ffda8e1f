package tool

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

type sampleArgs struct {
	Path  string       `json:"path"`
	Count int          `json:"count,omitzero" min:"1" max:"10"`
	Whole bool         `json:"whole,omitzero"`
	Kind  string       `json:"kind,omitzero" enum:"big,small"`
	Items []sampleItem `json:"items,omitzero"`
}

type sampleItem struct {
	Name string `json:"name"`
	Size int    `json:"size,omitzero"`
}

func TestArgumentsAreTakenInEveryHarmlessForm(t *testing.T) {
	for raw, want := range map[string]sampleArgs{
		`{"path":"a"}`: {Path: "a"},
		`{"path":""}`:  {},
		`{"path":"a","count":3,"whole":true,"kind":"big"}`: {Path: "a", Count: 3, Whole: true, Kind: "big"},
		`{"path":"a","count":"3","whole":"true"}`:          {Path: "a", Count: 3, Whole: true},
		`{"path":"a","count":3.0,"whole":"False"}`:         {Path: "a", Count: 3},
		`{"path":"a","count":1e1}`:                         {Path: "a", Count: 10},
		`{"path":"a","count":null,"items":null}`:           {Path: "a"},
		`{"path":42}`:                                      {Path: "42"},
		`{"path":"a","items":[{"name":"x","size":" 2 "}]}`: {Path: "a", Items: []sampleItem{{"x", 2}}},
		`{"path":"a","items":"[{\"name\":\"x\"}]"}`:        {Path: "a", Items: []sampleItem{{Name: "x"}}},
		`{"path":"a","items":{"name":"x"}}`:                {Path: "a", Items: []sampleItem{{Name: "x"}}},
		`{"path":"a","items":[]}`:                          {Path: "a", Items: []sampleItem{}},
		"\n {\"path\" : \"a\\u00e9\"} ":                    {Path: "aé"},
	} {
		var got sampleArgs
		if err := decodeArgs([]byte(raw), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", raw, got, err, want)
		}
	}
}

func TestArgumentsThatDoNotFitAreNamedWithWhatWasExpected(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                  `"path" is missing: it must be a string`,
		`null`:                              `"path" is missing: it must be a string`,
		`{}`:                                `"path" is missing: it must be a string`,
		`{"path":null}`:                     `"path" is missing: it must be a string`,
		`{"path":["a"]}`:                    `"path" must be a string, not an array`,
		`{"path":true}`:                     `"path" must be a string, not true`,
		`{"file":"a"}`:                      `"file" is not an argument here: the arguments are path, count, whole, kind, items`,
		`{"path":"a","Count":1}`:            `"Count" is not an argument here: the arguments are path, count, whole, kind, items`,
		`{"path":"a","count":"three"}`:      `"count" must be a whole number from 1 to 10, not "three"`,
		`{"path":"a","count":1.5}`:          `"count" must be a whole number from 1 to 10, not 1.5`,
		`{"path":"a","count":0}`:            `"count" must be a whole number from 1 to 10, not 0`,
		`{"path":"a","count":11}`:           `"count" must be a whole number from 1 to 10, not 11`,
		`{"path":"a","whole":1}`:            `"whole" must be true or false, not 1`,
		`{"path":"a","kind":"tiny"}`:        `"kind" must be one of big, small, not "tiny"`,
		`{"path":"a","items":"x"}`:          `"items" must be an array of objects, not "x"`,
		`{"path":"a","items":[1]}`:          `"items[0]" must be a JSON object, not 1`,
		`{"path":"a","items":[{"nam":1}]}`:  `"items[0].nam" is not an argument here: the arguments are name, size`,
		`{"path":"a","items":[{"size":1}]}`: `"items[0].name" is missing: it must be a string`,
		`["a"]`:                             `the arguments must be a JSON object, not an array`,
		`{"path":"a"`:                       `the arguments are not valid JSON (unexpected EOF): send them again`,
		`{"path":"a","path":"b"}`:           `the arguments are not valid JSON (`,
	} {
		var got sampleArgs
		err := decodeArgs([]byte(raw), &got)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", raw, err, want)
		}
	}
}

func FuzzArgumentsNeverPanic(f *testing.F) {
	for _, seed := range []string{`{"path":"a"}`, `{`, `null`, `{"path":"a","items":"[{}]"}`, `{"path":"\ud800"}`, `{"count":1e999}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		var got sampleArgs
		_ = decodeArgs(raw, &got)
	})
}

func TestEverySchemaSaysWhatTheDecoderTakes(t *testing.T) {
	examples := map[string]string{
		"view": `{"path":"a","from":1,"lines":2}`, "list": `{"path":"a"}`, "find": `{"pattern":"a","path":"b"}`,
		"search": `{"pattern":"a","path":"b","regex":true,"ignore_case":true,"include":"*.go"}`,
		"create": `{"path":"a","content":"","overwrite":true}`, "edit": `{"path":"a","edits":[{"old":"a","new":"b","all":true}]}`,
		"run":         `{"command":"a","dir":"b","timeout":1,"quiet":1}`,
		"plan":        `{"entries":[{"content":"a","status":"pending","priority":"low"}]}`,
		"add_root":    `{"path":"a","reason":"b"}`,
		"submit_plan": `{"plan":"a","entries":[{"content":"a"}]}`,
		"ask":         `{"questions":[{"question":"a","options":[{"label":"b","description":"c"},{"label":"d"}],"several":true}]}`,
	}
	tools := Builtin()
	if len(tools) != len(examples) {
		t.Errorf("%d tools", len(tools))
	}
	for _, tool := range tools {
		spec := tool.Spec()
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal([]byte(examples[spec.Name]), &value); err != nil {
			t.Fatal(spec.Name, err)
		}
		if err := resolved.Validate(value); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
		if schema.Type != "object" || len(schema.Properties) != len(value) {
			t.Errorf("%s: %s", spec.Name, spec.Schema)
		}
		value["surprise"] = 1
		if resolved.Validate(value) == nil {
			t.Errorf("%s: the schema allows unknown arguments", spec.Name)
		}
		if spec.Description == "" || strings.Contains(string(spec.Schema), "null") {
			t.Errorf("%s: %s", spec.Name, spec.Schema)
		}
		for name, property := range schema.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s has no description", spec.Name, name)
			}
		}
	}
}
