package bridge

import (
	"reflect"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/tool"
)

func TestACallToAServersToolIsShownWithTheServerTheToolAndItsArguments(t *testing.T) {
	got := presentation(tool.Presentation{Request: &tool.RequestView{
		Server: "issues", Tool: "close", Args: []byte(`{"number":7,"why":"a ` + "```" + ` fence"}`),
	}})
	want := acp.ToolText("Calls \"close\" of the server \"issues\" with:\n\n````json\n{\n\t\"number\": 7,\n\t\"why\": \"a ``` fence\"\n}\n````")
	if len(got) != 1 || !reflect.DeepEqual(got[0], acp.ToolCallContent(want)) {
		t.Errorf("shown: %#v\nwant:  %#v", got, want)
	}
}
