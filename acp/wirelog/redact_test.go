package wirelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/wirelog"
)

func TestSecretsAreLeftOutAndEverythingElseStaysByteForByte(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9"
	for _, tc := range []struct{ in, want string }{
		// by the place
		{`{"env":[{"name":"A","value":"CANARY"},{"name":"B","value":""}]}`, `{"env":[{"name":"A","value":"[redacted]"},{"name":"B","value":""}]}`},
		{`{"env":{"A":"CANARY","B":["CANARY"]}}`, `{"env":{"A":"[redacted]","B":["[redacted]"]}}`},
		{`{"env":["A=CANARY",["CANARY"]],"cwd":"/w"}`, `{"env":["[redacted]",["[redacted]"]],"cwd":"/w"}`},
		{`{"headers":[{"value":"CANARY","name":"X","_meta":{"a":"CANARY"}}]}`, `{"headers":[{"value":"[redacted]","name":"X","_meta":{"a":"[redacted]"}}]}`},
		{`{"params":{"authAccounts":1,"accounts":[{"label":"CANARY","active":true}]}}`, `{"params":{"authAccounts":1,"accounts":[{"label":"[redacted]","active":true}]}}`},
		// by the name
		{`{"Authorization":"CANARY","x-api-key":"CANARY","accessToken":"CANARY"}`, `{"Authorization":"[redacted]","x-api-key":"[redacted]","accessToken":"[redacted]"}`},
		{`{"PASSWORD":12345,"clientSecret":{"a":["CANARY",7,true,null]},"set-cookie":"CANARY"}`, `{"PASSWORD":0,"clientSecret":{"a":["[redacted]",0,true,null]},"set-cookie":"[redacted]"}`},
		{`{"api\u004bey":"CANARY"}`, `{"api\u004bey":"[redacted]"}`},
		{`{"usage":{"inputTokens":512,"totalTokens":1e3},"_meta":{"progressToken":"p1"}}`, `{"usage":{"inputTokens":512,"totalTokens":1e3},"_meta":{"progressToken":"p1"}}`},
		{`{"method":"authenticate","params":{"methodId":"m","_meta":{"pin":1234,"x":"CANARY"}}}`, `{"method":"authenticate","params":{"methodId":"m","_meta":{"pin":0,"x":"[redacted]"}}}`},
		{`{"method":"session/prompt","params":{"_meta":{"x":"kept"}}}`, `{"method":"session/prompt","params":{"_meta":{"x":"kept"}}}`},
		{`{"args":["--verbose","--api-key","CANARY","--api-key=CANARY9","-v"]}`, `{"args":["--verbose","--api-key","[redacted]","--api-key=[redacted]","-v"]}`},
		// by the look, anywhere
		{`["use sk-ant-api03-CANARY12345678901 now"]`, `["use [redacted] now"]`},
		{`["ghp_CANARY123456789012345678901234567890","task-1234567890123456789 is a-sk-ill"]`, `["[redacted]","task-1234567890123456789 is a-sk-ill"]`},
		{`["AKIAIOSFODNN7EXAMPLE, AKIA is a prefix"]`, `["[redacted], AKIA is a prefix"]`},
		{`["t=` + jwt + `;"]`, `["t=[redacted];"]`},
		{`["eyJrZXkiOiJ2YWx1ZTEyMzQ1Njc4OTAxMjM0NTY3ODkwIn0 is base64 of an object"]`, `["eyJrZXkiOiJ2YWx1ZTEyMzQ1Njc4OTAxMjM0NTY3ODkwIn0 is base64 of an object"]`},
		{`["sk\u002dproj\u002dCANARY1234567890123"]`, `["[redacted]"]`},
		{`["-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----\nafter"]`, `["[redacted]\nafter"]`},
		{`["-----BEGIN RSA PRIVATE KEY-----\nCANARY cut"]`, `["[redacted]"]`},
		{`["curl -H 'Authorization: Custom CANARY' x","Bearer CANARY1234"]`, `["curl -H 'Authorization: [redacted]","[redacted]"]`},
		{`["https://me:CANARY@host/x?a=b&token=CANARY12#f"]`, `["https://[redacted]@host/x?a=b&token=[redacted]"]`},
		{`["https://user@host/x:y@z"]`, `["https://user@host/x:y@z"]`},
		{`["export DB_PASSWORD=CANARY; x","{\"api_key\": \"CANARY77\"}"]`, `["export DB_PASSWORD=[redacted]; x","{\"api_key\": \"[redacted]\"}"]`},
		{`["key: value, token := next(), a.token == b.token9999, apiKey = os.Getenv(\"API_KEY1\"), monkey: bananas1x(2)"]`, `["key: value, token := next(), a.token == b.token9999, apiKey = os.Getenv(\"API_KEY1\"), monkey: bananas1x(2)"]`},
		{`{"sk-CANARY12345678901234567890":1,"sk-CANARY12345678901234567891":2}`, `{"[redacted]-1":1,"[redacted]-2":2}`},
		// not changed at all
		{`{ "a" : 1.0e0 , "text":"caf\u00e9 \u003c\/b\u003e" , "a":[ ] }`, `{ "a" : 1.0e0 , "text":"caf\u00e9 \u003c\/b\u003e" , "a":[ ] }`},
	} {
		rec, _ := logged(t, wirelog.WriterOptions{}, tc.in)
		if got := string(rec.Msg); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
		if rec, _ := logged(t, wirelog.WriterOptions{Redact: wirelog.RedactNothing}, tc.in); string(rec.Msg) != tc.in {
			t.Errorf("with RedactNothing\ngot  %s\nwant %s", rec.Msg, tc.in)
		}
	}
}

