package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
)

const (
	maxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 64
)

// anyObject is the schema of a tool whose own cannot be used.
const anyObject = `{"type":"object","properties":{},"additionalProperties":true}`

// schemaOf gives the schema of a tool's arguments, as the server described it, in whatever draft of JSON Schema. One that
// is broken would have every request refused that mentions it, so a schema for any object takes its place, and the problem
// says why.
func schemaOf(described any) (schema json.RawMessage, problem string) {
	if described == nil {
		return json.RawMessage(anyObject), ""
	}
	object, ok := described.(map[string]any)
	if !ok {
		return json.RawMessage(anyObject), "the schema is no object"
	}
	if problem := repairTop(object); problem != "" {
		return json.RawMessage(anyObject), problem
	}
	if problem := checkSchema(object, 0); problem != "" {
		return json.RawMessage(anyObject), problem
	}
	data, err := json.Marshal(object)
	switch {
	case err != nil: // it came from JSON
		return json.RawMessage(anyObject), "the schema cannot be written"
	case len(data) > maxSchema:
		return json.RawMessage(anyObject), fmt.Sprintf("the schema is larger than %d KiB", maxSchema>>10)
	}
	return data, ""
}

// repairTop sees to it that the schema is one of an object, where it does not say otherwise.
func repairTop(schema map[string]any) (problem string) {
	switch kind := schema["type"].(type) {
	case nil:
	case string:
		if kind != "object" {
			return "the arguments must be an object"
		}
	case []any:
		if !slices.Contains(kind, any("object")) {
			return "the arguments must be an object"
		}
	default:
		return `"type" is no type`
	}
	schema["type"] = "object"
	if list, ok := schema["properties"].([]any); ok && len(list) == 0 { // some languages cannot tell {} from []
		schema["properties"] = map[string]any{}
	}
	if schema["properties"] == nil {
		schema["properties"] = map[string]any{}
	}
	return ""
}

// The keywords whose values have a shape that other programs rely on, whatever the draft.
var (
	schemaKeywords     = []string{"not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties"}
	schemaListKeywords = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	schemaMapKeywords  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	textKeywords       = []string{"$ref", "$schema", "$id", "title", "description", "format", "pattern"}
)

// checkSchema gives what is wrong with a schema, or "".
func checkSchema(v any, depth int) (problem string) {
	if _, ok := v.(bool); ok {
		return ""
	}
	schema, ok := v.(map[string]any)
	switch {
	case !ok:
		return "a part of the schema is no schema"
	case depth > maxSchemaDepth:
		return "the schema is nested too deeply"
	}
	for _, key := range textKeywords {
		if value, ok := schema[key]; ok {
			if _, ok := value.(string); !ok {
				return fmt.Sprintf("%q is no text", key)
			}
		}
	}
	if problem := checkType(schema["type"]); problem != "" {
		return problem
	}
	if value, ok := schema["enum"]; ok {
		if _, ok := value.([]any); !ok {
			return `"enum" is no list`
		}
	}
	// In draft 3, "required" is true or false at the property itself.
	switch required := schema["required"].(type) {
	case nil, bool:
	case []any:
		if slices.ContainsFunc(required, func(v any) bool { _, ok := v.(string); return !ok }) {
			return `"required" has something that is no name`
		}
	default:
		return `"required" is no list`
	}
	return checkParts(schema, depth)
}

func checkParts(schema map[string]any, depth int) (problem string) {
	check := func(key string, part any) {
		if problem == "" {
			if p := checkSchema(part, depth+1); p != "" {
				problem = fmt.Sprintf("%s: %s", key, p)
			}
		}
	}
	for _, key := range schemaKeywords {
		if part, ok := schema[key]; ok {
			check(key, part)
		}
	}
	switch items := schema["items"].(type) {
	case nil:
	case []any: // before draft 2020-12
		for _, part := range items {
			check("items", part)
		}
	default:
		check("items", items)
	}
	for _, key := range schemaListKeywords {
		value, ok := schema[key]
		if !ok {
			continue
		}
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			return fmt.Sprintf("%q is no list of schemas", key)
		}
		for _, part := range list {
			check(key, part)
		}
	}
	for _, key := range schemaMapKeywords {
		value, ok := schema[key]
		if !ok {
			continue
		}
		parts, ok := value.(map[string]any)
		if !ok {
			return fmt.Sprintf("%q is no object", key)
		}
		for _, part := range parts {
			check(key, part)
		}
	}
	return problem
}

func checkType(v any) (problem string) {
	names := []any{v}
	if list, ok := v.([]any); ok {
		names = list
	}
	for _, name := range names {
		switch name {
		case nil, "object", "array", "string", "number", "integer", "boolean", "null", "any": // "any" is of draft 3
		default:
			return fmt.Sprintf("%q is no type", name)
		}
	}
	return ""
}
