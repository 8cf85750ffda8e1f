package mcp

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/agent/approval"
	"github.com/wherry-acp/wherry/agent/tool"
)

func TestAToolThatSaysItOnlyReadsIsBelievedOnlyOfATrustedServer(t *testing.T) {
	trusted := program(t, "plain")
	trusted.Name, trusted.Trust = "trusted", TrustHints
	set := openReady(t, Options{}, program(t, "plain"), trusted)
	for name, want := range map[string]approval.Class{
		"plain__peek": approval.ClassServer, "plain__echo": approval.ClassServer,
		"trusted__peek": approval.ClassRead, "trusted__echo": approval.ClassExecute,
	} {
		tl := find(t, set, name)
		if got := prepare(t, tl, "").Presentation().Class; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := tl.Spec().ReadOnly; got != (want == approval.ClassRead) {
			t.Errorf("%s: side by side with others: %v", name, got)
		}
	}
	for _, mode := range approval.Modes() {
		p := approval.Policy{Mode: mode, SessionEdits: true}
		d := p.Decide(approval.Subject{Class: prepare(t, find(t, set, "plain__peek"), "").Presentation().Class})
		if slices.Contains(d.Scopes, approval.ScopeSession) {
			t.Errorf("mode %s: a call can be allowed for the whole session", mode)
		}
		if d.Verdict == approval.Allow {
			t.Errorf("mode %s: allowed unasked", mode)
		}
	}
}

func TestAnApprovalIsBoundToTheServerTheToolAndTheArguments(t *testing.T) {
	other := program(t, "plain")
	other.Name = "other"
	set := openReady(t, Options{}, program(t, "plain"), other)
	digest := func(name, args string) string { return prepare(t, find(t, set, name), args).Presentation().Digest() }
	base := digest("plain__echo", `{"a": 1}`)
	if digest("plain__echo", `{"a":1}`) != base {
		t.Error("space between the tokens changes it")
	}
	for _, d := range []string{digest("plain__echo", `{"a":2}`), digest("plain__fail", `{"a":1}`), digest("other__echo", `{"a":1}`)} {
		if d == base {
			t.Error("another call has the same digest")
		}
	}
}

