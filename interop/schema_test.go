//go:build unix

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// protocolSchema checks messages against the official schema of protocol version 1: its stable features, and of the others
// those that wherry sends. It is stricter than the schema in one thing: a member that the schema does not name is an error,
// outside _meta and open objects.
type protocolSchema struct {
	byRole map[string]*jsonschema.Schema // "params session/update", "result session/new", "error"
}

// sentUnstable are what wherry sends that the protocol has not made stable: a member of a definition, and the definition
// that it refers to.
var sentUnstable = []struct{ in, member, def string }{
	{"SessionCapabilities", "fork", "SessionForkCapabilities"},
	{"PromptResponse", "usage", "Usage"},
}

// readSchema reads a file of the official schema, and its definitions.
func readSchema(t *testing.T, name string) (doc, defs map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(installed.modules, "@agentclientprotocol", "sdk", "schema", "v1", name))
	if err != nil {
		t.Fatalf("read the official schema: %v", err)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("read the official schema: %v", err)
	}
	doc = read.(map[string]any)
	return doc, doc["$defs"].(map[string]any)
}

func officialSchema(t *testing.T) *protocolSchema {
	t.Helper()
	doc, defs := readSchema(t, "schema.json")
	_, more := readSchema(t, "schema.unstable.json")
	for _, u := range sentUnstable {
		member := more[u.in].(map[string]any)["properties"].(map[string]any)[u.member]
		if member == nil || defs[u.def] != nil {
			t.Fatalf("%s.%s is gone from the schema or has become stable", u.in, u.member)
		}
		defs[u.in].(map[string]any)["properties"].(map[string]any)[u.member], defs[u.def] = member, more[u.def]
	}
	names := map[string]string{"error": "Error"} // role -> definition
	for name, def := range defs {
		def := def.(map[string]any)
		closeInner(def)
		method, ok := def["x-method"].(string)
		switch {
		case !ok:
		case strings.HasSuffix(name, "Response"):
			names["result "+method] = name
		default:
			names["params "+method] = name
		}
	}
	whole := map[string]any{}
	for role, name := range names {
		whole[role] = map[string]any{"$ref": "#/$defs/" + name, "unevaluatedProperties": false}
	}
	doc["whole"] = whole
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("acp.json", doc); err != nil {
		t.Fatalf("load the official schema: %v", err)
	}
	s := &protocolSchema{byRole: map[string]*jsonschema.Schema{}}
	for role := range whole {
		var err error
		pointer := strings.NewReplacer("~", "~0", "/", "~1", " ", "%20", "$", "%24").Replace(role)
		if s.byRole[role], err = compiler.Compile("acp.json#/whole/" + pointer); err != nil {
			t.Fatalf("compile the official schema for %s: %v", role, err)
		}
	}
	return s
}

// closeValue closes the object that a schema in the place of a value describes; closeInner does so for the values in it.
// Parts of a union or an allOf stay open, because their siblings name members too.
func closeValue(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	closeInner(s)
	for _, keyword := range []string{"properties", "$ref", "allOf", "anyOf", "oneOf"} {
		if _, has := s[keyword]; has {
			s["unevaluatedProperties"] = false
			return
		}
	}
}

func closeInner(s map[string]any) {
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			closeValue(p)
		}
	}
	closeValue(s["items"])
	closeValue(s["additionalProperties"])
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		for _, part := range parts {
			if part, ok := part.(map[string]any); ok {
				closeInner(part)
			}
		}
	}
}

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// check lists what is wrong with the messages that the agent sent.
func (s *protocolSchema) check(wire []wireLine) []string {
	var problems []string
	asked := map[string]string{} // id of a client's request -> method
	for _, entry := range wire {
		var m message
		if err := json.Unmarshal([]byte(entry.Line), &m); err != nil {
			if entry.From == "agent" {
				problems = append(problems, fmt.Sprintf("not JSON-RPC: %v: %s", err, entry.Line))
			}
			continue
		}
		if entry.From == "client" {
			if m.Method != "" && m.ID != nil {
				asked[string(m.ID)] = m.Method
			}
			continue
		}
		if err := s.message(m, asked); err != nil {
			problems = append(problems, fmt.Sprintf("%v\n    in %s", err, entry.Line))
		}
	}
	return problems
}

func (s *protocolSchema) message(m message, asked map[string]string) error {
	if m.JSONRPC != "2.0" {
		return fmt.Errorf(`jsonrpc is %q, expected "2.0"`, m.JSONRPC)
	}
	if m.Method != "" {
		return s.value("params "+m.Method, m.Params)
	}
	if (m.Result == nil) == (m.Error == nil) {
		return fmt.Errorf("an answer has either a result or an error")
	}
	if m.Error != nil {
		return s.value("error", m.Error)
	}
	method, ok := asked[string(m.ID)]
	if !ok {
		return fmt.Errorf("an answer with id %s, which no request of the client had or which was answered before", m.ID)
	}
	delete(asked, string(m.ID))
	return s.value("result "+method, m.Result)
}

func (s *protocolSchema) value(role string, raw json.RawMessage) error {
	schema, ok := s.byRole[role]
	if _, method, _ := strings.Cut(role, " "); !ok && strings.HasPrefix(method, "_") {
		return nil // an extension's own affair
	}
	if !ok {
		return fmt.Errorf("%s: the stable protocol has no such method", role)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	return nil
}

func TestTheSchemaCheckFindsWhatAnAgentGotWrong(t *testing.T) {
	schema := officialSchema(t)
	const prompt = `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{}}`
	for _, tt := range []struct {
		name, line, problem string
	}{
		{"a good update", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}`, ""},
		{"a good tool call", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"1","title":"t","kind":"edit","status":"pending","content":[{"type":"diff","path":"/a","newText":"x"}],"locations":[{"path":"/a","line":3}],"rawInput":{"any":["thing"]},"_meta":{"x":{"y":1}}}}}`, ""},
		{"a good answer", `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`, ""},
		{"a good error", `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error"}}`, ""},
		{"a method of an extension", `{"jsonrpc":"2.0","id":7,"method":"_shout","params":{"any":"thing"}}`, ""},
		{"an unknown kind of update", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"shout"}}}`, "params session/update"},
		{"a missing member", `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}`, "sessionId"},
		{"a member of the wrong type", `{"jsonrpc":"2.0","id":3,"result":{"stopReason":7}}`, "stopReason"},
		{"a member nobody knows", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a","colour":"red"}}}}`, "colour"},
		{"a member nobody knows at the top", `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","mood":"good"}}`, "mood"},
		{"a method nobody knows", `{"jsonrpc":"2.0","method":"session/shout","params":{}}`, "no such method"},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":4,"result":{}}`, "id 4"},
		{"a stray print", `hello`, "not JSON-RPC"},
		{"no version", `{"id":3,"result":{"stopReason":"end_turn"}}`, "jsonrpc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			problems := strings.Join(schema.check([]wireLine{{From: "client", Line: prompt}, {From: "agent", Line: tt.line}}), "\n")
			if tt.problem == "" && problems != "" {
				t.Errorf("a good message was found wrong: %s", problems)
			}
			if !strings.Contains(problems, tt.problem) || (tt.problem != "" && problems == "") {
				t.Errorf("the problems do not say %q: %s", tt.problem, problems)
			}
		})
	}
}
