package mcp

import (
	"strings"
	"testing"
)

const formSaid = "its answer does not have the form that the Model Context Protocol asks for"

func TestAnAnswerOfAnotherFormIsSaidToBeOneWithoutTheDecodersWords(t *testing.T) {
	for name, tt := range map[string]struct {
		args  []string
		field string
	}{
		"to initialize": {[]string{"initialize", `{"protocolVersion":5}`}, "protocolVersion"},
		"to tools/list": {[]string{"tools/list", `{"tools":[7]}`}, "tools.0"},
	} {
		t.Run(name, func(t *testing.T) {
			var told notices
			set := openReady(t, Options{Notify: told.add}, program(t, "raw", tt.args...))
			st := set.Status()[0]
			if st.State != StateFailed {
				t.Errorf("%+v", st)
			}
			set.Close()
			plainly(t, told.text("raw"), tt.field)
		})
	}
	for name, tt := range map[string]struct{ result, field string }{
		"a call's content": {`{"content":[{"type":"text","text":"a"},5]}`, "content.1"},
		"a call's result":  {`5`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := openReady(t, Options{}, program(t, "raw", "tools/list", `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, "tools/call", tt.result))
			r := callTool(t, set, "raw__a", "{}")
			if !r.Failed {
				t.Errorf("%+v", r)
			}
			plainly(t, r.Text, tt.field)
		})
	}
}

func plainly(t *testing.T, text, field string) {
	t.Helper()
	contains(t, text, formSaid, field)
	if strings.Contains(text, "unmarshal") || strings.Contains(text, "Go ") {
		t.Errorf("the decoder's words are in it: %s", text)
	}
}
