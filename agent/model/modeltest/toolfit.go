package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
)

// fit finds an offered tool for a job (tool-shell, tool-write, tool-read) and arguments that its own schema takes.
func fit(tools []ToolSpec, st step) (name, args string, ok bool) {
	names, parts := fitNames(st.op)
	for _, exact := range names {
		for _, t := range tools {
			if strings.EqualFold(t.Name, exact) {
				if args, ok := fill(t.Schema, st); ok {
					return t.Name, args, true
				}
			}
		}
	}
	for _, t := range tools {
		lower := strings.ToLower(t.Name)
		if slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(lower, p) }) {
			if args, ok := fill(t.Schema, st); ok {
				return t.Name, args, true
			}
		}
	}
	return "", "", false
}

// fitNames gives whole tool names to prefer, then parts of names to accept.
func fitNames(op string) (names, parts []string) {
	switch op {
	case "tool-shell":
		return []string{"run", "bash", "shell", "run_shell_command", "shell_command", "exec_command", "run_command", "execute_command", "terminal"},
			[]string{"shell", "bash", "command", "exec", "terminal"}
	case "tool-write":
		return []string{"create", "write", "write_file", "create_file", "write_text_file"}, []string{"write", "create_file", "save"}
	default:
		return []string{"view", "read", "read_file", "view_file", "read_text_file"}, []string{"read", "view"}
	}
}

type schema struct {
	Type       json.RawMessage   `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	Items      *schema           `json:"items"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
}

func (s schema) is(kind string) bool {
	return strings.Contains(strings.ToLower(string(s.Type)), kind)
}

// fill makes the arguments; ok is false when the tool has no place for what the job needs.
func fill(raw json.RawMessage, st step) (string, bool) {
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false
	}
	args := map[string]any{}
	set := func(value string, keys ...string) bool {
		for _, k := range keys {
			p, ok := s.Properties[k]
			switch {
			case !ok:
			case p.is("array") && st.op == "tool-shell":
				args[k] = []string{"bash", "-c", value}
				return true
			case p.is("array"):
				args[k] = []string{value}
				return true
			default:
				args[k] = value
				return true
			}
		}
		return false
	}
	path := []string{"path", "file_path", "filePath", "absolute_path", "filename", "file", "target_file", "paths"}
	ok := false
	switch st.op {
	case "tool-shell":
		ok = set(st.text, "command", "cmd", "script", "commands")
	case "tool-write":
		ok = set(st.name, path...) && set(st.text, "content", "contents", "text", "file_text", "data")
	default:
		ok = set(st.text, path...)
	}
	if !ok {
		return "", false
	}
	for _, k := range s.Required {
		if _, done := args[k]; !done {
			args[k] = s.Properties[k].sample(0)
		}
	}
	out, err := json.Marshal(args)
	return string(out), err == nil
}

// sample is a small value of the schema.
func (s schema) sample(depth int) any {
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0 && depth < 8:
		return s.AnyOf[0].sample(depth + 1)
	case len(s.OneOf) > 0 && depth < 8:
		return s.OneOf[0].sample(depth + 1)
	case s.is("object") || len(s.Properties) > 0:
		obj := map[string]any{}
		for _, k := range s.Required {
			if depth < 8 {
				obj[k] = s.Properties[k].sample(depth + 1)
			}
		}
		return obj
	case s.is("array"):
		return []any{}
	case s.is("boolean"):
		return false
	case s.is("integer"), s.is("number"):
		return 1
	}
	return "as asked"
}
