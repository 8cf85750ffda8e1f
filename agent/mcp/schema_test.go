package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestASchemaOfAnyDraftStaysAsItIs(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{},"type":"object"}`,
		`{"$schema":"http://json-schema.org/draft-03/schema#","properties":{"a":{"required":true,"type":"any"}},"type":"object"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","definitions":{"n":{"exclusiveMinimum":true,"minimum":0,"type":"number"}},"properties":{"n":{"$ref":"#/definitions/n"}},"required":["n"],"type":"object"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"if":{"const":1},"items":[{"type":"string"},true],"then":false}},"type":"object"}`,
		`{"$defs":{"t":{"properties":{"next":{"$ref":"#/$defs/t"}},"type":["object","null"]}},"$schema":"https://json-schema.org/draft/2020-12/schema","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"prefixItems":[{"type":"integer"}]}},"type":"object","x-vendor":[1,{"y":null}]}`,
	} {
		got, problem := schemaOf(decodeJSON(t, schema))
		if problem != "" || string(got) != schema {
			t.Errorf("%s\nbecame %s (%s)", schema, got, problem)
		}
	}
}

func TestASchemaIsOneOfAnObject(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`:                                     `{"properties":{},"type":"object"}`,
		`{"properties":[]}`:                      `{"properties":{},"type":"object"}`,
		`{"type":["null","object"],"title":"t"}`: `{"properties":{},"title":"t","type":"object"}`,
		`null`:                                   anyObject,
	} {
		if got, problem := schemaOf(decodeJSON(t, schema)); problem != "" || string(got) != want {
			t.Errorf("%s became %s (%s)", schema, got, problem)
		}
	}
}

func TestABrokenSchemaBecomesOneOfAnyObjectWithTheReason(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100)
	for schema, want := range map[string]string{
		`"object"`:                             "is no object",
		`true`:                                 "is no object",
		`{"type":"string"}`:                    "must be an object",
		`{"type":["string"]}`:                  "must be an object",
		`{"type":7}`:                           "is no type",
		`{"properties":["a"]}`:                 `"properties" is no object`,
		`{"properties":{"a":"string"}}`:        "properties: a part of the schema is no schema",
		`{"properties":{"a":{"type":"text"}}}`: `"text" is no type`,
		`{"properties":{"a":{"type":["string",1]}}}`:     "is no type",
		`{"required":"a"}`:                               `"required" is no list`,
		`{"required":[1]}`:                               "no name",
		`{"anyOf":{}}`:                                   `"anyOf" is no list`,
		`{"anyOf":[]}`:                                   `"anyOf" is no list`,
		`{"anyOf":[1]}`:                                  "anyOf: a part",
		`{"description":["a"]}`:                          `"description" is no text`,
		`{"properties":{"a":{"enum":"x"}}}`:              `"enum" is no list`,
		`{"properties":{"a":{"items":3}}}`:               "items: a part",
		`{"x":"` + strings.Repeat("y", maxSchema) + `"}`: "larger than 64 KiB",
		deep: "nested too deeply",
	} {
		got, problem := schemaOf(decodeJSON(t, schema))
		if string(got) != anyObject || !strings.Contains(problem, want) {
			t.Errorf("%.100s became %s (%s)", schema, got, problem)
		}
	}
}

func decodeJSON(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzASchemaIsAlwaysAnObjectThatSaysSo(f *testing.F) {
	for _, seed := range []string{anyObject, `{"type":["object"],"properties":{"a":{"items":[]}}}`, `[]`, `{"anyOf":[{"not":true}]}`, `{"Properties":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			t.Skip()
		}
		got, _ := schemaOf(v)
		var schema map[string]any // which tells names apart by their case, as a struct's do not
		err := json.Unmarshal(got, &schema)
		if _, ok := schema["properties"].(map[string]any); err != nil || schema["type"] != "object" || !ok {
			t.Fatalf("%s became %s: %v", data, got, err)
		}
	})
}

func TestABrokenSchemaIsToldOnceAndTheToolStillWorks(t *testing.T) {
	var told notices
	server := program(t, "raw", "tools/list", `{"tools":[
		{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}},
		{"name":"broken","inputSchema":{"type":"object","properties":{"a":{"type":"text"}}}},
		{"name":"broken","inputSchema":{"type":"object"}}, {"name":""}, {"name":"none"}]}`,
		"tools/call", `{"content":[{"type":"text","text":"done"}]}`)
	set := openReady(t, Options{Notify: told.add}, server)
	if n := len(set.Tools()); n != 3 {
		t.Errorf("%d tools", n)
	}
	if got := string(find(t, set, "raw__broken").Spec().Schema); got != anyObject {
		t.Errorf("schema: %s", got)
	}
	if r := callTool(t, set, "raw__broken", `{"x":1}`); r.Text != "done" {
		t.Errorf("result: %+v", r)
	}
	if err := set.Restart("raw"); err != nil {
		t.Fatal(err)
	}
	set.Wait(t.Context(), 0)
	set.Close()
	if n := told.all(); len(n) == 0 || n[0].Severity != "info" {
		t.Errorf("notices: %+v", n)
	}
	contains(t, told.text("raw"), `broken (properties: "text" is no type)`)
}
