package editorfile

import (
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

var testAgent = Agent{Type: "custom", Command: "/bin/wherry", Args: []string{"acp"}, Env: map[string]string{}}

func TestAnAgentIsPutIntoSettingsThatKeepTheirBytes(t *testing.T) {
	const entry = `"wherry": {
      "type": "custom",
      "command": "/bin/wherry",
      "args": [
        "acp"
      ],
      "env": {}
    }`
	const section = `"agent_servers": {
    ` + entry + `
  }`
	for _, test := range []struct{ name, before, after string }{
		{"no file", "", "{\n  " + section + "\n}\n"},
		{"an empty object", "{}\n", "{\n  " + section + "\n}\n"},
		{"comments alone", "// mine\n", "// mine\n{\n  " + section + "\n}\n"},
		{"a comment in an empty object", "{\n  // nothing yet\n}\n", "{\n  // nothing yet\n  " + section + "\n}\n"},
		{
			"other settings", "// Zed\n{\n  \"theme\": \"One\" // dark\n  /* end */\n}\n",
			"// Zed\n{\n  \"theme\": \"One\", // dark\n  /* end */\n  " + section + "\n}\n",
		},
		{"trailing commas", "{\n  \"a\": [1, 2,],\n}\n", "{\n  \"a\": [1, 2,],\n  " + section + ",\n}\n"},
		{
			"other agents", "{\n  \"agent_servers\": {\n    \"other\": { \"command\": \"x\" } // keep\n  },\n  \"z\": 1\n}",
			"{\n  \"agent_servers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n    " + entry + "\n  },\n  \"z\": 1\n}",
		},
		{"no agents yet", "{\n  \"agent_servers\": {}\n}\n", "{\n  " + section + "\n}\n"},
		{
			"an older path", "{\n  \"agent_servers\": {\n    \"wherry\": {\n      \"command\": \"/old\", // path\n      \"args\": [ \"acp\" ],\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n",
			"{\n  \"agent_servers\": {\n    \"wherry\": {\n      \"command\": \"/bin/wherry\", // path\n      \"args\": [ \"acp\" ],\n      \"env\": {\"A\": \"b\"}\n    }\n  }\n}\n",
		},
		{
			"an agent without arguments", "{\"agent_servers\": {\"wherry\": {\n      \"command\": \"/bin/wherry\"\n    }}}",
			"{\"agent_servers\": {\"wherry\": {\n      \"command\": \"/bin/wherry\",\n      \"args\": [\n        \"acp\"\n      ]\n    }}}",
		},
		{
			"as it should be", "{\"agent_servers\":{\"wherry\":{\"command\":\"/bin/wherry\",\"args\":[\"acp\"]}}} // x",
			"{\"agent_servers\":{\"wherry\":{\"command\":\"/bin/wherry\",\"args\":[\"acp\"]}}} // x",
		},
		{"the same key twice", "{\n  \"a\": 1,\n  \"a\": 2\n}\n", "{\n  \"a\": 1,\n  \"a\": 2,\n  " + section + "\n}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := WithAgent([]byte(test.before), "wherry", testAgent)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
			again, err := WithAgent(got, "wherry", testAgent)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time (%v):\n%s", err, again)
			}
		})
	}
}

func TestTheStyleOfTheFileIsKept(t *testing.T) {
	got, err := WithAgent([]byte("\ufeff{\r\n\t\"a\": 1\r\n}\r\n"), "wherry", testAgent)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	if !strings.HasPrefix(text, "\ufeff{\r\n\t\"a\": 1,\r\n\t\"agent_servers\": {\r\n\t\t\"wherry\": {\r\n\t\t\t\"type\"") {
		t.Errorf("got %q", text)
	}
	if strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Errorf("line ends are mixed in %q", text)
	}
}

func TestSettingsThatCannotBeEditedAreLeftAlone(t *testing.T) {
	for _, text := range []string{
		"{", "[]", "{\"agent_servers\": []}", "{\"agent_servers\": {\"wherry\": 1}}", "{} {}", "not json", "{\"a\": 'b'}", "/* open",
	} {
		if got, err := WithAgent([]byte(text), "wherry", testAgent); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzEditingSettingsChangesNothingElse(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "// c\n", "{\"a\":1,}", "{ /* x */ }", "{\"agent_servers\":{}}", "{\"agent_servers\":{\"x\":{},},}",
		"{\"agent_servers\":{\"wherry\":{\"command\":1}}}", "{\"a\":{\"b\":[1,2 /*c*/,],}//d\n}", "\ufeff{\r\n}", "{//x\n\"a\":1//y\n}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := WithAgent([]byte(text), "wherry", testAgent)
		if err != nil {
			return
		}
		if _, err := hujson.Parse(got); err != nil && !strings.HasPrefix(text, "\ufeff") {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		again, err := WithAgent(got, "wherry", testAgent)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q, and then %q (%v)", text, got, again, err)
		}
	})
}