func TestArgumentsThatAreNoObjectAreRefusedWithASentence(t *testing.T) {
	set := openReady(t, Options{}, program(t, "plain"))
	tl := find(t, set, "plain__echo")
	for args, want := range map[string]string{
		`[1]`: "must be a JSON object", `"x"`: "must be a JSON object", `{`: "not valid JSON",
		`{"a":1,"a":2}`: "a name twice", `{"a":1} {}`: "not valid JSON", `{"a":"` + strings.Repeat("x", maxArgs) + `"}`: "larger than",
	} {
		if _, err := tl.Prepare(t.Context(), tool.Env{}, []byte(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", args, err)
		}
	}
	for _, args := range []string{"", "null", " {} "} {
		if r := callTool(t, set, "plain__echo", args); r.Text != "{}" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func TestAServersWordsAboutItsToolAreItsOwnAndBounded(t *testing.T) {
	long := strings.Repeat("very ", 2000)
	set := openReady(t, Options{}, program(t, "raw", "tools/list",
		`{"tools":[{"name":"a","description":"`+long+`","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`))
	got := find(t, set, "raw__a").Spec().Description
	if len(got) > maxDescription+200 || !strings.HasPrefix(got, `The tool "a" of the MCP server "raw". The server describes it so:`) {
		t.Errorf("description: %d bytes, %.100s", len(got), got)
	}
	contains(t, find(t, set, "raw__b").Spec().Description, "does not describe it")
}

func TestAProgramHasTheEnvironmentOfCommandsAndItsOwnVariables(t *testing.T) {
	dir := t.TempDir()
	server := program(t, "plain")
	server.Env = map[string]string{"GREETING": "hello, you", "MY_TOKEN": "tok-0123456789"}
	set := openReady(t, Options{
		Dir:     dir,
		Environ: []string{"PATH=/usr/bin:/bin", "ANTHROPIC_API_KEY=canary-a", "KEPT_TOKEN=canary-b", "HTTPS_PROXY=http://proxy:1"},
		PassEnv: []string{"KEPT_TOKEN"},
	}, server)
	got := callTool(t, set, "plain__environment", "").Text
	for _, want := range []string{"PATH=/usr/bin:/bin", "GIT_TERMINAL_PROMPT=0", "HTTPS_PROXY=http://proxy:1", "KEPT_TOKEN=canary-b",
		"GREETING=hello, you", "MY_TOKEN=[value of MY_TOKEN]", "PWD=" + dir} {
		if !slices.Contains(strings.Split(got, "\n"), want) {
			t.Errorf("%s is not in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "canary-a") || strings.Contains(got, "HOME=") {
		t.Errorf("too much is in:\n%s", got)
	}
	contains(t, got, "dir=") // and not the folder of the tests
	if strings.Contains(got, "agent/mcp") {
		t.Errorf("it works elsewhere:\n%s", got)
	}
}

func TestAProgramIsFoundInItsOwnPath(t *testing.T) {
	server := Server{Name: "sh", Command: "sh", Args: []string{"-c", "exit 5"}}
	set := openReady(t, Options{Environ: []string{"PATH=/usr/bin:/bin"}}, server)
	contains(t, set.Status()[0].Error, "exit code 5")
	server.Env = map[string]string{"PATH": "/nowhere:."}
	other := openReady(t, Options{Environ: []string{"PATH=/usr/bin:/bin"}}, server)
	contains(t, other.Status()[0].Error, "sh in the PATH")
	lost := openReady(t, Options{Dir: "/nowhere/at/all"}, program(t, "plain"))
	contains(t, lost.Status()[0].Error, "the folder it should work in is not there: /nowhere/at/all")
}

func TestOldAndNewVersionsOfTheProtocolAreSpoken(t *testing.T) {
	tools := []string{"tools/list", `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`, "tools/call", `{"content":[{"type":"text","text":"done"}]}`}
	for name, first := range map[string][]string{
		"2024-11-05": {"initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"0"}}`},
		"2026-07-28": {"initialize", "error -32601 gone", "server/discover",
			`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"0"}}}`},
	} {
		starts := t.TempDir() + "/starts"
		server := program(t, "raw", append(first, tools...)...)
		server.Env = map[string]string{"STARTS_FILE": starts}
		set := openReady(t, Options{}, server)
		if st := set.Status()[0]; st.State != StateReady {
			t.Errorf("%s: %+v", name, st)
			continue
		}
		if r := callTool(t, set, "raw__t", ""); r.Text != "done" {
			t.Errorf("%s: %+v", name, r)
		}
		if n := lines(t, starts); n != 1 {
			t.Errorf("%s: started %d times", name, n)
		}
	}
}

func TestAServerWithoutToolsIsReady(t *testing.T) {
	set := openReady(t, Options{}, program(t, "raw"))
	if st := set.Status()[0]; st.State != StateReady || len(st.Tools) != 0 {
		t.Errorf("status: %+v", st)
	}
}

func TestAServersRefusalIsGivenInItsWords(t *testing.T) {
	set := openReady(t, Options{}, program(t, "raw", "tools/list", `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
		"tools/call", "error -32602 unknown"))
	if r := callTool(t, set, "raw__t", ""); !r.Failed || r.Text != `Refused by the MCP server "raw": unknown (error -32602)` {
		t.Errorf("result: %+v", r)
	}
}

func TestAListOfToolsWithoutEndIsCutOff(t *testing.T) {
	var told notices
	var many []string
	for i := range 100 {
		many = append(many, `{"name":"t`+strings.Repeat("x", i)+`","inputSchema":{"type":"object"}}`)
	}
	page := `{"tools":[` + strings.Join(many, ",") + `],"nextCursor":"again"}`
	set := openReady(t, Options{Notify: told.add}, program(t, "raw", "tools/list", page))
	if n := len(set.Tools()); n != 100 {
		t.Errorf("%d tools of an endless list", n)
	}
	for i := range 300 {
		many = append(many, `{"name":"u`+strings.Repeat("x", i)+`","inputSchema":{"type":"object"}}`)
	}
	set = openReady(t, Options{Notify: told.add}, program(t, "raw", "tools/list", `{"tools":[`+strings.Join(many, ",")+`]}`))
	if n := len(set.Tools()); n != maxTools {
		t.Errorf("%d tools", n)
	}
	set.Close()
	contains(t, told.text("raw"), "offers more than 256 tools")
}

func TestAnAnswerThatIsTooLongFailsItsCallAndNoOther(t *testing.T) {
	set := openReady(t, Options{}, program(t, "long"))
	for range 2 {
		began := time.Now()
		r := callTool(t, set, "long__big", "")
		if !r.Failed || time.Since(began) > time.Minute {
			t.Errorf("result: %.200s", r.Text)
		}
		contains(t, r.Text, "larger than 16 MiB")
	}
}

func FuzzALineIsMessagesOrNoise(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":"x","method":"b"}]`,
		"hello", "[]", "[1]", "null", `{"jsonrpc":"1.0"}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, whole, _ := readLine(bufio.NewReaderSize(bytes.NewReader(data), 16), 64)
		if len(line) > 64 || whole && !bytes.HasPrefix(data, line) {
			t.Fatalf("%q gave the line %q", data, line)
		}
		messages, ok := decode(line)
		if !ok && len(messages) > 0 {
			t.Fatalf("noise with %d messages", len(messages))
		}
		tooLong(line)
	})
}
