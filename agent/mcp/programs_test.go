package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// programs are what this binary can be as a server; see TestMain.
var programs = map[string]func(args []string) (exit int){
	"plain":    servePlain,
	"noisy":    serveNoisy,
	"slow":     serveSlow,
	"silent":   func([]string) int { _, _ = io.Copy(io.Discard, os.Stdin); return 0 },
	"deaf":     func([]string) int { forever(); return 0 },
	"garbage":  serveGarbage,
	"crash":    serveCrash,
	"stubborn": serveStubborn,
	"raw":      serveRaw,
	"long":     serveLong,
	"glut":     serveGlut,
}

// newPlain is a server with a tool for everything that is tested, made with the SDK. Its tool wait ends with stop too.
func newPlain(stop <-chan struct{}) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "plain-server", Version: "1.2"}, nil)
	add(server, "echo", "Gives back what it is given.", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	server.AddTool(&sdk.Tool{Name: "peek", Description: "Only looks.", InputSchema: anySchema(),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("seen"), nil })
	add(server, "fail", "Fails.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "it did not work"}}}, nil
	})
	add(server, "environment", "Gives its environment.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		dir, _ := os.Getwd()
		return text(strings.Join(append(os.Environ(), "dir="+dir), "\n")), nil
	})
	add(server, "pid", "Gives its process number.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(strconv.Itoa(os.Getpid())), nil
	})
	add(server, "die", "Ends the server.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "\x1b[31mpanic\x1b[0m: the roof is on fire, key="+os.Getenv("CANARY_KEY"))
		os.Exit(3)
		return nil, nil
	})
	add(server, "grow", "Adds a tool.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add(server, "grown", "Is new.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("grown up"), nil
		})
		server.RemoveTools("fail")
		return text("growing"), nil
	})
	add(server, "wait", "Shows progress and waits to be stopped.", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 3, Message: "waiting\nnow, key=" + os.Getenv("CANARY_KEY"),
		})
		select {
		case <-ctx.Done():
		case <-stop:
			return text("stopped"), nil
		}
		if path := os.Getenv("STOPPED_FILE"); path != "" {
			_ = os.WriteFile(path, []byte("stopped"), 0o644)
		}
		return nil, ctx.Err()
	})
	return server
}

func add(server *sdk.Server, name, description string, handle sdk.ToolHandler) {
	server.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: anySchema()}, handle)
}

func anySchema() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// noteStart adds a line to the file that STARTS_FILE names.
func noteStart() {
	if path := os.Getenv("STARTS_FILE"); path != "" {
		if f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			fmt.Fprintln(f, os.Getpid())
			_ = f.Close()
		}
	}
}

func servePlain([]string) int {
	noteStart()
	if err := newPlain(nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveNoisy greets on its standard output, as many servers do, and logs there.
func serveNoisy([]string) int {
	fmt.Println("Welcome to the noisy server!")
	fmt.Println(`{"level":30,"msg":"a log line that is JSON"}`)
	fmt.Println()
	return servePlain(nil)
}

// serveSlow is ready only after a while.
func serveSlow(args []string) int {
	wait, err := time.ParseDuration(args[0])
	if err != nil {
		return 2
	}
	noteStart()
	time.Sleep(wait) // this process is the slow program
	_ = newPlain(nil).Run(context.Background(), &sdk.StdioTransport{})
	return 0
}

func serveGarbage([]string) int {
	go func() { _, _ = io.Copy(io.Discard, os.Stdin) }()
	for i := 0; ; i++ {
		if _, err := fmt.Printf("line %d of no protocol, key=%s\n", i, os.Getenv("CANARY_KEY")); err != nil {
			return 0
		}
		if i >= 100 {
			forever()
		}
	}
}

func serveCrash([]string) int {
	noteStart()
	fmt.Fprintln(os.Stderr, "cannot find the frobnicator; key is "+os.Getenv("CANARY_KEY"))
	return 4
}

// serveStubborn ignores every polite way to end, and has started something that does too.
func serveStubborn([]string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	child := exec.Command("/bin/sh", "-c", `trap "" TERM; while :; do sleep 100; done`)
	if err := child.Start(); err != nil {
		return 2
	}
	server := newPlain(nil)
	add(server, "pids", "Gives its and its child's process number.", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid)), nil
	})
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
	forever()
	return 0
}

// forever keeps a process that is a test's program busy with nothing, until it is killed.
func forever() { time.Sleep(time.Hour) }

// serveLong answers every call with a line that is longer than any message may be.
func serveLong([]string) int {
	return answer(map[string]string{"tools/list": `{"tools":[{"name":"big","inputSchema":{"type":"object"}}]}`},
		func(id json.RawMessage, out *bufio.Writer) {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			for range 17 {
				_, _ = out.Write(bytes.Repeat([]byte("x"), 1<<20))
			}
			fmt.Fprint(out, `"}]}}`+"\n")
		})
}

// serveRaw answers with the JSON it is given: method and result in turn. A result of the form "error CODE TEXT" refuses.
func serveRaw(args []string) int {
	noteStart()
	answers := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		answers[args[i]] = strings.ReplaceAll(args[i+1], "\n", " ")
	}
	return answer(answers, nil)
}

// answer is a server without the SDK.
func answer(answers map[string]string, call func(id json.RawMessage, out *bufio.Writer)) int {
	if answers["initialize"] == "" {
		answers["initialize"] = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"0"}}`
	}
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return 2
		}
		result, known := answers[m.Method]
		var code int
		var why string
		switch n, _ := fmt.Sscanf(result, "error %d %s", &code, &why); {
		case m.ID == nil:
			continue
		case m.Method == "tools/call" && call != nil:
			call(m.ID, out)
		case n == 2:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", m.ID, code, why)
		case known:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
		if out.Flush() != nil {
			return 1
		}
	}
	return 0
}

// serveGlut reads nothing any more after the first call: its input fills up.
func serveGlut([]string) int {
	return answer(map[string]string{"tools/list": `{"tools":[{"name":"swallow","inputSchema":{"type":"object"}}]}`},
		func(json.RawMessage, *bufio.Writer) { forever() })
}