func TestLinesThatAreNotJSONAreRedactedToo(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`starting with OPENAI_API_KEY=CANARY12`, `starting with OPENAI_API_KEY=[redacted]`},
		{`{"env":[{"name":"A","value":"CANARY`, `{"env":[{"name":"A","value"[redacted]`},
		{`{"password":"CANARY","x":CANARY}`, `{"password":"[redacted]","x"[redacted]`},
		{`{"a":1} CANARY`, `{"a":1}[redacted]`},
		{`"plain"`, `"plain"`},
	} {
		rec, _ := logged(t, wirelog.WriterOptions{}, tc.in)
		if got := string(rec.Raw); got != tc.want || rec.Msg != nil {
			t.Errorf("%s\ngot  %s (msg %s)\nwant %s", tc.in, got, rec.Msg, tc.want)
		}
	}
	if rec, _ := logged(t, wirelog.WriterOptions{Redact: wirelog.RedactNothing}, `{"a":1} x`); string(rec.Raw) != `{"a":1} x` {
		t.Errorf("with RedactNothing: %s", rec.Raw)
	}
}

func TestContentsHidesEveryStringButKeepsLengthsAndWhatTheProtocolNeeds(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":"r1","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"c","kind":"edit","status":"made up","title":"éa\n","rawInput":{"kind":"CANARY","sessionId":"s-1","n":7,"apiKey":"CANARY"}}}}`
	rec, _ := logged(t, wirelog.WriterOptions{Redact: wirelog.RedactContents}, in)
	got := string(rec.Msg)
	for _, part := range []string{
		`{"jsonrpc":"2.0","id":"r1","method":"session/update","params":{"sessionId":"id-`,
		`"sessionUpdate":"tool_call"`, `"kind":"edit"`, `"status":"xxxx xx"`[:10], `"title":"xxx"`, `"kind":"xxxxxx"`, `"n":7`, `"apiKey":"xxxxxx"`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	for _, not := range []string{"CANARY", "made", "s-1", `"c"`} {
		if strings.Contains(got, not) {
			t.Errorf("%s in %s", not, got)
		}
	}
	if i := strings.Index(got, `"sessionId":"`); strings.Count(got, got[i:i+len(`"sessionId":"id-0123456789ab"`)]) != 2 {
		t.Errorf("the same id has two stand-ins: %s", got)
	}
	if rec, _ := logged(t, wirelog.WriterOptions{Redact: wirelog.RedactContents}, "CANARY é"); string(rec.Raw) != "xxxxxxxx" {
		t.Errorf("raw %s", rec.Raw)
	}
}

func TestKnownValuesAreHiddenWhereverTheyOccur(t *testing.T) {
	o := wirelog.WriterOptions{Hide: []string{"hunter", "hunter2-canary", ""}}
	rec, _ := logged(t, o, `{"a":"the hunter2-canary of the hunter","hunter":["\u0068unter2-canary"]}`)
	if got := string(rec.Msg); got != `{"a":"the [redacted] of the [redacted]","[redacted]-1":["[redacted]"]}` {
		t.Error(got)
	}
}

// A whole connection with secrets in every place that has one.
func TestNoSecretOfAConnectionReachesItsLog(t *testing.T) {
	const mark = "CANARY"
	secret := func(n int) string { return fmt.Sprintf("%s-%d-4711", mark, n) }
	agent := &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		c := acp.ClientFrom(ctx)
		err := c.Update(ctx, req.SessionID, acp.ToolCall{
			ToolCallID: "1", Title: "curl -H 'Authorization: Bearer " + secret(1) + "' https://u:" + secret(2) + "@h/",
			RawInput: jsontext.Value(`{"token":"` + secret(3) + `","env":{"X":"` + secret(4) + `"}}`),
			Content:  []acp.ToolCallContent{acp.ToolText("DB_PASSWORD=" + secret(5) + "\n-----BEGIN OPENSSH PRIVATE KEY-----\n" + secret(6) + "\n")},
		})
		if err != nil {
			return acp.PromptResponse{}, err
		}
		if _, err := c.NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: req.SessionID, Command: "login", Args: []string{"--password", secret(7)}, Env: []acp.EnvVariable{{Name: "KEY", Value: secret(8)}}}); !errors.Is(err, &acp.RequestError{Code: acp.CodeInternalError}) {
			return acp.PromptResponse{}, err
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}
	var logs [2]bytes.Buffer
	agentLog := wirelog.NewWriter(&logs[0], &wirelog.WriterOptions{Side: wirelog.Agent})
	clientLog := wirelog.NewWriter(&logs[1], nil)
	ao := &acp.AgentOptions{Options: acp.Options{Tap: agentLog.Tap, Garbage: agentLog.Garbage}}
	ao.Capabilities = func(c *acp.AgentCapabilities) { c.MCPCapabilities.HTTP = true }
	co := &acp.ClientOptions{Options: acp.Options{Tap: clientLog.Tap, Garbage: clientLog.Garbage}, Terminals: noTerminals{}}
	a, end, err := acptest.Connect(t.Context(), agent, ao, co)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w", MCPServers: []acp.MCPServer{
		acp.MCPServerStdio{Name: "db", Command: "db", Args: []string{"--api-key", secret(9), "--token=" + secret(10)}, Env: []acp.EnvVariable{{Name: "DB", Value: secret(11)}}},
		acp.MCPServerHTTP{Name: "web", URL: "https://h/?api_key=" + secret(12), Headers: []acp.HTTPHeader{{Name: "X-Auth", Value: secret(13)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("my key is sk-"+strings.Repeat("9", 20)+secret(14)+", hello")).Result(); err != nil {
		t.Fatal(err)
	}
	end()
	if err := errors.Join(agentLog.Close(), clientLog.Close()); err != nil {
		t.Fatal(err)
	}
	for i := range logs {
		log := logs[i].String()
		for n := range 15 {
			if strings.Contains(log, secret(n)) {
				t.Errorf("log %d has secret %d\n%s", i, n, log)
			}
		}
		if strings.Contains(log, mark) {
			t.Errorf("log %d has a part of a secret\n%s", i, log)
		}
		for _, kept := range []string{"hello", "login", "session/prompt", "X-Auth", "[redacted]"} {
			if !strings.Contains(log, kept) {
				t.Errorf("log %d lacks %s\n%s", i, kept, log)
			}
		}
	}
}

// noTerminals fails to start any command.
type noTerminals struct{ acp.TerminalHandler }

func (noTerminals) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, os.ErrPermission
}

// shape returns the kinds of a text's tokens, with the text of numbers, literals and names.
func shape(t *testing.T, text []byte, numbers bool) string {
	t.Helper()
	var b strings.Builder
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch {
		case tok.Kind() == '0' && numbers:
			b.WriteString(tok.String())
		default:
			b.WriteByte(byte(tok.Kind()))
		}
	}
}

func FuzzARedactedFrameIsStillJSONOfTheSameShapeAndIsReadBack(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a","command":"c","args":["--token","x"],"env":[{"name":"A","value":"b"}]}]}}`,
		`{"env":{"a":{"b":["c",1]}},"headers":["x",[{"y":"z"}]],"password":[1,"2",{"key":null}]}`,
		`["sk-12345678901234567890","key=abcdef12345","https://u:p@h","-----BEGIN X","Bearer aaaaaaaa1"]`,
		`{"sk-12345678901234567890":{"sk-12345678901234567890":"\ud800"}}`,
		`[[[[]]],{},"",0,-1.5e-7,true,false,null]`,
		"{\"a\":\n1}", `{"a":1}{`, `{"a":"\xff"}`, `hello`, ``, `"x"`, `{"env":[`, "\xff", "{\"\":\"\xf5\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, mode := range []wirelog.Redaction{wirelog.RedactSecrets, wirelog.RedactContents, wirelog.RedactNothing} {
			var out bytes.Buffer
			w := wirelog.NewWriter(&out, &wirelog.WriterOptions{Redact: mode, Start: start})
			w.Tap(acp.Incoming, start.Add(7), frame)
			w.Tap(acp.Outgoing, start.Add(9), []byte(`{"next":1}`))
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(out.Bytes(), []byte{'\n'}); n != 3 {
				t.Fatalf("%v: %d lines: %q", mode, n, out.Bytes())
			}
			_, all := read(t, out.Bytes())
			if len(all) != 2 || string(all[1].Msg) != `{"next":1}` || all[0].At != 7 {
				t.Fatalf("%v: %+v", mode, all)
			}
			trimmed := bytes.TrimLeft(frame, " \t\r\n")
			isFrame := len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && utf8.Valid(frame) && jsontext.Value(frame).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			if (all[0].Msg != nil) != isFrame {
				t.Fatalf("%v: %q: msg %s, raw %q", mode, frame, all[0].Msg, all[0].Raw)
			}
			switch {
			case isFrame:
				if a, b := shape(t, frame, mode == wirelog.RedactNothing), shape(t, all[0].Msg, mode == wirelog.RedactNothing); a != b {
					t.Fatalf("%v: %q became %s", mode, frame, all[0].Msg)
				}
			case mode == wirelog.RedactNothing:
				if !bytes.Equal(all[0].Raw, frame) {
					t.Fatalf("%q became %q", frame, all[0].Raw)
				}
			}
		}
	})
}

// The cost of a frame: what the connection pays for Tap, and what the writer's goroutine
// pays for redacting and writing it.
func BenchmarkFrame(b *testing.B) {
	code, err := os.ReadFile("writer.go")
	if err != nil {
		b.Fatal(err)
	}
	quoted, _ := jsontext.AppendQuote(nil, code)
	for name, frame := range map[string]string{
		"chunk": `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0190a4f2-6d2e-7c1a-9f7e-2f6f1c3f7a11","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The next token"}}}}`,
		"file":  `{"jsonrpc":"2.0","id":7,"result":{"content":` + string(quoted) + `}}`,
	} {
		for _, mode := range []wirelog.Redaction{wirelog.RedactNothing, wirelog.RedactSecrets, wirelog.RedactContents} {
			b.Run(name+"/"+mode.String(), func(b *testing.B) {
				w := wirelog.NewWriter(io.Discard, &wirelog.WriterOptions{Redact: mode, Block: true})
				msg, at := []byte(frame), time.Now()
				b.SetBytes(int64(len(msg)))
				b.ReportAllocs()
				for b.Loop() {
					w.Tap(acp.Outgoing, at, msg)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
